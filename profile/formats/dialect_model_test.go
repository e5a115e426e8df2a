// Package dialects writes timelines as other programs do, each with its own names, ids, times and order of events. It is for tests:
// a Model says what happened, every Dialect writes it, and what a reader makes of the file must be what the model means.
package formats_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Model is what the processes of a program did. Times are in ns since 1970.
type Model struct {
	Ranks []Rank
}

// Rank is a process with its GPUs.
type Rank struct {
	PID     int64
	Device  int // ordinal of its first GPU; another rank may have the same
	Threads []Thread
	Earlier []Work // work whose launch came before the timeline
}

// Thread is a thread of a process. What it did outside of scopes is in a scope without a name.
type Thread struct {
	ID  int64
	Top Scope
}

// Scope is a piece of the program: what is in it follows each other.
type Scope struct {
	Name       string
	Start, End int64
	Python     bool // a function of Python, where the dialect tells them from others
	Scopes     []Scope
	Calls      []Call
}

// Call is a call of the driver: a launch if it has work, else a wait for the GPU.
type Call struct {
	Start, End  int64
	Correlation int64 // of one process
	Work        []Work
}

// Work is a kernel, or a copy if it has bytes.
type Work struct {
	Name           string
	Device, Stream int
	Start, End     int64
	Bytes          int64
	Correlation    int64
}

// Wait is the name of the call that waits.
const Wait = "cudaDeviceSynchronize"

// Sums are the totals at one call path.
type Sums struct{ Time, Count, CPUTime, WaitTime, WaitCount, Bytes int64 }

// Meaning is what a model amounts to by call path, frames joined by " > ", as far as the dialect tells. The work of GPUs is below the scope
// that launched it.
func (d *Dialect) Meaning(m *Model) map[string]Sums {
	sums := map[string]Sums{}
	add := func(path string, s Sums) {
		t := sums[path]
		sums[path] = Sums{t.Time + s.Time, t.Count + s.Count, t.CPUTime + s.CPUTime, t.WaitTime + s.WaitTime, t.WaitCount + s.WaitCount, t.Bytes + s.Bytes}
	}
	work := func(path string, w *Work) {
		bytes := w.Bytes
		if d.NoBytes {
			bytes = 0
		}
		add(path+" > "+w.Name, Sums{Time: w.End - w.Start, Count: 1, Bytes: bytes})
	}
	var scope func(path string, s *Scope)
	scope = func(path string, s *Scope) {
		for i := range s.Calls {
			c := &s.Calls[i]
			if len(c.Work) == 0 && !d.NoCalls {
				add(path+" > "+Wait, Sums{WaitTime: c.End - c.Start, WaitCount: 1})
			}
			above := path
			if d.NoCalls {
				above = "ROOT"
			}
			for k := range c.Work {
				work(above, &c.Work[k])
			}
		}
		for i := range s.Scopes {
			inner := &s.Scopes[i]
			add(path+" > "+inner.Name, Sums{CPUTime: inner.End - inner.Start})
			scope(path+" > "+inner.Name, inner)
		}
	}
	for r := range m.Ranks {
		for t := range m.Ranks[r].Threads {
			scope("ROOT", &m.Ranks[r].Threads[t].Top)
		}
		for i := range m.Ranks[r].Earlier {
			work("ROOT", &m.Ranks[r].Earlier[i])
		}
	}
	return sums
}

// Busy is how long each GPU of each process had work, in ascending order.
func (m *Model) Busy() (busy []int64) {
	work := map[[2]int][]*Work{}
	m.Work(func(rank int, _ *Call, w *Work) {
		work[[2]int{rank, w.Device}] = append(work[[2]int{rank, w.Device}], w)
	})
	for _, list := range work {
		slices.SortFunc(list, func(a, b *Work) int { return cmp.Compare(a.Start, b.Start) })
		total, until := int64(0), int64(0)
		for _, w := range list {
			total += max(w.End-max(w.Start, until), 0)
			until = max(until, w.End)
		}
		busy = append(busy, total)
	}
	slices.Sort(busy)
	return busy
}

// Work calls see for all work of GPUs, with its rank and the call that launched it, nil for none.
func (m *Model) Work(see func(rank int, launch *Call, w *Work)) {
	for r := range m.Ranks {
		for t := range m.Ranks[r].Threads {
			m.Ranks[r].Threads[t].Top.calls(func(c *Call) {
				for i := range c.Work {
					see(r, c, &c.Work[i])
				}
			})
		}
		for i := range m.Ranks[r].Earlier {
			see(r, nil, &m.Ranks[r].Earlier[i])
		}
	}
}

