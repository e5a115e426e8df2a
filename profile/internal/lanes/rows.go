package lanes

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Row is a part of a lane whose slices follow each other or lie within each other, in the order in which they begin.
type Row struct {
	Slices []int32 // places in the timeline
	open   []int64 // ends of the slices that are open, the innermost last
}

// ByLane lists the slices of each lane, by its ID, in the order in which they begin, the outer first.
func ByLane(t *profile.Timeline) map[int][]int32 {
	lists := make(map[int][]int32, len(t.Lanes))
	for i := range t.Slices {
		lists[t.Slices[i].Lane] = append(lists[t.Slices[i].Lane], int32(i))
	}
	for _, list := range lists {
		slices.SortStableFunc(list, func(a, b int32) int {
			x, y := &t.Slices[a], &t.Slices[b]
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.Duration, x.Duration))
		})
	}
	return lists
}

// Rows puts each slice of a lane on the first row where it nests within the open slices or follows them. Slices of one lane can
// overlap without nesting, as copies and kernels do. There are at most most rows, which bounds the search; usual lanes need
// one or two. A slice that fits on no row goes to the last one, where Play ends it together with the slice around it.
// overflow counts these slices.
func Rows(t *profile.Timeline, list []int32, most int) (rows []Row, overflow int) {
	for _, i := range list {
		start, end := times(&t.Slices[i])
		at := 0
		for at < len(rows) && !rows[at].takes(start, end) {
			at++
		}
		switch {
		case at == len(rows) && at < most:
			rows = append(rows, Row{})
		case at == len(rows):
			at--
			overflow++
			end = rows[at].open[len(rows[at].open)-1]
		}
		rows[at].Slices = append(rows[at].Slices, i)
		rows[at].open = append(rows[at].open, end)
	}
	return rows, overflow
}

func times(s *profile.Slice) (start, end int64) { return s.Start, s.Start + max(s.Duration, 0) }

// takes says whether a slice follows the slices of the row or nests within them. Slices come in the order in which they begin,
// so it forgets those that have ended before this one begins.
func (r *Row) takes(start, end int64) bool {
	for len(r.open) > 0 && r.open[len(r.open)-1] <= start {
		r.open = r.open[:len(r.open)-1]
	}
	return len(r.open) == 0 || end <= r.open[len(r.open)-1]
}

// Play calls begin and end for the slices of a row in the order of time; the innermost ends first.
func (r *Row) Play(t *profile.Timeline, begin func(i int32, at int64), end func(i int32, at int64)) {
	type openSlice struct {
		slice int32
		end   int64
	}
	var open []openSlice
	close := func() {
		last := open[len(open)-1]
		end(last.slice, last.end)
		open = open[:len(open)-1]
	}
	for _, i := range r.Slices {
		from, to := times(&t.Slices[i])
		for len(open) > 0 && open[len(open)-1].end <= from {
			close()
		}
		if len(open) > 0 {
			to = min(to, open[len(open)-1].end)
		}
		begin(i, from)
		open = append(open, openSlice{i, to})
	}
	for len(open) > 0 {
		close()
	}
}

// At finds the slice of a lane that an arrow touches: the innermost slice around that time. list has the lane's slices as ByLane
// sorts them. It looks at few of them, since arrows start and end where slices start.
func At(t *profile.Timeline, list []int32, time int64) (slice int32, found bool) {
	const far = 64
	i, _ := slices.BinarySearchFunc(list, time, func(s int32, time int64) int {
		if t.Slices[s].Start <= time {
			return -1
		}
		return 1
	})
	for look := i - 1; look >= 0 && look >= i-far; look-- {
		s := &t.Slices[list[look]]
		if s.Start == time || s.Start+s.Duration > time {
			return list[look], true
		}
	}
	return 0, false
}
