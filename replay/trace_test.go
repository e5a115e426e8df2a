package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
)

// traceEvent is one of a trace file's.
type traceEvent struct {
	Ph, Cat, Name string
	Tid           int
	Ts, Dur       float64
	ID            int
	Args          struct {
		Name        string
		CallStack   []string `json:"call_stack"`
		Correlation uint32
		Bytes       int64
		Overlap     int // the thread of the lane whose slices would overlap if this thread had none of them
	}
}

// playTrace replays a capture into a trace and returns its events.
func playTrace(t *testing.T, path, context string) []traceEvent {
	t.Helper()
	dir := built(t)
	r, err := Prepare(path, Parts{Host: dir + "/proton-replay", Library: dir + "/libproton.so", Stub: dir + "/stub"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tmp := t.TempDir()
	config, _ := json.Marshal(map[string]string{"name": tmp + "/out", "context": context, "data": "trace", "status": tmp, "backend": r.Machine.Backend})
	cmd := exec.Command(r.Path)
	cmd.Args = r.Args
	cmd.Env = append(append(os.Environ(), "PROTON_RUN_CONFIG="+string(config)), r.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(tmp + "/out.chrome_trace")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.TraceEvents
}

// traceOutline is a trace as text: on each lane of a thread what follows what and what lies in what, on each stream how
// many of what ran; then how many arrows lead from where to where. Times are left out: those of threads are of the
// replaying host.
func traceOutline(events []traceEvent) string {
	name, slices := map[int]string{}, map[int][]traceEvent{}
	from, arrows := map[int]string{}, map[string]int{}
	lane := map[int]int{} // of further threads of a lane: whether slices overlap depends on how fast the run was
	var ids []int
	for _, e := range events {
		if of, further := lane[e.Tid]; further {
			e.Tid = of
		}
		switch {
		case e.Name == "thread_name" && e.Args.Overlap != 0:
			lane[e.Tid] = e.Args.Overlap
		case e.Name == "thread_name":
			name[e.Tid] = e.Args.Name
			ids = append(ids, e.Tid)
		case e.Ph == "X":
			slices[e.Tid] = append(slices[e.Tid], e)
		case e.Ph == "s":
			from[e.ID] = name[e.Tid]
		case e.Ph == "f":
			arrows[from[e.ID]+" to "+name[e.Tid]]++
		}
	}
	sort.Ints(ids)
	var out strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&out, "%s\n", name[id])
		if strings.HasPrefix(name[id], "GPU") {
			out.WriteString(byPath(slices[id]))
		} else {
			out.WriteString(nest(slices[id]).text("  "))
		}
	}
	var lines []string
	for way, n := range arrows {
		lines = append(lines, fmt.Sprintf("%d arrows from %s\n", n, way))
	}
	sort.Strings(lines)
	return out.String() + strings.Join(lines, "")
}

// slice is a slice with those that lie in it.
type slice struct {
	line   string
	end    float64
	inside []*slice
}

// nest builds the slices of a lane as they lie in each other.
func nest(list []traceEvent) *slice {
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].Ts < list[j].Ts || list[i].Ts == list[j].Ts && list[i].Dur > list[j].Dur
	})
	open := []*slice{{}}
	for _, e := range list {
		for len(open) > 1 && open[len(open)-1].end <= e.Ts && e.Dur > 0 {
			open = open[:len(open)-1]
		}
		s := &slice{line: e.Name, end: e.Ts + e.Dur}
		around := open[len(open)-1]
		around.inside = append(around.inside, s)
		open = append(open, s)
	}
	return open[0]
}

// text is what lies in a slice; equal ones in a row are one with their number.
func (s *slice) text(indent string) string {
	var out strings.Builder
	for i := 0; i < len(s.inside); {
		first, below, n := s.inside[i].line, s.inside[i].text(indent+"  "), 1
		for i+n < len(s.inside) && s.inside[i+n].line == first && s.inside[i+n].text(indent+"  ") == below {
			n++
		}
		out.WriteString(indent + first)
		if n > 1 {
			fmt.Fprintf(&out, " ×%d", n)
		}
		out.WriteString("\n" + below)
		i += n
	}
	return out.String()
}

