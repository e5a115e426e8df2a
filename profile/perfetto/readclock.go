package perfetto

import (
	"cmp"

	"github.com/goproton/goproton/profile/internal/lanes"
)

// clockTable converts the times of packets into wall-clock times. A snapshot says what several clocks showed at one moment. A
// clock that belongs to one writer may count from the previous packet.
type clockTable struct {
	offsets map[uint64]int64 // of the shared clocks: what to add
	local   map[[2]uint64]*reading
}

func newClockTable() clockTable {
	return clockTable{map[uint64]int64{}, map[[2]uint64]*reading{}}
}

// reading is what one clock showed in a snapshot or, of one that counts from the previous packet, in that.
type reading struct {
	id, time    uint64
	offset      int64 // what to add
	incremental bool
	multiplier  uint64
}

func (t *clockTable) snapshot(sequence uint64, message []byte) error {
	var list []reading
	err := fields(message, func(f field) error {
		if f.number != snapshotClocks {
			return nil
		}
		r := reading{multiplier: 1}
		err := fields(f.b, func(f field) error {
			switch f.number {
			case clockID:
				r.id = f.v
			case clockTimestamp:
				r.time = f.v
			case clockIncremental:
				r.incremental = f.v != 0
			case clockMultiplier:
				r.multiplier = max(f.v, 1)
			}
			return nil
		})
		if r.id >= firstLocalClock {
			r.time *= r.multiplier
		}
		list = append(list, r)
		return err
	})
	if err != nil {
		return err
	}
	wall, found := t.wall(list)
	if !found {
		return nil
	}
	for _, r := range list {
		offset := wall - int64(r.time)
		if r.id < firstLocalClock {
			if _, known := t.offsets[r.id]; !known { // the clocks drift apart; one offset keeps durations right
				t.offsets[r.id] = offset
			}
			continue
		}
		r.offset = offset
		t.local[[2]uint64{sequence, r.id}] = &r
	}
	return nil
}

// wall returns the wall-clock time of a snapshot: from the wall clock itself or from a clock whose offset is known. In a trace
// without either, it is the boot time.
func (t *clockTable) wall(list []reading) (int64, bool) {
	for _, r := range list {
		if r.id == realtime {
			return int64(r.time), true
		}
	}
	for _, r := range list {
		if offset, known := t.offsets[r.id]; known {
			return int64(r.time) + offset, true
		}
	}
	for _, r := range list {
		if r.id == boottime {
			return int64(r.time), true
		}
	}
	return 0, false
}

// at returns the wall-clock time of a packet. One that is out of range is the nearest that there is, and has a fault.
func (t *clockTable) at(sequence, clock, time uint64) (int64, lanes.TimeFault) {
	if clock >= firstLocalClock {
		if c := t.local[[2]uint64{sequence, clock}]; c != nil {
			time *= c.multiplier
			if c.incremental {
				c.time += time
				time = c.time
			}
			return near(int64(time) + c.offset)
		}
	}
	return near(int64(time) + t.offsets[cmp.Or(clock, boottime)])
}

func near(time int64) (int64, lanes.TimeFault) {
	if time < 0 || time > lanes.FarAway {
		return min(max(time, 0), lanes.FarAway), lanes.OutOfRange
	}
	return time, lanes.NoFault
}
