package cubin

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// Attributes of .nv.info sections that we use. The section without a function's name says it for all, by symbol.
const (
	attrMaxThreads = 0x05 // x, y, z
	attrReqThreads = 0x10 // x, y, z
	attrFrameSize  = 0x11 // symbol, bytes
	attrRegisters  = 0x2f // symbol, count
)

// Formats of an attribute: what follows its two bytes.
const (
	formatNone  = 1
	formatByte  = 2
	formatShort = 3
	formatSized = 4 // a length of two bytes, then the value
)

// resources fills in the attributes of functions that the driver reads.
func (r *reader) resources() {
	for _, s := range r.elf.Sections {
		name, ofFunction := strings.CutPrefix(s.Name, ".nv.info.")
		switch {
		case ofFunction:
			r.attributes(s.Name, r.file.Function(name))
		case s.Name == ".nv.info":
			r.attributes(s.Name, nil)
		}
		if name, found := strings.CutPrefix(s.Name, ".nv.shared."); found {
			if f := r.file.Function(name); f != nil {
				f.Shared = s.Size
			}
		}
	}
	for i := range r.file.Functions {
		r.oldRegisters(&r.file.Functions[i])
	}
}

// oldRegisters reads the count from where toolkits before 12.8 keep it: the highest byte of the section's info.
func (r *reader) oldRegisters(f *Function) {
	if f.Registers == 0 {
		if s := r.elf.Sections[f.section]; s.Type == elf.SHT_PROGBITS {
			f.Registers = int(s.Info >> 24)
		}
	}
}

// attributes reads one section; of is the function that it is about, nil if values name their own.
func (r *reader) attributes(section string, of *Function) {
	for b := r.section(section); len(b) >= 4; {
		format, attr, size := b[0], b[1], 0
		if format == formatSized {
			size = int(binary.LittleEndian.Uint16(b[2:]))
		} else if format < formatNone || format > formatSized {
			return
		}
		b = b[4:]
		if size > len(b) {
			return
		}
		r.attribute(attr, b[:size], of)
		b = b[size:]
	}
}

func (r *reader) attribute(attr byte, value []byte, of *Function) {
	var words [3]uint32
	for i := range words {
		if len(value) >= 4*(i+1) {
			words[i] = binary.LittleEndian.Uint32(value[4*i:])
		}
	}
	switch attr {
	case attrRegisters:
		if f := r.bySymbol(words[0]); f != nil {
			f.Registers = int(words[1])
		}
	case attrFrameSize:
		if f := r.bySymbol(words[0]); f != nil {
			f.Frame = uint64(words[1])
		}
	case attrMaxThreads, attrReqThreads:
		if of != nil {
			of.MaxThreads = int(words[0]) * int(words[1]) * int(words[2])
		}
	}
}

func (r *reader) bySymbol(index uint32) *Function {
	for i := range r.file.Functions {
		if r.file.Functions[i].Index == int(index) {
			return &r.file.Functions[i]
		}
	}
	return nil
}
