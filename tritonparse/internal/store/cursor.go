package store

import (
	"encoding/binary"
	"errors"
)

// Cursor reads a log of numbers and texts. After an error it returns zero values.
type Cursor struct {
	In      []byte
	Damaged bool
}

// ErrDamaged says that a log is not what was written, because of an error of ours or of the disk.
var ErrDamaged = errors.New("BUG: a log read back while parsing is damaged")

func (c *Cursor) Err() error {
	if c.Damaged {
		return ErrDamaged
	}
	return nil
}

// Skip returns the next n bytes.
func (c *Cursor) Skip(n int) []byte {
	if n < 0 || n > len(c.In) {
		c.Damaged, c.In = true, nil
		return nil
	}
	skipped := c.In[:n]
	c.In = c.In[n:]
	return skipped
}

func (c *Cursor) Uvarint() int {
	v, n := binary.Uvarint(c.In)
	if n <= 0 {
		n = -1
	}
	c.Skip(n)
	return int(v)
}

func (c *Cursor) Varint() int64 {
	v, n := binary.Varint(c.In)
	if n <= 0 {
		n = -1
	}
	c.Skip(n)
	return v
}

// AppendCounted writes a text for Cursor.Text.
func AppendCounted[T string | []byte](out []byte, text T) []byte {
	out = binary.AppendUvarint(out, uint64(len(text)))
	return append(out, text...)
}

// Text reads a text, which is part of In.
func (c *Cursor) Text() []byte { return c.Skip(c.Uvarint()) }

func (c *Cursor) Byte() byte {
	if b := c.Skip(1); b != nil {
		return b[0]
	}
	return 0
}

// Flag reads a byte that is 0 or 1.
func (c *Cursor) Flag() bool { return c.Byte() != 0 }

// Fixed reads a number of eight bytes, the lowest first.
func (c *Cursor) Fixed() uint64 {
	if b := c.Skip(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Numbers reads a list of numbers with its length before it.
func (c *Cursor) Numbers() []int64 {
	n := c.Uvarint()
	if n <= 0 {
		return nil
	}
	all := make([]int64, 0, min(n, len(c.In))) // each has a byte or more
	for ; n > 0 && !c.Damaged; n-- {
		all = append(all, c.Varint())
	}
	return all
}
