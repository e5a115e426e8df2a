package profiler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// fakeSource delivers the kernels that a test queues, one buffer per flush. The drainer asks it on a thread of its own.
type fakeSource struct {
	mu    sync.Mutex // guards what is queued, here and in fakeSampler
	queue []record.Activity
	free  uint64 // when the GPU is

	refuse  error
	log     []string
	dropped uint64
	mark    uint64
	ahead   int64

	busy     bool   // a capture keeps Synchronize from waiting
	awaited  func() // called inside Synchronize
	onAttach func() // called inside Attach
	late     func() // called once inside Detach
}

func (f *fakeSource) Attach(bool) error {
	f.log = append(f.log, "attach")
	if f.onAttach != nil {
		f.onAttach()
	}
	return f.refuse
}
func (f *fakeSource) Attached() bool { return f.refuse == nil }
func (f *fakeSource) Listen(kinds, _ record.Kinds) error {
	f.log = append(f.log, fmt.Sprintf("listen %v", kinds != 0))
	return nil
}
func (f *fakeSource) APIName(function uint32) (string, bool) {
	return map[uint32]string{307: "launch", 277: "copy", 126: "wait"}[function], function == 126
}
func (f *fakeSource) ClockAhead() int64 { return f.ahead }
func (f *fakeSource) Synchronize(done func()) bool {
	if f.awaited != nil {
		f.awaited()
	}
	done()
	return !f.busy
}
func (f *fakeSource) Flush(bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []hotpath.Activity
	for _, a := range f.queue {
		list = append(list, hotpath.Activity{
			Kind: uint8(a.Kind), Name: hotpath.Intern(a.Name), Start: a.Start, End: a.End, Correlation: a.Correlation,
			Device: uint16(a.Device), Context: a.Context, Stream: a.Stream, Graph: a.GraphID, GraphNode: a.GraphNode + a.Number, Numbered: a.Number != 0, Bytes: a.Bytes,
		})
	}
	for len(list) > 0 { // a vendor's library wants a buffer when it has a record
		n := min(len(list), 10_000) // that a buffer holds
		if !hotpathtest.Deliver(list[:n]) {
			break
		}
		list, f.queue = list[n:], f.queue[n:]
	}
}
func (f *fakeSource) Dropped() uint64 { n := f.dropped; f.dropped = 0; return n }
func (f *fakeSource) Mark() uint64    { return f.mark }
func (f *fakeSource) Detach(ending bool) {
	f.log = append(f.log, map[bool]string{false: "detach", true: "detach at the end"}[ending])
	if late := f.late; late != nil {
		f.late = nil
		late()
	}
}
func (f *fakeSource) Ready() bool       { return true }
func (f *fakeSource) AttachLater() bool { return true }

// ends queues what the GPU did.
func (f *fakeSource) ends(activities ...record.Activity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, activities...)
}

func (f *fakeSource) Device(n uint32) profile.Device {
	return profile.Device{Type: "CUDA", ID: fmt.Sprint(n), Arch: "90"}
}
func (f *fakeSource) DeviceName(uint32) string { return "fake" }

func (f *fakeSource) kernel(corr uint64, name string, nanos uint64) {
	f.ends(record.Activity{Correlation: corr, Name: name, Start: 1000, End: 1000 + nanos})
}

// register makes a backend known that takes the modes of the first vendor.
func register(name string, source func(SourceOptions) Source) {
	b := VendorBackend(vendors.All[0], 0, source)
	b.Names = []string{name}
	Register(b)
}

// stage returns a manager over a fake source, pinned to this thread.
func stage(t testing.TB) (*Manager, *fakeSource) {
	t.Helper()
	f := &fakeSource{}
	register("fake", func(SourceOptions) Source { return f })
	runtime.LockOSThread()
	m := NewManager()
	t.TempDir() // cleanups run last to first: the folder of the test is removed after the sessions in it have ended
	t.Cleanup(func() { m.Finalize(nil, ""); runtime.UnlockOSThread() })
	return m, f
}

// waiting returns how many launches wait for their kernels.
func waiting(m *Manager) (n int) {
	m.drainer.do(func(d *drainer) { n = d.resolver.Waiting() })
	return n
}

func start(t *testing.T, m *Manager, name string, o StartOptions) int {
	t.Helper()
	o.Name, o.Backend = filepath.Join(t.TempDir(), name), "fake"
	id, err := m.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// startThenBlock starts a session whose folder a file takes the place of afterwards.
func startThenBlock(t *testing.T, m *Manager, o StartOptions) (id int, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "folder")
	o.Name, o.Backend = filepath.Join(folder, "p"), "fake"
	id, err := m.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	return id, folder
}