// byPath counts what ran on a stream by call path, in order of the first.
func byPath(list []traceEvent) string {
	count := map[string]int{}
	var paths []string
	sort.SliceStable(list, func(i, j int) bool { return list[i].Ts < list[j].Ts })
	for _, e := range list {
		path := strings.Join(e.Args.CallStack, " > ")
		if count[path]++; count[path] == 1 {
			paths = append(paths, path)
		}
	}
	var out strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&out, "  %d %s\n", count[path], path)
	}
	return out.String()
}

// TestRecordedTraces plays what an H200 did as a trace. Beyond the outline: what was launched starts after its
// launch, also in a replay.
func TestRecordedTraces(t *testing.T) {
	for _, c := range []struct{ capture, context string }{
		{"vecadd", "shadow"}, {"cuda_graph", "shadow"}, {"cuda_graph", "python"}, {"overlap", "shadow"}, {"mi300x_synthetic", "shadow"},
	} {
		t.Run(c.capture+"."+c.context, func(t *testing.T) {
			events := playTrace(t, filepath.Join("../testdata/captures", c.capture+".capture.gz"), c.context)
			launched := map[uint32]float64{}
			for _, e := range events {
				if e.Cat == "launch" {
					launched[e.Args.Correlation] = e.Ts
				}
			}
			for _, e := range events {
				if at, ok := launched[e.Args.Correlation]; e.Cat == "kernel" && (!ok || e.Ts < at || e.Dur <= 0) {
					t.Errorf("kernel %s starts at %f for %f, its launch at %f (%v)", e.Name, e.Ts, e.Dur, at, ok)
				}
			}
			testkit.Golden(t, "testdata/"+c.capture+"."+c.context+".trace.txt", traceOutline(events))
		})
	}
}

// TestCopiesAreRecordedAndReplayed: copies, fills and waits, as each version of the library writes them, in a tree that
// asks for them, in a capture, and in the trace that is made of it.
func TestCopiesAreRecordedAndReplayed(t *testing.T) {
	for _, libcupti := range []string{"libcupti.so", "cupti-12/libcupti.so", "cupti-11/libcupti.so"} {
		t.Run(filepath.Dir(libcupti), func(t *testing.T) {
			build, dir := built(t), t.TempDir()
			config, _ := json.Marshal(map[string]string{"name": dir + "/out", "status": dir, "activities": "memcpy,memset,sync"})
			cmd := exec.Command(filepath.Join(build, "stub/fake-program"), "2", "copies")
			cmd.Env = append(os.Environ(), "PROTON_RUN_CONFIG="+string(config), "PROTON_RECORD="+dir+"/copies.capture.gz",
				"PROTON_CUPTI_PATH="+filepath.Join(build, "stub", libcupti), "CUDA_INJECTION64_PATH="+filepath.Join(build, "libproton.so"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			p, err := formats.ReadFile(dir + "/out.hatchet")
			if err != nil {
				t.Fatal(err)
			}
			for frame, want := range map[string]string{
				"alpha": "count=3", "<memcpy HtoD>": "count=2 bytes=8192", "<memset>": "count=1 bytes=100",
				"<memcpy DtoH>": "count=1 bytes=1000", "<sync stream>": "sync_count=1",
			} {
				n := p.Root.Child(frame)
				if n == nil {
					t.Errorf("there is no %s", frame)
					continue
				}
				var got []string
				for _, name := range []string{"count", "bytes", "sync_count"} {
					if v, ok := n.Metric(name); ok {
						got = append(got, fmt.Sprintf("%s=%d", name, v.Int()))
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s has %s, want %s", frame, got, want)
				}
			}
			got := traceOutline(playTrace(t, dir+"/copies.capture.gz", "shadow"))
			for _, want := range []string{
				"  cuLaunchKernel ×2\n  cuMemcpyHtoDAsync_v2 ×2\n  cuMemsetD8Async\n  cuMemcpyDtoHAsync_v2\n  cuStreamSynchronize\n",
				"  2 ROOT > <memcpy HtoD>\n  1 ROOT > <memset>\n  1 ROOT > <memcpy DtoH>\n",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("the trace has not\n%sbut\n%s", want, got)
				}
			}
		})
	}
}
