package profiler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/profile"
)

// sinkFunc is a sink that keeps what its function takes.
type sinkFunc struct {
	take func(ctx context.Context, w Window) error

	mu   sync.Mutex
	took []string
}

func (f *sinkFunc) Write(ctx context.Context, w Window, p *profile.Profile) error {
	if f.take != nil {
		if err := f.take(ctx, w); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	tokens := int64(-1)
	if n := p.Root.Child("s"); n != nil {
		v, _ := n.Metric("tokens")
		tokens = v.Int()
	}
	f.took = append(f.took, fmt.Sprintf("%d: %d", w.Phase, tokens))
	return nil
}

func (f *sinkFunc) windows() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.took)
}

// phasesOf has a session go through n phases, each with a metric of its own value, and a round of the drainer after each.
func phasesOf(t *testing.T, m *Manager, id, n int) {
	t.Helper()
	scope := hotpathtest.Enter("s")
	for i := range n {
		hotpathtest.Int("tokens", int64(i))
		advance(t, m, id)
		(&rounds{m: m}).round()
	}
	hotpathtest.Int("tokens", int64(n))
	hotpathtest.Leave(scope)
}

func numbered(from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("%d: %d", i, i))
	}
	return list
}

func withSinks(t *testing.T, m *Manager, sinks ...Sink) int {
	t.Helper()
	id := start(t, m, "p", StartOptions{Mode: "periodic_flushing", Sinks: sinks})
	m.stopRounds()
	for _, q := range m.drainer.list[0].sinks {
		q.retry = 0
	}
	return id
}

func TestASinkGetsEveryPhaseInOrder(t *testing.T) {
	m, _ := stage(t)
	sink := &sinkFunc{}
	id := withSinks(t, m, sink)
	phasesOf(t, m, id, 5)
	files := finalize(t, m, id, "")
	if got := sink.windows(); !slices.Equal(got, numbered(0, 6)) {
		t.Errorf("the sink got %q", got)
	}
	if len(files) != 6 {
		t.Errorf("%d files, want 6", len(files))
	}
	if problems := m.Problems(); len(problems) != 0 {
		t.Errorf("problems: %q", problems)
	}
}

