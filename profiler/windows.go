package profiler

import (
	"fmt"
	"slices"
	"time"

	"github.com/goproton/goproton/profile"
)

// makeQueues makes the queues of a session: to its files, if they are written while it goes on, and to its sinks.
func (s *session) makeQueues(sinks []Sink, deltas []*Deltas) {
	if s.periodic != "" && !s.timeline {
		s.files = newQueue(fileSink{}, "the files of "+s.name, 0)
	}
	for _, o := range deltas {
		s.intervals = append(s.intervals, newIntervals(o, s.name))
	}
	for i, sink := range sinks {
		s.sinks = append(s.sinks, newQueue(sink, fmt.Sprintf("sink %d of %s", i+1, s.name), attempts))
	}
}

// queues are all queues of a session.
func (s *session) queues() (list []*queue) {
	if s.files != nil {
		list = append(list, s.files)
	}
	for _, i := range s.intervals {
		list = append(list, i.queue)
	}
	return append(list, s.sinks...)
}

// window describes one phase.
func (s *session) window(phase int, format string) Window {
	end, over := s.over[phase]
	if !over {
		end = time.Now()
	}
	return Window{Session: s.id, Name: s.name, Phase: phase, End: end, path: s.path(phase, format), format: format}
}

// handOver gives a phase that is over to the files and the sinks, and waits for neither.
func (s *session) handOver(w Window, p *profile.Profile) {
	if s.files != nil {
		s.files.put(w, p)
	}
	for _, q := range s.sinks {
		q.put(w, p)
	}
}

// deliver waits until the files of all phases that were handed over are written, and returns why some are not.
func (s *session) deliver() error {
	if s.files == nil {
		return nil
	}
	<-s.files.flush()
	if waiting, failure := s.files.state(); len(waiting) > 0 {
		return failure
	}
	return nil
}

// there leaves out the files that are not written yet.
func (s *session) there(files []string) []string {
	if s.files == nil {
		return files
	}
	waiting, _ := s.files.state()
	return slices.DeleteFunc(files, func(path string) bool {
		return slices.ContainsFunc(waiting, func(w Window) bool { return w.path == path })
	})
}

// keepLast remembers a phase that Finalize wrote for the sinks. They get it when the session ends, which it does not when
// another phase cannot be written.
func (s *session) keepLast(w Window, p *profile.Profile) {
	if len(s.sinks) > 0 {
		s.last = append(s.last, &delivery{Window: w, p: p})
	}
}

// handOverLast gives what Finalize wrote to the sinks, and waits a little for them.
func (s *session) handOverLast() {
	patience := time.After(sinkPatience)
	for _, q := range s.sinks {
		for _, d := range s.last {
			q.put(d.Window, d.p)
		}
	}
	for _, q := range s.queues() {
		select {
		case <-q.flush():
		case <-patience:
			return
		}
	}
}

// endQueues ends the queues of a session, and notes what they dropped.
func (d *drainer) endQueues(s *session) {
	for _, q := range s.queues() {
		q.end()
		if text := q.problem(); text != "" {
			d.problem(text)
		}
	}
	for _, i := range s.intervals {
		d.intervalsLost += i.lost()
	}
}

// WindowsDropped counts the intervals (Deltas) that sinks did not take, of sessions that are over too.
func (m *Manager) WindowsDropped() (n int) {
	m.drainer.do(func(d *drainer) {
		n = d.intervalsLost
		for _, s := range d.list {
			for _, i := range s.intervals {
				n += i.lost()
			}
		}
	})
	return n
}

// undelivered says what the sinks of living sessions did not take.
func (d *drainer) undelivered() (sentences []string) {
	for _, s := range d.list {
		for _, q := range s.queues() {
			if text := q.problem(); text != "" {
				sentences = append(sentences, text)
			}
		}
	}
	return sentences
}
