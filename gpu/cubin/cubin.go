// Package cubin reads NVIDIA's GPU binaries without any library of NVIDIA's: which functions a module holds, what they need,
// and which source line, through which inlined calls, each instruction came from.
//
// It reads the image that the driver was given, or a file of Triton's cache. Samples of a kernel are addresses within a function;
// Function.Frames turns one into source lines. Of a damaged file, what does not depend on the damage is read: with a damaged line
// table the functions are known, Lines is empty, and LineError says why.
//
// Disassemble gets the text of instructions from CUDA's nvdisasm, and Recorded from listings that it printed; without them the names of
// operations are decoded alone.
package cubin

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu"
)

// File is one module.
type File struct {
	SM        int // compute capability: 90 for 9.0
	Functions []Function
	PTX       []string // the PTX that the code was assembled from, by line; nil without line information
	LineError error    // why there are no source lines, if there was something to read
}

// Function is a kernel or a device function that was not inlined.
type Function struct {
	gpu.Function
	Entry      bool // a kernel, as opposed to a device function
	MaxThreads int  // per block, as the source declares it; 0 if it does not

	Lines    Lines // by source line; empty when compiled without line information
	PTXLines Lines // by line of File.PTX

	section int
	offset  uint64      // of the first instruction in the section
	parts   []*Function // those that lie within this one's code, as the compiler puts what only one kernel calls
}

const (
	machineCUDA = 190
	typeInfo    = 0x70000000 // sections .nv.info
	entryBit    = 0x10       // of a symbol's "other" byte: STO_CUDA_ENTRY
)

// Read reads the module in an image.
func Read(image []byte) (*File, error) {
	e, err := elf.NewFile(patched(image))
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	if e.Machine != machineCUDA || e.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("read cubin: this is a %s file for %s, no 64 bit cubin", e.Class, e.Machine)
	}
	r := reader{image: image, elf: e, file: &File{SM: architecture(image)}}
	if err := r.functions(); err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	r.resources()
	r.file.LineError = errors.Join(r.source(), r.ptx())
	return r.file, nil
}

// patched lets debug/elf read older cubins: before ABI version 8 the field e_version holds the toolkit's version, and
// debug/elf refuses everything but 1 there.
type patched []byte

func (p patched) ReadAt(b []byte, off int64) (int, error) {
	const versionAt = 20
	n, err := bytes.NewReader(p).ReadAt(b, off)
	for i, v := range []byte{1, 0, 0, 0} {
		if at := versionAt + int64(i) - off; at >= 0 && at < int64(n) {
			b[at] = v
		}
	}
	return n, err
}

// architecture reads the target from the ELF flags, which lie at byte 48. ABI version 8 (toolkits 12.8 and newer)
// moved it up by a byte.
func architecture(image []byte) int {
	const abiVersion, flags = 8, 48
	if image[abiVersion] >= 8 {
		return int(image[flags+1])
	}
	return int(image[flags])
}

// reader reads one file.
type reader struct {
	image []byte
	elf   *elf.File
	file  *File
	names []string // of the symbols, by index

	local [InstructionSize][]localCount // of the instructions that begin at each remainder
}

// functions finds the functions in the symbol table.
func (r *reader) functions() error {
	symbols, err := r.elf.Symbols()
	if err != nil {
		return fmt.Errorf("its symbols: %w", err)
	}
	r.names = make([]string, len(symbols)+1) // Symbols leaves out the first, which is empty
	for i, s := range symbols {
		r.names[i+1] = s.Name
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) >= len(r.elf.Sections) {
			continue
		}
		f := Function{Entry: s.Other&entryBit != 0, section: int(s.Section), offset: s.Value}
		f.Name, f.Index, f.Size, f.Code = s.Name, i+1, s.Size, r.code(s)
		f.LocalLoads, f.LocalStores = r.localAccesses(s)
		r.file.Functions = append(r.file.Functions, f)
	}
	r.parts()
	return nil
}

// parts tells kernels which functions lie within their code.
func (r *reader) parts() {
	kernels := map[int]*Function{}
	for i := range r.file.Functions {
		if f := &r.file.Functions[i]; f.Entry {
			kernels[f.section] = f
		}
	}
	for i := range r.file.Functions {
		f := &r.file.Functions[i]
		if k := kernels[f.section]; k != nil && k != f {
			k.parts = append(k.parts, f)
		}
	}
}

