package formats_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// torch is how a version of torch.profiler writes, and programs that change its files.
type torch struct {
	operator, python     string // categories of scopes
	runtime, driver      string // of calls
	kernel, memcpy       string
	arrows               string // category, "" for none
	external             string // the key of the operator's number
	launch, launchDriver string // names of calls
	base                 bool   // times count from baseTimeNanoseconds, with fractions
	textIDs              bool   // of threads and streams
	named                bool   // processes and threads have names
	namesFirst           bool
	metadata             bool // a long object before the events
	spans                bool // annotations on the lanes of GPUs, and the profiler's own span
	shuffle              bool
	more                 bool                    // what torch writes in addition: see extras
	pid                  func(rank, pid int) any // changes the ids of processes
}

// kineto is what all versions have in common.
var kineto = torch{operator: "cpu_op", python: "python_function", runtime: "cuda_runtime", driver: "cuda_driver", kernel: "kernel", memcpy: "gpu_memcpy", arrows: "ac2g",
	external: "External id", launch: "cudaLaunchKernel", launchDriver: "cuLaunchKernel", base: true, named: true, spans: true}

// but is kineto with changes.
func but(change func(*torch)) torch {
	t := kineto
	change(&t)
	return t
}

func (t torch) write(m *Model) []byte {
	var events []raw
	for r := range m.Ranks {
		events = append(events, t.rank(m, r)...)
	}
	if t.shuffle {
		rand.New(rand.NewPCG(7, uint64(len(events)))).Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}
	head := []any{"schemaVersion", 1}
	if t.metadata {
		head = []any{"metadata", object("command", strings.Repeat("python train.py --option ", 300), "ranks", len(m.Ranks))}
	}
	devices := []raw{}
	for _, rank := range m.Ranks {
		devices = append(devices, object("id", rank.Device, "name", "NVIDIA H100", "computeMajor", 9, "computeMinor", 0, "numSms", 132))
	}
	head = append(head, "deviceProperties", list(devices))
	if t.base {
		head = append(head, "displayTimeUnit", "ms", "baseTimeNanoseconds", base)
	}
	return []byte(object(append(head, "traceEvents", list(events), "traceName", "/tmp/trace.json")...))
}

const base = origin - 3_600_000_000_000_000 // 1000 hours before

func (t torch) micros(ns int64) raw {
	if t.base {
		return raw(fmt.Sprintf("%d.%03d", (ns-base)/1000, ns%1000))
	}
	return micros(ns)
}

// rank writes the events of one process: operators, then calls and work, as torch does.
func (t torch) rank(m *Model, n int) (events []raw) {
	rank := &m.Ranks[n]
	pid := func(pid int) any {
		if t.pid != nil {
			return t.pid(n, pid)
		}
		return pid
	}
	names := t.names(m, n, pid)
	if t.namesFirst {
		events = names
	}
	if t.spans {
		events = append(events, object("ph", "X", "cat", "Trace", "ts", t.micros(origin), "dur", micros(5_000_000), "pid", t.text(pid, "Spans"), "tid", "PyTorch Profiler", "name", "PyTorch Profiler (0)", "args", object("Op count", 0)))
	}
	for i := range rank.Threads {
		thread := &rank.Threads[i]
		s := threadWriter{t: t, m: m, rank: n, pid: pid, host: pid(int(rank.PID)), tid: t.id(thread.ID, "")}
		s.scope(&thread.Top, 0)
		events = append(append(events, s.scopes...), s.calls...)
	}
	for i := range rank.Earlier {
		events = append(events, t.work(&rank.Earlier[i], pid, 0)...)
	}
	if t.more {
		events = append(events, t.extras(rank, pid)...)
	}
	if !t.namesFirst {
		events = append(events, names...)
	}
	if t.spans { // what torch's files end with
		events = append(events, object("ph", "i", "s", "g", "name", "Record Window End", "pid", t.text(pid, ""), "tid", "", "ts", t.micros(origin)))
	}
	return events
}

// text is a process that has no number; mergers prepend to it, too.
func (t torch) text(pid func(int) any, name string) any {
	if label, is := pid(0).(string); is {
		return strings.TrimSuffix(label, "0") + name
	}
	return name
}

func (t torch) id(number int64, before string) any {
	if t.textIDs {
		return before + fmt.Sprint(number)
	}
	return number
}

func (t torch) names(m *Model, n int, pid func(int) any) (events []raw) {
	if !t.named {
		return nil
	}
	name := func(kind string, pid, tid any, key string, value any) {
		events = append(events, object("name", kind, "ph", "M", "ts", t.micros(origin), "pid", pid, "tid", tid, "args", object(key, value)))
	}
	process := func(id int, label string, sort int) {
		name("process_name", pid(id), 0, "name", "python3")
		name("process_labels", pid(id), 0, "labels", label)
		name("process_sort_index", pid(id), 0, "sort_index", sort)
	}
	process(int(m.Ranks[n].PID), "CPU", int(m.Ranks[n].PID))
	for _, thread := range m.Ranks[n].Threads {
		name("thread_name", pid(int(m.Ranks[n].PID)), t.id(thread.ID, ""), "name", fmt.Sprintf("thread %d (python3)", thread.ID))
	}
	seen := map[[2]int]bool{}
	m.Work(func(rank int, _ *Call, w *Work) {
		if rank != n || seen[[2]int{w.Device, w.Stream}] {
			return
		}
		if !seen[[2]int{w.Device, -1}] {
			process(w.Device, fmt.Sprint("GPU ", w.Device), 5_000_000+w.Device)
		}
		seen[[2]int{w.Device, w.Stream}], seen[[2]int{w.Device, -1}] = true, true
		name("thread_name", pid(w.Device), t.id(int64(w.Stream), "stream "), "name", fmt.Sprintf("stream %d", w.Stream))
	})
	return events
}

