package hsaco

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
)

// kernel is what the metadata says of a kernel.
type kernel struct {
	vector  uint64 // vector registers of a thread, with accumulation registers where these are of the same file
	scalar  uint64 // scalar registers of a wave
	shared  uint64 // bytes of static local data share of a workgroup
	private uint64 // bytes of scratch of a thread
	threads uint64 // of a wave
	pair    bool   // a workgroup may run on both compute units of a workgroup processor
}

const noteMetadata = 32 // NT_AMDGPU_METADATA of the owner "AMDGPU"

// notes reads the metadata, a map in MessagePack. A code object without it has kernels of which no needs are known.
func (m *module) notes() {
	m.kernels = map[string]kernel{}
	for _, s := range m.elf.Sections {
		if s.Type != elf.SHT_NOTE || s.Flags&elf.SHF_COMPRESSED != 0 || s.Offset > uint64(len(m.image)) || s.FileSize > uint64(len(m.image))-s.Offset {
			continue
		}
		for b := m.image[s.Offset : s.Offset+s.FileSize]; len(b) >= 12; {
			nameSize, size, kind := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:])), binary.LittleEndian.Uint32(b[8:])
			from := 12 + (nameSize+3)&^3
			if from+size > uint64(len(b)) {
				break
			}
			if kind == noteMetadata && bytes.HasPrefix(b[12:], []byte("AMDGPU\x00")) {
				m.metadata(b[from : from+size])
			}
			b = b[min(from+(size+3)&^3, uint64(len(b))):]
		}
	}
}

func (m *module) metadata(b []byte) {
	p := packed{data: b}
	all, _ := p.value(0).(map[string]any)
	m.target, _ = all["amdhsa.target"].(string)
	list, _ := all["amdhsa.kernels"].([]any)
	for _, entry := range list {
		of, _ := entry.(map[string]any)
		number := func(name string) uint64 {
			n, _ := of[name].(uint64)
			return min(n, math.MaxInt32)
		}
		symbol, _ := of[".symbol"].(string)
		m.kernels[SourceName(symbol)] = kernel{
			vector: number(".vgpr_count"), scalar: number(".sgpr_count"),
			shared: number(".group_segment_fixed_size"), private: number(".private_segment_fixed_size"),
			threads: number(".wavefront_size"), pair: number(".workgroup_processor_mode") != 0,
		}
	}
}

// packed reads MessagePack: maps with texts as keys, lists, texts and numbers that are not negative. Other values are nil. What is cut
// off ends the containers that it is in.
type packed struct {
	data []byte
	end  bool
}

// deepest nesting that is read. The metadata has five.
const deepest = 16

func (p *packed) bytes(n uint64) []byte {
	if p.end = p.end || n > uint64(len(p.data)); p.end {
		return nil
	}
	b := p.data[:n]
	p.data = p.data[n:]
	return b
}

// number of 1, 2, 4 or 8 bytes.
func (p *packed) number(size uint64) (n uint64) {
	for _, b := range p.bytes(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (p *packed) value(depth int) any {
	c := p.number(1)
	switch {
	case p.end || depth > deepest:
		p.end = true
		return nil
	case c < 0x80:
		return c
	case c < 0x90:
		return p.members(c&0xf, depth)
	case c < 0xa0:
		return p.list(c&0xf, depth)
	case c < 0xc0:
		return string(p.bytes(c & 0x1f))
	}
	switch c {
	case 0xc3: // true
		return uint64(1)
	case 0xc4, 0xc5, 0xc6: // bytes
		p.bytes(p.number(1 << (c - 0xc4)))
	case 0xca, 0xcb: // floats
		p.bytes(4 << (c - 0xca))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return p.number(1 << (c - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3: // signed numbers
		p.bytes(1 << (c - 0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // extensions
		p.bytes(1 + 1<<(c-0xd4))
	case 0xd9, 0xda, 0xdb:
		return string(p.bytes(p.number(1 << (c - 0xd9))))
	case 0xdc, 0xdd:
		return p.list(p.number(2<<(c-0xdc)), depth)
	case 0xde, 0xdf:
		return p.members(p.number(2<<(c-0xde)), depth)
	}
	return nil
}

func (p *packed) list(n uint64, depth int) (all []any) {
	for ; n > 0 && !p.end; n-- {
		all = append(all, p.value(depth+1))
	}
	return all
}

func (p *packed) members(n uint64, depth int) map[string]any {
	all := map[string]any{}
	for ; n > 0 && !p.end; n-- {
		key, _ := p.value(depth + 1).(string)
		all[key] = p.value(depth + 1)
	}
	return all
}
