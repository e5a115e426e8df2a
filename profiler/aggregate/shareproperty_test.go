package aggregate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/callpath"
)

// dealt is a sampled function with those who launched it.
type dealt struct {
	code    record.Function
	number  uint32
	places  []*node
	nanos   []uint64 // of each place
	samples map[pcReason]tally
	total   uint64
}

// TestApportionedSamplesAddUp: functions are launched from random call paths for random times and get random samples, in several
// periods. Whatever the launchers, the samples of each function, instruction and reason are all given away and none twice. A call
// path has what its part of the kernel time is due: for one instruction and reason up to two samples (those that issued and
// those that did not are divided one by one), in all up to two samples for each of the function's launchers.
func TestApportionedSamplesAddUp(t *testing.T) {
	for round := range uint64(60) {
		t.Run(fmt.Sprint(round), func(t *testing.T) { apportionedSamplesAddUp(t, rand.New(rand.NewPCG(12, round))) })
	}
}

func apportionedSamplesAddUp(t *testing.T, r *rand.Rand) {
	a, tree, set := sampled(t, false)
	var functions []*dealt
	for i := range 1 + r.IntN(4) {
		f := &dealt{code: record.Function{Module: uint64(1 + i), Index: 3, Name: fmt.Sprint("k", i)}, samples: map[pcReason]tally{}}
		f.number = a.Sampling.Number(f.code)
		for p := range 1 + r.IntN(12) {
			f.places = append(f.places, tree.root.child(fmt.Sprint("scope", p), uint64(p)).child(f.code.Name, 1))
			f.nanos = append(f.nanos, 1+r.Uint64N(1<<(1+r.IntN(30))))
		}
		functions = append(functions, f)
	}
	for _, f := range functions {
		for p, place := range f.places {
			l := &launcher{function: f.number, count: 1, nanos: f.nanos[p], to: []target{{tree, place}}}
			a.Sampling.take(cacheKey{function: f.number, launch: callpath.Place{Node: uint32(p)}}, l)
		}
		for range 1 + r.IntN(200) {
			f.take(a, set, r)
		}
	}
	a.Apportion()
	for _, f := range functions {
		f.check(t)
	}
}

// take adds samples at a random instruction.
func (f *dealt) take(a *Aggregator, set uint32, r *rand.Rand) {
	s := record.Sample{Module: f.code.Module, Index: f.code.Index, Function: f.code.Name, Offset: 16 * r.Uint64N(40)}
	for reason := range uint16(1 + r.IntN(5)) {
		n := 1 + r.Uint32N(1<<(1+r.IntN(12)))
		stall := record.Stall{Reason: reason, Samples: uint64(n), NotIssued: r.Uint32N(n + 1)}
		s.Stalls = append(s.Stalls, stall)
		key := pcReason{s.Offset, reason}
		f.samples[key] = tally{f.samples[key].samples + uint64(n), f.samples[key].notIssued + uint64(stall.NotIssued)}
		f.total += uint64(n)
	}
	a.AddSample(&s, set, nothingWaits)
}

func (f *dealt) check(t *testing.T) {
	all := uint64(0)
	for _, n := range f.nanos {
		all += n
	}
	given := map[pcReason]tally{}
	for p, place := range f.places {
		has := uint64(0)
		if s := place.samples[f.number]; s != nil {
			for _, c := range s.cells() {
				given[c.pcReason] = tally{given[c.pcReason].samples + c.samples, given[c.pcReason].notIssued + c.notIssued}
				has += c.samples
				of := f.samples[c.pcReason]
				if off := offBy(c.samples, of.samples, f.nanos[p], all); off > 2 {
					t.Errorf("place %d has %d of the %d samples of %v for %d of %d ns", p, c.samples, of.samples, c.pcReason, f.nanos[p], all)
				}
			}
		}
		if off := offBy(has, f.total, f.nanos[p], all); off > 2*float64(len(f.places)) {
			t.Errorf("place %d of %d has %d of %d samples for %d of %d ns: off by %.1f", p, len(f.places), has, f.total, f.nanos[p], all, off)
		}
	}
	for key, n := range f.samples {
		if given[key] != n {
			t.Errorf("%s, %v: %+v were given away of %+v", f.code.Name, key, given[key], n)
		}
	}
	if len(given) != len(f.samples) {
		t.Errorf("%s: samples of %d instructions and reasons, %d were taken", f.code.Name, len(given), len(f.samples))
	}
}
