package cubin

import (
	"bytes"
	"encoding/binary"
)

// Beyond the end every number is 0 and every string empty; pos then lies behind the data, which callers notice.

func (m *machine) bytes(n int) []byte {
	from := m.pos
	m.pos += n
	if from > len(m.data) || n < 0 || m.pos > len(m.data) {
		return nil
	}
	return m.data[from:m.pos]
}

func (m *machine) u8() byte {
	if m.pos < len(m.data) {
		m.pos++
		return m.data[m.pos-1]
	}
	m.pos++
	return 0
}

// number reads one of 1 to 8 bytes.
func (m *machine) number(size int) uint64 {
	var b [8]byte
	copy(b[:], m.bytes(size))
	return binary.LittleEndian.Uint64(b[:])
}

func (m *machine) uleb() uint64 {
	v, _ := m.leb()
	return v
}

func (m *machine) sleb() int64 {
	v, bits := m.leb()
	unused := 64 - min(bits, 64)
	return int64(v<<unused) >> unused
}

// leb reads a number in LEB128, and returns how many bits it has.
func (m *machine) leb() (v uint64, bits uint) {
	for m.pos < len(m.data) {
		b := m.u8()
		if bits < 64 {
			v |= uint64(b&0x7f) << bits
		}
		if bits += 7; b&0x80 == 0 {
			return v, bits
		}
	}
	m.pos = len(m.data) + 1
	return 0, bits
}

func (m *machine) str() string {
	if m.pos <= len(m.data) {
		if s, _, ended := bytes.Cut(m.data[m.pos:], []byte{0}); ended {
			m.pos += len(s) + 1
			return string(s)
		}
	}
	m.pos = len(m.data) + 1
	return ""
}
