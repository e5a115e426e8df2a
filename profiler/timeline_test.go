package profiler

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
)

// event is one of a timeline file's.
type event struct {
	Ph, Cat, Name string
	Pid, Tid      int
	Ts, Dur       float64
	ID            int
	Args          struct {
		Name      string
		CallStack []string `json:"call_stack"`
		Metrics   map[string]any
		Bytes     int64
	}
}

func readTrace(t *testing.T, path string) []event {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TraceEvents []event }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%s: %v\n%.2000s", path, err, text)
	}
	return file.TraceEvents
}

// lanes is a trace as text: its lanes, and on each the slices, indented as they nest; arrows last. A slice that
// reaches out of the one that it begins in is an error.
func lanes(t *testing.T, events []event) string {
	t.Helper()
	name := map[int]string{}
	slices := map[int][]event{}
	var ids []int
	var arrows []string
	for _, e := range events {
		switch {
		case e.Name == "thread_name":
			name[e.Tid] = e.Args.Name
			ids = append(ids, e.Tid)
		case e.Ph == "X":
			slices[e.Tid] = append(slices[e.Tid], e)
		case e.Ph == "s":
			arrows = append(arrows, fmt.Sprintf("arrow %d leaves %s\n", e.ID, name[e.Tid]))
		case e.Ph == "f":
			arrows = append(arrows, fmt.Sprintf("arrow %d reaches %s\n", e.ID, name[e.Tid]))
		}
	}
	sort.Ints(ids)
	var out strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&out, "%s\n", name[id])
		nested(t, &out, slices[id])
	}
	return out.String() + strings.Join(arrows, "")
}

func nested(t *testing.T, out *strings.Builder, list []event) {
	t.Helper()
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].Ts < list[j].Ts || list[i].Ts == list[j].Ts && list[i].Dur > list[j].Dur
	})
	var open []event
	for _, e := range list {
		for len(open) > 0 && open[len(open)-1].Ts+open[len(open)-1].Dur <= e.Ts+1e-6 && e.Dur > 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && e.Ts+e.Dur > open[len(open)-1].Ts+open[len(open)-1].Dur+1e-3 {
			t.Errorf("%s (%f for %f) reaches out of %s", e.Name, e.Ts, e.Dur, open[len(open)-1].Name)
		}
		open = append(open, e)
		fmt.Fprintf(out, "%s%s [%s]", strings.Repeat("  ", len(open)), e.Name, strings.Join(e.Args.CallStack, " "))
		if len(e.Args.Metrics) > 0 {
			fmt.Fprintf(out, " %v", e.Args.Metrics)
		}
		if e.Args.Bytes > 0 {
			fmt.Fprintf(out, " %d bytes", e.Args.Bytes)
		}
		out.WriteString("\n")
	}
}

// fakeNanos is how long everything takes on the fake GPU.
const fakeNanos = 100

// begins is when the GPU gets to what comes next: now, or once the last is over.
func (f *fakeSource) begins() uint64 {
	f.free = max(hotpath.Now(), f.free)
	f.free += fakeNanos
	return f.free - fakeNanos
}

// ran queues what the GPU did for a launch, from now on.
func (f *fakeSource) ran(corr uint64, kind record.Kind, name string, stream uint32) {
	now := f.begins() + uint64(f.ahead)
	f.ends(record.Activity{Kind: kind, Correlation: corr, Name: name, Start: now, End: now + fakeNanos, Stream: stream, Bytes: map[record.Kind]uint64{record.Memcpy: 4096}[kind]})
}

// call launches a kernel and returns from it.
func (f *fakeSource) call(corr uint64, name string) {
	hotpathtest.Launch(corr, 1)
	hotpathtest.Returned(corr, 307)
	f.ran(corr, record.Kernel, name, 7)
}

