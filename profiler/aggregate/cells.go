package aggregate

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/gpu/record"
)

// pcReason is an instruction of a function and why warps waited there.
type pcReason struct {
	offset uint64
	reason uint16
}

// tally counts samples.
type tally struct{ samples, notIssued uint64 }

type tallies map[pcReason]tally

func (t tallies) add(key pcReason, n tally) {
	old := t[key]
	t[key] = tally{old.samples + n.samples, old.notIssued + n.notIssued}
}

func (t tallies) total() (n uint64) {
	for _, c := range t {
		n += c.samples
	}
	return n
}

// cell is one of the tallies.
type cell struct {
	pcReason
	tally
}

func (k pcReason) compare(other pcReason) int {
	return cmp.Or(cmp.Compare(k.offset, other.offset), cmp.Compare(k.reason, other.reason))
}

// cells are in order of offset and reason.
func (t tallies) cells() []cell {
	out := make([]cell, 0, len(t))
	for key, n := range t {
		out = append(out, cell{key, n})
	}
	slices.SortFunc(out, func(a, b cell) int { return a.compare(b.pcReason) })
	return out
}

// joinCells adds up two lists that are in order. It changes neither, but may return one of them.
func joinCells(a, b []cell) []cell {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]cell, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].compare(b[0].pcReason); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			sum := tally{a[0].samples + b[0].samples, a[0].notIssued + b[0].notIssued}
			out, a, b = append(out, cell{a[0].pcReason, sum}), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func (t tallies) take(r *record.Sample) {
	for _, stall := range r.Stalls {
		t.add(pcReason{r.Offset, stall.Reason}, tally{stall.Samples, min(uint64(stall.NotIssued), stall.Samples)})
	}
}

func sumOf(cells []cell) (n uint64) {
	for i := range cells {
		n += cells[i].samples
	}
	return n
}