// outline is a profile as indented text: one line a node, with its metrics.
func outline(p *profile.Profile) string {
	var out strings.Builder
	var walk func(n *profile.Node, depth int)
	walk = func(n *profile.Node, depth int) {
		fmt.Fprintf(&out, "%s%s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			if m.Name == "device_id" || m.Name == "device_type" {
				continue
			}
			if f, ok := m.Value.Float(); ok {
				fmt.Fprintf(&out, " %s=%v", m.Name, f)
			} else {
				fmt.Fprintf(&out, " %s=%v%v", m.Name, m.Value.Ints(), m.Value.Floats())
			}
		}
		out.WriteString("\n")
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(p.Root, 0)
	return out.String()
}

func (m *Manager) outline(t *testing.T, id, phase int) string {
	t.Helper()
	m.Flush()
	p, err := m.Profile(id, phase)
	if err != nil {
		t.Fatal(err)
	}
	return outline(p)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("--- got\n%s--- want\n%s", got, want)
	}
}

func TestKernelsMergeUnderTheirCallPath(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	hotpathtest.Launch(1, 1)
	s := hotpathtest.Enter("forward")
	hotpathtest.Int("tokens", 5)
	hotpathtest.Launch(2, 1)
	hotpathtest.Launch(3, 1)
	hotpathtest.Leave(s)
	// Completion order differs from launch order; the tree is chronological by launch.
	f.kernel(3, "gemm", 30)
	f.kernel(2, "gemm", 20)
	f.kernel(1, "init", 10)
	same(t, m.outline(t, id, 0), `ROOT
  init count=1 time (ns)=10
  forward tokens=5
    gemm count=2 time (ns)=50
`)
}

func TestLostLaunchesKeepTotalsRight(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	hotpathtest.Launch(1, 1)
	f.kernel(1, "seen", 10)
	f.kernel(99, "unseen", 5)
	f.dropped = 7
	same(t, m.outline(t, id, 0), `ROOT
  seen count=1 time (ns)=10
  <unattributed> lost_records=0 dropped_activities=7
    unseen count=1 time (ns)=5
`)
}

// A vendor's library counts a record that it drops because no buffer is free, and so does the pool.
func TestARecordWithoutABufferIsLostOnce(t *testing.T) {
	m, f := stage(t)
	start(t, m, "p", StartOptions{})
	hotpathtest.KeepBuffers(1 << 20) // the last is refused
	f.dropped = 1
	m.Flush()
	if lost := m.Status().Loss.Buffers; lost != 1 {
		t.Errorf("%d records are lost, want 1", lost)
	}
	said := m.Problems()
	hotpath.ReclaimBuffers()
	if len(said) != 1 || !strings.HasPrefix(said[0], "the profile lacks 1 record of GPU work") {
		t.Errorf("it says %q", said)
	}
}

func TestDeactivatedSessionsSeeNothing(t *testing.T) {
	m, f := stage(t)
	a := start(t, m, "a", StartOptions{})
	both := hotpathtest.Enter("both?")
	b := start(t, m, "b", StartOptions{})
	hotpathtest.Launch(1, 1)
	m.Deactivate(&a, false)
	onlyB := hotpathtest.Enter("only b")
	hotpathtest.Launch(2, 1)
	m.Deactivate(nil, false)
	hotpathtest.Launch(3, 1)
	m.Activate(&a)
	hotpathtest.Launch(4, 1)
	hotpathtest.Leave(onlyB)
	hotpathtest.Leave(both)
	for c := uint64(1); c <= 4; c++ {
		f.kernel(c, fmt.Sprintf("k%d", c), 1)
	}
	same(t, m.outline(t, a, 0), `ROOT
  both?
    k1 count=1 time (ns)=1
    k4 count=1 time (ns)=1
`)
	same(t, m.outline(t, b, 0), `ROOT
  k1 count=1 time (ns)=1
  only b
    k2 count=1 time (ns)=1
`)
	same(t, strings.Join(f.log, ", "), "attach, listen true, listen true, listen true, listen false, listen true")
}

