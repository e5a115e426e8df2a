package profile

import (
	"cmp"
	"slices"
	"sort"
)

// Launch returns the slice of the call that launched a slice of a GPU: the one with its correlation id in its process, or where there is
// none the innermost slice from which an arrow leads to it, which may be a scope. Lanes say which process is whose: readers see to it
// that calls with equal ids of two processes are on lanes of two processes.
//
// Several calls of a process with one id differ by time: the last of them that began before the work did.
func (p *CallPaths) Launch(slice int32) (launch int32, known bool) {
	if p.calls == nil {
		p.calls = make([]int32, len(p.t.Slices))
		p.findCalls()
	}
	return p.calls[slice] - 1, p.calls[slice] != 0
}

// call is a slice of a thread by which work is found.
type call struct {
	process int32
	rank    int32 // launches come before other calls, which count only where there is no launch
	id      uint64
	start   int64
	slice   int32
}

func (a *call) compare(b *call) int {
	return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.id, b.id), cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start))
}

// findCalls finds the launches of all slices of GPUs.
func (p *CallPaths) findCalls() {
	processes := map[string]int32{}
	var calls []call
	var started []int32 // what calls may have started
	for _, i := range p.order {
		s, l := &p.t.Slices[i], p.lanes[p.t.Slices[i].Lane]
		switch {
		case l == nil || s.Kind == ScopeSlice || s.Kind == InsideSlice:
		case l.Kind != ThreadLane:
			started = append(started, i)
		case s.ID != 0:
			process, known := processes[l.Process]
			if !known {
				process = int32(len(processes))
				processes[l.Process] = process
			}
			c := call{process: process, id: s.ID, start: s.Start, slice: i}
			if s.Kind != LaunchSlice {
				c.rank = 1
			}
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(a.compare(&b), cmp.Compare(a.slice, b.slice)) })
	var alone []int32
	for _, i := range started {
		s := &p.t.Slices[i]
		process, known := processes[p.lanes[s.Lane].Process]
		if s.IsWork() {
			p.working += max(s.Duration, 0)
		}
		if !known || s.ID == 0 || !p.byID(calls, process, i) {
			alone = append(alone, i)
		}
	}
	p.followArrows(alone)
}

// byID finds the call with the id of a slice.
func (p *CallPaths) byID(calls []call, process int32, slice int32) bool {
	s := &p.t.Slices[slice]
	key := call{process: process, id: s.ID, start: s.Start + 1}
	same := func(at int) bool {
		return at >= 0 && at < len(calls) && calls[at].process == process && calls[at].id == s.ID
	}
	first := sort.Search(len(calls), func(i int) bool {
		return cmp.Or(cmp.Compare(calls[i].process, process), cmp.Compare(calls[i].id, s.ID)) >= 0
	})
	if !same(first) {
		return false
	}
	key.rank = calls[first].rank
	at := sort.Search(len(calls), func(i int) bool { return calls[i].compare(&key) >= 0 }) - 1
	at = max(at, first) // all of them began later: clocks differ
	p.calls[slice] = calls[at].slice + 1
	for _, other := range []int{first, at - 1, at + 1} {
		if s.IsWork() && same(other) && calls[other].rank == key.rank && p.differ(calls[other].slice, calls[at].slice) {
			p.reused += max(s.Duration, 0)
			break
		}
	}
	return true
}

// differ says whether two calls are at different call paths.
func (p *CallPaths) differ(a, b int32) bool {
	return a != b && p.found != nil && p.Of(a) != p.Of(b)
}

// laneTime is a place in a timeline.
type laneTime struct {
	lane int
	at   int64
}

// followArrows finds the launches of slices from the arrows that lead to their starts.
func (p *CallPaths) followArrows(slices []int32) {
	if len(p.t.Flows) == 0 || len(slices) == 0 {
		return
	}
	ends := make(map[laneTime][]int32, len(slices))
	for _, i := range slices {
		end := laneTime{p.t.Slices[i].Lane, p.t.Slices[i].Start}
		ends[end] = append(ends[end], i)
	}
	var arrows []*Flow
	for i := range p.t.Flows {
		f := &p.t.Flows[i]
		if l := p.lanes[f.From]; l != nil && l.Kind == ThreadLane && ends[laneTime{f.To, f.End}] != nil {
			arrows = append(arrows, f)
		}
	}
	sort.SliceStable(arrows, func(i, j int) bool { return arrows[i].Start < arrows[j].Start })
	p.touched(arrows, func(f *Flow, launch int32) {
		for _, i := range ends[laneTime{f.To, f.End}] {
			if p.calls[i] == 0 {
				p.calls[i] = launch + 1
			}
		}
	})
}

// touched reports the innermost slice at the start of each arrow, if there is one. Arrows come in order of time.
func (p *CallPaths) touched(arrows []*Flow, report func(f *Flow, slice int32)) {
	open := map[int][]int32{} // of each lane, the innermost last
	until := func(lane int, at int64) []int32 {
		list := open[lane]
		for len(list) > 0 && p.t.Slices[list[len(list)-1]].End() < at {
			list = list[:len(list)-1]
		}
		open[lane] = list
		return list
	}
	for next := 0; len(arrows) > 0; next++ {
		for len(arrows) > 0 && (next == len(p.order) || p.t.Slices[p.order[next]].Start > arrows[0].Start) {
			if list := until(arrows[0].From, arrows[0].Start); len(list) > 0 {
				report(arrows[0], list[len(list)-1])
			}
			arrows = arrows[1:]
		}
		if next == len(p.order) {
			return
		}
		if s := &p.t.Slices[p.order[next]]; p.lanes[s.Lane] != nil && p.lanes[s.Lane].Kind == ThreadLane {
			open[s.Lane] = append(until(s.Lane, s.Start), p.order[next])
		}
	}
}

// End is when a slice ends; a negative duration counts as none.
func (s *Slice) End() int64 { return s.Start + max(s.Duration, 0) }

// IsWork says whether a slice is something that a GPU does: a kernel, a graph, a copy or a fill.
func (s *Slice) IsWork() bool {
	switch s.Kind {
	case KernelSlice, GraphSlice, CopySlice, FillSlice:
		return true
	}
	return false
}
