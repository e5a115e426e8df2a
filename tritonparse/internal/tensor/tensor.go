// Package tensor reads tensors that torch.save wrote, as traces keep the contents of arguments, and says by how much two of them
// differ. It needs neither torch nor Python. Elements are read block by block in the order of their indices, so a tensor may be
// larger than memory; a tensor whose elements are scattered in its storage is read whole.
package tensor

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// Tensor is a tensor in a file. Shape, Stride and Offset are in elements.
type Tensor struct {
	Dtype  string // float32, as torch calls it
	Shape  []int64
	Stride []int64
	Offset int64

	size    int64 // of an element, in bytes
	storage io.ReaderAt
	file    *os.File
}

func (t *Tensor) Close() error { return t.file.Close() }

func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// mostElements bounds the elements that a tensor may claim to have: expanded dimensions need no storage.
const mostElements = 1 << 42

// check returns an error unless all elements lie within the storage, which has storage bytes.
func (t *Tensor) check(storage int64) error {
	if len(t.Shape) != len(t.Stride) || t.Offset < 0 {
		return fmt.Errorf("it has the shape %v, the strides %v and the offset %d", t.Shape, t.Stride, t.Offset)
	}
	last, elements := t.Offset, int64(1)
	for d, n := range t.Shape {
		s := t.Stride[d]
		switch {
		case n < 0 || s < 0 || n > mostElements || s > mostElements || n > 0 && elements > mostElements/n:
			return fmt.Errorf("it has the shape %v and the strides %v", t.Shape, t.Stride)
		case n > 1 && s > 0 && n-1 > (storage-last)/s:
			return fmt.Errorf("it has more elements than its storage of %d bytes", storage)
		}
		elements *= n
		last += max(n-1, 0) * s
	}
	if elements > 0 && last > storage/t.size-1 {
		return fmt.Errorf("it has more elements than its storage of %d bytes", storage)
	}
	return nil
}

// run is how many elements follow one another in the storage: those of the last dimensions that have no gaps. dimensions is how
// many dimensions that are.
func (t *Tensor) run() (elements int64, dimensions int) {
	elements = 1
	for d := len(t.Shape) - 1; d >= 0; d-- {
		if t.Shape[d] != 1 && t.Stride[d] != elements {
			return elements, len(t.Shape) - 1 - d
		}
		elements *= t.Shape[d]
	}
	return elements, len(t.Shape)
}

// order is the dimensions in the order of memory, the outermost first; expanded dimensions come before all others.
func (t *Tensor) order() []int {
	order := make([]int, len(t.Shape))
	for d := range order {
		order[d] = d
	}
	stride := func(d int) int64 {
		if t.Stride[d] == 0 || t.Shape[d] == 1 {
			return math.MaxInt64
		}
		return t.Stride[d]
	}
	slices.SortStableFunc(order, func(d, e int) int { return cmp.Compare(stride(e), stride(d)) })
	return order
}

// permuted is the tensor with its dimensions in another order.
func (t *Tensor) permuted(order []int) *Tensor {
	p := *t
	p.Shape, p.Stride = nil, nil
	for _, d := range order {
		p.Shape, p.Stride = append(p.Shape, t.Shape[d]), append(p.Stride, t.Stride[d])
	}
	return &p
}

// index is the index of the nth element.
func (t *Tensor) index(n int64) []int64 {
	at := make([]int64, len(t.Shape))
	for d := len(at) - 1; d >= 0; d-- {
		at[d] = n % t.Shape[d]
		n /= t.Shape[d]
	}
	return at
}

// reader reads the elements in the order of their indices. Its buffers must hold whole elements.
func (t *Tensor) reader() (io.Reader, error) {
	run, inner := t.run()
	if inner == len(t.Shape) {
		return io.NewSectionReader(t.storage, t.Offset*t.size, run*t.size), nil
	}
	extent, err := t.extent()
	if err != nil {
		return nil, err
	}
	outer := len(t.Shape) - inner
	return &scattered{
		extent: extent, size: t.size, run: run, left: t.Elements() / max(run, 1),
		shape: t.Shape[:outer], stride: t.Stride[:outer], at: make([]int64, outer),
	}, nil
}

// scattered reads elements that lie in runs with gaps between them.
type scattered struct {
	extent        []byte
	size          int64
	run           int64 // elements of each
	left          int64 // runs
	shape, stride []int64
	at            []int64 // index of the run
	start, done   int64   // where the run begins, and how much of it was read, in elements
}

func (s *scattered) Read(buffer []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for s.left > 0 && n < len(buffer) {
		c := copy(buffer[n:], s.extent[(s.start+s.done)*s.size:(s.start+s.run)*s.size])
		n += c
		if s.done += int64(c) / s.size; s.done == s.run {
			s.next()
		}
	}
	return n, nil
}

func (s *scattered) next() {
	s.left--
	s.done = 0
	for d := len(s.at) - 1; d >= 0; d-- {
		s.start += s.stride[d]
		if s.at[d]++; s.at[d] < s.shape[d] {
			return
		}
		s.start -= s.stride[d] * s.shape[d]
		s.at[d] = 0
	}
}

// extent reads the storage from the first to the last element.
func (t *Tensor) extent() ([]byte, error) {
	if t.Elements() == 0 {
		return nil, nil
	}
	n := int64(1)
	for d, s := range t.Stride {
		n += s * (t.Shape[d] - 1)
	}
	b := make([]byte, n*t.size)
	if _, err := t.storage.ReadAt(b, t.Offset*t.size); err != nil {
		return nil, err
	}
	return b, nil
}

// Contents are the bytes of all elements, in the order of their indices.
func (t *Tensor) Contents() ([]byte, error) {
	r, err := t.reader()
	if err != nil {
		return nil, err
	}
	all := make([]byte, t.Elements()*t.size)
	_, err = io.ReadFull(r, all)
	return all, err
}
