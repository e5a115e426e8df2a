package profiler

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/when"
)

// Options are the choices of a session in a Go program; the zero value is the usual one.
type Options struct {
	Backend     string  // "cupti", or "" for the first whose GPU is there; its package must be imported: cupti, roctracer
	WholeGraphs bool    // time each CUDA graph launch as one unit, at almost no cost
	Trace       bool    // keep a timeline, written while the program runs, instead of sums
	Format      string  // of the file: "hatchet" (default) or "hatchet_msgpack"; of a timeline, "chrome_trace"
	Activities  string  // what to record in addition to kernels: "memcpy,memset,sync"; by default all in a timeline, none else
	NoStats     bool    // leave out the distributions of kernel times
	Energy      bool    // read the energy of GPUs, and share it out among call paths
	Idle        bool    // sum how long GPUs had nothing to do before the work of each call path
	Budget      float64 // the share of the program's time that the profiler may take, such as 0.01; 0: there is no limit
	Sinks       []Sink  // take the profile in addition to the file

	// Record in windows: of so many steps, which Step ends, the last ones (both 0: in all), and only while a scope of this name is open.
	Every, For int
	Within     string
}

// Session is one profile being collected in a Go program.
type Session struct {
	id   int
	done bool
}

var process = sync.OnceValue(NewManager)

// Start begins a session whose profile will be written to name + ".hatchet", a timeline to name + ".chrome_trace". When the
// GPU library refuses, the program runs on unprofiled; Problems says why.
func Start(name string, o Options) (*Session, error) {
	data := "tree"
	if o.Trace {
		data = "trace"
	}
	conditions, err := o.conditions()
	if err != nil {
		return nil, err
	}
	id, err := process().Start(StartOptions{
		When: conditions,
		Name: name, Backend: o.Backend, Data: data, Format: o.Format, Activities: o.Activities, NoStats: o.NoStats, Idle: o.Idle, Energy: o.Energy, Sinks: o.Sinks, Budget: o.Budget,
		Source: SourceOptions{WholeGraphs: o.WholeGraphs},
	})
	if err != nil {
		return nil, err
	}
	hotpath.InheritNothing()
	return &Session{id: id}, nil
}

// conditions are when to record; nil is all the time.
func (o *Options) conditions() (*when.Conditions, error) {
	if o.Every == 0 && o.For == 0 && o.Within == "" {
		return nil, nil
	}
	c := &when.Conditions{Gate: o.Within}
	if o.Every != 0 || o.For != 0 {
		if o.Every < 1 || o.For < 1 || o.For > o.Every {
			return nil, &ArgumentError{fmt.Sprintf("record %d of each %d steps: give numbers of 1 or more, For at most Every", o.For, o.Every)}
		}
		c.Schedule = when.Every(o.Every, o.For)
	}
	return c, nil
}

// Step ends a step of the program, for sessions that record in some steps only. It does not wait for the GPU.
func Step() { process().Step(false) }

// Problems returns, as sentences with the way out, why sessions may record less than was asked for.
func Problems() []string { return process().Problems() }

// Deactivate pauses the session; what was recorded stays. Activate resumes it.
func (s *Session) Deactivate() error { return process().Deactivate(&s.id, false) }

// Activate resumes a deactivated session.
func (s *Session) Activate() error { return process().Activate(&s.id) }

// Finalize waits for everything that was launched, writes the profile and ends the session. It returns the
// files written. Calling it again does nothing.
func (s *Session) Finalize() ([]string, error) {
	if s.done {
		return nil, nil
	}
	files, err := process().Finalize(&s.id, "")
	s.done = err == nil
	return files, err
}

// Scope opens a scope and returns what closes it. Kernels launched by this goroutine in between land below
// it. Scopes belong to threads, so the goroutine stays on its thread until the scope is closed.
//
//	defer profiler.Scope("forward")()
func Scope(name string) (end func()) {
	runtime.LockOSThread()
	token := hotpath.EnterScope(name)
	return func() {
		hotpath.ExitScope(token)
		runtime.UnlockOSThread()
	}
}

// Add adds a value to a metric of the innermost open scope, "(exc)" and "(pty)" marks included. Integer and
// floating-point values of one metric can't be mixed.
func Add[V int64 | float64](metric string, value V) error {
	var err error
	switch v := any(value).(type) {
	case int64:
		err = hotpath.AddInt(metric, v)
	case float64:
		err = hotpath.AddFloat(metric, v)
	}
	return err
}
