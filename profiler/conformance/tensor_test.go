package conformance

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler"
)

// tensors is a story on the fake driver, whose graphs read tensors.
type tensors struct {
	*testing.T
	gpu FakeCUDA
	m   *profiler.Manager
}

func (s *tensors) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *tensors) start(name string) int {
	s.Helper()
	id, err := s.m.Start(profiler.StartOptions{Name: filepath.Join(s.TempDir(), name), Backend: "cupti"})
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// capture captures a kernel in a scope that has the tensor as a metric.
func (s *tensors) capture(in string, tensor Tensor) (replay func()) {
	s.Helper()
	return s.gpu.Capture(func(stream unsafe.Pointer) {
		scope(in, func() {
			if status := tensor.Metric(stream, "x"); status != TensorTaken {
				s.Errorf("status %d, want that it is taken", status)
			}
			s.gpu.Launch("add")
		})
	})
}

func (s *tensors) finish(id int) (*profile.Profile, []string) {
	s.Helper()
	files, err := s.m.Finalize(&id, "")
	if err != nil || len(files) != 1 {
		s.Fatalf("wrote %q, %v", files, err)
	}
	problems := s.m.Problems()
	p, err := formats.ReadFile(files[0])
	if err != nil {
		s.Fatal(err)
	}
	return p, problems
}

func (s *tensors) expect(id int, want string) {
	s.Helper()
	p, problems := s.finish(id)
	// Kernels of one replay have the same place in time: the first to arrive comes first.
	if got := outline(p); !slices.Equal(slices.Sorted(strings.Lines(got)), slices.Sorted(strings.Lines(strings.TrimPrefix(want, "\n")))) {
		s.Errorf("got\n%swant%s", got, want)
	}
	if len(problems) > 0 {
		s.Errorf("problems: %q", problems)
	}
}

func TestTensorsInGraphs(t *testing.T) {
	gpu, ok := fakeCUDA(t).(FakeCUDA)
	if !ok {
		t.Fatal("the fake driver is another")
	}
	for name, do := range map[string]func(*tensors){
		"each replay has its value": func(s *tensors) {
			id, x := s.start("p"), NewTensor(1)
			again := s.capture("s", x)
			for _, value := range []float64{1, 10, 100} {
				x.Set(value)
				scope("replay", again)
			}
			s.expect(id, `
replay > <captured_at> > s: x 111
replay > <captured_at> > s > <metric>: count 3
replay > <captured_at> > s > add: count 3
`)
		},
		"a session has what was replayed while it was active": func(s *tensors) {
			first, x := s.start("first"), NewTensor(1)
			again := s.capture("s", x)
			second := s.start("second")
			scope("both", again)
			s.must(s.m.Deactivate(&first, false))
			x.Set(10)
			scope("second", again)
			s.must(s.m.Deactivate(&second, false))
			x.Set(100)
			again()
			s.must(s.m.Activate(&first))
			x.Set(1000)
			scope("first", again)
			s.expect(second, `
both > <captured_at> > <metric>: count 1
both > <captured_at> > add: count 1
second > <captured_at> > <metric>: count 1
second > <captured_at> > add: count 1
`)
			s.expect(first, `
both > <captured_at> > s: x 1
both > <captured_at> > s > <metric>: count 1
both > <captured_at> > s > add: count 1
first > <captured_at> > s: x 1000
first > <captured_at> > s > <metric>: count 1
first > <captured_at> > s > add: count 1
`)
		},
		"recording begins again on another thread": func(s *tensors) {
			id, x := s.start("p"), NewTensor(1)
			again := s.capture("s", x)
			scope("first", again)
			s.must(s.m.Deactivate(&id, false))
			x.Set(10)
			again()
			onThread(func() { // another one, whose buffer of activities comes before that of this thread
				if err := s.m.Activate(&id); err != nil {
					s.Error(err)
				}
			})
			x.Set(100)
			scope("second", again)
			s.expect(id, `
first > <captured_at> > s: x 1
first > <captured_at> > s > <metric>: count 1
first > <captured_at> > s > add: count 1
second > <captured_at> > s: x 100
second > <captured_at> > s > <metric>: count 1
second > <captured_at> > s > add: count 1
`)
		},
		"a graph is captured and replayed while the drainer reads": func(s *tensors) {
			id, x := s.start("p"), NewTensor(1)
			var over atomic.Bool
			read := make(chan struct{})
			go func() {
				defer close(read)
				for !over.Load() {
					s.m.Problems() // each call reads what is there
				}
			}()
			const graphs = 300
			for range graphs {
				s.capture("s", x)()
			}
			over.Store(true)
			<-read
			s.expect(id, fmt.Sprintf(`
<captured_at> > s: x %[1]d
<captured_at> > s > <metric>: count %[1]d
<captured_at> > s > add: count %[1]d
`, graphs))
		},
		"a phase has what was replayed in it": func(s *tensors) {
			id, x := s.start("p"), NewTensor(1)
			again := s.capture("s", x)
			scope("replay", again)
			if _, err := s.m.AdvancePhase(id); err != nil {
				s.Fatal(err)
			}
			x.Set(10)
			scope("replay", again)
			files, err := s.m.Finalize(&id, "")
			if err != nil || len(files) != 2 {
				s.Fatalf("wrote %q, %v", files, err)
			}
			for i, want := range []string{": x 1\n", ": x 10\n"} {
				p, err := formats.ReadFile(files[i])
				if err != nil {
					s.Fatal(err)
				}
				if !strings.Contains(outline(p), want) {
					s.Errorf("phase %d: got\n%swant%s", i, outline(p), want)
				}
			}
		},
		"a graph that was captured before the session is named": func(s *tensors) {
			again := s.gpu.Graph("add")
			id := s.start("p")
			scope("replay", again)
			p, problems := s.finish(id)
			if got := outline(p); got != "replay > add: count 1\n" {
				s.Errorf("got\n%s", got)
			}
			if len(problems) != 1 || !strings.Contains(problems[0], "Cannot find graph for graphExecId:") || !strings.Contains(problems[0], "start profiling before the graph is created") {
				s.Errorf("problems: %q", problems)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			do(&tensors{t, gpu, profiler.NewManager()})
		})
	}
}

func TestTensorsOutsideOfGraphs(t *testing.T) {
	fakeCUDA(t)
	x := NewTensor(1, 2)
	if got := x.Metric(nil, "x"); got != TensorOff {
		t.Errorf("without a session: %d, want %d", got, TensorOff)
	}
	m := profiler.NewManager()
	if _, err := m.Start(profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "cupti"}); err != nil {
		t.Fatal(err)
	}
	defer m.Finalize(nil, "")
	if got := x.Metric(nil, "x"); got != TensorUnknown {
		t.Errorf("on a stream that is not captured: %d, want %d", got, TensorUnknown)
	}
}
