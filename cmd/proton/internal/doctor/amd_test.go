package doctor

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// instinct are the files of a machine with two GPUs and both libraries.
var instinct = map[string]string{
	"dev/kfd": "", "dev/dri/renderD128": "", "dev/dri/renderD129": "",
	"sys/module/amdgpu/version":                     "6.10.5\n",
	"sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n",
	"sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n",
	"sys/class/kfd/kfd/topology/nodes/2/properties": "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\n",
	"opt/rocm/.info/version":                        "7.0.2-56\n",
	"opt/rocm/lib/librocprofiler-sdk.so.1":          "",
	"usr/lib/x86_64-linux-gnu/libroctracer64.so.4":  "",
	"home/other/librocprofiler-sdk.so.0":            "",
}

// without is instinct without files whose names begin so, and with others.
func without(prefix string, with ...string) map[string]string {
	files := maps.Clone(instinct)
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, prefix) })
	for _, path := range with {
		files[path] = ""
	}
	return files
}

func TestROCm(t *testing.T) {
	for _, c := range []struct {
		what, finding, want, fix string
		files                    map[string]string
		env                      map[string]string
	}{
		{"complete", "amdgpu", "ok: amdgpu 6.10.5, ROCm 7.0.2-56", "", instinct, nil},
		{"complete", "render", "ok: 2 of /dev/dri/renderD* can be opened", "", instinct, nil},
		{"complete", "AMD GPUs", "ok: 2 × gfx942 (304 CUs)", "", instinct, nil},
		{"complete", "visible", "none", "", instinct, nil},
		{"complete", "rocprofiler", "ok: /opt/rocm/lib/librocprofiler-sdk.so.1 (system, version 1)", "", instinct, nil},
		{"it counts", "counters", "ok: proton run --mode counters and --pm can count; so far they were tried on fake libraries only", "", instinct, nil},
		{"too old to count", "counters", "note: /home/other/librocprofiler-sdk.so.0 does not count", "update ROCm", instinct, map[string]string{"TRITON_ROCPROFILER_SDK_LIB_PATH": "/home/other"}},
		{"complete", "roctracer", "ok: /usr/lib/x86_64-linux-gnu/libroctracer64.so.4 (system, version 4)", "", instinct, nil},
		{"complete", "other tools", "ok: no other tool of ROCm in the environment", "", instinct, nil},
		{"container without devices", "amdgpu", "problem: the driver is loaded, but there is no /dev/kfd here", "--device=/dev/kfd --device=/dev/dri", without("dev/kfd", "sys/class/kfd/x"), nil},
		{"no driver", "GPUs", "problem: no GPU that can be used here: no NVIDIA driver (no /dev/nvidiactl) and no AMD driver (no /dev/kfd)", "--gpus all for NVIDIA, or --device=/dev/kfd --device=/dev/dri for AMD", map[string]string{"etc/x": ""}, nil},
		{"container with half of the devices", "render", "problem: there is no /dev/dri/renderD* here", "--device=/dev/dri", without("dev/dri"), nil},
		{"driver without GPU", "AMD GPUs", "problem: the driver shows no GPU", "rocminfo", without("sys/class/kfd/kfd/topology/nodes/"), nil},
		{"named folder", "rocprofiler", "ok: /home/other/librocprofiler-sdk.so.0 (TRITON_ROCPROFILER_SDK_LIB_PATH, version 0)", "", instinct, map[string]string{"TRITON_ROCPROFILER_SDK_LIB_PATH": "/home/other"}},
		{"old ROCm", "rocprofiler", "note: there is no librocprofiler-sdk", "", without("opt/rocm/lib"), nil},
		{"new ROCm", "roctracer", "note: there is no libroctracer64; rocprofiler does not need it", "", without("usr/lib"), nil},
		{"no library", "rocprofiler", "problem: there is neither librocprofiler-sdk nor libroctracer64", "install rocprofiler-sdk", map[string]string{"dev/kfd": ""}, nil},
		{"hidden as on CUDA", "visible", "warning: HIP_VISIBLE_DEVICES=1: goproton.start refuses", "ROCR_VISIBLE_DEVICES", instinct, map[string]string{"HIP_VISIBLE_DEVICES": "1"}},
		{"hidden", "visible", "note: ROCR_VISIBLE_DEVICES=0 hides the other GPUs", "", instinct, map[string]string{"ROCR_VISIBLE_DEVICES": "0"}},
		{"rocprofv3", "other tools", "warning: ROCP_TOOL_LIBRARIES=/x.so loads another tool into programs", "unset it", instinct, map[string]string{"ROCP_TOOL_LIBRARIES": "/x.so"}},
		{"rocprof", "other tools", "warning: HSA_TOOLS_LIB=/x.so", "unset it", instinct, map[string]string{"HSA_TOOLS_LIB": "/x.so"}},
		{"register names a library", "other tools", "warning: ROCPROFILER_REGISTER_LIBRARY=/x.so", "unset it", instinct, map[string]string{"ROCPROFILER_REGISTER_LIBRARY": "/x.so"}},
		{"register is off", "other tools", "problem: ROCPROFILER_REGISTER_ENABLED=0", "--backend roctracer", instinct, map[string]string{"ROCPROFILER_REGISTER_ENABLED": "0"}},
		{"preloaded", "other tools", "warning: LD_PRELOAD=/opt/rocm/lib/librocprofiler-sdk-tool.so loads another tool", "outside", instinct, map[string]string{"LD_PRELOAD": "/opt/rocm/lib/librocprofiler-sdk-tool.so"}},
	} {
		r := machine(t, c.env, c.files)
		if got := r.finding(c.finding); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s is\ngot  %s\nwant %s", c.what, c.finding, got, c.want)
		}
		for _, f := range r.Findings {
			if f.Name == c.finding && !strings.Contains(f.Fix, c.fix) {
				t.Errorf("%s: the fix is %q, want %q", c.what, f.Fix, c.fix)
			}
		}
	}
}

