package doctor

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/testkit"
)

// machine lays out files below a root and examines it without probe and Python.
func machine(t *testing.T, env map[string]string, files map[string]string) Report {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		testkit.Write(t, filepath.Join(root, path), text)
	}
	return Examine(Machine{Root: root, Env: func(name string) string { return env[name] }})
}

func (r Report) finding(name string) string {
	for _, f := range r.Findings {
		if f.Name == name {
			return string(f.State) + ": " + f.Text
		}
	}
	return "none"
}

const closedModule = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 11.4.0\n"

func TestDriverOfFiles(t *testing.T) {
	cases := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"container without devices", map[string]string{"proc/driver/nvidia/version": closedModule},
			"problem: driver 535.183.01 is loaded, but there is no /dev/nvidiactl here"},
		{"not asked", map[string]string{"proc/driver/nvidia/version": closedModule, "dev/nvidiactl": ""},
			"warning: driver 535.183.01; libcuda was not examined: proton-probe is not next to the proton command"},
		{"WSL", map[string]string{"dev/dxg": ""},
			"warning: driver of unknown version; libcuda was not examined: proton-probe is not next to the proton command"},
	}
	for _, c := range cases {
		if got := machine(t, nil, c.files).finding("driver"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	r := machine(t, nil, map[string]string{"proc/driver/nvidia/version": closedModule, "dev/nvidiactl": ""})
	if r.Driver.CUDAVersion != 12020 || !r.Driver.Guessed {
		t.Errorf("CUDA version of driver 535: %+v, want 12020, guessed", r.Driver)
	}
}

func TestSampling(t *testing.T) {
	const status = "Name:\tx\nCapEff:\t"
	driver := map[string]string{"proc/driver/nvidia/version": closedModule, "dev/nvidiactl": ""}
	cases := []struct{ name, caps, params, want string }{
		{"administrator", "000001ffffffffff", "RmProfilingAdminOnly: 1\n", "ok: allowed: this process has CAP_SYS_ADMIN"},
		{"everybody", "0000000000000000", "RmProfilingAdminOnly: 0\n", "ok: allowed for every user (RmProfilingAdminOnly: 0)"},
		{"refused", "00000000a80425fb", "RmProfilingAdminOnly: 1\n", "warning: performance counters and PC sampling are for administrators only"},
		{"hidden", "00000000a80425fb", "", "note: not known: the driver's parameters are not visible here"},
	}
	for _, c := range cases {
		files := map[string]string{"proc/self/status": status + c.caps + "\n"}
		for path, text := range driver {
			files[path] = text
		}
		if c.params != "" {
			files["proc/driver/nvidia/params"] = c.params
		}
		if got := machine(t, nil, files).finding("sampling"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestCounters: the library has to have its host part, and other readers of the counters are named.
func TestCounters(t *testing.T) {
	const library = "usr/local/cuda/lib64/libcupti.so.13"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"without the host part", nil, "warning: hardware counters need libnvperf_host.so next to "},
		{"with it", map[string]string{"usr/local/cuda/lib64/libnvperf_host.so": ""}, "ok: proton run --mode counters can measure them"},
		{"DCGM", map[string]string{"usr/local/cuda/lib64/libnvperf_host.so": "", "proc/77/comm": "nv-hostengine\n", "proc/78/comm": "bash\n"},
			"note: nv-hostengine runs here and may use the hardware counters"},
	} {
		files := map[string]string{"proc/driver/nvidia/version": closedModule, "dev/nvidiactl": "", "proc/driver/nvidia/params": "RmProfilingAdminOnly: 0\n", library: ""}
		maps.Copy(files, c.files)
		if got := machine(t, map[string]string{"PROTON_CUPTI_PATH": "/" + library}, files).finding("counters"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"NSYS_PROFILING_SESSION_ID", "77", "Nsight Systems (NSYS_PROFILING_SESSION_ID)"},
		{"LD_PRELOAD", "/opt/nsys/libToolsInjectionProxy64.so", "Nsight Systems (LD_PRELOAD)"},
		{"CUDA_INJECTION64_PATH", "/opt/x.so", "/opt/x.so (CUDA_INJECTION64_PATH)"},
		{"CUDA_INJECTION64_PATH", "/opt/libproton.so", ""},
		{"KINETO_USE_DAEMON", "0", ""},
	} {
		got := machine(t, map[string]string{c.variable: c.value}, map[string]string{"dev/nvidiactl": ""}).finding("subscriber")
		if c.want == "" && !strings.HasPrefix(got, "ok: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s=%s: got %s", c.variable, c.value, got)
		}
	}
}

func TestSmallFacts(t *testing.T) {
	for version, want := range map[string]int{"580.95.05": 13000, "570.10": 12080, "470.1": 11040, "450.2": 11000, "390.1": 0, "": 0} {
		if got := cudaOfDriver(version); got != want {
			t.Errorf("cudaOfDriver(%q): got %d, want %d", version, got, want)
		}
	}
	for version, want := range map[string]bool{"3.8.18": false, "3.9.1": true, "3.14.0rc1": true, "3.15.0": false, "2.7.18": false, "": false} {
		if got := supportedPython(version); got != want {
			t.Errorf("supportedPython(%q): got %v", version, got)
		}
	}
	gpus := []GPU{{Name: "A", Arch: "90", SMs: 132}, {Name: "B"}, {Name: "A", Arch: "90", SMs: 132}}
	if got, want := gpuText(gpus), "2 × A (sm_90, 132 SMs), 1 × B"; got != want {
		t.Errorf("gpuText: got %s, want %s", got, want)
	}
}

// TestSecondVendor: a vendor adds its checks as an entry of the list, and only vendors whose driver shows are examined.
func TestSecondVendor(t *testing.T) {
	before := all
	t.Cleanup(func() { all = before })
	all = append(all[:1:1], checks{
		Vendor:    &vendors.Vendor{Name: "Other", Driver: []string{"dev/other"}},
		container: "--device=/dev/other",
		driver:    []func(*Report, Machine){func(r *Report, _ Machine) { r.found("other driver", OK, "1.0", "") }},
		collector: []func(*Report, Machine){func(r *Report, _ Machine) { r.found("other library", OK, "2.0", "") }},
		text:      func(_ *Report, out *strings.Builder) { out.WriteString("\nother libraries\n") },
	})
	for _, c := range []struct {
		file, want string
	}{
		{"dev/other", "other driver, Python, other library, runtime"},
		{"proc/driver/nvidia/version", "driver, Python, libcupti, subscriber, runtime"},
		{"etc/none", "GPUs, Python, runtime"}, // where no driver shows, no vendor says what it lacks
	} {
		r := machine(t, nil, map[string]string{c.file: ""})
		var names []string
		for _, f := range r.Findings {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("with %s: got %s, want %s", c.file, got, c.want)
		}
		if fix := r.Findings[0].Fix; c.file == "etc/none" && !strings.HasSuffix(fix, "start it with --gpus all for NVIDIA, or --device=/dev/other for Other") {
			t.Errorf("the fix is %s", fix)
		}
		var text strings.Builder
		if err := r.WriteText(&text, 60); err != nil || strings.Contains(text.String(), "proton interpret") != (c.file == "etc/none") || !strings.Contains(text.String(), "\nother libraries\n") {
			t.Errorf("with %s: %v, %s", c.file, err, text.String())
		}
		for line := range strings.Lines(text.String()) {
			if utf8.RuneCountInString(line) > 61 {
				t.Errorf("with %s: more than 60 columns: %s", c.file, line)
			}
		}
	}
}
