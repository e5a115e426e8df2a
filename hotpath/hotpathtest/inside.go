package hotpathtest

import (
	"encoding/binary"

	"github.com/goproton/goproton/hotpath/inside"
)

// InsideRecord is one start or end.
type InsideRecord struct {
	Scope      int
	End, Event bool
	Clock      uint64 // in cycles, of any number of bits
}

// InsideBlock is what one block does. Its slot's number is its program id.
type InsideBlock struct {
	SM                        uint32
	Init, PreFinal, PostFinal uint64
	Warps                     map[int][]InsideRecord // in the order of their stores
	Absent                    bool                   // it never starts: its slot stays as it was
}

// InsideIn and Out are the two records of a scope.
func InsideIn(scope int, clock uint64) InsideRecord { return InsideRecord{Scope: scope, Clock: clock} }

// InsideOut is described with In.
func InsideOut(scope int, clock uint64) InsideRecord {
	return InsideRecord{Scope: scope, Clock: clock, End: true}
}

// SlotSize is the profile_scratch_size of a kernel whose rings have so many bytes.
func SlotSize(warps, rings int) int { return (40 + 4*warps + rings + 127) &^ 127 }

// InsideBuffer is what a launch leaves in memory that was full of the given byte.
func InsideBuffer(k *inside.Kernel, before byte, blocks []InsideBlock) []byte {
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

func slot(to []byte, k *inside.Kernel, program uint32, b *InsideBlock) {
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

func (r InsideRecord) word(clock32 bool) uint64 {
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
