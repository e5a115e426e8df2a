package profile

import (
	"math"
	"testing"
)

// The shortest and the longest are of launches that were timed, in whatever order they are added up.
func TestUntimedLaunchesHaveNoBounds(t *testing.T) {
	timed, short := Durations{Count: 2, Nanos: 70, Least: 30, Most: 40}, Durations{Count: 1, Nanos: 20, Least: 20, Most: 20}
	untimed := Durations{Count: 5}
	want := Durations{Count: 8, Nanos: 90, Least: 20, Most: 40}
	for name, order := range map[string][]*Durations{
		"first":  {&untimed, &timed, &short},
		"middle": {&short, &untimed, &timed},
		"last":   {&timed, &short, &untimed},
	} {
		var sum Durations
		for _, d := range order {
			sum.Add(d)
		}
		if sum != want {
			t.Errorf("untimed ones %s: %+v, want %+v", name, sum, want)
		}
	}
	var none Durations
	none.Add(&untimed)
	if none.Least != 0 || none.Most != 0 || none.Average() != 0 {
		t.Errorf("launches without times have the bounds %d and %d and take %g ns", none.Least, none.Most, none.Average())
	}
}

// What was made of the metrics of a damaged file stays at the most that 63 bits hold.
func TestDurationsDoNotWrapAround(t *testing.T) {
	var sum Durations
	for range 9 {
		sum.Add(&Durations{Count: 1 << 62, Nanos: math.MaxUint64})
	}
	if sum.Count != math.MaxInt64 || sum.Nanos != math.MaxInt64 {
		t.Errorf("%d launches took %d ns", sum.Count, sum.Nanos)
	}
}
