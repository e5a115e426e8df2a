package callpath

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

// apart is how far the GPU's clock is ahead of that of activities in these tests.
const apart = 366_500

func at(start uint64) *record.Activity { return &record.Activity{Start: start, End: start + 1500} }

func stored(v *Values, number uint32, start uint64, bits ...uint64) {
	for i, b := range bits {
		v.Add(0, []record.Value{{Number: number, Index: uint32(i), Stamp: start + 400 + apart, Bits: b}})
	}
}

// known returns Values that know the clock, and expect the metrics 1 to 3.
func known() *Values {
	v := NewValues()
	for number := range uint32(3) {
		v.Expect(number + 1)
	}
	stored(v, Alone, 1000, 0)
	v.ActivityAlone(at(1000))
	return v
}

func take(t *testing.T, v *Values, number uint32, start uint64, want ...uint64) {
	t.Helper()
	got, outcome := v.Take(at(start), number, max(len(want), 1))
	if want == nil {
		if outcome != Missing {
			t.Errorf("the activity at %d got %v, %v; want none", start, got, outcome)
		}
	} else if outcome != Found || !slices.Equal(got, want) {
		t.Errorf("the activity at %d got %v, %v; want %v", start, got, outcome, want)
	}
}

func TestReplaysWithoutAnActivityShiftNothing(t *testing.T) {
	v := known()
	for i := range uint64(30) {
		stored(v, 1, 10_000*(i+1), i)
	}
	for _, i := range []uint64{10, 11, 12, 25, 3, 26} { // one buffer is late
		take(t, v, 1, 10_000*(i+1), i)
	}
	take(t, v, 1, 10_000*11) // taken already
	take(t, v, 2, 10_000*11) // another metric
}

func TestVectors(t *testing.T) {
	v := known()
	stored(v, 1, 10_000, 5, 6, 7)
	stored(v, 2, 10_100, 1)
	stored(v, 1, 20_000, 8, 9) // the last was overwritten
	take(t, v, 1, 10_000, 5, 6, 7)
	take(t, v, 2, 10_100, 1)
	if got, outcome := v.Take(at(20_000), 1, 3); outcome != Missing {
		t.Errorf("a vector without its end: %v, %v", got, outcome)
	}
}

func TestTheClockIsAwaited(t *testing.T) {
	v := NewValues()
	v.Expect(1)
	stored(v, Alone, 1000, 0)
	stored(v, 1, 10_000, 1)
	stored(v, 1, 20_000, 2)
	if _, outcome := v.Take(at(20_000), 1, 1); outcome != TooEarly {
		t.Errorf("before the clock is known: %v, want %v", outcome, TooEarly)
	}
	v.ActivityAlone(at(1000))
	take(t, v, 1, 20_000, 2)
}

func TestWithoutAClockTheFirstActivityHasTheFirstValues(t *testing.T) {
	v := NewValues()
	v.Expect(1)
	stored(v, 1, 10_000, 1)
	stored(v, 1, 20_000, 2)
	v.Assume(at(10_000), 1)
	take(t, v, 1, 10_000, 1)
	take(t, v, 1, 20_000, 2)
}

