package cubin

import "encoding/binary"

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
	if b := m.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (m *machine) u16() uint16 {
	if b := m.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (m *machine) u32() uint32 {
	if b := m.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (m *machine) u64() uint64 {
	if b := m.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (m *machine) uleb() (v uint64) {
	for shift := uint(0); m.pos < len(m.data); shift += 7 {
		b := m.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			return v
		}
	}
	m.pos = len(m.data) + 1
	return 0
}

func (m *machine) sleb() (v int64) {
	for shift := uint(0); m.pos < len(m.data); {
		b := m.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	m.pos = len(m.data) + 1
	return 0
}

func (m *machine) str() string {
	for i := m.pos; i < len(m.data); i++ {
		if m.data[i] == 0 {
			s := string(m.data[m.pos:i])
			m.pos = i + 1
			return s
		}
	}
	m.pos = len(m.data) + 1
	return ""
}
