package lanes

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
)

type interval struct{ start, end int64 }

// rowsOf gives intervals to a Nest in the order given, and fails where two of a row neither nest nor follow each other.
func rowsOf(t *testing.T, list []interval) (rows [][]interval) {
	t.Helper()
	var n Nest
	for _, s := range list {
		at := n.Row(s.start, s.end-s.start, 1<<20)
		if at == len(rows) {
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], s)
	}
	for _, r := range n.rows {
		if cap(r.spans) > 2*mostKept {
			t.Fatalf("a row remembers %d slices", cap(r.spans))
		}
	}
	for _, row := range rows {
		slices.SortFunc(row, func(a, b interval) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
		var open []int64
		for _, s := range row {
			for len(open) > 0 && open[len(open)-1] <= s.start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.end > open[len(open)-1] {
				t.Fatalf("%d to %d overlaps what ends at %d on its row", s.start, s.end, open[len(open)-1])
			}
			open = append(open, s.end)
		}
	}
	return rows
}

// Whatever comes, in whatever order, nests within its row.
func TestNestInAnyOrder(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		n, length := 2+r.IntN(5*mostKept), 1+r.Int64N(40)
		list := make([]interval, n)
		for i := range list {
			start := r.Int64N(int64(n) * 8)
			list[i] = interval{start, start + r.Int64N(length)}
			if r.IntN(50) == 0 { // around others
				list[i].end += r.Int64N(int64(n))
			}
		}
		switch seed % 3 {
		case 0:
			slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.end, b.end) })
		case 1:
			slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
		}
		rowsOf(t, list)
	}
}

// In the order of their ends, slices have at most one row more than Rows needs, which knows all of them.
func TestNestHasFewRows(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		var list []interval
		timeline := &profile.Timeline{Lanes: []profile.Lane{{}}}
		for at, i := int64(0), 0; i < 3*mostKept; i++ {
			s := interval{at, at + 1 + r.Int64N(20)}
			at += r.Int64N(24)
			list = append(list, s)
			timeline.Slices = append(timeline.Slices, profile.Slice{Start: s.start, Duration: s.end - s.start})
		}
		slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.end, b.end) })
		best, _ := Rows(timeline, ByLane(timeline)[0], 1<<20)
		if got := len(rowsOf(t, list)); got > len(best)+1 {
			t.Errorf("seed %d: %d rows, want about %d", seed, got, len(best))
		}
	}
}

// What does not overlap has one row: kernels one after another, scopes that end in any order of depth, a block that comes before
// its many scopes, and the buffers of two threads that launch on a stream in turn.
func TestNestOfWhatDoesNotOverlap(t *testing.T) {
	var kernels, block, turns, states []interval
	for i := range int64(20 * mostKept) {
		kernels = append(kernels, interval{i * 10, i*10 + 9})
	}
	block = append(block, interval{0, 1 << 30})
	for i := range int64(5 * mostKept) {
		block = append(block, interval{i * 20, i*20 + 5}, interval{i * 20, i*20 + 10})
	}
	for thread := range int64(2) { // 40 steps of 300 kernels each
		for i := range int64(12000) {
			at := i/300*20_000 + thread*8000 + i%300*20
			turns = append(turns, interval{at, at + 15})
		}
	}
	for i := range int64(3 * mostKept) { // three states and a scope that end together, the outer first; then what is around them
		at := i * 100
		states = append(states, interval{at + 5, at + 8}, interval{at + 1, at + 40}, interval{at + 2, at + 40}, interval{at + 3, at + 40}, interval{at, at + 50})
	}
	for name, list := range map[string][]interval{"kernels": kernels, "block": block, "turns": turns, "states": states} {
		if rows := rowsOf(t, list); len(rows) != 1 {
			t.Errorf("%s: %d rows", name, len(rows))
		}
	}
}

func TestNestHasALastRow(t *testing.T) {
	var n Nest
	for i := range int64(10) {
		if got, want := n.Row(i, 100, 3), int(min(i, 2)); got != want {
			t.Errorf("slice %d is on row %d, want %d", i, got, want)
		}
	}
}

// BenchmarkNest is a stream whose kernels overlap in pairs.
func BenchmarkNest(b *testing.B) {
	var n Nest
	b.ReportAllocs()
	for i := range b.N {
		n.Row(int64(i)*10, 12, mostKept)
	}
}