func TestAnActivityWithoutTimesHasTheOldestValues(t *testing.T) {
	v := known()
	stored(v, 1, 10_000, 1)
	stored(v, 1, 20_000, 2)
	if got, outcome := v.Take(&record.Activity{}, 1, 1); outcome != Found || got[0] != 1 {
		t.Errorf("got %v, %v", got, outcome)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	v := known()
	v.limit = 4000
	for i := range uint64(1000) {
		stored(v, 1+uint32(i%3), 10_000*(i+1), i)
		stored(v, 9, 10_000*(i+1), i) // of a graph of an earlier session
	}
	if v.held > v.limit || len(v.queues) != 3 {
		t.Errorf("%d bytes of %d metrics, at most %d and 3", v.held, len(v.queues), v.limit)
	}
	take(t, v, 1, 10_000*1000, 999)
	v.Keep(map[uint32]bool{2: true})
	if len(v.queues) != 1 || v.held != bytesOf(v.queues[2].readings) {
		t.Errorf("after the graphs of two are gone: %d metrics, %d bytes", len(v.queues), v.held)
	}
	vector := make([]uint64, 200)
	for i := range uint64(100) {
		stored(v, 2, 10_000*(2000+i), vector...)
	}
	if v.held > v.limit || len(v.queues[2].readings) > 2 {
		t.Errorf("%d vectors of 200 elements are held as %d bytes", len(v.queues[2].readings), v.held)
	}
}

// TestBuffersOfSeveralThreads: recording began three times, each time on another thread, and the last thread's buffer arrives first.
func TestBuffersOfSeveralThreads(t *testing.T) {
	v := NewValues()
	v.Expect(1)
	for i := range uint64(3) {
		stored(v, Alone, 100_000*i+10_000, 0)
		stored(v, 1, 100_000*i+20_000, i)
		stored(v, 1, 100_000*i+30_000, 10+i) // while no session was active
	}
	early := func(start uint64) {
		t.Helper()
		if _, outcome := v.Take(at(start), 1, 1); outcome != TooEarly {
			t.Errorf("the activity at %d: %v, want %v", start, outcome, TooEarly)
		}
	}
	for _, start := range []uint64{210_000, 110_000} {
		early(120_000)
		v.ActivityAlone(at(start))
	}
	early(220_000)
	v.ActivityAlone(at(10_000))
	take(t, v, 1, 220_000, 2)
	take(t, v, 1, 20_000, 0)
	take(t, v, 1, 120_000, 1)

	// The clocks are known: the fourth recording waits for its own kernel, because ten minutes are long.
	const later = 600_000_000_000
	stored(v, 1, later-2000, 7) // while no session was active
	stored(v, Alone, later, 0)
	stored(v, 1, later+10_000, 3)
	early(later + 10_000)
	v.ActivityAlone(at(later))
	take(t, v, 1, later+10_000, 3)
}

// TestALostKernelIsNotAwaited: its activity was dropped.
func TestALostKernelIsNotAwaited(t *testing.T) {
	v := known()
	stored(v, Alone, 50_000, 0)
	stored(v, 1, 60_000, 5)
	if _, outcome := v.Take(at(60_000), 1, 1); outcome != TooEarly {
		t.Errorf("before a flush: %v, want %v", outcome, TooEarly)
	}
	v.NoMoreAlone()
	take(t, v, 1, 60_000, 5)
	v.ActivityAlone(at(90_000)) // one whose stamp was overwritten shows nothing
	stored(v, 1, 100_000, 6)
	take(t, v, 1, 100_000, 6)
}

// TestAnyHistory replays two graphs for minutes, with clocks that drift apart, pauses, times without a session, activities that
// are lost or arrive by the buffer, long activities, and values that are overwritten: what an activity gets is what its node read, or
// nothing.
func TestAnyHistory(t *testing.T) {
	for seed := range uint64(50) {
		h := history{T: t, r: rand.New(rand.NewPCG(seed, 1)), v: NewValues(), now: 1000, active: true}
		h.drift = (h.r.Float64() - 0.5) * 2 * mostDrift
		h.v.Expect(1)
		h.v.Expect(2)
		h.begin()
		for n := range uint64(20_000) {
			h.step(n)
		}
		h.deliver()
		if h.missed > h.taken/500 {
			t.Errorf("drift %g: %d of %d activities have no values", h.drift, h.missed, h.taken)
		}
	}
}

type history struct {
	*testing.T
	r             *rand.Rand
	v             *Values
	now           uint64
	drift         float64
	active        bool
	overwritten   int // replays whose values are lost
	sure          int // replays since the clocks were last uncertain
	waiting       []activity
	alone         []*record.Activity // of kernels outside of graphs, in another thread's buffer
	missed, taken int
}

type activity struct {
	k           *record.Activity
	number      uint32
	bits        uint64
	overwritten bool
}

// stamp is a time on the GPU's clock.
func (h *history) stamp(time uint64) uint64 {
	return uint64(float64(time) + apart + h.drift*float64(time))
}

// uncertain: a loss right after a pause, or after recording began on a full GPU, looks like the drift of the clocks.
func (h *history) uncertain() { h.overwritten, h.sure = 0, 0 }

// begin is what the source does when it begins to record: a kernel of its own.
func (h *history) begin() {
	h.active = true
	h.uncertain()
	k, wait := at(h.now), uint64(0)
	if h.r.IntN(4) == 0 { // the GPU is full
		wait = uint64(h.r.IntN(200_000))
	}
	k.End += wait
	h.v.Add(0, []record.Value{{Number: Alone, Stamp: h.stamp(h.now + 300 + wait)}})
	h.alone = append(h.alone, k)
	h.now += 10_000 + wait
}

func (h *history) step(n uint64) {
	h.now += 4_000 + uint64(h.r.IntN(8_000))
	h.sure++
	switch h.r.IntN(3000) {
	case 0:
		h.now += uint64(h.r.Int64N(60_000_000_000))
		h.uncertain()
	case 1:
		h.active = false
	case 2:
		if h.sure > 20 {
			h.overwritten = h.r.IntN(100)
		}
	default:
		if !h.active && h.r.IntN(100) == 0 {
			h.begin()
		}
	}
	k, began := at(h.now), h.now+uint64(h.r.IntN(600))
	if h.r.IntN(20) == 0 { // the GPU is full
		wait := uint64(h.r.IntN(50_000))
		k.End, began = k.End+wait, began+wait
		h.now += wait
	}
	a := activity{k, 1 + uint32(h.r.IntN(2)), n, h.overwritten > 0}
	if h.overwritten > 0 {
		h.overwritten--
	} else {
		h.v.Add(0, []record.Value{{Number: a.number, Stamp: h.stamp(began), Bits: n}})
	}
	if h.active {
		h.waiting = append(h.waiting, a)
	}
	if h.r.IntN(500) == 0 {
		h.deliver()
	}
}

func (h *history) deliver() {
	h.Helper()
	if h.r.IntN(2) == 0 {
		h.deliverAlone()
	}
	early := h.take(h.waiting)
	h.deliverAlone()
	if early = h.take(early); len(early) > 0 {
		h.Fatalf("drift %g: %d activities wait for nothing", h.drift, len(early))
	}
	h.waiting = h.waiting[:0]
}

func (h *history) deliverAlone() {
	h.r.Shuffle(len(h.alone), func(i, j int) { h.alone[i], h.alone[j] = h.alone[j], h.alone[i] })
	for _, k := range h.alone {
		h.v.ActivityAlone(k)
	}
	h.alone = nil
}

// take looks up activities, and returns those that are too early.
func (h *history) take(activities []activity) (early []activity) {
	h.Helper()
	for _, a := range activities {
		got, outcome := h.v.Take(a.k, a.number, 1)
		if outcome == TooEarly {
			early = append(early, a)
			continue
		}
		if outcome == Found && got[0] != a.bits {
			h.Fatalf("drift %g: activity %d got the values of %d; %+v, %+v", h.drift, a.bits, got[0], a, *a.k)
		}
		if outcome == Missing && !a.overwritten {
			h.missed++
		}
		h.taken++
	}
	return early
}
