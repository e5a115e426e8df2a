package counts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter"
)

// TestLeast: no schedule of program instances on multiprocessors takes less than the bound, and if all do the same, the best one takes that.
func TestLeast(t *testing.T) {
	device, err := peaks.Board("H200")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		device.NumSMs = 1 + random.Int64N(4)
		work := make([]int64, 1+random.IntN(6))
		same, sum := random.IntN(2) == 0, int64(0)
		for i := range work {
			if work[i] = 1 + random.Int64N(1000); same {
				work[i] = work[0]
			}
			sum += work[i]
		}
		peak, err := peaks.Peak(device, "fp32")
		if err != nil {
			t.Fatal(err)
		}
		best := float64(shortest(work, make([]int64, device.NumSMs))) * float64(device.NumSMs) / peak
		k := Kernel{Launches: 1, Most: int64(len(work)), SameWork: same, Lines: []interpreter.LineCounts{{Flops: map[string]int64{"f32": sum}}}}
		got := k.Least(&device).Others
		if got > best*(1+1e-9) || same && got < best*(1-1e-9) {
			t.Errorf("%v on %d multiprocessors: the best schedule takes %g, and the bound is %g", work, device.NumSMs, best, got)
		}
		if k.CTAs = 4; k.Least(&device).Others > got { // blocks of an instance have their own multiprocessors
			t.Errorf("%v in clusters: %g", work, k.Least(&device).Others)
		}
	}
}

// shortest is the time until all work is done, of the best of all schedules.
func shortest(work, busy []int64) int64 {
	if len(work) == 0 {
		longest := int64(0)
		for _, b := range busy {
			longest = max(longest, b)
		}
		return longest
	}
	best := int64(math.MaxInt64)
	for i := range busy {
		busy[i] += work[0]
		best = min(best, shortest(work[1:], busy))
		busy[i] -= work[0]
	}
	return best
}

// TestSameWork: launches that are added up do the same if all do the same, with equal grids.
func TestSameWork(t *testing.T) {
	one := func(programs, of int64, same bool) *Kernel {
		k := &Kernel{}
		k.Add(&interpreter.Result{Programs: programs, SameWork: same}, of)
		return k
	}
	for i, c := range []struct {
		launches []*Kernel
		same     bool
		most     int64
	}{
		{[]*Kernel{one(4, 4, true), one(4, 4, true)}, true, 4},
		{[]*Kernel{one(4, 4, true), one(5, 5, true)}, false, 5},
		{[]*Kernel{one(4, 4, true), one(4, 4, false)}, false, 4},
		{[]*Kernel{one(4, 4, false), one(4, 4, true)}, false, 4},
		{[]*Kernel{one(2, 4, true)}, false, 4}, // others may do something else
	} {
		var k Kernel
		for _, l := range c.launches {
			k.Join(l)
		}
		if k.SameWork != c.same || k.Most != c.most {
			t.Errorf("%d: %+v", i, k)
		}
	}
}
