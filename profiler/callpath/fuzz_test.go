package callpath

import (
	"encoding/binary"
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

// FuzzValues: whatever nodes of destroyed graphs store and whichever activities are lost, a reading is found at most once, has the
// elements that were asked for, and what is held is counted and bounded.
func FuzzValues(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08"), uint64(1000), uint8(1))
	f.Add([]byte("\x02\x02\x0a\x12\x04\x05\x1d\x05\x06"), ^uint64(0)-5, uint8(3))
	f.Fuzz(func(t *testing.T, tape []byte, now uint64, elements uint8) {
		v := NewValues()
		v.limit = 640
		stored, found := 0, 0
		for len(tape) > 0 {
			op := tape[0]
			var step [8]byte
			tape = tape[copy(step[:], tape):]
			now += binary.LittleEndian.Uint64(step[:]) >> 8 % (1 << (op >> 4 * 4 % 56))
			number, device := uint32(op>>3&3), uint32(op>>5&1)
			activity := &record.Activity{Start: now, End: now + uint64(step[7]), Device: device}
			switch op & 7 {
			case 0, 1:
				for i := range uint32(elements) {
					v.Add(device, []record.Value{{Number: number, Index: i, Stamp: now, Bits: uint64(i)}})
				}
				stored++
			case 2:
				v.Expect(number + 1)
			case 3:
				v.ActivityAlone(activity)
			case 4:
				if step[7]&1 == 0 {
					v.NoMoreAlone()
				}
				v.Assume(activity, number)
			case 5:
				v.Keep(map[uint32]bool{number: true})
			default:
				if bits, outcome := v.Take(activity, number, int(elements)); outcome == Found {
					if found++; len(bits) != max(int(elements), 1) {
						t.Errorf("%d elements, want %d", len(bits), elements)
					}
				}
			}
			held := 0
			for _, q := range v.queues {
				held += bytesOf(q.readings)
			}
			if held != v.held || held > v.limit || found > stored {
				t.Fatalf("%d bytes are held, and counted as %d; %d of %d were found", held, v.held, found, stored)
			}
		}
	})
}