func finalize(t *testing.T, m *Manager, id int, format string) []string {
	t.Helper()
	files, err := m.Finalize(&id, format)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTraceShowsWhatHappened(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	outer := hotpathtest.Enter("outer")
	inner := hotpathtest.Enter("inner")
	hotpathtest.Int("tokens", 3)
	hotpathtest.Int("tokens", 4)
	f.call(1, "plain")
	hotpathtest.Leave(inner)
	hotpathtest.State("state")
	hotpathtest.Op("named", 5)
	hotpathtest.Float("flops", 2)
	hotpathtest.Launch(2, 5) // the op closes itself, and ends with the call
	hotpathtest.Returned(2, 307)
	f.ran(2, record.Kernel, "compiled_name", 8)
	hotpathtest.State("")
	hotpathtest.Work(3)
	hotpathtest.Returned(3, 277)
	f.ran(3, record.Memcpy, "<memcpy HtoD>", 7)
	hotpathtest.Work(4)
	hotpathtest.Returned(4, 126)
	f.ran(4, record.Sync, "<sync stream>", 7)
	f.ran(99, record.Kernel, "unknown", 7)
	hotpathtest.Enter("open at the end")
	files := finalize(t, m, id, "")
	hotpathtest.Leave(hotpathtest.Token{})
	hotpathtest.Leave(outer)
	if len(files) != 1 || !strings.HasSuffix(files[0], "p.chrome_trace") {
		t.Fatalf("wrote %q", files)
	}
	if text, _ := os.ReadFile(files[0]); !strings.Contains(string(text), `"arch":"90"`) || !strings.Contains(string(text), `"tokens":"inclusive"`) {
		t.Error("the file says nothing of the GPU, or of the metrics")
	}
	same(t, lanes(t, readTrace(t, files[0])), `CPU Thread 0
  outer [ROOT outer]
    inner [ROOT outer inner] map[tokens:7]
      launch [ROOT outer inner]
    state [ROOT outer state]
      named [ROOT outer state named]
        launch [ROOT outer state named]
    copy [ROOT outer]
    wait [ROOT outer]
    open at the end [ROOT outer open at the end]
GPU 0 Stream 7
  plain [ROOT outer inner plain]
  <memcpy HtoD> [ROOT outer <memcpy HtoD>] 4096 bytes
  unknown [ROOT <unattributed> unknown]
GPU 0 Stream 8
  named [ROOT outer state named] map[flops:2]
arrow 1 leaves CPU Thread 0
arrow 1 reaches GPU 0 Stream 7
arrow 2 leaves CPU Thread 0
arrow 2 reaches GPU 0 Stream 8
arrow 3 leaves CPU Thread 0
arrow 3 reaches GPU 0 Stream 7
`)
}

func TestTraceOfAGraph(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	hotpathtest.Capture(+1)
	c := hotpathtest.Enter("captured")
	for i, op := range []string{"first", "second"} {
		o := hotpathtest.Enter(op)
		hotpathtest.Launch(uint64(10+i), 1)
		hotpathtest.NodeCreated(5, uint64(50+i))
		hotpathtest.Launched()
		hotpathtest.Leave(o)
	}
	hotpathtest.Leave(c)
	hotpathtest.Capture(-1)
	hotpathtest.NodeCloned(6, 60, 50)
	hotpathtest.NodeCloned(6, 61, 51)
	for corr := uint64(20); corr < 22; corr++ {
		s := hotpathtest.Enter("replay")
		hotpathtest.GraphLaunch(corr)
		hotpathtest.Returned(corr, 307)
		hotpathtest.Leave(s)
		for i, stream := range []uint32{7, 7, 7, 9} {
			now := f.begins()
			f.ends(record.Activity{Correlation: corr, Name: "k", Start: now, End: now + fakeNanos, Stream: stream, GraphID: 6, GraphNode: uint64(60 + min(i/2, 1))})
		}
	}
	replay := `  <captured_at> [ROOT replay <captured_at>]
    captured [ROOT replay <captured_at> captured]
      first [ROOT replay <captured_at> captured first]
      second [ROOT replay <captured_at> captured second]
`
	other := strings.ReplaceAll(replay, "      first [ROOT replay <captured_at> captured first]\n", "")
	first, second := "  k [ROOT replay <captured_at> captured first k]\n", "  k [ROOT replay <captured_at> captured second k]\n"
	got := lanes(t, readTrace(t, finalize(t, m, id, "chrome_trace")[0]))
	got = got[strings.Index(got, "Graph:"):]
	same(t, got, "Graph: GPU 0 Stream 7\n"+replay+replay+"Graph: GPU 0 Stream 9\n"+other+other+
		"GPU 0 Stream 7\n"+first+first+second+first+first+second+"GPU 0 Stream 9\n"+second+second+`arrow 1 leaves CPU Thread 0
arrow 1 reaches GPU 0 Stream 7
arrow 2 leaves CPU Thread 0
arrow 2 reaches GPU 0 Stream 9
arrow 3 leaves CPU Thread 0
arrow 3 reaches GPU 0 Stream 7
arrow 4 leaves CPU Thread 0
arrow 4 reaches GPU 0 Stream 9
`)
}

// A tree that did not ask for copies has none because a trace at the same time did; neither is disturbed by the other's end.
func TestTreeAndTraceAtOnce(t *testing.T) {
	m, f := stage(t)
	tree := start(t, m, "tree", StartOptions{})
	copies := start(t, m, "copies", StartOptions{Activities: "memcpy, SYNC"})
	trace := start(t, m, "trace", StartOptions{Data: "trace"})
	s := hotpathtest.Enter("s")
	f.call(1, "k")
	hotpathtest.Work(2)
	hotpathtest.Returned(2, 277)
	f.ran(2, record.Memcpy, "<memcpy DtoH>", 7)
	hotpathtest.Work(3)
	f.ran(3, record.Sync, "<sync stream>", 7)
	hotpathtest.Work(4)
	f.ran(4, record.Memset, "<memset>", 7)
	hotpathtest.Leave(s)
	got := lanes(t, readTrace(t, finalize(t, m, trace, "")[0]))
	if !strings.Contains(got, "<memcpy DtoH>") || !strings.Contains(got, "<memset>") {
		t.Errorf("the trace is\n%s", got)
	}
	same(t, m.outline(t, tree, 0), "ROOT\n  s\n    k count=1 time (ns)=100\n")
	same(t, m.outline(t, copies, 0), `ROOT
  s
    k count=1 time (ns)=100
    <memcpy DtoH> count=1 time (ns)=100 bytes=4096
    <sync stream> sync_count=1 sync_time (ns)=100
`)
	s = hotpathtest.Enter("s")
	f.call(5, "k")
	hotpathtest.Leave(s)
	same(t, m.outline(t, tree, 0), "ROOT\n  s\n    k count=2 time (ns)=200\n")
}

func TestPhasesOfATrace(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	s := hotpathtest.Enter("across")
	f.call(1, "early")
	if _, err := m.AdvancePhase(id); err != nil {
		t.Fatal(err)
	}
	f.call(2, "late")
	hotpathtest.Leave(s)
	files := finalize(t, m, id, "")
	if len(files) != 2 || !strings.HasSuffix(files[1], "p.part_1.chrome_trace") {
		t.Fatalf("wrote %q", files)
	}
	for i, kernel := range []string{"early", "late"} {
		same(t, lanes(t, readTrace(t, files[i])), fmt.Sprintf(`CPU Thread 0
  across [ROOT across]
    launch [ROOT across]
GPU 0 Stream 7
  %s [ROOT across %s]
arrow 1 leaves CPU Thread 0
arrow 1 reaches GPU 0 Stream 7
`, kernel, kernel))
	}
}

func TestDeactivatedTraceShowsNothing(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	s := hotpathtest.Enter("cut off")
	if err := m.Deactivate(&id, false); err != nil {
		t.Fatal(err)
	}
	hotpathtest.Leave(s)
	hotpathtest.Leave(hotpathtest.Enter("unseen"))
	if err := m.Activate(&id); err != nil {
		t.Fatal(err)
	}
	f.call(1, "k")
	got := lanes(t, readTrace(t, finalize(t, m, id, "")[0]))
	if !strings.HasPrefix(got, "CPU Thread 0\n  cut off [ROOT cut off]\n  launch [ROOT]\nGPU") {
		t.Errorf("got\n%s", got)
	}
}

// What is on disk while the program runs is a whole trace, at first under a name of its own.
func TestTraceOfAKilledProgram(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	m.stopRounds()
	folder := filepath.Dir(m.Name(id))
	f.call(1, "k")
	aRound(m)
	parts, _ := filepath.Glob(folder + "/*")
	if len(parts) != 1 || !strings.Contains(parts[0], "p.chrome_trace.") || len(readTrace(t, parts[0])) == 0 {
		t.Fatalf("on disk there is %q", parts)
	}
	files, err := m.WriteDrained()
	if err != nil || len(files) != 1 || len(readTrace(t, files[0])) == 0 {
		t.Fatalf("a checkpoint wrote %q, %v", files, err)
	}
	f.call(2, "k")
	m.Flush()
	if after := finalize(t, m, id, ""); len(after) != 1 || after[0] != files[0] {
		t.Errorf("the checkpoint was %q, the end is %q", files, after)
	}
	if left, _ := filepath.Glob(folder + "/*"); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
	if got := lanes(t, readTrace(t, files[0])); strings.Count(got, "k [ROOT k]") != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestTraceIsOnTheProgramsClock(t *testing.T) {
	m, f := stage(t)
	f.ahead = 3600 * 1e9
	before := hotpath.Now()
	id := start(t, m, "p", StartOptions{Data: "trace"})
	f.call(1, "k")
	most := float64(hotpath.Now()-before) / 1e3
	for _, e := range readTrace(t, finalize(t, m, id, "")[0]) {
		if e.Name == "k" && (e.Ts < 0 || e.Ts > most) {
			t.Errorf("the kernel starts %f us after the session, which has lasted for %f at most", e.Ts, most)
		}
	}
}

func TestPeriodicFlushing(t *testing.T) {
	for _, c := range []struct {
		o      StartOptions
		suffix string
	}{
		{StartOptions{Mode: "periodic_flushing"}, "hatchet"},
		{StartOptions{Mode: "periodic_flushing:format=hatchet_msgpack"}, "hatchet_msgpack"},
		{StartOptions{Mode: "periodic_flushing", Data: "trace"}, "chrome_trace"},
	} {
		t.Run(c.suffix, func(t *testing.T) {
			m, f := stage(t)
			id := start(t, m, "p", c.o)
			name := m.Name(id)
			f.call(1, "k")
			if _, err := m.AdvancePhase(id); err != nil {
				t.Fatal(err)
			}
			first := name + ".part_0." + c.suffix
			testkit.Await(t, "the drainer writes the first phase", func() bool { return there(first) })
			m.Flush()
			if _, err := m.Profile(id, 0); err == nil {
				t.Error("the phase that is written is still there")
			}
			f.call(2, "k")
			files := finalize(t, m, id, "")
			if want := []string{first, name + ".part_1." + c.suffix}; fmt.Sprint(files) != fmt.Sprint(want) {
				t.Errorf("wrote %q, want %q", files, want)
			}
		})
	}
}

// TestThreadsAreNumberedAsTheyCame: also where none of them had been looked at before the last came.
func TestThreadsAreNumberedAsTheyCame(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	m.stopRounds()
	var want strings.Builder
	for i, scope := range []string{"first", "second", "third"} {
		hotpathtest.Threads([]hotpathtest.Job{{Scope: scope}})
		fmt.Fprintf(&want, "CPU Thread %d\n  %s [ROOT %[2]s]\n", i, scope)
	}
	if got := lanes(t, readTrace(t, finalize(t, m, id, "")[0])); got != want.String() {
		t.Errorf("got\n%swant\n%s", got, &want)
	}
}

func TestTraceArguments(t *testing.T) {
	m, _ := stage(t)
	for _, c := range []struct {
		o    StartOptions
		want string
	}{
		{StartOptions{Activities: "kernel,memmove"}, "[PROTON] Unknown activity: memmove; use kernel, memcpy, memset or sync"},
		{StartOptions{Mode: "periodic_flushing:every=3"}, "[PROTON] CuptiProfiler: unsupported option key: every; format is the only one"},
		{StartOptions{Mode: "periodic_flushing:format=csv"}, "[PROTON] CuptiProfiler: unsupported format: csv; use hatchet, hatchet_msgpack or chrome_trace"},
		{StartOptions{Mode: "periodic_flushing:format=chrome_trace"}, "[PROTON] Output format not supported: chrome_trace; use hatchet or hatchet_msgpack"},
		{StartOptions{Data: "trace", Format: "hatchet"}, "[PROTON] Output format not supported: hatchet; use chrome_trace"},
	} {
		c.o.Backend = "fake"
		if _, err := m.Start(c.o); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
	id := start(t, m, "p", StartOptions{Data: "trace"})
	if _, err := m.Finalize(&id, "hatchet_msgpack"); err == nil || err.Error() != "[PROTON] Output format not supported: hatchet_msgpack; use chrome_trace" {
		t.Errorf("a trace as a tree: %v", err)
	}
	if _, err := m.Data(id, 0); err == nil || !strings.Contains(err.Error(), "Only TreeData is supported for getData() for now") {
		t.Errorf("the tree of a trace: %v", err)
	}
	if _, err := m.Start(StartOptions{Name: "other", Backend: "fake", Mode: "periodic_flushing"}); err == nil {
		t.Error("another mode was accepted during a session")
	}
}

// A trace that cannot be written says so while the program runs and when it ends, and ends.
func TestTraceThatCannotBeWritten(t *testing.T) {
	m, f := stage(t)
	id, folder := startThenBlock(t, m, StartOptions{Data: "trace"})
	f.call(1, "k")
	m.Flush()
	m.drainer.do((*drainer).flushTimelines)
	m.drainer.do((*drainer).flushTimelines)
	if p := m.Problems(); len(p) != 1 || !strings.Contains(p[0], "the trace is incomplete: write trace: make the folder of "+folder+"/p.chrome_trace") {
		t.Errorf("problems: %q", p)
	}
	if files, err := m.Finalize(&id, ""); err == nil || len(files) != 0 {
		t.Errorf("finalize: %q, %v", files, err)
	}
	if list, _ := m.selected(&id); list != nil {
		t.Error("the session lives on")
	}
}

// What was written before the disk was full stays, and the error says where.
func TestTraceOnAFullDisk(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	f.call(1, "k")
	m.Flush()
	m.drainer.do(func(d *drainer) {
		d.flushTimelines()
		d.list[0].timelines[0].file.Close() // every write fails from now on
	})
	f.call(2, "k")
	_, err := m.Finalize(&id, "")
	if err == nil || !strings.Contains(err.Error(), ".part has what was written until then") {
		t.Fatalf("finalize: %v", err)
	}
	_, left, _ := strings.Cut(err.Error(), "; ")
	left, _, _ = strings.Cut(left, " has what")
	if got := lanes(t, readTrace(t, left)); !strings.Contains(got, "  k [ROOT k]") {
		t.Errorf("left is\n%s", got)
	}
}

// A trace in upstream's form has the scopes and kernels only, and kernels come last; until the end the file is in ours, whole
// after every flush.
func TestTraceInUpstreamsForm(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace", TraceForm: "Triton"})
	outer := hotpathtest.Enter("outer")
	hotpathtest.Int("tokens", 3)
	f.call(1, "plain")
	hotpathtest.Op("named", 5)
	hotpathtest.Launch(2, 5)
	hotpathtest.Returned(2, 307)
	f.ran(2, record.Kernel, "compiled_name", 8)
	hotpathtest.Work(3)
	f.ran(3, record.Memcpy, "<memcpy HtoD>", 7)
	hotpathtest.Leave(outer)
	hotpathtest.State("")
	if files, err := m.WriteDrained(); err != nil || len(files) != 1 || !strings.Contains(lanes(t, readTrace(t, files[0])), "launch [ROOT outer]") {
		t.Fatalf("a checkpoint wrote %q, %v", files, err)
	}
	files := finalize(t, m, id, "")
	events := readTrace(t, files[0])
	same(t, lanes(t, events), `CPU Thread 0
  outer: <tokens, 3> [ROOT outer] map[tokens:3]
GPU Stream 7
  plain [ROOT outer plain]
GPU Stream 8
  named [ROOT outer named]
arrow 1 leaves CPU Thread 0
arrow 1 reaches GPU Stream 7
arrow 2 leaves CPU Thread 0
arrow 2 reaches GPU Stream 8
`)
	if last := events[len(events)-1]; last.Cat != "kernel" {
		t.Errorf("the last event is %+v", last)
	}
	if left, _ := filepath.Glob(filepath.Dir(files[0]) + "/*"); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
}

// The phases of a trace in upstream's form are all in that form, wherever a checkpoint put them.
func TestPhasesInUpstreamsForm(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace", TraceForm: "triton"})
	s := hotpathtest.Enter("s")
	f.call(1, "early")
	if _, err := m.WriteDrained(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.AdvancePhase(id); err != nil {
		t.Fatal(err)
	}
	f.call(2, "late")
	hotpathtest.Leave(s)
	files := finalize(t, m, id, "")
	if len(files) != 2 {
		t.Fatalf("wrote %q", files)
	}
	for i, kernel := range []string{"early", "late"} {
		if got := lanes(t, readTrace(t, files[i])); !strings.Contains(got, kernel+" [ROOT s "+kernel+"]") || strings.Contains(got, "launch [") {
			t.Errorf("phase %d:\n%s", i, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Dir(files[0]) + "/*"); len(left) != 2 {
		t.Errorf("left are %q", left)
	}
}

func TestATraceThatIsTooLargeToRewriteStaysInOurForm(t *testing.T) {
	before := mostRewritten
	mostRewritten = 100
	defer func() { mostRewritten = before }()
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace", TraceForm: "triton"})
	f.call(1, "k")
	files := finalize(t, m, id, "")
	if got := lanes(t, readTrace(t, files[0])); !strings.Contains(got, "launch [ROOT]") {
		t.Errorf("got\n%s", got)
	}
	if said := strings.Join(m.Problems(), "\n"); !strings.Contains(said, "the trace is in GoProton's form") {
		t.Errorf("problems: %s", said)
	}
}

func TestUnknownFormOfATrace(t *testing.T) {
	m, _ := stage(t)
	_, err := m.Start(StartOptions{Name: "p", Data: "trace", TraceForm: "other", Backend: "fake"})
	if err == nil || !strings.Contains(err.Error(), "Unknown form of a trace: other") {
		t.Errorf("the error is %v", err)
	}
}

// A round may find a phase complete that Finalize has written a moment before.
func TestAPhaseIsWrittenOnce(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	s := hotpathtest.Enter("s")
	hotpathtest.Leave(s)
	if _, err := m.AdvancePhase(id); err != nil {
		t.Fatal(err)
	}
	session, err := m.drainer.find(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.write(session, "chrome_trace", true); err != nil {
		t.Fatal(err)
	}
	m.drainer.do(func(d *drainer) {
		for phase := range 2 {
			if err := d.writeComplete(session, phase); err != nil {
				t.Errorf("phase %d: %v", phase, err)
			}
		}
	})
}
