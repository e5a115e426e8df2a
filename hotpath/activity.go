package hotpath

// #include "buffer.h"
import "C"

import "unsafe"

// Activity is one thing that took time on the GPU, laid out as struct hp_activity.
type Activity struct {
	Correlation     uint64
	Start, End      uint64
	GraphNode       uint64 // or, if Numbered, the number of the launch
	Bytes           uint64 // of a kernel its grid, see record.Grid
	Graph           uint64
	Context, Stream uint32
	Name            uint32 // interned
	Device          uint16
	Kind            uint8 // in the order of record.Kind
	Numbered        bool
}

// Buffer is one full activity buffer.
type Buffer struct{ index C.int }

// BuffersReturned is how many buffers have come back full so far.
func BuffersReturned() uint64 { return uint64(C.hp_buffers_returned()) }

// TakeBuffer returns the oldest full buffer of the first so many, if there is one. Recycle it after use.
func TakeBuffer(of uint64) (Buffer, bool) {
	i := C.hp_buffer_take(C.uint64_t(of))
	return Buffer{i}, i >= 0
}

// Size is how many bytes of the buffer are filled.
func (b Buffer) Size() int { return int(C.hp_buffer_filled(b.index)) }

// Activities passes the activities in the buffer to f, in batches. The slice is only valid during the call.
func (b Buffer) Activities(f func([]Activity)) {
	const batch = 256
	var out [batch]Activity
	var cursor unsafe.Pointer
	for {
		n := int(C.hp_buffer_read(b.index, &cursor, (*C.struct_hp_activity)(unsafe.Pointer(&out[0])), batch))
		f(out[:n])
		if n < batch {
			return
		}
	}
}

// Recycle zeroes the buffer and returns it to the pool.
func (b Buffer) Recycle() { C.hp_buffer_recycle(b.index) }