// While a sink blocks, launches are drained, phases come and go, files are written and other sinks get theirs. Of what waits
// for the sink the oldest is dropped, and counted.
func TestASinkThatBlocksDelaysNothing(t *testing.T) {
	m, f := stage(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	blocks := &sinkFunc{take: func(context.Context, Window) error {
		once.Do(func() { close(begun) })
		<-release
		return nil
	}}
	other := &sinkFunc{}
	id := withSinks(t, m, blocks, other)
	const first, phases = 1, queueLimit + 10
	phasesOf(t, m, id, first)
	<-begun
	for i := first; i < phases; i++ {
		hotpathtest.Launch(uint64(i), 1)
		f.kernel(uint64(i), "k", 5)
		advance(t, m, id)
		aRound(m)
		<-m.drainer.list[0].sinks[1].flush()
	}
	name := m.Name(id)
	for i := range phases {
		if path := partPath(name, i, "hatchet"); !there(path) {
			t.Fatalf("%s is not written", path)
		}
	}
	if got := len(other.windows()); got != phases {
		t.Errorf("the other sink has %d phases, want %d", got, phases)
	}
	if got := blocks.windows(); len(got) != 0 {
		t.Errorf("the sink that blocks has %q", got)
	}
	want := fmt.Sprintf("sink 1 of %s: %d phases were dropped, because the sink did not take them in time", name, phases-queueLimit)
	if got := m.Status().Problems; !slices.Contains(got, want) {
		t.Errorf("problems: %q, want %q", got, want)
	}
	if got := m.Status().Kernels; got != phases-first {
		t.Errorf("%d kernels were counted, want %d", got, phases-first)
	}
	close(release)
	finalize(t, m, id, "")
	dropped := 0
	if _, err := fmt.Sscanf(strings.TrimPrefix(m.Problems()[0], "sink 1 of "+name+": "), "%d phases were dropped", &dropped); err != nil {
		t.Fatal(m.Problems(), err)
	}
	if got := len(blocks.windows()); got+dropped != phases+1 || dropped < phases-queueLimit {
		t.Errorf("the sink has %d phases of %d, and %d are said to be dropped", got, phases+1, dropped)
	}
}

func TestASinkThatFailsOnce(t *testing.T) {
	m, _ := stage(t)
	failed := false
	sink := &sinkFunc{take: func(_ context.Context, w Window) error {
		if w.Phase == 1 && !failed {
			failed = true
			return errors.New("connection refused")
		}
		return nil
	}}
	id := withSinks(t, m, sink)
	phasesOf(t, m, id, 3)
	finalize(t, m, id, "")
	if got := sink.windows(); len(got) != 4 {
		t.Errorf("the sink got %q", got)
	}
	if problems := m.Problems(); len(problems) != 0 {
		t.Errorf("problems: %q", problems)
	}
}

func TestASinkThatFailsOrPanicsIsSaid(t *testing.T) {
	for what, take := range map[string]func(context.Context, Window) error{
		"connection refused":             func(context.Context, Window) error { return errors.New("connection refused") },
		"the sink panicked: out of luck": func(context.Context, Window) error { panic("out of luck") },
	} {
		m, _ := stage(t)
		bad, good := &sinkFunc{take: take}, &sinkFunc{}
		id := withSinks(t, m, bad, good)
		name := m.Name(id)
		phasesOf(t, m, id, 3)
		q := m.drainer.list[0].sinks[0]
		for range attempts {
			<-q.flush()
		}
		want := fmt.Sprintf("sink 1 of %s: 3 phases were dropped: %s", name, what)
		if got := m.Problems(); !slices.Contains(got, want) {
			t.Errorf("problems: %q, want %q", got, want)
		}
		finalize(t, m, id, "")
		if got := good.windows(); !slices.Equal(got, numbered(0, 4)) {
			t.Errorf("the other sink got %q", got)
		}
		if got := m.Problems(); len(got) != 1 || !strings.Contains(got[0], "4 phases were dropped: "+what) {
			t.Errorf("after the end, problems: %q", got)
		}
	}
}

// A session without phases has one window. It reaches the sinks once, though its file is written at the second attempt.
func TestASinkAndAFileThatIsWrittenLater(t *testing.T) {
	m, _ := stage(t)
	sink := &sinkFunc{}
	id := start(t, m, "p", StartOptions{Sinks: []Sink{sink}})
	scope := hotpathtest.Enter("s")
	hotpathtest.Int("tokens", 0)
	hotpathtest.Leave(scope)
	inTheWay := m.Name(id) + ".hatchet"
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Finalize(&id, ""); err == nil {
		t.Fatal("the file was written where a folder is")
	}
	if got := sink.windows(); len(got) != 0 {
		t.Errorf("the sink got %q before the session ended", got)
	}
	os.RemoveAll(inTheWay)
	finalize(t, m, id, "")
	if got := sink.windows(); !slices.Equal(got, numbered(0, 1)) {
		t.Errorf("the sink got %q", got)
	}
}

// Phases whose files cannot be written wait for the next attempt, and the session with them.
func TestPhasesThatCanBeWrittenLater(t *testing.T) {
	m, _ := stage(t)
	id := withSinks(t, m)
	name := m.Name(id)
	inTheWay := partPath(name, 1, "hatchet")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	phasesOf(t, m, id, 3)
	files, err := m.Finalize(&id, "")
	if err == nil || len(files) != 3 || slices.Contains(files, inTheWay) {
		t.Fatalf("finalize: %q, %v; want three files, and an error for the fourth", files, err)
	}
	os.RemoveAll(inTheWay)
	if files = finalize(t, m, id, ""); len(files) != 4 {
		t.Errorf("finalize: %q, want four files", files)
	}
	same(t, outline(readTree(t, inTheWay)), "ROOT tokens=0\n  s tokens=1\n")
}

// A process that ends in a hurry leaves the phases that are on their way to files, too.
func TestPhasesOnTheirWayToFilesAreWrittenWithWhatIsDrained(t *testing.T) {
	m, _ := stage(t)
	id := withSinks(t, m)
	phasesOf(t, m, id, 3)
	files, err := m.WriteDrained()
	if err != nil || len(files) != 4 {
		t.Fatalf("wrote %q, %v; want four files", files, err)
	}
	for _, file := range files {
		if !there(file) {
			t.Errorf("%s is not written", file)
		}
	}
}

func partPath(stem string, phase int, format string) string {
	return partRun{stem: stem, format: format}.path(phase)
}
