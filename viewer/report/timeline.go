package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// timelineHead describes lanes, the rows that they take, and where each row's slices are.
type timelineHead struct {
	Span       int64      `json:"span"`  // ns from the first start to the last end
	Start      string     `json:"start"` // the first start, in ns since 1970
	Lanes      []laneHead `json:"lanes"`
	Rows       []rowHead  `json:"rows"`
	PathName   section    `json:"pathName"`   // call paths as a trie, the root's first: the string of each frame …
	PathParent section    `json:"pathParent"` // … and the frame above it plus 1
	Flows      flowHead   `json:"flows"`

	Counters []counterHead `json:"counters,omitempty"`
}

// counterHead is an amount of bytes over time.
type counterHead struct {
	Name  string  `json:"name"`
	At    section `json:"at"` // since the point before it, the first since the timeline's
	Value section `json:"value"`
}

type laneHead struct {
	Name    string           `json:"name"`
	Process string           `json:"process,omitempty"`
	Kind    profile.LaneKind `json:"kind"`
	Row     int              `json:"row"` // its first
	Rows    int              `json:"rows"`
}

// rowHead is one row of a lane: slices that do not overlap, in order of start.
type rowHead struct {
	Count    int     `json:"count"`
	Start    section `json:"start"` // since the start before it, the first since the timeline's
	Duration section `json:"duration"`
	Name     section `json:"name"`
	Kind     section `json:"kind"`
	Path     section `json:"path"` // a frame of the trie plus 1
	Bytes    section `json:"bytes"`
}

// flowHead are arrows from slice to slice: a row and a position in it for both ends.
type flowHead struct {
	Count   int     `json:"count"`
	FromRow section `json:"fromRow"`
	From    section `json:"from"`
	ToRow   section `json:"toRow"`
	To      section `json:"to"`
}

const (
	maxSlices = 1_000_000 // what a browser draws without a hitch; some 8 MB of page
	maxRows   = 200       // of a lane; what is nested deeper shares the last
)

// packTimeline writes a timeline's slices, row by row.
func (b *builder) packTimeline(t *profile.Timeline) *timelineHead {
	paths := t.CallPaths()
	slicesByLane, first, last := b.sortSlices(t, paths)
	h := &timelineHead{Start: fmt.Sprint(first), Span: last - first}
	rowsOf := map[int][]*laneRow{}
	lanes := slices.Clone(t.Lanes)
	slices.SortStableFunc(lanes, func(a, b profile.Lane) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Kind, b.Kind))
	})
	for _, lane := range lanes {
		all := slicesByLane[lane.ID]
		if len(all) == 0 {
			continue
		}
		list := stack(all)
		for i, r := range list {
			r.number = len(h.Rows) + i
		}
		rowsOf[lane.ID] = list
		h.Lanes = append(h.Lanes, laneHead{clean(lane.Name), clean(lane.Process), lane.Kind, len(h.Rows), len(list)})
		for _, r := range list {
			h.Rows = append(h.Rows, b.packRow(r, first))
		}
	}
	var names, parents []uint64
	for path := range int32(paths.Len()) {
		names = append(names, b.names.of(paths.Name(path)))
		parents = append(parents, uint64(paths.Above(path))+min(uint64(path), 1))
	}
	h.PathName, h.PathParent = b.whole(names), b.whole(parents)
	h.Flows = b.packFlows(t.Flows, rowsOf)
	for _, c := range t.Counters {
		h.Counters = append(h.Counters, b.packCounter(c, first))
	}
	return h
}

// packCounter writes a counter from the start of the timeline on, and its highest value of each moment: many points may have one time.
func (b *builder) packCounter(c profile.Counter, first int64) counterHead {
	var at, value []uint64
	last := first
	for i := range c.Points {
		p := c.Points[i]
		at = append(at, uint64(max(p.At, last)-last))
		last = max(p.At, last)
		value = append(value, uint64(max(p.Value, 0)))
	}
	name := c.Name
	if c.Process != "" {
		name = c.Process + " · " + name
	}
	return counterHead{clean(name), b.whole(at), b.whole(value)}
}

