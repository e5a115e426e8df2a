package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// outline is a profile as a person would sketch it: indentation, a count, nanoseconds, the program's metrics.
func outline(p *profile.Profile) string {
	var out strings.Builder
	var walk func(n *profile.Node, depth int)
	walk = func(n *profile.Node, depth int) {
		fmt.Fprintf(&out, "%s%.90s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			if f, ok := m.Value.Float(); ok {
				fmt.Fprintf(&out, "  %s %v", m.Name, f)
			}
		}
		out.WriteByte('\n')
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(p.Root, 0)
	return out.String()
}

// play replays a capture through the built profiler and returns its profile.
func play(t *testing.T, capture, context string) *profile.Profile {
	t.Helper()
	p, _ := playMode(t, capture, context, "")
	return p
}

// playMode does it in a mode of the profiler, and also returns the problems that the profiler reported.
func playMode(t *testing.T, capture, context, mode string) (*profile.Profile, []string) {
	t.Helper()
	return playWith(t, capture, map[string]string{"context": context, "mode": mode, "replay": capture})
}

// playWith does it with keys of runinfo.Config.
func playWith(t *testing.T, capture string, asked map[string]string) (*profile.Profile, []string) {
	t.Helper()
	dir := built(t)
	r, err := Prepare(filepath.Join("../testdata/captures", capture+".capture.gz"),
		Parts{Host: dir + "/proton-replay", Library: dir + "/libproton.so", Stub: dir + "/stub"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tmp := t.TempDir()
	asked["name"], asked["status"], asked["backend"] = tmp+"/out", tmp, r.Machine.Backend
	config, _ := json.Marshal(asked)
	cmd := exec.Command(r.Path)
	cmd.Args = r.Args
	cmd.Env = append(append(os.Environ(), "PROTON_RUN_CONFIG="+string(config)), r.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := formats.ReadFile(tmp + "/out.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	return p, problemsIn(t, tmp)
}

// problemsIn reads the status files of a folder.
func problemsIn(t *testing.T, dir string) (problems []string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "[0-9]*.json"))
	for _, file := range files {
		var status struct{ Problems []string }
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &status)
		}
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, status.Problems...)
	}
	return problems
}

// TestRecordedRuns plays what an H200 did through the real profiler: callbacks, buffers, names, graphs.
// TestSyntheticCapturesSaySo: a recording that was made with a fake driver says so, and that of a GPU does not.
func TestSyntheticCapturesSaySo(t *testing.T) {
	files, _ := filepath.Glob("../testdata/captures/*.capture.gz")
	for _, file := range files {
		c, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Contains(file, "synthetic"); c.Machine.Synthetic != want {
			t.Errorf("%s: synthetic %t, want %t", file, c.Machine.Synthetic, want)
		}
	}
}

func TestRecordedRuns(t *testing.T) {
	for _, c := range []struct{ capture, context string }{
		{"vecadd", "shadow"}, {"matmul", "shadow"}, {"cuda_graph", "shadow"}, {"cuda_graph", "python"},
		{"dynamic_net", "shadow"}, {"dynamic_net", "python"}, {"overlap", "shadow"}, {"mi300x_synthetic", "shadow"},
	} {
		t.Run(c.capture+"."+c.context, func(t *testing.T) {
			testkit.Golden(t, "testdata/"+c.capture+"."+c.context+".txt", outline(play(t, c.capture, c.context)))
		})
	}
}

// TestProblemsOfReplays: the reasons are those of the capture, and no message asks for the command that was given.
func TestProblemsOfReplays(t *testing.T) {
	for _, c := range []struct{ capture, mode, graph, says string }{
		{"cuda_graph", "", "graph", "graphs have the times that were recorded: --graph graph has no effect on a replay"},
		{"hotline", "pcsampling", "", "4 samples fell in modules that the capture does not hold: their source lines are not known"},
		{"hotline", "pcsampling:kernels=nomatch", "", "kernels= matches no sampled kernel: the 41,883 samples taken are of others; give names of kernels, such as 'matmul_*'"},
	} {
		p, problems := playWith(t, c.capture, map[string]string{"mode": c.mode, "graph": c.graph, "replay": c.capture + ".capture.gz"})
		if got := strings.Join(problems, "\n"); got != c.says {
			t.Errorf("%s, mode %q, graph %q:\n%s\nwant:\n%s", c.capture, c.mode, c.graph, got, c.says)
		}
		if got := p.Info[profile.InfoReplay]; got != c.capture+".capture.gz" {
			t.Errorf("%s: the profile calls its capture %q", c.capture, got)
		}
	}
}
