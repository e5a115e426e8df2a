package inside

import "encoding/binary"

// A slot is what one block leaves, in this order: the header, a count of words for each warp, and the rings of the units (the
// warps that write). All numbers are little endian.
const (
	headerSize = 40
	countSize  = 4 // per warp
	entrySize  = 8 // two words

	preamble = 0xdeadbeef

	atProgram   = 4
	atSM        = 8
	atSize      = 12
	atInit      = 16
	atPreFinal  = 24
	atPostFinal = 32
)

// An entry has in its first word whether it is an end, the scope, whether it is an event that any warp may end, and bits 32 to
// 42 of the clock. The second word is the lower half of the clock.
const (
	isEnd     = 1 << 31
	isEvent   = 1 << 22
	scopeAt   = 23
	clockBits = 43
	clockMask = 1<<clockBits - 1
	highMask  = 1<<(clockBits-32) - 1
)

// Block is what the slot of one block says.
type Block struct {
	Program uint32 // its number in the grid
	SM      uint32 // the multiprocessor that it ran on; of AMD the fields of the hardware id as they are packed

	// Times of the global timer in ns: before the first record, after the last one, and after its first warp has copied its
	// entries out.
	Init, PreFinal, PostFinal uint64

	Rings       uint32 // bytes of its rings together
	First, Last uint64 // clocks of the first and of the last entry; 0 if there is none
	Clock32     bool   // these have the low word of the clock only
	Enclosed    bool   // they enclose what the kernel does: a scope was put around all of it, and its records are there
	entered     uint64 // the clock of the entry that was read first

	Pairs []Pair // by warp and, within one, in order of their ends; then those of events. Valid during the call only
}

// longest is the length of the longest pair that a block can have, in cycles: the timer makes steps, of up to a microsecond on
// older GPUs, and no clock is faster than maxRate.
func (b *Block) longest() uint64 {
	ran := b.PreFinal - b.Init + 1000
	if ran >= 1<<clockBits/maxRate {
		return 1 << clockBits
	}
	return ran * maxRate
}

// Pair is one time that a warp, or an event, was in a scope.
type Pair struct {
	Start, End uint64 // of the multiprocessor's clock, in cycles; wraps are undone within a block
	Warp       uint16 // that recorded the start
	EndWarp    uint16 // that recorded the end; another one only of an event
	Scope      uint8  // its ID
	Event      bool
}

// Cycles is how long it took.
func (p *Pair) Cycles() uint64 { return p.End - p.Start }

// readHeader reads a slot up to the counts. It says what is wrong with it otherwise.
func readHeader(slot []byte, index uint64, b *Block) (size uint32, fault slotFault) {
	if len(slot) < headerSize {
		return 0, invalid
	}
	b.Program = binary.LittleEndian.Uint32(slot[atProgram:])
	b.SM = binary.LittleEndian.Uint32(slot[atSM:])
	b.Init = binary.LittleEndian.Uint64(slot[atInit:])
	b.PreFinal = binary.LittleEndian.Uint64(slot[atPreFinal:])
	b.PostFinal = binary.LittleEndian.Uint64(slot[atPostFinal:])
	switch mark := binary.LittleEndian.Uint32(slot); {
	case mark != preamble:
		return 0, notStarted
	case uint64(b.Program) != index:
		return 0, invalid
	case b.PreFinal < b.Init:
		return 0, unfinished
	}
	return binary.LittleEndian.Uint32(slot[atSize:]), none
}

type slotFault uint8

const (
	none       slotFault = iota
	notStarted           // the block never ran, or the slot is not one of it
	unfinished           // it ran and did not come to its end
	invalid              // the numbers contradict each other
)
