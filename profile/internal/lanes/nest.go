package lanes

import "slices"

// Nest chooses a row for each slice of a lane as the slices come, so that those of one row nest or follow each other. It is for
// writers that cannot wait for the last slice: Rows does the same for a lane that is complete. Slices may come in any order; those
// that come in the order of their ends, as a profiler completes them, have rows as few as those of Rows.
type Nest struct {
	rows []nestRow
	gaps []int64
}

// mostKept bounds what a row remembers, and with it the memory of a lane: 24 KiB for each row.
const mostKept = 1024

// nestRow remembers its latest slices by their ends. Of older ones it knows in which times they lie, and takes nothing there.
type nestRow struct{ spans []span }

// span is a slice, or a time in which slices lie that are no longer known.
type span struct {
	start, end int64
	closed     bool // no slice may begin or end within
}

// Row returns the row of the next slice. No more than most rows are used: what fits on none of them goes to the last one.
func (n *Nest) Row(start, duration int64, most int) int {
	s := span{start: start, end: start + max(duration, 0)}
	for i := range n.rows {
		if n.rows[i].add(s) {
			n.shrink(&n.rows[i])
			return i
		}
	}
	if len(n.rows) == most {
		return most - 1
	}
	n.rows = append(n.rows, nestRow{spans: []span{s}})
	return len(n.rows) - 1
}

// add adds a slice if it nests within the others and they within it.
func (r *nestRow) add(s span) bool {
	last := len(r.spans)
	if last == 0 || r.spans[last-1].end <= s.start { // nearly always
		r.spans = append(r.spans, s)
		return true
	}
	at := last // behind those that end before s or with it
	for at > 0 && r.spans[at-1].end > s.end {
		at--
		if o := &r.spans[at]; o.start < s.end && (o.start > s.start || o.closed) {
			return false
		}
	}
	for i := at - 1; i >= 0 && r.spans[i].end > s.start; i-- {
		if o := &r.spans[i]; o.start < s.start && (o.end < s.end || o.closed) {
			return false
		}
	}
	r.spans = slices.Insert(r.spans, at, s)
	return true
}

// shrink makes one span of slices that lie within each other, and of half of what is left: of those with the smallest gaps between
// them. Slices that come late, from the buffer of another thread, find their place in the large gaps. The last quarter stays as it
// is, since slices that end together come the outer first.
func (n *Nest) shrink(r *nestRow) {
	if len(r.spans) < mostKept {
		return
	}
	const old = mostKept * 3 / 4
	apart := r.spans[:0]
	for _, s := range r.spans[:old] {
		for len(apart) > 0 && (apart[len(apart)-1].start >= s.start || apart[len(apart)-1].end == s.end) {
			s = s.with(apart[len(apart)-1])
			apart = apart[:len(apart)-1]
		}
		apart = append(apart, s)
	}
	n.gaps = n.gaps[:0]
	for i := 1; i < len(apart); i++ {
		n.gaps = append(n.gaps, apart[i].start-apart[i-1].end)
	}
	slices.Sort(n.gaps)
	kept := apart[:1]
	for _, s := range apart[1:] {
		if last := &kept[len(kept)-1]; s.start-last.end <= n.gaps[len(n.gaps)/2] {
			*last = last.with(s)
			continue
		}
		kept = append(kept, s)
	}
	r.spans = append(kept, r.spans[old:]...)
}

func (s span) with(o span) span { return span{min(s.start, o.start), max(s.end, o.end), true} }