// TestClosedDevices: devices that cannot be opened. They are folders, because a file can be opened by root.
func TestClosedDevices(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"dev/kfd", "dev/dri/renderD128", "dev/dri/renderD129"} {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := Examine(Machine{Root: root})
	for name, want := range map[string]string{"amdgpu": "problem: /dev/kfd cannot be opened", "render": "problem: /dev/dri/renderD128, /dev/dri/renderD129 cannot be opened"} {
		if got := r.finding(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if err := os.Remove(filepath.Join(root, "dev/dri/renderD129")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "dev/dri/renderD129"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Examine(Machine{Root: root}).finding("render"); got != "warning: /dev/dri/renderD128 cannot be opened, so these GPUs are not visible" {
		t.Errorf("one device is closed: %s", got)
	}
}

func TestROCmReport(t *testing.T) {
	r := machine(t, nil, instinct)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"driver":"6.10.5"`, `"version":"7.0.2-56"`, `"backend":"rocprofiler"`, `"name":"AMD gfx942","arch":"gfx942","sms":304`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %s:\n%s", want, text)
		}
	}
	var out strings.Builder
	if err := r.WriteText(&out, 0); err != nil || !strings.Contains(out.String(), "\nlibraries of ROCm, in the order of the search:\n* system             /opt/rocm/lib/librocprofiler-sdk.so.1 (1)\n* system             /usr/lib/x86_64-linux-gnu/libroctracer64.so.4 (4)\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if text, _ := json.Marshal(machine(t, nil, map[string]string{"dev/nvidiactl": ""})); strings.Contains(string(text), "rocm") {
		t.Errorf("a machine with NVIDIA's driver has a part for ROCm: %s", text)
	}
}

func TestNamesOfArchitectures(t *testing.T) {
	for version, want := range map[int]string{90402: "gfx942", 90010: "gfx90a", 90008: "gfx908", 110000: "gfx1100", 110501: "gfx1151", 120001: "gfx1201", 90500: "gfx950"} {
		if got := gfxName(version); got != want {
			t.Errorf("%d is %s, want %s", version, got, want)
		}
	}
}