func TestGraphReplays(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	m.stopRounds() // which frees graphs, too
	hotpathtest.Capture(+1)
	cap := hotpathtest.Enter("cap")
	hotpathtest.Op("add_4096", 7)
	hotpathtest.Int("bytes", 100)
	hotpathtest.Launch(1, 7)
	hotpathtest.NodeCreated(5, 50)
	hotpathtest.Launched()
	hotpathtest.Launch(2, 8)
	hotpathtest.NodeCreated(5, 51)
	hotpathtest.Launched()
	hotpathtest.Leave(cap)
	hotpathtest.Capture(-1)
	hotpathtest.NodeCloned(6, 60, 50)
	hotpathtest.NodeCloned(6, 61, 51)
	hotpathtest.GraphDestroyed(5)
	r := hotpathtest.Enter("replay")
	for corr := uint64(10); corr < 13; corr++ {
		hotpathtest.GraphLaunch(corr)
		f.ends(
			record.Activity{Correlation: corr, Name: "add_kernel", Start: 1, End: 3, GraphID: 6, GraphNode: 60},
			record.Activity{Correlation: corr, Name: "mul", Start: 1, End: 2, GraphID: 6, GraphNode: 61},
			record.Activity{Correlation: corr, Name: "unknown", Start: 1, End: 2, GraphID: 6, GraphNode: 99})
	}
	hotpathtest.Leave(r)
	hotpathtest.ExecDestroyed(6)
	same(t, m.outline(t, id, 0), `ROOT
  replay
    <captured_at>
      cap
        add_4096 count=3 time (ns)=6 bytes=300
        mul count=3 time (ns)=3
    unknown count=3 time (ns)=3
`)
	m.drainer.do(func(d *drainer) {
		if !d.resolver.FreeDestroyed() {
			t.Error("the graphs do not wait for their last records")
		}
		if d.resolver.FreeDestroyed() {
			t.Error("graphs are remembered after both are gone")
		}
	})
}

func TestOpMetricsDuringAForeignCaptureCountOnce(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	hotpathtest.Capture(+1) // some other thread's stream
	hotpathtest.Op("eager", 7)
	hotpathtest.Int("bytes", 100)
	hotpathtest.Launch(1, 7)
	hotpathtest.Launched()
	hotpathtest.Capture(-1)
	f.kernel(1, "k", 5)
	same(t, m.outline(t, id, 0), "ROOT\n  eager count=1 time (ns)=5 bytes=100\n")
}

func TestPythonAndShadowSessionsSideBySide(t *testing.T) {
	m, f := stage(t)
	shadow := start(t, m, "s", StartOptions{})
	python := start(t, m, "p", StartOptions{Context: "Python"})
	hotpathtest.Python("a.py:1@<module>", "a.py:2@f")
	s := hotpathtest.Enter("scope")
	hotpathtest.Int("m", 1)
	hotpathtest.Launch(1, 1)
	hotpathtest.Leave(s)
	f.kernel(1, "k", 5)
	same(t, m.outline(t, shadow, 0), "ROOT\n  scope m=1\n    k count=1 time (ns)=5\n")
	same(t, m.outline(t, python, 0), `ROOT
  a.py:1@<module>
    a.py:2@f
      scope m=1
      k count=1 time (ns)=5
`)
}

