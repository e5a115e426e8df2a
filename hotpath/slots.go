package hotpath

// #include "slots.h"
import "C"

import "unsafe"

// Slot is one summed metric of one call path in one launch set.
type Slot struct {
	Node, Set, Name uint32 // Set is written last: a slot whose Set is 0 is still being made
	Type, Flags     uint8
	_               uint16
	Order           uint64 // the thread's last correlation id when the slot was made: its place in time
	Bits            uint64
}

// Slot flags and types.
const (
	SlotPython   = C.HP_M_PYTHON
	SlotProperty = C.HP_M_PROPERTY
	SlotInt      = C.HP_INT
	SlotDouble   = C.HP_DOUBLE
)

// Slots passes the slots of every launch set that has some to f. Their values may still grow; read Set and Bits with
// atomics.
func Slots(f func(set uint32, slots []Slot)) {
	for arena := range C.int(C.HP_ARENAS) {
		if set, slots := slotsOf(arena); set != 0 {
			f(set, slots)
		}
	}
}

// TakeSlots passes the slots of launch sets that are no longer active to f, and empties them for later launch sets. Slots to which
// a thread is still adding stay for a later call. Like SetActive it is for one caller at a time.
func TakeSlots(f func(slots []Slot)) {
	for arena := range C.int(C.HP_ARENAS) {
		if C.hp_slots_left(arena) == 0 {
			continue
		}
		_, slots := slotsOf(arena)
		f(slots)
		C.hp_slots_recycle(arena)
	}
}

func slotsOf(arena C.int) (set uint32, slots []Slot) {
	var s, n C.uint32_t
	p := C.hp_slots(arena, &s, &n)
	return uint32(s), unsafe.Slice((*Slot)(unsafe.Pointer(p)), int(n))[1:]
}
