package hsaco

import "encoding/binary"

// Forms of DWARF that headers of line tables have.
const (
	formBlock    = 0x09
	formData1    = 0x0b
	formData2    = 0x05
	formData4    = 0x06
	formData8    = 0x07
	formData16   = 0x1e
	formString   = 0x08
	formStrp     = 0x0e
	formLineStrp = 0x1f
	formUdata    = 0x0f
)

// believable reports whether a line table has as many folders and files as its header of DWARF 5 says: debug/dwarf makes room for them before
// it reads them. Older headers do not have numbers.
func believable(table []byte) bool {
	c := cursor{data: table, offset: 4}
	if c.number(4) == 0xffffffff {
		c.offset = 8
		c.skip(8)
	}
	if c.number(2) != 5 {
		return true
	}
	c.skip(2 + c.offset + 5) // sizes of addresses and segments, length of the header, five numbers of the line program
	c.skip(max(c.number(1), 1) - 1)
	for range 2 {
		forms := make([]uint64, c.number(1))
		for i := range forms {
			c.unsigned()
			forms[i] = c.unsigned()
		}
		count := c.unsigned()
		if count > uint64(len(c.data)) || len(forms) == 0 && count > 0 {
			return false
		}
		for ; count > 0 && !c.cut; count-- {
			for _, form := range forms {
				c.form(form)
			}
		}
	}
	return !c.cut
}

// cursor reads little-endian numbers.
type cursor struct {
	data   []byte
	offset uint64 // bytes of an offset: 8 in tables of 64 bits
	cut    bool   // the data was too short
}

func (c *cursor) skip(n uint64) {
	if c.cut = c.cut || n > uint64(len(c.data)); c.cut {
		n = uint64(len(c.data))
	}
	c.data = c.data[n:]
}

func (c *cursor) number(size uint64) (n uint64) {
	b := c.data
	if c.skip(size); c.cut {
		return 0
	}
	for i := range size {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}

func (c *cursor) unsigned() uint64 {
	v, n := binary.Uvarint(c.data)
	c.cut = c.cut || n <= 0
	c.skip(uint64(max(n, 0)))
	return v
}

func (c *cursor) form(form uint64) {
	switch form {
	case formString:
		for !c.cut && c.number(1) != 0 {
		}
	case formStrp, formLineStrp:
		c.skip(c.offset)
	case formUdata:
		c.unsigned()
	case formData1:
		c.skip(1)
	case formData2:
		c.skip(2)
	case formData4:
		c.skip(4)
	case formData8:
		c.skip(8)
	case formData16:
		c.skip(16)
	case formBlock:
		c.skip(c.unsigned())
	default:
		c.cut = true
	}
}
