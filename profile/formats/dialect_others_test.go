package formats_test

import (
	"cmp"
	"fmt"
	"slices"
)

// jax writes as XProf's converter of XPlanes does: processes are devices, nothing has a category, and an empty event is the last one.
func jax(m *Model) []byte {
	var events []raw
	name := func(kind string, pid, tid any, text string) {
		events = append(events, object("ph", "M", "pid", pid, "tid", tid, "name", kind, "args", object("name", text)))
	}
	slice := func(pid, tid any, title string, start, end int64, args any) {
		events = append(events, object("ph", "X", "pid", pid, "tid", tid, "ts", micros(start-origin), "dur", micros(end-start), "name", title, "args", args))
	}
	rank, host := &m.Ranks[0], 701
	name("process_name", host, nil, "/host:CPU")
	seen := map[[2]int]bool{}
	m.Work(func(_ int, _ *Call, w *Work) {
		if !seen[[2]int{w.Device, -1}] {
			name("process_name", w.Device+1, nil, fmt.Sprintf("/device:GPU:%d", w.Device))
		}
		if !seen[[2]int{w.Device, w.Stream}] {
			name("thread_name", w.Device+1, w.Stream, fmt.Sprintf("Stream #%d(Compute)", w.Stream))
		}
		seen[[2]int{w.Device, w.Stream}], seen[[2]int{w.Device, -1}] = true, true
		slice(w.Device+1, w.Stream, w.Name, w.Start, w.End, object("hlo_module", "jit_step", "hlo_op", "fusion.1"))
	})
	for i := range rank.Threads {
		thread := &rank.Threads[i]
		name("thread_name", host, thread.ID, "python")
		thread.Top.all(func(s *Scope) { slice(host, thread.ID, s.Name, s.Start, s.End, nil) })
	}
	return []byte(object("displayTimeUnit", "ns", "metadata", object("highres-ticks", true), "traceEvents", list(append(events, "{}"))))
}

// nsys2json writes as the scripts do that convert what nsys exports: one list, ranges of NVTX next to the streams of the process's GPU, and
// nothing that joins them. Times are floats, from the begin of the session.
func nsys2json(m *Model) []byte {
	var events []raw
	slice := func(cat string, device int, lane, title string, start, end int64) {
		events = append(events, object("name", title, "ph", "X", "cat", cat, "ts", float64(start-origin)/1000, "dur", float64(end-start)/1000,
			"tid", lane, "pid", fmt.Sprint("Device ", device), "args", raw("{}")))
	}
	m.Work(func(_ int, _ *Call, w *Work) {
		slice("cuda", w.Device, fmt.Sprint("Stream ", w.Stream), w.Name, w.Start, w.End)
	})
	rank := &m.Ranks[0]
	for i := range rank.Threads {
		lane := fmt.Sprint("NVTX Thread ", rank.Threads[i].ID)
		rank.Threads[i].Top.all(func(s *Scope) { slice("nvtx", rank.Device, lane, s.Name, s.Start, s.End) })
	}
	return []byte(list(events))
}

// handWritten has what someone writes first who has read that a slice is an X with a time: times are texts, and there are no ids.
func handWritten(m *Model) []byte {
	var events []raw
	m.Ranks[0].Threads[0].Top.all(func(s *Scope) {
		events = append(events, object("ph", "X", "ts", string(micros(s.Start-origin)), "dur", string(micros(s.End-s.Start)), "name", s.Name))
	})
	return []byte(list(events))
}

// all calls see for the scopes within a scope, outer ones first.
func (s *Scope) all(see func(*Scope)) {
	for i := range s.Scopes {
		see(&s.Scopes[i])
		s.Scopes[i].all(see)
	}
}

// beginEnd writes events that begin and end slices, as programs do that write Chrome's format by hand.
type beginEnd struct {
	list     bool // the events alone, without an object around them, and without an end
	nameless bool // ends have no names
	texts    bool // ids and times are texts
	sorted   bool // events of all lanes are in the order of time; else they come lane by lane
}

func (f beginEnd) write(m *Model) []byte {
	var events []timed
	event := func(phase, cat, title string, pid, tid any, at int64, args any) {
		var shown any = title
		if phase == "E" && f.nameless {
			shown = nil
		}
		var ts any = micros(at)
		if f.texts {
			pid, tid, ts = fmt.Sprint(pid), fmt.Sprint(tid), string(micros(at))
		}
		var category any
		if cat != "" {
			category = cat
		}
		events = append(events, timed{at, object("name", shown, "cat", category, "ph", phase, "pid", pid, "tid", tid, "ts", ts, "args", args)})
	}
	for r := range m.Ranks {
		rank := &m.Ranks[r]
		for t := range rank.Threads {
			thread := &rank.Threads[t]
			var scope func(*Scope)
			scope = func(s *Scope) {
				s.inOrder(func(inner *Scope) {
					event("B", "", inner.Name, rank.PID, thread.ID, inner.Start, nil)
					scope(inner)
					event("E", "", inner.Name, rank.PID, thread.ID, inner.End, nil)
				}, func(c *Call) {
					cat, title := "launch", "cudaLaunchKernel"
					if len(c.Work) == 0 {
						cat, title = "sync", Wait
					}
					event("B", cat, title, rank.PID, thread.ID, c.Start, object("correlation", c.Correlation))
					event("E", cat, title, rank.PID, thread.ID, c.End, nil)
				})
			}
			scope(&thread.Top)
		}
	}
	lanes := map[[2]int][]*Work{}
	m.Work(func(_ int, _ *Call, w *Work) {
		lane := [2]int{w.Device, w.Stream}
		lanes[lane] = append(lanes[lane], w)
	})
	for _, work := range lanes {
		slices.SortFunc(work, func(a, b *Work) int { return cmp.Compare(a.Start, b.Start) })
		for _, w := range work {
			cat, bytes := "kernel", any(nil)
			if w.Bytes > 0 {
				cat, bytes = "memcpy", w.Bytes
			}
			args := object("device", fmt.Sprint(w.Device), "stream", w.Stream, "correlation", w.Correlation, "bytes", bytes)
			event("B", cat, w.Name, m.Ranks[0].PID, 1_000_000+1000*w.Device+w.Stream, w.Start, args)
			event("E", cat, w.Name, m.Ranks[0].PID, 1_000_000+1000*w.Device+w.Stream, w.End, nil)
		}
	}
	if f.sorted {
		slices.SortStableFunc(events, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	}
	texts := make([]raw, len(events))
	for i, e := range events {
		texts[i] = e.text
	}
	text := list(texts)
	if f.list {
		return []byte(text[:len(text)-2] + ",\n")
	}
	return []byte(object("displayTimeUnit", "ms", "traceEvents", text))
}

type timed struct {
	at   int64
	text raw
}

// inOrder calls one of the two for each thing in a scope, in order of time.
func (s *Scope) inOrder(scope func(*Scope), call func(*Call)) {
	next := 0
	for i := range s.Scopes {
		for ; next < len(s.Calls) && s.Calls[next].Start < s.Scopes[i].Start; next++ {
			call(&s.Calls[next])
		}
		scope(&s.Scopes[i])
	}
	for ; next < len(s.Calls); next++ {
		call(&s.Calls[next])
	}
}
