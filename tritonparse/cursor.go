package tritonparse

import (
	"encoding/binary"
	"errors"
)

// cursor reads what encoding/binary wrote. What it returns once something was wrong is empty.
type cursor struct {
	in      []byte
	damaged bool
}

var errDamaged = errors.New("BUG: what was put away is damaged")

func (c *cursor) err() error {
	if c.damaged {
		return errDamaged
	}
	return nil
}

// skip goes on by n bytes if there are so many.
func (c *cursor) skip(n int) []byte {
	if n < 0 || n > len(c.in) {
		c.damaged, c.in = true, nil
		return nil
	}
	skipped := c.in[:n]
	c.in = c.in[n:]
	return skipped
}

func (c *cursor) uvarint() int {
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		n = -1
	}
	c.skip(n)
	return int(v)
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.in)
	if n <= 0 {
		n = -1
	}
	c.skip(n)
	return v
}

// appendCounted writes what text reads.
func appendCounted[T string | []byte](out []byte, text T) []byte {
	out = binary.AppendUvarint(out, uint64(len(text)))
	return append(out, text...)
}

// text is a part of what is read.
func (c *cursor) text() []byte { return c.skip(c.uvarint()) }

func (c *cursor) flag() bool {
	b := c.skip(1)
	return len(b) > 0 && b[0] != 0
}

func (c *cursor) numbers() []int64 {
	var all []int64
	for n := c.uvarint(); n > 0 && !c.damaged; n-- {
		all = append(all, c.varint())
	}
	return all
}
