package tensor

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
)

// Tolerance is by how much elements may differ and still be close: by Absolute plus Relative times B's element.
type Tolerance struct{ Absolute, Relative float64 }

// Difference is by how much two tensors differ. NaN equals NaN here, and an infinity equals one of the same sign. A pair without a
// finite difference is counted, and is part of no maximum and no mean.
type Difference struct {
	Elements  int64 `json:"elements"`
	Differing int64 `json:"differing"` // are not equal
	Beyond    int64 `json:"beyond"`    // differ by more than the tolerance, or have no finite difference

	MaxAbsolute  float64  `json:"max_absolute"`
	MeanAbsolute float64  `json:"mean_absolute"`
	MaxRelative  float64  `json:"max_relative"` // to B's elements, where they are not 0
	RMS          float64  `json:"rms"`
	Cosine       *float64 `json:"cosine,omitempty"` // of the angle between the two; nil if one of them is zero

	NaNA      int64 `json:"nan_a"`
	NaNB      int64 `json:"nan_b"`
	InfiniteA int64 `json:"infinite_a"`
	InfiniteB int64 `json:"infinite_b"`

	First *At `json:"first,omitempty"` // the first in memory beyond the tolerance, or if there is none the first that differs
	Worst *At `json:"worst,omitempty"` // where MaxAbsolute is
}

// At is an element of both tensors.
type At struct {
	Index []int64 `json:"index"`
	A     string  `json:"a"`
	B     string  `json:"b"`
}

// block is how many elements are read at a time.
const block = 1 << 15

// Compare goes through two tensors of one shape, whose types may differ, in the order in which A lies in memory.
func Compare(a, b *Tensor, tolerance Tolerance) (*Difference, error) {
	if !slices.Equal(a.Shape, b.Shape) {
		return nil, fmt.Errorf("the shapes are %v and %v", a.Shape, b.Shape)
	}
	if a.Dtype != b.Dtype && (several(a.Dtype) || several(b.Dtype)) {
		return nil, fmt.Errorf("elements of types %s and %s are not compared", a.Dtype, b.Dtype)
	}
	order := a.order()
	c := comparison{a: a.permuted(order), b: b.permuted(order), order: order, tolerance: tolerance}
	x, err := c.a.reader()
	if err != nil {
		return nil, err
	}
	y, err := c.b.reader()
	if err != nil {
		return nil, err
	}
	bytesA, bytesB := make([]byte, block*a.size), make([]byte, block*b.size)
	for left := a.Elements(); left > 0; left -= block {
		n := min(left, block)
		p, q := bytesA[:n*a.size], bytesB[:n*b.size]
		if _, err := io.ReadFull(x, p); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(y, q); err != nil {
			return nil, err
		}
		c.block(p, q, n)
	}
	return c.result(), nil
}

type comparison struct {
	a, b      *Tensor
	order     []int // of their dimensions
	tolerance Tolerance

	d                 Difference
	done              int64 // elements before the block
	finite            int64 // pairs of numbers
	sum, squares      float64
	dot, normA, normB float64

	bytesA, bytesB []byte // of the block
	x, y, apart    [block]float64
}

// block takes the next elements.
func (c *comparison) block(p, q []byte, n int64) {
	c.bytesA, c.bytesB = p, q
	elements[c.a.Dtype].numbers(c.x[:n], p)
	elements[c.b.Dtype].numbers(c.y[:n], q)
	c.distances(n)
	for i, apart := range c.apart[:n] {
		x, y := c.x[i], c.y[i]
		if !(apart <= math.MaxFloat64) {
			c.special(int64(i))
			continue
		}
		c.finite++
		c.dot, c.normA, c.normB = c.dot+x*y, c.normA+x*x, c.normB+y*y
		if apart == 0 {
			continue
		}
		size := math.Abs(y)
		c.differs(int64(i), apart > c.tolerance.Absolute+c.tolerance.Relative*size)
		c.sum += apart
		c.squares += apart * apart
		if apart > c.d.MaxAbsolute {
			c.d.MaxAbsolute, c.d.Worst = apart, c.at(int64(i))
		}
		if size > 0 {
			c.d.MaxRelative = max(c.d.MaxRelative, apart/size)
		}
	}
	c.done += n
}

func (c *comparison) distances(n int64) {
	distance := elements[c.a.Dtype].distance
	if distance == nil || c.a.Dtype != c.b.Dtype {
		for i, x := range c.x[:n] {
			c.apart[i] = math.Abs(x - c.y[i])
		}
		return
	}
	for i := range n {
		x, y := c.pair(i)
		c.apart[i] = distance(x, y)
	}
}

func (c *comparison) pair(i int64) (x, y []byte) {
	return c.bytesA[i*c.a.size:][:c.a.size], c.bytesB[i*c.b.size:][:c.b.size]
}

// special counts a pair without a finite distance: at least one of the two elements is NaN or infinite.
func (c *comparison) special(i int64) {
	count := func(v float64, nan, infinite *int64) {
		if math.IsNaN(v) {
			*nan++
		} else if math.IsInf(v, 0) {
			*infinite++
		}
	}
	x, y := c.x[i], c.y[i]
	count(x, &c.d.NaNA, &c.d.InfiniteA)
	count(y, &c.d.NaNB, &c.d.InfiniteB)
	equal := x == y || math.IsNaN(x) && math.IsNaN(y)
	if equal && several(c.a.Dtype) {
		equal = bytes.Equal(c.pair(i))
	}
	if !equal {
		c.differs(i, true)
	}
}

func (c *comparison) differs(i int64, beyond bool) {
	c.d.Differing++
	if beyond {
		c.d.Beyond++
	}
	if c.d.First == nil || beyond && c.d.Beyond == 1 {
		c.d.First = c.at(i)
	}
}

func (c *comparison) at(i int64) *At {
	x, y := c.pair(i)
	where := &At{make([]int64, len(c.order)), show(c.a.Dtype, x), show(c.b.Dtype, y)}
	for d, n := range c.a.index(c.done + i) {
		where.Index[c.order[d]] = n
	}
	return where
}

func (c *comparison) result() *Difference {
	c.d.Elements = c.done
	c.d.MaxRelative = min(c.d.MaxRelative, math.MaxFloat64) // JSON has no infinity
	if c.finite > 0 {                                       // nor for sums of the greatest numbers
		c.d.MeanAbsolute = min(c.sum/float64(c.finite), math.MaxFloat64)
		c.d.RMS = min(math.Sqrt(c.squares/float64(c.finite)), math.MaxFloat64)
	}
	norm := math.Sqrt(c.normA) * math.Sqrt(c.normB)
	if norm > 0 && !math.IsInf(norm, 0) && !several(c.a.Dtype) {
		cosine := max(-1, min(c.dot/norm, 1))
		c.d.Cosine = &cosine
	}
	return &c.d
}
