package inside

// unwrapper continues clocks of 43 or 32 bits beyond their wraps, entry by entry. Its results have the clock's own low bits.
// Two entries that follow each other in a ring must be less than half a wrap apart (37 minutes of 43 bits at 1.98 GHz). Of 32
// bits, which wrap every 2.2 s, a whole wrap is allowed, because ring order is the order of time unless stores were moved.
type unwrapper struct {
	mask    uint64
	forward bool // a step back is a wrap
	begun   bool
	first   uint64 // entry of the block
	last    uint64
	fresh   bool // the next entry is the first of its unit
}

// wraps is added to all clocks, so that those before a wrap are not negative. It is a multiple of both wraps.
const wraps = 1 << clockBits

// farAway is a step between two entries of one ring that half a clock read too late may be the reason of.
const farAway = 1 << 31

func newUnwrapper(clock32, sched bool) unwrapper {
	if clock32 {
		return unwrapper{mask: 1<<32 - 1, forward: !sched}
	}
	return unwrapper{mask: clockMask}
}

// unit begins with the entries of another ring: they are near the block's first, before or after it.
func (u *unwrapper) unit() { u.fresh = true }

// next returns the clock of the next entry, and whether it is far from the one before.
func (u *unwrapper) next(raw uint64) (cycles uint64, far bool) {
	if !u.begun {
		u.begun, u.fresh = true, false
		u.first = raw&u.mask + wraps
		u.last = u.first
		return u.last, false
	}
	fresh := u.fresh
	if fresh {
		u.last, u.fresh = u.first, false
	}
	step := (raw - u.last) & u.mask
	if step > u.mask>>1 && (fresh || !u.forward) {
		step -= u.mask + 1
	}
	u.last += step
	return u.last, int64(step) >= farAway || int64(step) <= -farAway
}

// mend repairs clocks of 43 bits that are 2^32 too late, between entries that are not. The halves are read one after
// the other, the upper one last: if the lower one wraps between them, the upper one is that of the next turn.
func mend(entries []entry) (torn uint64) {
	for i := range entries {
		if i+1 == len(entries) {
			break // nothing shows that the last one is wrong but what its pair says
		}
		c := entries[i].clock
		after := int64(c-entries[i+1].clock) >= farAway
		before := i == 0 || int64(c-entries[i-1].clock) >= farAway
		if after && before {
			entries[i].clock -= 1 << 32
			torn++
		}
	}
	return torn
}