func (s *Scope) calls(see func(*Call)) {
	for i := range s.Calls {
		see(&s.Calls[i])
	}
	for i := range s.Scopes {
		s.Scopes[i].calls(see)
	}
}

// origin is when random models begin: 2026-11-20 12:00:00 UTC.
const origin = 1_795_176_000_000_000_000

// Random makes a model for a dialect. All times are multiples of its unit.
func Random(r *rand.Rand, d *Dialect) *Model {
	g := generator{r: r, d: d, unit: d.Unit}
	m := &Model{}
	for rank := range 1 + r.IntN(d.Ranks) {
		m.Ranks = append(m.Ranks, g.rank(rank))
	}
	return m
}

type generator struct {
	r           *rand.Rand
	d           *Dialect
	unit        int64
	correlation int64
	free        map[[2]int]int64 // when each stream of the rank is free
	devices     []int
}

var (
	scopeNames  = []string{"forward", "aten::mm", "größer <1>", `train.py(12): "step"`, "a\\b;c", "nn.Module: Linear_0", "x > y"}
	kernelNames = []string{"gemm", "void at::native::elementwise_kernel<128, 4>(int, at::native::f)", "triton_poi_fused_0", "ncclDevKernel_AllReduce"}
)

func (g *generator) rank(n int) Rank {
	rank := Rank{PID: 4000 + int64(n), Device: n}
	g.correlation, g.free, g.devices = int64(100+g.r.IntN(3)), map[[2]int]int64{}, []int{n}
	if g.d.SameDevice {
		rank.Device, g.devices = 0, []int{0}
	}
	if g.d.Ranks == 1 && g.r.IntN(2) == 0 {
		g.devices = append(g.devices, n+1)
	}
	threads := 1 + g.r.IntN(3)
	if g.d.OneThread {
		threads = 1
	}
	for t := range threads {
		top := Scope{Start: origin, End: origin + g.unit*(1000+g.r.Int64N(4000))}
		g.fill(&top, 0)
		rank.Threads = append(rank.Threads, Thread{ID: rank.PID + int64(t)*1000, Top: top})
	}
	for range g.r.IntN(3) {
		if g.correlation++; !g.d.NoWork {
			rank.Earlier = append(rank.Earlier, g.work(origin, g.correlation))
		}
	}
	return rank
}

// fill puts scopes and calls into a scope, one after another; if they need not be apart, they may touch, and begin or end with the scope.
func (g *generator) fill(s *Scope, depth int) {
	at := s.Start
	for range g.r.IntN(5) {
		room := (s.End - at) / g.unit
		if room < 12 {
			return
		}
		start := at + g.unit*g.r.Int64N(room/4)
		end := start + g.unit*(3+g.r.Int64N(room/2))
		if g.d.Apart {
			start, end = start+g.unit, end-g.unit
		}
		switch {
		case g.r.IntN(3) > 0 && depth < 6:
			inner := Scope{Name: scopeNames[g.r.IntN(len(scopeNames))], Start: start, End: end, Python: g.r.IntN(3) == 0}
			g.fill(&inner, depth+1)
			s.Scopes = append(s.Scopes, inner)
		case !g.d.NoWork:
			s.Calls = append(s.Calls, g.call(start, end))
		}
		at = end
		if s.End == at {
			return
		}
	}
}

func (g *generator) call(start, end int64) Call {
	g.correlation++
	c := Call{Start: start, End: end, Correlation: g.correlation}
	works := 1
	switch g.r.IntN(8) {
	case 0:
		works = 0
	case 1:
		if !g.d.OneWork {
			works = 3 // a graph
		}
	}
	for range works {
		c.Work = append(c.Work, g.work(start, c.Correlation))
	}
	return c
}

// work begins after its call began, when the stream is free.
func (g *generator) work(called, correlation int64) Work {
	stream := [2]int{g.devices[g.r.IntN(len(g.devices))], 7 + g.r.IntN(2)*13}
	start := max(g.free[stream], called+g.unit) + g.unit*g.r.Int64N(20)
	w := Work{Name: kernelNames[g.r.IntN(len(kernelNames))], Device: stream[0], Stream: stream[1], Start: start, End: start + g.unit*(1+g.r.Int64N(300)), Correlation: correlation}
	if g.r.IntN(5) == 0 {
		w.Name, w.Bytes = "Memcpy HtoD (Pageable -> Device)", 1+g.r.Int64N(1<<40)
	}
	g.free[stream] = w.End
	return w
}
