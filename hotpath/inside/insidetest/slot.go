// Package insidetest writes the profile scratch buffers that kernels with scopes leave, for tests. Records go in, in the order in
// which warps make them; out come the bytes as the GPU's code writes them, rings that overflow included.
package insidetest

import (
	"encoding/binary"

	"github.com/goproton/goproton/hotpath/inside"
)

// Record is one start or end.
type Record struct {
	Scope      int
	End, Event bool
	Clock      uint64 // in cycles, of any number of bits
}

// Block is what one block does. Its slot's number is its program id.
type Block struct {
	SM                        uint32
	Init, PreFinal, PostFinal uint64
	Warps                     map[int][]Record // in the order of their stores
	Absent                    bool             // it never starts: its slot stays as it was
}

// In and Out are the two records of a scope.
func In(scope int, clock uint64) Record { return Record{Scope: scope, Clock: clock} }

// Out is described with In.
func Out(scope int, clock uint64) Record { return Record{Scope: scope, Clock: clock, End: true} }

// SlotSize is the profile_scratch_size of a kernel whose rings have so many bytes.
func SlotSize(warps, rings int) int { return (40 + 4*warps + rings + 127) &^ 127 }

// Buffer is what a launch leaves in memory that was full of the given byte.
func Buffer(k *inside.Kernel, before byte, blocks []Block) []byte {
	all := make([]byte, len(blocks)*k.SlotSize)
	for i := range all {
		all[i] = before
	}
	for i := range blocks {
		if !blocks[i].Absent {
			slot(all[i*k.SlotSize:][:k.SlotSize], k, uint32(i), &blocks[i])
		}
	}
	return all
}

func slot(to []byte, k *inside.Kernel, program uint32, b *Block) {
	le := binary.LittleEndian
	le.PutUint32(to, 0xdeadbeef)
	le.PutUint32(to[4:], program)
	le.PutUint32(to[8:], b.SM)
	le.PutUint32(to[12:], uint32(k.BufferSize))
	le.PutUint64(to[16:], b.Init)
	le.PutUint64(to[24:], b.PreFinal)
	le.PutUint64(to[32:], b.PostFinal)
	units := k.Units
	if units == nil {
		for w := range k.Warps {
			units = append(units, w)
		}
	}
	segment := k.BufferSize / len(units)
	for w := range k.Warps {
		le.PutUint32(to[40+4*w:], 0)
	}
	for u, w := range units {
		le.PutUint32(to[40+4*w:], uint32(2*len(b.Warps[w])))
		ring := to[40+4*k.Warps+u*segment:][:segment]
		for i, r := range b.Warps[w] {
			le.PutUint64(ring[i*8%segment:], r.word(k.Clock32))
		}
	}
}

func (r Record) word(clock32 bool) uint64 {
	head := uint32(r.Scope) << 23
	if r.End {
		head |= 1 << 31
	}
	if r.Event {
		head |= 1 << 22
	}
	if !clock32 {
		head |= uint32(r.Clock>>32) & 0x7ff
	}
	return r.Clock<<32 | uint64(head)
}
