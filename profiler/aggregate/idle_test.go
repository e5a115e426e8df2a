package aggregate

import (
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

// TestIdleTimes compares with a second derivation, every ns by itself, for work that comes in any order, also while sums are read.
func TestIdleTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	nodes := []*node{{name: "a"}, {name: "b"}, {name: "c"}}
	for range 300 {
		times := newIdleTimes()
		var work []spell
		for range random.IntN(20) + 1 {
			start := 100 + random.Uint64N(200)
			work = append(work, spell{start, start + 1 + random.Uint64N(30), nodes[random.IntN(len(nodes))]})
		}
		for _, s := range work {
			times.add(&record.Activity{Kind: record.Kernel, Start: s.start, End: s.end}, s.node)
			if random.IntN(4) == 0 {
				times.frozen()
			}
		}
		times.add(&record.Activity{Kind: record.Sync, Start: 1, End: 1000}, nodes[0]) // not work
		first, last := uint64(1000), uint64(0)
		for _, s := range work {
			first, last = min(first, s.start), max(last, s.end)
		}
		var busy, idle, gaps uint64
		was := true
		for now := first; now < last; now++ {
			at := false
			for _, s := range work {
				at = at || s.start <= now && now < s.end
			}
			switch {
			case at:
				busy++
			default:
				idle++
				if was {
					gaps++
				}
			}
			was = at
		}
		var got idleSum
		for _, s := range times.frozen() {
			got = idleSum{got.idle + s.idle, got.busy + s.busy, got.gaps + s.gaps}
		}
		if want := (idleSum{idle, busy, gaps}); got != want {
			t.Fatalf("%+v\ngot %+v, want %+v", work, got, want)
		}
	}
}

// TestIdleTimeIsBeforeItsWork: a gap counts for the work that ends it.
func TestIdleTimeIsBeforeItsWork(t *testing.T) {
	a, b := &node{name: "a"}, &node{name: "b"}
	times := newIdleTimes()
	for _, w := range []struct {
		device     uint32
		start, end uint64
		node       *node
	}{{0, 110, 120, a}, {0, 100, 105, a}, {0, 150, 160, b}, {1, 500, 510, b}, {0, 115, 130, b}} {
		times.add(&record.Activity{Kind: record.Kernel, Device: w.device, Start: w.start, End: w.end}, w.node)
	}
	sums := times.frozen()
	if got, want := sums[a], (idleSum{idle: 5, busy: 15, gaps: 1}); got != want {
		t.Errorf("a: %+v, want %+v", got, want)
	}
	if got, want := sums[b], (idleSum{idle: 20, busy: 30, gaps: 1}); got != want {
		t.Errorf("b: %+v, want %+v", got, want)
	}
}

// TestIdleTimesAreBounded: older work is accounted for once there is much newer.
func TestIdleTimesAreBounded(t *testing.T) {
	times, n := newIdleTimes(), &node{name: "n"}
	const work = 3 * maxPending
	for i := range uint64(work) {
		at := 10 + 10*(i^1) // neighbours are swapped
		times.add(&record.Activity{Kind: record.Kernel, Start: at, End: at + 4}, n)
	}
	if pending := len(times.devices[0].pending); pending > maxPending {
		t.Errorf("%d pieces of work are pending", pending)
	}
	if got, want := times.frozen()[n], (idleSum{idle: 6 * (work - 1), busy: 4 * work, gaps: work - 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Work is taken off in the order of its starts, also where buffers of the vendor's library come in another order than they were filled.
func TestSpells(t *testing.T) {
	for name, start := range map[string]func(i int) int{
		"in order":        func(i int) int { return i },
		"backwards":       func(i int) int { return maxPending - i },
		"buffers changed": func(i int) int { return i ^ 1<<13 },
		"two streams":     func(i int) int { return i/8192*8192 + i%4096*2 },
	} {
		var list spells
		last := uint64(0)
		for i := range maxPending {
			list.add(spell{start: uint64(start(i)), end: uint64(start(i) + i%3)})
		}
		want := list.sorted()
		for i := range maxPending {
			s := list.next()
			if s.compare(want[i]) != 0 || s.start < last {
				t.Fatalf("%s: spell %d is %v and not %v", name, i, s, want[i])
			}
			last = s.start
		}
		if len(list) > 0 {
			t.Errorf("%s: %d are left", name, len(list))
		}
	}
}

// Work of two buffers that came in the other order: each record of the second is earlier than all that wait.
func BenchmarkSpellsOfSwappedBuffers(b *testing.B) {
	const buffer = 10_000
	for b.Loop() {
		var list spells
		for i := range 2 * buffer {
			at := uint64((i + buffer) % (2 * buffer))
			list.add(spell{start: at, end: at + 1})
		}
		for len(list) > 0 {
			list.next()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*buffer), "ns/record")
}
