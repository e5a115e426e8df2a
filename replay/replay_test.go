package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// The tests of the whole pipeline: programs of the fake driver (replay/fakecuda/program.c) under the real
// libproton.so. They use what "make build" leaves in build/.

func built(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.Abs("../build")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "libproton.so", "proton-replay", "stub/fake-program") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("needs build/%s: run make build", name)
		}
	}
	return dir
}

// run is one profiled process.
type run struct {
	status struct {
		Kernels, Lost, Unattributed int64
		Problems                    []string
		Finished                    bool
	}
	tree string // one line for each path with kernels: "count path"
}

// profiled runs a command with the runtime in it and returns what it recorded.
func profiled(t *testing.T, graph string, env []string, path string, args ...string) run {
	t.Helper()
	dir := t.TempDir()
	config, _ := json.Marshal(map[string]string{"name": dir + "/out", "context": "shadow", "status": dir, "graph": graph})
	cmd := exec.Command(path, args...)
	// With sanitizers and other work on the machine, half a minute may pass between two buffers.
	cmd.Env = append(append(os.Environ(), "PROTON_RUN_CONFIG="+string(config), "PROTON_EXIT_PATIENCE=600"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var r run
	text, err := os.ReadFile(fmt.Sprintf("%s/%d.json", dir, cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r.status); err != nil {
		t.Fatal(err)
	}
	p, err := formats.ReadFile(dir + "/out.hatchet")
	if errors.Is(err, fs.ErrNotExist) { // nothing was recorded
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, child := range p.Root.Children {
		lines = append(lines, counts(child, "")...)
	}
	sort.Strings(lines)
	r.tree = strings.Join(lines, "\n")
	return r
}

func counts(n *profile.Node, above string) (lines []string) {
	path := above + n.Name
	for _, m := range n.Metrics {
		if m.Name == "count" {
			lines = append(lines, fmt.Sprintf("%s: %d", path, m.Value.Int()))
		}
	}
	for _, child := range n.Children {
		lines = append(lines, counts(child, path+" > ")...)
	}
	return lines
}

// fakeProgram profiles the program of the fake driver under one of the fake libcuptis.
func fakeProgram(t *testing.T, graph, libcupti string, env []string, args ...string) run {
	t.Helper()
	build := built(t)
	env = append(env, "PROTON_CUPTI_PATH="+filepath.Join(build, "stub", libcupti), "CUDA_INJECTION64_PATH="+filepath.Join(build, "libproton.so"))
	return profiled(t, graph, env, filepath.Join(build, "stub/fake-program"), args...)
}

const programTree = `<captured_at> > delta: 4
<captured_at> > gamma: 8
alpha: 11
beta: 20
epsilon: 1`

func TestRecordAndReplay(t *testing.T) {
	for _, libcupti := range []string{"libcupti.so", "cupti-12/libcupti.so", "cupti-11/libcupti.so"} {
		t.Run(filepath.Dir(libcupti), func(t *testing.T) {
			build, file := built(t), filepath.Join(t.TempDir(), "fake.capture.gz")
			recorded := fakeProgram(t, "node", libcupti, []string{"PROTON_RECORD=" + file})
			if recorded.tree != programTree || recorded.status.Kernels != 44 {
				t.Errorf("recorded %d kernels:\n%s\nwant 44:\n%s", recorded.status.Kernels, recorded.tree, programTree)
			}
			r, err := Prepare(file, Parts{Host: build + "/proton-replay", Library: build + "/libproton.so", Stub: build + "/stub"})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if want := "replaying a synthetic recording of "; r.Name != "fake" || !strings.HasPrefix(r.Describe(), want) {
				t.Errorf("it is called %q and described as %q, want fake and %s…", r.Name, r.Describe(), want)
			}
			replayed := profiled(t, "node", r.Env, r.Path, r.Args[1:]...)
			if replayed.tree != recorded.tree || replayed.status.Kernels != 44 || replayed.status.Lost != 0 {
				t.Errorf("replayed %+v:\n%s\nwant\n%s", replayed.status, replayed.tree, recorded.tree)
			}
		})
	}
}

// TestRecordingOfAChild: a process below one that records does not write over its parent's file.
func TestRecordingOfAChild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capture.gz")
	fakeProgram(t, "node", "libcupti.so", []string{"PROTON_RECORD=" + file, "PROTON_RECORD_OWNER=1"})
	found, err := filepath.Glob(file + "*")
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0], file+".pid") {
		t.Fatalf("it wrote %q (%v), want one file %s.pid<P>", found, err, file)
	}
	if c, err := Open(found[0]); err != nil || !c.Whole || len(c.Machine.Devices) != 1 {
		t.Errorf("%s: %+v, %v, want a whole capture of one device", found[0], c, err)
	}
}

// TestReplayLeavesNothing: the unpacked capture goes with Close.
func TestReplayLeavesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.capture")
	if err := os.WriteFile(file, []byte("PROTNCAP\x01"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Prepare(file, Parts{Host: "h", Library: "l", Stub: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Args[1]); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(r.Args[1])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", filepath.Dir(r.Args[1]), err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte("not a capture"), 0o666); err != nil {
		t.Fatal(err)
	}
	all := Parts{Host: "h", Library: "l", Stub: "s"}
	for _, c := range []struct {
		path  string
		parts Parts
		is    error
		says  string
	}{
		{notes, Parts{}, nil, "run make build"},
		{notes, all, ErrNotCapture, "PROTON_RECORD=FILE"},
		{notes + ".gone", all, fs.ErrNotExist, "no such file"},
	} {
		_, err := Prepare(c.path, c.parts)
		if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("Prepare(%s): %v, want %q", c.path, err, c.says)
		}
	}
}

// TestLosses: what cannot be attributed or was lost is reported, and the totals stay right.
func TestLosses(t *testing.T) {
	t.Run("unknown graph", func(t *testing.T) {
		r := fakeProgram(t, "node", "libcupti.so", nil, "10", "unknown-graph")
		want := "<unattributed> > orphan: 1\n<unattributed> > unknown: 2\n"
		if !strings.Contains(r.tree+"\n", want) || r.status.Kernels != 47 || r.status.Unattributed != 3 {
			t.Errorf("%+v\n%s\nwant 47 kernels, 3 of them unattributed:\n%s", r.status, r.tree, want)
		}
	})
	t.Run("dropped by CUPTI", func(t *testing.T) {
		if r := fakeProgram(t, "node", "libcupti.so", nil, "10", "lost"); r.status.Lost != 5 || r.status.Kernels != 44 {
			t.Errorf("%+v, want 44 kernels and 5 lost", r.status)
		}
	})
	t.Run("ring overflow", ringOverflow)
}

// ringOverflow launches faster than Go drains. A launch whose record found no room leaves its kernel unattributed, one for
// one, and no kernel is missing from the profile. Status.Lost counts records of any kind, so the graph's records, of
// which few can get lost, are what it may exceed the launches by.
func ringOverflow(t *testing.T) {
	const launches = 100000 // on each of four threads, and then on three
	r := fakeProgram(t, "node", "libcupti.so", nil, fmt.Sprint(launches), "overflow")
	all, unattributed := r.kernels()
	for name, want := range map[string]int64{
		"synthetic_kernel": 4 * launches, "alpha": launches + 1, "beta": 2 * launches, "epsilon": 1, "gamma": 8, "delta": 4,
	} {
		if all[name] != want {
			t.Errorf("%d kernels %s, want %d", all[name], name, want)
		}
	}
	if want := int64(7*launches + 14); r.status.Kernels != want {
		t.Errorf("%d kernels, want %d; problems %q", r.status.Kernels, want, r.status.Problems)
	}
	inGraph := unattributed["gamma"] + unattributed["delta"]
	launched := unattributed["synthetic_kernel"] + unattributed["alpha"] + unattributed["beta"] + unattributed["epsilon"]
	if r.status.Unattributed != launched+inGraph {
		t.Errorf("%d kernels unattributed, but the profile has %d", r.status.Unattributed, launched+inGraph)
	}
	// Three launches that are captured, three nodes created and three cloned, four launches of the graph, two destructions.
	const graphRecords = 3 + 3 + 3 + 4 + 2
	ofGraph := r.status.Lost - launched
	if launched == 0 || ofGraph < 0 || ofGraph > graphRecords || inGraph > 0 && ofGraph == 0 {
		t.Errorf("%d records lost: %d launches and %d of the graph, which has %d records and %d unattributed kernels; want launches lost, one for each of their unattributed kernels, and no other records",
			r.status.Lost, launched, ofGraph, graphRecords, inGraph)
	}
}

// kernels returns the launches of each kernel, and those of them that the profile has as unattributed.
func (r run) kernels() (all, unattributed map[string]int64) {
	all, unattributed = map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(r.tree) {
		path, count, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(count, 10, 64)
		frames := strings.Split(path, " > ")
		name := frames[len(frames)-1]
		all[name] += n
		if frames[0] == "<unattributed>" {
			unattributed[name] += n
		}
	}
	return all, unattributed
}

// TestRefusals: when CUPTI refuses, the program runs on and one sentence says why and what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ env, says string }{
		{"PROTON_STUB_HOLDER=torch.profiler", `"torch.profiler" holds CUPTI`},
		{"PROTON_STUB_RESULTS=Subscribe=39", "another profiler"},
		{"PROTON_STUB_RESULTS=Subscribe=15", "newer than the driver"},
		{"PROTON_STUB_RESULTS=ActivityEnable=35", "NVreg_RestrictProfilingToAdminUsers=0"},
		{"PROTON_STUB_RESULTS=ActivityRegisterCallbacks=7", "register activity buffers"},
		{"PROTON_STUB_RESULTS=EnableCallback=1", "enable launch callbacks"},
	} {
		r := fakeProgram(t, "node", "libcupti.so", []string{c.env})
		if problems := strings.Join(r.status.Problems, "\n"); r.status.Kernels != 0 || !r.status.Finished || !strings.Contains(problems, c.says) {
			t.Errorf("%s: %+v, want no kernels and %q", c.env, r.status, c.says)
		}
	}
}

// TestWholeGraphs: with --graph=graph a launch of a graph is one unit.
func TestWholeGraphs(t *testing.T) {
	r := fakeProgram(t, "graph", "libcupti.so", nil)
	if r.status.Kernels != 36 || strings.Contains(r.tree, "gamma") {
		t.Errorf("%+v\n%s\nwant 32 kernels and 4 graph launches", r.status, r.tree)
	}
}
