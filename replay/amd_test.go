package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
)

// amdProviders are the two libraries of AMD, and both layouts of the newer one.
var amdProviders = []struct{ backend, folder, versions string }{
	{"roctracer", "hip", "roctracer 4.1, HIP 6.3"},
	{"rocprofiler", "hip", "rocprofiler-sdk 1.2.1, HIP 6.3"},
	{"rocprofiler", "hip-6.4", "rocprofiler-sdk 0.6.0, HIP 6.3"},
}

// onHIP runs a command with the profiler in it. It returns the profile's file and the problems.
func onHIP(t *testing.T, backend, data string, env []string, path string, args ...string) (file string, problems []string) {
	t.Helper()
	return onHIPWith(t, map[string]string{"backend": backend, "data": data, "activities": "memcpy,memset,sync"}, env, path, args...)
}

func onHIPWith(t *testing.T, asked map[string]string, env []string, path string, args ...string) (file string, problems []string) {
	t.Helper()
	dir := t.TempDir()
	asked["name"], asked["status"] = dir+"/out", dir
	config, _ := json.Marshal(asked)
	cmd := exec.Command(path, args...)
	cmd.Env = append(append(os.Environ(), "PROTON_RUN_CONFIG="+string(config)), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	suffix := map[string]string{"": "/out.hatchet", "tree": "/out.hatchet", "trace": "/out.chrome_trace"}
	return dir + suffix[asked["data"]], problemsIn(t, dir)
}

// outlineOf is a profile or a trace as text, without what differs between a run and its replay: how long the host waited.
func outlineOf(t *testing.T, file string) string {
	t.Helper()
	if strings.HasSuffix(file, ".hatchet") {
		p, err := formats.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(sync_\w+ \(ns\)) [\d.e+]+`).ReplaceAllString(outline(p), "$1")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	// Threads and streams are numbered as they are seen, which differs where threads race. The launches of a thread have no arrows if
	// it has ended before their records come, which it does not in a replay.
	outline := regexp.MustCompile(`(?m)^\d+ arrows from CPU .*\n?`).ReplaceAllString(traceOutline(read.TraceEvents), "")
	lines := strings.Split(regexp.MustCompile(`(Thread|Stream) \d+`).ReplaceAllString(outline, "$1"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// recordHIP records a program of the fake HIP, and returns the capture and the outline of the run's own profile.
func recordHIP(t *testing.T, backend, folder, data, program string, more ...string) (file, live string) {
	t.Helper()
	stub := filepath.Join(built(t, "stub/hip/fake-training"), "stub")
	file = filepath.Join(t.TempDir(), "amd.capture.gz")
	env := append([]string{"PROTON_RECORD=" + file, "PROTON_LIB=" + stub + "/../libproton.so", "TRITON_ROCTRACER_LIB_PATH=" + stub + "/hip",
		"TRITON_ROCPROFILER_SDK_LIB_PATH=" + filepath.Join(stub, folder)}, more...)
	profile, problems := onHIP(t, backend, data, env, filepath.Join(stub, "hip", program), "2")
	if len(problems) > 0 {
		t.Fatalf("the recorded run has problems: %q", problems)
	}
	return file, outlineOf(t, profile)
}

func prepared(t *testing.T, file string) *Replay {
	t.Helper()
	build := built(t)
	r, err := Prepare(file, Parts{Host: build + "/proton-replay", Library: build + "/libproton.so", Stub: build + "/stub"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestAMDIsRecordedAndReplayed: the replay of a run gives the tree and the trace of the run.
func TestAMDIsRecordedAndReplayed(t *testing.T) {
	for _, c := range amdProviders {
		for _, data := range []string{"tree", "trace"} {
			for _, program := range []string{"fake-training", "fake-program"} {
				t.Run(c.backend+"."+c.folder+"."+data+"."+program, func(t *testing.T) {
					file, live := recordHIP(t, c.backend, c.folder, data, program)
					if program == "fake-training" && (!strings.Contains(live, "load batch") || !strings.Contains(live, "update")) {
						t.Errorf("the ranges of both libraries are missing:\n%s", live)
					}
					r := prepared(t, file)
					if want := "(" + c.versions + "): a fake driver called itself AMD Instinct MI300X, and no GPU was measured"; !strings.HasSuffix(r.Describe(), want) {
						t.Errorf("it is described as %q, want …%s", r.Describe(), want)
					}
					profile, problems := onHIP(t, c.backend, data, r.Env, r.Path, r.Args[1:]...)
					if got := outlineOf(t, profile); got != live {
						t.Errorf("the replay differs:\n%s", testkit.FirstDifference(live, got))
					}
					if len(problems) > 0 {
						t.Errorf("the replay has problems: %q", problems)
					}
				})
			}
		}
	}
}

// TestAMDSamplesAreRecordedAndReplayed: the replay of a sampled run gives the samples of the run, and its problems.
func TestAMDSamplesAreRecordedAndReplayed(t *testing.T) {
	objects := filepath.Join(testkit.Root(t), "testdata/captures/mi300x")
	const places = "matmul_kernel 0x1e00:0:7 0x1e00:7:2 0x1e10:2:1 softmax_kernel 0x1900:3:5 add 0x1700:5:1"
	for _, c := range []struct{ name, script, mode string }{
		{"stochastic", "sampling stochastic host_trap\nsamples " + places, "pcsampling"},
		{"host trap", "sampling stochastic host_trap\nsamples " + places, "pcsampling:method=host_trap"},
		{"eager", "sampling stochastic\neager\nsamples " + places, "pcsampling:interval=65536"},
		{"incomplete", "sampling stochastic\nsamples " + places + " softmax_kernel 0x1900:code:3 0x1900:error:4", "pcsampling"},
		{"refused", "samples " + places, "pcsampling"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stub := filepath.Join(built(t, "stub/hip/fake-training"), "stub")
			file := filepath.Join(t.TempDir(), "amd.capture.gz")
			env := []string{"PROTON_RECORD=" + file, "PROTON_LIB=" + stub + "/../libproton.so", "TRITON_ROCPROFILER_SDK_LIB_PATH=" + stub + "/hip",
				"PROTON_STUB_SCRIPT=" + c.script}
			config := map[string]string{"backend": "rocprofiler", "mode": c.mode, "activities": "memcpy"}
			live, said := onHIPWith(t, config, env, filepath.Join(stub, "hip/fake-training"), "2", objects)
			r := prepared(t, file)
			if r.Sampled != (c.name != "refused") {
				t.Errorf("the capture has samples: %t", r.Sampled)
			}
			config["mode"] = "pcsampling"
			replayed, saidAgain := onHIPWith(t, config, r.Env, r.Path, r.Args[1:]...)
			if want, got := sampledOutlineOf(t, live), sampledOutlineOf(t, replayed); got != want {
				t.Errorf("the replay differs:\n%s", testkit.FirstDifference(want, got))
			}
			if !slices.Equal(said, saidAgain) {
				t.Errorf("the problems are %q, of the replay %q", said, saidAgain)
			}
		})
	}
}

// sampledOutlineOf has times and samples of a profile, and the images that are kept next to it.
func sampledOutlineOf(t *testing.T, file string) string {
	p, err := formats.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := outline(p) + sampled(p)
	images, _ := filepath.Glob(filepath.Dir(file) + "/*/*")
	if len(images) == 0 && strings.Contains(text, "num_samples") {
		t.Errorf("no images are kept next to %s", file)
	}
	for _, image := range images {
		text += filepath.Base(image) + "\n"
	}
	return text
}

// TestAMDCountersAreRecordedAndReplayed: the replay of a measured run gives the values of the run, with the same launches for each group of metrics.
func TestAMDCountersAreRecordedAndReplayed(t *testing.T) {
	for _, mode := range []string{"counters:set=memory", "counters:set=roofline+compute:first=2", "counters:set=memory:kernels=add"} {
		t.Run(mode, func(t *testing.T) {
			stub := filepath.Join(built(t, "stub/hip/fake-training"), "stub")
			file := filepath.Join(t.TempDir(), "amd.capture.gz")
			env := []string{"PROTON_RECORD=" + file, "PROTON_LIB=" + stub + "/../libproton.so", "TRITON_ROCPROFILER_SDK_LIB_PATH=" + stub + "/hip"}
			config := map[string]string{"backend": "rocprofiler", "mode": mode, "activities": "memcpy"}
			live, said := onHIPWith(t, config, env, filepath.Join(stub, "hip/fake-training"), "12")
			r := prepared(t, file)
			if !r.Counted {
				t.Error("the capture does not say that launches were measured")
			}
			replayed, saidAgain := onHIPWith(t, config, r.Env, r.Path, r.Args[1:]...)
			want, got := outlineOf(t, live), outlineOf(t, replayed)
			if got != want {
				t.Errorf("the replay differs:\n%s", testkit.FirstDifference(want, got))
			}
			if !strings.Contains(want, "counted_launches") || !strings.Contains(want, "TCC_EA0_RDREQ") {
				t.Errorf("nothing was measured:\n%s", want)
			}
			if !slices.Equal(said, saidAgain) {
				t.Errorf("the problems are %q, of the replay %q", said, saidAgain)
			}
		})
	}
}

// TestAMDGPUsAreThoseOfTheRecording: two GPUs of which one is hidden, in a replay on a machine without variables.
func TestAMDGPUsAreThoseOfTheRecording(t *testing.T) {
	for _, c := range amdProviders {
		root := t.TempDir()
		for node, at := range []int{0, 0xc000, 0xc100} {
			dir := fmt.Sprintf("%s/sys/class/kfd/kfd/topology/nodes/%d", root, node+1)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(dir+"/properties", fmt.Appendf(nil, "simd_count %d\nlocation_id %d\ndomain 0\n", at&1216, at), 0o666)
		}
		file, _ := recordHIP(t, c.backend, c.folder, "tree", "fake-program", "PROTON_STUB_DEVICES=2", "PROTON_ROOT="+root, "ROCR_VISIBLE_DEVICES=1,0")
		read, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		m := read.Machine
		if len(m.Devices) != 2 || m.Devices[1].Arch != "gfx942:sramecc+:xnack-" || m.Devices[0].Memory != 192<<30 || m.Backend != c.backend {
			t.Errorf("%s: recorded machine %+v", c.versions, m)
		}
		r := prepared(t, file)
		if want := "2 × AMD Instinct MI300X"; !strings.Contains(r.Describe(), want) {
			t.Errorf("described as %q, want %s", r.Describe(), want)
		}
	}
}

// TestDamagedAMDCaptures: a capture that was cut off plays as far as it goes, and a damaged one may be refused.
func TestDamagedAMDCaptures(t *testing.T) {
	for _, c := range amdProviders {
		file, _ := recordHIP(t, c.backend, c.folder, "tree", "fake-training")
		r := prepared(t, file)
		plain, err := os.ReadFile(r.Args[1])
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(6) {
			bad := mutated(plain, seed)
			if seed%2 == 0 {
				bad = plain[:9+(len(plain)-9)*int(seed)/6]
			}
			o := playWithEnv(t, bad, map[string]string{"backend": c.backend}, r.Env...)
			if o.check(t); t.Failed() {
				t.Fatalf("%s, seed %d", c.versions, seed)
			}
			if seed%2 == 0 && seed > 0 && !strings.Contains(o.text, "the capture ends early") {
				t.Errorf("%s, cut to %d bytes: %s", c.versions, len(bad), o.text)
			}
		}
	}
}

func TestUnknownBackend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new.capture")
	text := events("PROTNCAP\x01").add(String, 1, []byte("teracl")).add(MachineOf, 1, numbers(1, 1, 0, 0, 0, 1))
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Prepare(file, Parts{Host: "h", Library: "l", Stub: "s"})
	if err == nil || !strings.Contains(err.Error(), `it is of backend "teracl", which this version does not know; update GoProton`) {
		t.Errorf("the error is %v", err)
	}
}
