package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/goproton/goproton/internal/ownfile"
)

// The ring: a header, then data in which records follow one another. hooks/tracering.h has the same numbers.
const (
	ringMagic    = "GPTRACE1"
	ringHeader   = 4096
	ringCapacity = 16 << 20 // some hundred thousand launches: what a second of launching makes

	atCapacity = 8
	atWritten  = 16 // bytes that the launching threads have written since the beginning
	atRead     = 24 // bytes that have been written out
	atLost     = 32 // records that found no room
	atCommits  = 64 // two of them; the one with the higher number holds

	recordAlign = 8
	skipToStart = 0xFFFFFFFF // in place of a length: the record did not fit before the end of the ring
)

// commit is how far the output got. It is stored twice in turns, with its number last, so that a process that dies in
// the middle leaves the one before.
type commit struct {
	Number    uint64
	Read      uint64 // bytes of the ring
	Events    uint64 // of the definitions' file
	OutSize   uint64 // of the output file
	Rank      int64
	FrameOpen uint64 // 1 if the output ends in a zstd frame that was not ended
	Launches  uint64
	Others    uint64 // compilations << 32 | autotune records
}

const commitSize = 64

var _ [commitSize]byte = [unsafe.Sizeof(commit{})]byte{}

type ring struct {
	file *ownfile.File // nil for a ring without a file
	mem  []byte
	next uint64 // number of the next commit
}

// newRing makes the file, with all of its blocks: writing to a hole of a full disk would kill the program. errInUse says that
// a living process has it: to cut it would kill that one.
func newRing(path string) (*ring, error) {
	file, err := ownfile.Open(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	r, err := mapNew(file)
	if err != nil {
		_ = file.Close()
		if !errors.Is(err, errInUse) {
			_ = os.Remove(path)
		}
		return nil, err
	}
	return r, nil
}

func mapNew(file *ownfile.File) (*ring, error) {
	if err := lock(file); err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, err
	}
	if err := reserve(file, ringHeader+ringCapacity); err != nil {
		return nil, err
	}
	mem, err := mapFile(file, ringHeader+ringCapacity)
	if err != nil {
		return nil, err
	}
	r := &ring{file: file, mem: mem}
	r.format()
	return r, nil
}

// privateRing is for folders whose files cannot be mapped: what is in it dies with the process.
func privateRing() (*ring, error) {
	mem, err := mapMemory(ringHeader + ringCapacity)
	if err != nil {
		return nil, fmt.Errorf("reserve memory for launches: %w", err)
	}
	r := &ring{mem: mem}
	r.format()
	return r, nil
}

func (r *ring) format() {
	binary.LittleEndian.PutUint64(r.mem[atCapacity:], uint64(len(r.mem)-ringHeader))
	copy(r.mem, ringMagic)
}

// openRing maps what a process left behind.
func openRing(path string) (*ring, error) {
	file, err := ownfile.Open(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	r, err := mapOld(file)
	if err != nil {
		_ = file.Close()
	}
	return r, err
}

func mapOld(file *ownfile.File) (*ring, error) {
	if err := lock(file); err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size < ringHeader+recordAlign || size > 1<<32 {
		return nil, fmt.Errorf("%s: %w: it has %d bytes", file.Name(), errDamaged, size)
	}
	mem, err := mapFile(file, int(size))
	if err != nil {
		return nil, err
	}
	r := &ring{file: file, mem: mem}
	if err := r.check(); err != nil {
		_ = unmap(mem)
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	r.next = r.last().Number + 1
	return r, nil
}

var errInUse = errors.New("the process is alive")

func (r *ring) check() error {
	switch {
	case string(r.mem[:len(ringMagic)]) != ringMagic:
		return fmt.Errorf("%w: it does not begin with %s", errDamaged, ringMagic)
	case *r.word(atCapacity) != uint64(len(r.mem)-ringHeader) || *r.word(atCapacity)%recordAlign != 0:
		return fmt.Errorf("%w: it is cut", errDamaged)
	}
	return nil
}

func (r *ring) word(at int) *uint64 { return (*uint64)(unsafe.Pointer(&r.mem[at])) }

func (r *ring) written() uint64 { return atomic.LoadUint64(r.word(atWritten)) }
func (r *ring) lost() int64     { return int64(atomic.LoadUint64(r.word(atLost))) }

func (r *ring) slot(number uint64) *commit {
	return (*commit)(unsafe.Pointer(&r.mem[atCommits+commitSize*int(number%2)]))
}

// last is the commit that holds. Its number is 0 before the first.
func (r *ring) last() commit {
	a, b := *r.slot(0), *r.slot(1)
	if b.Number > a.Number {
		return b
	}
	return a
}

// commit says how far the output got, and gives the launching threads their room back.
func (r *ring) commit(c commit) {
	if r.next == 0 {
		r.next = 1
	}
	slot := r.slot(r.next)
	atomic.StoreUint64(&slot.Number, 0)
	slot.Read, slot.Events, slot.OutSize, slot.Rank, slot.FrameOpen = c.Read, c.Events, c.OutSize, c.Rank, c.FrameOpen
	slot.Launches, slot.Others = c.Launches, c.Others
	atomic.StoreUint64(&slot.Number, r.next)
	r.next++
	atomic.StoreUint64(r.word(atRead), c.Read)
}

// record returns the record at a position, and the position of the next. There must be one: position < written.
func (r *ring) record(position, written uint64) (payload []byte, next uint64, err error) {
	data := r.mem[ringHeader:]
	capacity := uint64(len(data))
	if position%recordAlign != 0 || written < position || written-position > capacity {
		return nil, 0, fmt.Errorf("%w: at %d of %d", errDamaged, position, written)
	}
	for {
		at := position % capacity
		size := uint64(binary.LittleEndian.Uint32(data[at:]))
		if size == skipToStart {
			position += capacity - at
			if position >= written || at == 0 {
				return nil, 0, fmt.Errorf("%w: nothing follows its end", errDamaged)
			}
			continue
		}
		next = position + (4+size+recordAlign-1)/recordAlign*recordAlign
		if at+4+size > capacity || next > written {
			return nil, 0, fmt.Errorf("%w: a record of %d bytes at %d", errDamaged, size, position)
		}
		return data[at+4 : at+4+size], next, nil
	}
}

func (r *ring) close(remove bool) {
	_ = unmap(r.mem)
	if r.file == nil {
		return
	}
	if remove {
		_ = os.Remove(r.file.Name())
	}
	_ = r.file.Close()
}