// nameAt is what the source calls the function that an address is in.
func (f *Function) nameAt(pc uint64) string {
	for _, p := range f.parts {
		if at := pc + f.offset; at >= p.offset && at-p.offset < p.Size {
			return SourceName(p.Name)
		}
	}
	return SourceName(f.Name)
}

// SourceName is a function's name without what the compiler puts in front of a copy for one kernel:
// $kernel$_Z4slowfi.
func SourceName(symbol string) string {
	if of, isCopy := strings.CutPrefix(symbol, "$"); isCopy {
		if _, name, found := strings.Cut(of, "$"); found && name != "" {
			return name
		}
	}
	return symbol
}

// code is a function's part of the image; nil if the symbol points outside.
func (r *reader) code(s elf.Symbol) []byte {
	section := r.elf.Sections[s.Section]
	if section.Type == elf.SHT_NOBITS || s.Value > section.Size || s.Size > section.Size-s.Value {
		return nil
	}
	from := section.Offset + s.Value
	if from > uint64(len(r.image)) || s.Size > uint64(len(r.image))-from {
		return nil
	}
	return r.image[from : from+s.Size]
}

// InstructionSize is that of every instruction since compute capability 7.0.
const InstructionSize = 16

// localCount is how many instructions of the image up to one access local memory. Functions may share their code, and each would walk all of it.
type localCount struct{ loads, stores int32 }

// localAccesses counts a function's instructions by their opcode, the low twelve bits: LDL is 0x983, STL is 0x387.
func (r *reader) localAccesses(s elf.Symbol) (loads, stores int) {
	if len(r.code(s)) < InstructionSize {
		return 0, 0
	}
	at := r.elf.Sections[s.Section].Offset + s.Value
	counts := r.local[at%InstructionSize]
	if counts == nil {
		code, sum := r.image[at%InstructionSize:], localCount{}
		counts = make([]localCount, 1, 1+len(code)/InstructionSize)
		for ; len(code) >= InstructionSize; code = code[InstructionSize:] {
			switch (uint16(code[0]) | uint16(code[1])<<8) & 0xfff {
			case 0x983:
				sum.loads++
			case 0x387:
				sum.stores++
			}
			counts = append(counts, sum)
		}
		r.local[at%InstructionSize] = counts
	}
	from, to := counts[at/InstructionSize], counts[at/InstructionSize+s.Size/InstructionSize]
	return int(to.loads - from.loads), int(to.stores - from.stores)
}

// Function returns the function with that name, nil if there is none.
func (f *File) Function(name string) *Function {
	for i := range f.Functions {
		if f.Functions[i].Name == name {
			return &f.Functions[i]
		}
	}
	return nil
}

// section returns a section's bytes, nil if there is none of that name.
func (r *reader) section(name string) []byte {
	return r.inside(r.elf.Section(name))
}

// inside returns a section's bytes, nil if they are not all in the image.
func (r *reader) inside(s *elf.Section) []byte {
	if s == nil || s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(r.image)) || s.FileSize > uint64(len(r.image))-s.Offset {
		return nil
	}
	return r.image[s.Offset : s.Offset+s.FileSize]
}

// ptx reads the lines of the PTX that the instructions were made of. The text is embedded line by line, each ended
// by a zero byte.
func (r *reader) ptx() error {
	text := r.section(".nv_debug_ptx_txt")
	if text == nil {
		return nil
	}
	r.file.PTX = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	return r.lines(".nv_debug_line_sass", func(f *Function) *Lines { return &f.PTXLines })
}

// source reads the lines of the source.
func (r *reader) source() error {
	return r.lines(".debug_line", func(f *Function) *Lines { return &f.Lines })
}

// Symbols returns where the functions of a module stand in its symbol table, by name. It is a part of what Read tells, and
// much cheaper.
func Symbols(image []byte) (map[string]uint32, error) {
	e, err := elf.NewFile(patched(image))
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	symbols, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read cubin: its symbols: %w", err)
	}
	functions := make(map[string]uint32)
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			functions[s.Name] = uint32(i + 1) // Symbols leaves out the first, which is empty
		}
	}
	return functions, nil
}
