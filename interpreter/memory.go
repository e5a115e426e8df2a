package interpreter

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Buffer is a storage: what several tensors may be views of. An access outside of it is a finding, whatever lies next to it.
type Buffer struct {
	Name string
	Data []byte
	// Unwritten has a 1 for each byte that has no value yet, and is nil where all have one: a launch that checks for such values changes it.
	Unwritten []byte
	Views     []View // tensors in it, if they are known: findings name their elements by dimensions
	Address   uint64 // where the program that launches has it: pointers that are stored in memory have such addresses; 0 if there are none
}

// Buffers get addresses of their own, far from each other. A buffer begins in the middle of its range, so that an access in front of it is
// one of this buffer.
const (
	rangeBits  = 36
	firstRange = 1 << 8
	middle     = 1 << (rangeBits - 1)
)

// memory is all buffers of a launch.
type memory struct {
	buffers   []*Buffer
	numbers   map[*Buffer]int
	atomics   sync.Mutex
	unwritten bool // a buffer has bytes without a value
}

// place gives a buffer its address.
func (m *memory) place(b *Buffer) int64 {
	if m.numbers == nil {
		m.numbers = map[*Buffer]int{}
	}
	n, ok := m.numbers[b]
	if !ok {
		n = len(m.buffers)
		m.buffers = append(m.buffers, b)
		m.numbers[b] = n
		m.unwritten = m.unwritten || b.Unwritten != nil
	}
	return m.addressOf(n, 0)
}

// find returns the buffer that an address belongs to, and the offset in it, which may be outside; nil if it belongs to none.
func (m *memory) find(address int64) (*Buffer, int64) {
	if n, at := m.number(address); n >= 0 {
		return m.buffers[n], at
	}
	return nil, 0
}

// number is find's buffer by its number, which is negative if there is none.
func (m *memory) number(address int64) (int, int64) {
	if n := address>>rangeBits - firstRange; n >= 0 && n < int64(len(m.buffers)) {
		return int(n), address&(1<<rangeBits-1) - middle
	}
	for n, b := range m.buffers {
		if at := uint64(address) - b.Address; b.Address != 0 && at < uint64(len(b.Data)) {
			return n, int64(at)
		}
	}
	return -1, 0
}

// addressOf is the address of a byte of a buffer.
func (m *memory) addressOf(n int, at int64) int64 {
	return int64(firstRange+n)<<rangeBits + middle + at
}

// bytes returns the bytes at an address, and nil if they are not all in one buffer.
func (m *memory) bytes(address int64, size int) []byte {
	b, at := m.find(address)
	if b == nil || at < 0 || int64(size) > int64(len(b.Data))-at {
		return nil
	}
	return b.Data[at : at+int64(size) : at+int64(size)]
}

// describe names an address that an access of size bytes must not use.
func (m *memory) describe(address int64, size int) string {
	b, at := m.find(address)
	switch {
	case b == nil && address == 0:
		return "the null pointer"
	case b == nil:
		return fmt.Sprintf("the address %#x, which is in no buffer", uint64(address))
	}
	element := floorDiv(at, int64(size))
	return fmt.Sprintf("%s: element %d of %d%s (byte %d of %d)", b.Name, element, len(b.Data)/size, b.dimensions(at, size), at, len(b.Data))
}

// dimensions is where the element at a byte is in a tensor; "" if no shape of one is known that has it.
func (b *Buffer) dimensions(at int64, size int) string {
	for _, v := range b.Views {
		if list := v.indices(at, int64(size), false); list != nil {
			return fmt.Sprintf(", %v of %v", list, v.Shape)
		}
	}
	for _, v := range b.Views { // behind it, as of a row too many
		if list := v.indices(at, int64(size), true); list != nil {
			return fmt.Sprintf(", %v of %v", list, v.Shape)
		}
	}
	return ""
}

// View is a tensor in a buffer. It begins at a byte, and strides are in elements.
type View struct {
	At             int64
	Shape, Strides []int64
}

// indices are those of the element at a byte; nil if it is none of the tensor. With beyond, the index of the largest stride may be too large.
func (v *View) indices(at, size int64, beyond bool) []int64 {
	rest := at - v.At
	if len(v.Shape) < 2 || len(v.Strides) != len(v.Shape) || rest < 0 || rest%size != 0 {
		return nil
	}
	rest /= size
	list, largest := make([]int64, len(v.Shape)), true
	order := make([]int, len(v.Shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v.Strides[b], v.Strides[a]) })
	for _, d := range order {
		if v.Strides[d] <= 0 || v.Shape[d] == 1 {
			continue // index 0
		}
		list[d] = rest / v.Strides[d]
		if rest %= v.Strides[d]; list[d] >= v.Shape[d] && !(beyond && largest) {
			return nil
		}
		largest = false
	}
	if rest != 0 {
		return nil
	}
	return list
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
