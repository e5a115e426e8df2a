package profiler

import (
	"errors"
	"fmt"
	"time"
)

// Status is what a process can say about its profiling so far.
type Status struct {
	Sessions int
	Kernels  uint64
	GPUNanos uint64
	Loss     Loss
	Problems []string
	GPU      string // product name of the first GPU, once one is attached
	Attached bool
	Sampling SamplingStatus
	Waiting  bool // no GPU was initialised by the program yet
}

// Status returns totals over all sessions since the first of them started.
func (m *Manager) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{Sessions: len(m.sessions), Kernels: m.agg.Kernels, GPUNanos: m.agg.Nanos, Loss: m.lossNow(), Attached: m.attached, Waiting: m.waiting}
	sampling, problems := m.samplingStatus()
	s.Sampling = sampling
	s.Problems = append(append(append(s.Problems, m.problems...), problems...), m.shortcomings()...)
	if m.attached {
		s.GPU = m.source.DeviceName(0)
	}
	return s
}

// shortcomings says, as sentences, what was counted that the files of phases do not hold. Call with mu held.
func (m *Manager) shortcomings() (sentences []string) {
	if n := m.agg.Late; n > 0 {
		sentences = append(sentences, fmt.Sprintf("%d metric values came after their phase was written or cleared, and are in no file", n))
	}
	return append(sentences, m.undelivered()...)
}

// Checkpoint calls f from the drainer every so often while sessions run: Collect and
// WriteDrained leave behind what survives a program that is killed.
func (m *Manager) Checkpoint(every float64, f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checkpoint, m.every = f, seconds(every)
}

// Collect takes in what the vendor library has ready, without waiting for the GPU.
func (m *Manager) Collect() {
	m.mu.Lock()
	attached := m.attached
	m.mu.Unlock()
	if attached {
		m.collect(false)
	}
}

// WriteDrained writes what every session holds without asking the vendor library for anything.
func (m *Manager) WriteDrained() (files []string, err error) {
	m.mu.Lock()
	sessions := append([]*session(nil), m.sessions...)
	m.mu.Unlock()
	for _, s := range sessions {
		if name := m.Name(s.id); name == "" || name == "-" {
			continue // standard output is written once, at the end
		}
		late := s.deliver() // the process may be at its end
		written, failed := m.write(s, s.format, false)
		files, err = append(files, s.there(written)...), errors.Join(err, late, failed)
	}
	return files, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// OnFirstWork has f called from the drainer once, soon after the first launch.
func (m *Manager) OnFirstWork(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.firstWork = f
}

// Flush waits for everything that was launched and counts it.
func (m *Manager) Flush() {
	m.control.Lock()
	defer m.control.Unlock()
	m.flush()
}

// Name returns a session's output name, Rename changes it.
func (m *Manager) Name(id int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.find(id); s != nil {
		return s.name
	}
	return ""
}

// Rename changes where a session will be written.
func (m *Manager) Rename(id int, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.find(id); s != nil {
		s.name = name
	}
}

// HasMetrics reports whether a session holds anything: kernels, or metrics of the program's own.
func (m *Manager) HasMetrics(id int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(id)
	if s == nil || len(s.written) > 0 {
		return s != nil
	}
	for _, t := range s.trees {
		if t.Timeline != nil {
			if t.Timeline.Slices() > 0 {
				return true
			}
			continue
		}
		if p, _ := t.Freeze(""); len(p.Root.Children) > 0 || len(p.Root.Metrics) > 0 {
			return true
		}
	}
	return false
}

// Discard ends a session without writing anything.
func (m *Manager) Discard(id int) {
	m.control.Lock()
	defer m.control.Unlock()
	m.mu.Lock()
	s := m.find(id)
	m.mu.Unlock()
	if s != nil {
		s.deliver() // phases that are over count as written
		m.end(s)
		m.endIfLast()
	}
}
