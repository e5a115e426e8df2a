package store

import (
	"encoding/binary"
	"errors"
)

// Cursor reads what encoding/binary wrote. What it returns once something was wrong is empty.
type Cursor struct {
	In      []byte
	Damaged bool
}

// ErrDamaged says that a log is not what was written: an error of ours, or of the disk.
var ErrDamaged = errors.New("BUG: a log read back while parsing is damaged")

// Err is ErrDamaged if something was wrong so far.
func (c *Cursor) Err() error {
	if c.Damaged {
		return ErrDamaged
	}
	return nil
}

// Skip goes on by n bytes if there are so many.
func (c *Cursor) Skip(n int) []byte {
	if n < 0 || n > len(c.In) {
		c.Damaged, c.In = true, nil
		return nil
	}
	skipped := c.In[:n]
	c.In = c.In[n:]
	return skipped
}

// Uvarint reads a number.
func (c *Cursor) Uvarint() int {
	v, n := binary.Uvarint(c.In)
	if n <= 0 {
		n = -1
	}
	c.Skip(n)
	return int(v)
}

// Varint reads a number that may be negative.
func (c *Cursor) Varint() int64 {
	v, n := binary.Varint(c.In)
	if n <= 0 {
		n = -1
	}
	c.Skip(n)
	return v
}

// AppendCounted writes what text reads.
func AppendCounted[T string | []byte](out []byte, text T) []byte {
	out = binary.AppendUvarint(out, uint64(len(text)))
	return append(out, text...)
}

// Text is a part of what is read.
func (c *Cursor) Text() []byte { return c.Skip(c.Uvarint()) }

// Flag reads a byte that is 0 or 1.
func (c *Cursor) Flag() bool {
	b := c.Skip(1)
	return len(b) > 0 && b[0] != 0
}

// Numbers reads how many numbers there are, and the numbers.
func (c *Cursor) Numbers() []int64 {
	var all []int64
	for n := c.Uvarint(); n > 0 && !c.Damaged; n-- {
		all = append(all, c.Varint())
	}
	return all
}