// threadWriter writes what a thread did and the work that it launched.
type threadWriter struct {
	t             torch
	m             *Model
	rank          int
	pid           func(int) any
	host, tid     any
	number        int // of scopes
	scopes, calls []raw
}

func (w *threadWriter) slice(cat, name string, start, end int64, args raw) raw {
	return object("ph", "X", "cat", cat, "name", name, "pid", w.host, "tid", w.tid, "ts", w.t.micros(start), "dur", micros(end-start), "args", args)
}

func (w *threadWriter) scope(s *Scope, number int) {
	for i := range s.Calls {
		w.call(&s.Calls[i], number)
	}
	for i := range s.Scopes {
		inner := &s.Scopes[i]
		w.number++
		n, cat := w.number, w.t.operator
		args := object(w.t.external, n, "Record function id", 0, "Input Dims", [][]int{{8, 64}, {}}, "Ev Idx", n)
		if inner.Python {
			cat, args = w.t.python, object("Python id", n, "Python parent id", nil, "Ev Idx", n)
		}
		w.scopes = append(w.scopes, w.slice(cat, inner.Name, inner.Start, inner.End, args))
		w.scope(inner, n)
	}
}

func (w *threadWriter) call(c *Call, number int) {
	cat, name := w.t.runtime, w.t.launch
	switch {
	case len(c.Work) == 0:
		name = Wait
	case c.Work[0].Bytes > 0:
		name = "cudaMemcpyAsync"
	case strings.HasPrefix(c.Work[0].Name, "triton"):
		cat, name = w.t.driver, w.t.launchDriver
	}
	w.calls = append(w.calls, w.slice(cat, name, c.Start, c.End, object(w.t.external, number, "cbid", 211, "correlation", c.Correlation)))
	if w.t.arrows != "" && len(c.Work) > 0 {
		w.calls = append(w.calls, object("ph", "s", "id", c.Correlation, "pid", w.host, "tid", w.tid, "ts", w.t.micros(c.Start), "cat", w.t.arrows, "name", w.t.arrows))
	}
	for i := range c.Work {
		w.calls = append(w.calls, w.t.work(&c.Work[i], w.pid, number)...)
		if w.t.arrows != "" && i == 0 {
			work := &c.Work[i]
			w.calls = append(w.calls, object("ph", "f", "id", c.Correlation, "pid", w.pid(work.Device), "tid", w.t.id(int64(work.Stream), "stream "),
				"ts", w.t.micros(work.Start), "cat", w.t.arrows, "name", w.t.arrows, "bp", "e"))
		}
	}
}

func (t torch) work(w *Work, pid func(int) any, number int) []raw {
	cat, bytes := t.kernel, any(nil)
	if w.Bytes > 0 {
		cat, bytes = t.memcpy, w.Bytes
	}
	slice := func(cat, name string, args raw) raw {
		return object("ph", "X", "cat", cat, "name", name, "pid", pid(w.Device), "tid", t.id(int64(w.Stream), "stream "), "ts", t.micros(w.Start), "dur", micros(w.End-w.Start), "args", args)
	}
	events := []raw{slice(cat, w.Name, object(t.external, number, "device", w.Device, "context", 1, "stream", w.Stream, "correlation", w.Correlation, "bytes", bytes, "grid", []int{2, 1, 1}))}
	if t.more { // the annotation begins before the work, and ends after it
		m := *w
		m.Start, m.End = w.Start-1, w.End+1
		w = &m
	}
	if t.spans && w.Bytes == 0 {
		events = append(events, slice("gpu_user_annotation", "ProfilerStep#3", object("External id", number)))
	}
	return events
}

// extras are events of a process that are neither scopes nor calls nor work: arrows from forward to backward, whose ids may be those of launches,
// allocations of memory, waits of streams, and the starts of iterations.
func (t torch) extras(rank *Rank, pid func(int) any) (events []raw) {
	host := pid(int(rank.PID))
	for i := range rank.Threads {
		thread := &rank.Threads[i]
		tid := t.id(thread.ID, "")
		for n := range thread.Top.Scopes {
			s := &thread.Top.Scopes[n]
			for phase, at := range map[string]int64{"s": s.Start, "f": s.End} {
				events = append(events, object("ph", phase, "id", 100+n, "pid", host, "tid", tid, "ts", t.micros(at), "cat", "fwdbwd", "name", "fwdbwd", "bp", "e"))
			}
			events = append(events, object("ph", "i", "cat", "cpu_instant_event", "s", "t", "name", "[memory]", "pid", host, "tid", tid, "ts", t.micros(s.Start),
				"args", object("Total Allocated", 1<<30, "Bytes", -512, "Addr", 140_000_000_000_000, "Device Id", 0, "Device Type", 1)))
		}
		thread.Top.calls(func(c *Call) {
			for n := range c.Work {
				w := &c.Work[n]
				events = append(events, object("ph", "X", "cat", "cuda_sync", "name", "Stream Wait Event", "pid", pid(w.Device), "tid", t.id(int64(w.Stream), "stream "), "ts", t.micros(w.Start),
					"dur", micros(w.End-w.Start), "args", object("cuda_sync_kind", "Stream Wait Event", "stream", w.Stream, "correlation", w.Correlation+5_000_000, "device", w.Device, "context", 1)))
			}
		})
	}
	return append(events, object("name", "Iteration Start: PyTorch Profiler", "ph", "i", "s", "g", "pid", t.text(pid, "Traces"), "tid", "Trace PyTorch Profiler", "ts", t.micros(origin)))
}
