package hotpath_test

import (
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

func listenTo(set uint32) {
	hotpath.SetActive(hotpath.Listeners{LaunchSet: set, ScopeSet: 2, Shadow: true})
}

// tally adds up what was counted for each launch set: its own number, once for each addition, and how many there were.
type tally map[uint32]*struct{ numbers, additions uint64 }

func (t tally) add(set, name uint32, value uint64) {
	if t[set] == nil {
		t[set] = &struct{ numbers, additions uint64 }{}
	}
	switch hotpath.Text(name) {
	case "number":
		t[set].numbers += value
	case "additions":
		t[set].additions += value
	}
}

func (t tally) slots(slots []hotpath.Slot) {
	for _, s := range slots {
		t.add(s.Set, s.Name, s.Bits)
	}
}

func (t tally) records() (late int) {
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for _, r := range records {
			if r.Type == hotpath.LateMetric {
				t.add(r.Set, r.Metric(), r.Value())
				late++
			}
		}
	})
	return late
}

// Threads add to the launch set that they saw last, while sets come and go and their slots are used again. Whatever way an
// addition takes, slot or record, it counts for its own set, and once.
func TestAdditionsCountForTheirOwnSet(t *testing.T) {
	begin(t, false)
	// Fewer threads than arenas, so that some arena is always free; and in rounds of fewer records than a ring holds, as an
	// addition makes two at most, so that nothing is lost however seldom this goroutine runs.
	const threads, each, rounds = 2, 10_000, 20
	got := tally{}
	set, late, lost := uint32(2), 0, hotpath.Lost()
	for range rounds {
		added := make(chan struct{})
		go func() {
			defer close(added)
			hotpathtest.Adders(threads, each)
		}()
		for running := true; running; set++ {
			select {
			case <-added:
				running = false
			default:
			}
			listenTo(set)
			hotpath.TakeSlots(got.slots)
			late += got.records()
		}
	}
	hotpath.SetActive(hotpath.Listeners{})
	hotpath.TakeSlots(got.slots)
	got.records()
	total := uint64(0)
	for set, n := range got {
		total += n.additions
		if n.numbers != n.additions*uint64(set) {
			t.Errorf("set %d: %d additions make %d, want %d", set, n.additions, n.numbers, n.additions*uint64(set))
		}
	}
	if total != threads*each*rounds || hotpath.Lost() != lost {
		t.Errorf("%d additions, %d records lost; want %d and none", total, hotpath.Lost()-lost, threads*each*rounds)
	}
	t.Logf("%d sets, %d additions came late", set, late)
}

func TestASetWhoseSlotsAreClosedGetsARecord(t *testing.T) {
	begin(t, false)
	listenTo(2)
	leaf := hotpathtest.LeafNow()
	hotpathtest.IntAt(leaf, "m", 1)
	listenTo(3)
	hotpathtest.IntAt(leaf, "m", 10)
	got := map[string]uint64{}
	for _, s := range sums() {
		got["slot"] += s.Bits
		if s.Set != 2 {
			t.Errorf("a slot of set %d, want 2", s.Set)
		}
	}
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for _, r := range records {
			if r.Type == hotpath.LateMetric && r.Set == 2 && hotpath.Text(r.Metric()) == "m" {
				got["record"] += r.Value()
			}
		}
	})
	if got["slot"] != 1 || got["record"] != 10 {
		t.Errorf("got %v, want 1 in a slot and 10 in a record", got)
	}
}

// When no drainer takes the slots of sets that are over, records replace those of the sets to come.
func TestSetsWithoutSlots(t *testing.T) {
	begin(t, false)
	hotpath.Drain(func(uintptr, []hotpath.Record) {})
	const sets = 10
	for set := uint32(2); set < 2+sets; set++ {
		listenTo(set)
		hotpathtest.Int("additions", 1)
	}
	got := tally{}
	got.slots(sums())
	late := got.records()
	if len(got) != sets || late == 0 || late == sets {
		t.Errorf("%d sets were counted, %d of them by records; want %d, and some", len(got), late, sets)
	}
}