// placed is a slice with the number of its call path.
type placed struct {
	*profile.Slice
	path int32
}

// sortSlices puts slices below their lanes, in order of start and the longer first.
func (b *builder) sortSlices(t *profile.Timeline, paths *profile.CallPaths) (byLane map[int][]placed, first, last int64) {
	all := paths.ByStart()
	if len(all) > maxSlices {
		b.note(fmt.Sprintf("the timeline shows the first %s of %s; convert the profile to Perfetto's format to see all of them", figures.Grouped(maxSlices), figures.Count(len(all), "slice")))
		all = all[:maxSlices]
	}
	byLane = map[int][]placed{}
	for i, slice := range all {
		s := placed{&t.Slices[slice], paths.Of(slice)}
		if i == 0 {
			first = s.Start
		}
		last = max(last, s.End())
		byLane[s.Lane] = append(byLane[s.Lane], s)
	}
	return byLane, first, max(last, first)
}

// laneRow is one row of a lane in the making.
type laneRow struct {
	slices []placed
	end    int64
	number int
}

// stack spreads slices over rows: each lies below every slice that is still running when it starts, which puts
// nested scopes below each other and kernels that overlap side by side.
func stack(all []placed) []*laneRow {
	var list []*laneRow
	for _, s := range all {
		at := len(list)
		for at > 0 && list[at-1].end <= s.Start {
			at--
		}
		at = min(at, maxRows-1)
		if at == len(list) {
			list = append(list, &laneRow{})
		}
		list[at].slices = append(list[at].slices, s)
		list[at].end = max(list[at].end, s.End())
	}
	return list
}

func (b *builder) packRow(r *laneRow, from int64) rowHead {
	n := len(r.slices)
	var starts, durations, names, kinds, path []uint64
	moved := make([]float64, n)
	for i, s := range r.slices {
		starts = append(starts, uint64(s.Start-from))
		from = s.Start
		durations = append(durations, uint64(max(s.Duration, 0)))
		names = append(names, b.names.of(s.Name))
		kinds = append(kinds, uint64(s.Kind))
		path = append(path, uint64(s.path)+1)
		moved[i] = bytesOf(s.Slice)
	}
	return rowHead{n, b.whole(starts), b.whole(durations), b.whole(names), b.whole(kinds), b.whole(path), b.measured(moved)}
}

func bytesOf(s *profile.Slice) float64 {
	for i := range s.Metrics {
		if m := &s.Metrics[i]; m.Name == "bytes" {
			if v, ok := m.Value.Float(); ok {
				return v
			}
		}
	}
	return missing
}

// packFlows finds the slices at both ends of each arrow; an arrow without one of them is left out.
func (b *builder) packFlows(flows []profile.Flow, rowsOf map[int][]*laneRow) flowHead {
	var fromRow, from, toRow, to []uint64
	for _, f := range flows {
		r, at, ok := sliceAt(rowsOf[f.From], f.Start)
		r2, at2, ok2 := sliceAt(rowsOf[f.To], f.End)
		if ok && ok2 {
			fromRow, from = append(fromRow, uint64(r)), append(from, uint64(at))
			toRow, to = append(toRow, uint64(r2)), append(to, uint64(at2))
		}
	}
	return flowHead{len(from), b.whole(fromRow), b.whole(from), b.whole(toRow), b.whole(to)}
}

// sliceAt finds the deepest slice of a lane that is running at a time.
func sliceAt(list []*laneRow, at int64) (row, position int, found bool) {
	for _, r := range slices.Backward(list) {
		i, _ := slices.BinarySearchFunc(r.slices, at, func(s placed, t int64) int {
			return cmp.Or(cmp.Compare(s.Start, t), -1) // the first that starts later
		})
		if i > 0 && r.slices[i-1].End() >= at {
			return r.number, i - 1, true
		}
	}
	return 0, 0, false
}