func TestPhases(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	hotpathtest.Launch(1, 1)
	f.kernel(1, "first", 1)
	if n, err := m.AdvancePhase(id); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if done, _ := m.PhaseComplete(id, 0); done {
		t.Error("phase 0 is complete before a flush")
	}
	hotpathtest.Launch(2, 1)
	f.kernel(2, "second", 1)
	same(t, m.outline(t, id, 0), "ROOT\n  first count=1 time (ns)=1\n")
	same(t, m.outline(t, id, 1), "ROOT\n  second count=1 time (ns)=1\n")
	if done, _ := m.PhaseComplete(id, 0); !done {
		t.Error("phase 0 is not complete after a flush")
	}
	m.ClearPhase(id, 0, false)
	if _, err := m.Profile(id, 0); err == nil || !strings.Contains(err.Error(), "Phase 0 has no data.") {
		t.Errorf("a cleared phase: %v", err)
	}
	m.ClearPhase(id, 1, false)
	same(t, m.outline(t, id, 1), "ROOT\n")
	files, err := m.Finalize(&id, "")
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".part_1.hatchet") {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestFinalizeWritesWhatTheFormatReads(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	hotpathtest.Launch(1, 1)
	f.kernel(1, "k", 5)
	files, err := m.Finalize(nil, "Hatchet")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Root.Child("k"); n == nil || p.Kinds["time (ns)"] != profile.Inclusive || len(p.Devices) != 1 {
		t.Errorf("read back %s, kinds %v, devices %v", outline(p), p.Kinds, p.Devices)
	}
	if files, err := m.Finalize(&id, ""); files != nil || err != nil {
		t.Errorf("finalizing a session that is gone: %v, %v", files, err)
	}
	if last := f.log[len(f.log)-1]; last != "detach" {
		t.Errorf("after the last session the source was left with %q", last)
	}
}

func TestSessionThatCannotBeWrittenStays(t *testing.T) {
	m, f := stage(t)
	id, blocked := startThenBlock(t, m, StartOptions{})
	hotpathtest.Launch(1, 1)
	f.kernel(1, "k", 5)
	if _, err := m.Finalize(&id, ""); err == nil {
		t.Fatal("writing below a file succeeded")
	}
	m.Rename(id, filepath.Join(filepath.Dir(blocked), "p"))
	files, err := m.Finalize(&id, "")
	if err != nil || len(files) != 1 {
		t.Errorf("the retry gave %v, %v", files, err)
	}
}

func TestArguments(t *testing.T) {
	m, _ := stage(t)
	for _, c := range []struct {
		o    StartOptions
		want string
	}{
		{StartOptions{Context: "shadows"}, "[PROTON] Unknown context source: shadows; use shadow or python"},
		{StartOptions{Data: "bush"}, "[PROTON] Unknown data: bush; use tree or timeline"},
		{StartOptions{Mode: "counters", PM: "1ms"}, "[PROTON] " + record.CountersUseTheHardware},
		{StartOptions{Backend: "cutty"}, "[PROTON] Unknown profiler: cutty; use instrumentation, cupti, fake or other"},
		{StartOptions{Mode: "fast"}, "[PROTON] CuptiProfiler: unsupported mode: fast; use counters, pcsampling or periodic_flushing"},
	} {
		if c.o.Backend == "" {
			c.o.Backend = "fake"
		}
		if _, err := m.Start(c.o); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
	bad := 42
	if err := m.Activate(&bad); err == nil || err.Error() != "[PROTON] Session has not been initialized: 42" {
		t.Errorf("activating an unknown session: %v", err)
	}
	id := start(t, m, "p", StartOptions{})
	for format, want := range map[string]string{
		"chrome_trace": "[PROTON] Output format not supported: chrome_trace; use hatchet or hatchet_msgpack", "csv": "[PROTON] Unknown output format: csv; use hatchet or hatchet_msgpack",
	} {
		if _, err := m.Finalize(&id, format); err == nil || err.Error() != want {
			t.Errorf("finalize as %s: %v", format, err)
		}
	}
	if list, _ := m.selected(&id); list == nil {
		t.Error("a refused format ended the session")
	}
}

func TestRefusedSourceLeavesTheProgramAlone(t *testing.T) {
	m, f := stage(t)
	f.refuse = fmt.Errorf("another profiler holds CUPTI")
	id := start(t, m, "p", StartOptions{})
	s := hotpathtest.Enter("s")
	hotpathtest.Int("tokens", 1)
	hotpathtest.Leave(s)
	if got := m.Problems(); len(got) != 1 || got[0] != "another profiler holds CUPTI" {
		t.Errorf("problems: %q", got)
	}
	same(t, m.outline(t, id, 0), "ROOT\n  s tokens=1\n")
}

func TestFirstCheckpointComesSoonAfterTheFirstLaunch(t *testing.T) {
	m, f := stage(t)
	left := make(chan bool, 100)
	start(t, m, "p", StartOptions{})
	m.Checkpoint(3600, func() { left <- true })
	hotpathtest.Launch(1, 1)
	f.kernel(1, "k", 5)
	select {
	case <-left:
	case <-time.After(testkit.Patience()):
		t.Error("a program that is killed within the hour leaves nothing")
	}
}

// Pauses between checkpoints grow from the first launch on, to the number of seconds that was requested.
func TestPausesBetweenCheckpointsGrow(t *testing.T) {
	m, f := stage(t)
	left := make(chan time.Time, 100)
	start(t, m, "p", StartOptions{})
	m.Checkpoint(0.3, func() { left <- time.Now() })
	hotpathtest.Launch(1, 1)
	f.kernel(1, "k", 5)
	var last time.Time
	for i, pause := range []time.Duration{0, 10, 20, 40, 80, 160, 300, 300} {
		select {
		case at := <-left:
			if gap := at.Sub(last); gap < pause*time.Millisecond {
				t.Errorf("checkpoint %d came %v after the one before", i, gap)
			}
			last = at
		case <-time.After(testkit.Patience()):
			t.Fatalf("checkpoint %d did not come", i)
		}
	}
}

func TestSourceLearnsOfTheEndOfTheProcess(t *testing.T) {
	m, f := stage(t)
	if _, err := m.Start(StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "fake"}); err != nil {
		t.Fatal(err)
	}
	m.Ending()
	if _, err := m.Finalize(nil, ""); err != nil {
		t.Fatal(err)
	}
	if last := f.log[len(f.log)-1]; last != "detach at the end" {
		t.Errorf("at the end of the process the source was left with %q", last)
	}
}

// A name that cannot be written is refused before the program has worked for it.
func TestStartRefusesAFolderThatCannotBeMade(t *testing.T) {
	m, _ := stage(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var argument *ArgumentError
	if _, err := m.Start(StartOptions{Name: filepath.Join(file, "deep/p"), Backend: "fake"}); !errors.As(err, &argument) || !strings.Contains(err.Error(), file) {
		t.Errorf("started: %v", err)
	}
	if id, err := m.Start(StartOptions{Name: filepath.Join(filepath.Dir(file), "new/p"), Backend: "fake"}); err != nil {
		t.Errorf("session %d: %v", id, err)
	}
}
