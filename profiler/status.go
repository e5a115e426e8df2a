package profiler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/runinfo"
)

// Status is what a process can say about its profiling so far.
type Status struct {
	Sessions int
	Kernels  uint64
	GPUNanos uint64
	Loss     Loss
	Problems []string
	Harmless []string // of Problems: those for which no kernel is missing
	GPU      string   // product name of the first GPU, once one is attached
	Attached bool
	Sampling runinfo.Sampling
	Waiting  bool              // no GPU was initialised by the program yet
	Windows  *runinfo.Windows  // nil: no session has conditions
	Budget   *Spending         // nil: no session has a budget
	Counters *runinfo.Counters // nil: nothing was to be measured
}

// Status returns totals over all sessions since the first of them started.
func (m *Manager) Status() Status { return ask(m.drainer, (*drainer).status) }

func (d *drainer) status() Status {
	s := Status{
		Sessions: len(d.list), Kernels: d.agg.Kernels, GPUNanos: d.agg.Nanos, Loss: d.lossNow(), Attached: d.attached, Waiting: d.waiting,
		Windows:  d.windows(),
		Problems: d.allProblems(), Harmless: slices.Concat(d.counting.problems(), d.readingProblems()),
	}
	s.Sampling, _ = d.samplingStatus()
	s.Budget = d.spent()
	s.Counters, _ = d.counting.facts()
	if d.attached {
		s.GPU = d.source.DeviceName(0)
	}
	return s
}

// allProblems says, as sentences, why sessions record less than was asked for, and what the files of phases do not hold.
func (d *drainer) allProblems() []string {
	_, sampling := d.samplingStatus()
	sentences := slices.Concat(d.problems, sampling, d.counting.problems(), d.readingProblems())
	if n := d.agg.Late; n > 0 {
		sentences = append(sentences, fmt.Sprintf("%d metric values arrived after their phase was written or cleared, and are in no file", n))
	}
	if n := d.tensors.lost; n > 0 {
		sentences = append(sentences, fmt.Sprintf("%d values of tensor metrics in graphs are lost, and missing in their sums; set TRITON_PROFILE_METRIC_BUFFER_SIZE to more bytes", n))
	}
	return append(append(sentences, d.insideProblems()...), d.undelivered()...)
}

// WriteDrained writes what every session holds without asking the vendor library for anything.
func (m *Manager) WriteDrained() (files []string, err error) {
	list, _ := m.selected(nil) //nolint:errcheck // all are always there
	for _, s := range list {
		if name := m.Name(s.id); name == "" || name == "-" {
			continue // standard output is written once, at the end
		}
		written, failed := m.write(s, s.format, false)
		late := s.deliver() // the process may be at its end
		files, err = append(files, s.there(written)...), errors.Join(err, late, failed)
	}
	return files, err
}

// Name returns a session's output name, "" if there is no such session.
func (m *Manager) Name(id int) (name string) {
	_ = m.of(id, func(_ *drainer, s *session) error { name = s.name; return nil })
	return name
}

// Lives reports whether there is such a session.
func (m *Manager) Lives(id int) bool {
	return m.of(id, func(*drainer, *session) error { return nil }) == nil
}

// Begun is how many sessions began so far. Those that ended count: numbers of sessions are below it.
func (m *Manager) Begun() int { return ask(m.drainer, func(d *drainer) int { return d.nextID }) }

// Named returns the living session of a name.
func (m *Manager) Named(name string) (id int, lives bool) {
	m.drainer.do(func(d *drainer) {
		if s := d.named(name); s != nil {
			id, lives = s.id, true
		}
	})
	return id, lives
}

// Rename changes where a session will be written.
func (m *Manager) Rename(id int, name string) {
	_ = m.of(id, func(_ *drainer, s *session) error { s.name = name; return nil })
}

// WritesPhases reports whether a session writes phases when they are complete, and not only at its end and at checkpoints.
func (m *Manager) WritesPhases(id int) (does bool) {
	_ = m.of(id, func(_ *drainer, s *session) error { does = s.periodic != "" || s.split; return nil })
	return does
}

// HasMetrics reports whether a session holds anything: kernels, or metrics of the program's own.
func (m *Manager) HasMetrics(id int) (some bool) {
	_ = m.of(id, func(d *drainer, s *session) error { some = d.holds(s); return nil })
	return some
}

func (d *drainer) holds(s *session) bool {
	if len(s.written) > 0 {
		return true
	}
	for _, t := range s.trees {
		if t.Timeline != nil {
			if t.Timeline.Slices() > 0 {
				return true
			}
			continue
		}
		if p, _ := d.agg.Freeze(t, ""); len(p.Root.Children) > 0 || len(p.Root.Metrics) > 0 {
			return true
		}
	}
	return false
}

// Discard ends a session without writing anything.
func (m *Manager) Discard(id int) {
	m.control.Lock()
	defer m.control.Unlock()
	list, _ := m.selected(&id) //nolint:errcheck // none: there is nothing to end
	for _, s := range list {
		_ = s.deliver() // phases that are over count as written
		m.end(s)
		m.endIfLast()
	}
}
