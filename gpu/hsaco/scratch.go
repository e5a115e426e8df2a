package hsaco

import (
	"encoding/binary"
	"strings"
)

// privateAccesses counts the instructions that read and write private memory: scratch instructions, and on GPUs before gfx94 and gfx11 also
// buffer instructions with the descriptor of scratch. A function that has any gets the descriptor in the registers s[0:3], and may copy
// it, of which s_mov_b64 of the upper half is the first step.
func (m *module) privateAccesses(code []byte, scratch bool) (loads, stores int) {
	byBuffer := scratch && m.generation < 11 && !strings.HasPrefix(m.arch, "gfx94") && !strings.HasPrefix(m.arch, "gfx95")
	copied := map[generation]uint32{9: 0xbe800102, 10: 0xbe800402}[m.generation]
	const sdst, firstAtomic = 0x7f << 16, 64
	descriptor := uint32(0) // by its first register
	m.generation.each(code, func(_ uint64, instruction []byte) bool {
		w := binary.LittleEndian.Uint32(instruction)
		operation, private := w>>18&0x7f, false
		switch top := w >> 26; {
		case m.generation == 12:
			operation, private = w>>14&0xff, w>>24 == 0xed
		case top == 0x37 && m.generation == 11:
			private = w>>16&3 == 1
		case top == 0x37:
			private = w>>14&3 == 1
		case top == 0x38 && byBuffer:
			private = uint32(instruction[6]&0x1f)*4 == descriptor && operation < firstAtomic
		case w&^sdst == copied:
			descriptor = w&sdst>>16 - 2
		}
		switch {
		case private && m.stores(operation):
			stores++
		case private:
			loads++
		}
		return true
	})
	return loads, stores
}

// stores reports whether a memory operation is a store. Those of the upper half of a register have other numbers from gfx11 on.
func (m *module) stores(operation uint32) bool {
	if m.generation >= 11 {
		return operation >= 24 && operation < 30 || operation == 36 || operation == 37
	}
	return operation >= 24 && operation < 32
}
