package hsaco

import (
	"encoding/binary"
	"slices"
)

// each calls visit with the instructions of a function and their offsets, up to one whose length is not known.
func (g generation) each(code []byte, visit func(offset uint64, instruction []byte) bool) {
	for at := uint64(0); at < uint64(len(code)); {
		n := g.length(code[at:])
		if n == 0 || !visit(at, code[at:at+n]) {
			return
		}
		at += n
	}
}

// Callers is described with gpu.Module. A call takes the function's address from the program counter, so that what is found is a
// call or leads to one. Functions of other modules, which are found through a table of addresses, are not seen.
func (m *module) Callers() map[string][]string {
	m.callers.Do(func() {
		called, at := map[int][]int{}, map[uint64]int{}
		for i, f := range m.functions {
			at[f.address] = i
		}
		for i := range m.functions {
			m.addresses(&m.functions[i], func(address uint64) {
				if to, is := at[address]; is && to != i {
					called[i] = append(called[i], to)
				}
			})
		}
		m.calls = map[string][]string{}
		for i, f := range m.functions {
			if f.kernel {
				m.reach(i, called)
			}
		}
	})
	return m.calls
}

// reach adds a kernel to the callers of all that it calls, directly or through others.
func (m *module) reach(kernel int, called map[int][]int) {
	seen := map[int]bool{kernel: true}
	for next := slices.Clone(called[kernel]); len(next) > 0; {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if f := &m.functions[i]; !f.kernel {
			m.calls[f.name] = append(m.calls[f.name], m.functions[kernel].name)
		}
		next = append(next, called[i]...)
	}
}

// addresses visits those that a function computes: s_getpc_b64 puts the address of the next instruction into a pair of registers, and
// s_add_u32 adds the distance.
func (m *module) addresses(f *function, visit func(address uint64)) {
	getpc := map[generation]uint32{9: 0x1c, 10: 0x1f, 11: 0x47, 12: 0x47}[m.generation]
	const sop1, sdst, addLiteral = 0xbe800000, 0x7f << 16, 0x8000ff00
	bases := map[uint32]uint64{} // by register
	m.generation.each(f.code, func(at uint64, instruction []byte) bool {
		w := binary.LittleEndian.Uint32(instruction)
		if to := w & sdst >> 16; w == sop1|w&sdst|getpc<<8 {
			bases[to] = f.address + at + 4
		} else if base, is := bases[to]; is && w == addLiteral|w&sdst|to {
			visit(base + uint64(int64(int32(binary.LittleEndian.Uint32(instruction[4:])))))
			delete(bases, to)
		}
		return true
	})
}
