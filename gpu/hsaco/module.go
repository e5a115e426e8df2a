package hsaco

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"sync"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/profile"
)

// module is a code object.
type module struct {
	image      []byte
	elf        *elf.File
	arch       string
	target     string // as the metadata has it
	generation generation
	functions  []function // in the order of the symbol table
	kernels    map[string]kernel

	lines   sync.Once
	table   table // see places
	callers sync.Once
	calls   map[string][]string
}

// function is a kernel or a device function that was not inlined.
type function struct {
	name    string
	index   int    // in the symbol table
	address uint64 // of the first instruction
	size    uint64
	code    []byte // nil if the symbol points outside of the image
	kernel  bool
}

// descriptorEnd is the end of the name of a kernel's descriptor, the object that programs launch: k.kd for the function k.
const descriptorEnd = ".kd"

// symbols finds the functions: in .symtab, or where that was stripped in .dynsym, which has the kernels alone.
func (m *module) symbols() error {
	symbols, err := m.elf.Symbols()
	if err != nil || len(symbols) == 0 {
		if symbols, err = m.elf.DynamicSymbols(); err != nil {
			return err
		}
	}
	descriptors := map[string]bool{}
	for i, s := range symbols {
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_OBJECT:
			if name, is := strings.CutSuffix(s.Name, descriptorEnd); is {
				descriptors[name] = true
			}
		case elf.STT_FUNC:
			if int(s.Section) < len(m.elf.Sections) && s.Section != elf.SHN_UNDEF {
				f := function{name: s.Name, index: i + 1, address: s.Value, size: s.Size} // Symbols leaves out the first, which is empty
				f.code = m.code(m.elf.Sections[s.Section], &f)
				m.functions = append(m.functions, f)
			}
		}
	}
	for i := range m.functions {
		m.functions[i].kernel = descriptors[m.functions[i].name]
	}
	return nil
}

// code is a function's part of the image; nil if the symbol points outside.
func (m *module) code(s *elf.Section, f *function) []byte {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || f.address < s.Addr || f.address-s.Addr > s.Size || f.size > s.Size-(f.address-s.Addr) {
		return nil
	}
	from := s.Offset + f.address - s.Addr
	if from < s.Offset || from > uint64(len(m.image)) || f.size > uint64(len(m.image))-from {
		return nil
	}
	return m.image[from : from+f.size]
}

// Arch is the target without its features: "gfx942".
func (m *module) Arch() string { return m.arch }

// Function is described with gpu.Module. A kernel is also found by the name of its descriptor.
func (m *module) Function(index uint32, name string) (gpu.Function, bool) {
	name = SourceName(name)
	at := slices.IndexFunc(m.functions, func(f function) bool { return f.index == int(index) && f.name == name })
	if at < 0 {
		at = slices.IndexFunc(m.functions, func(f function) bool { return f.name == name })
	}
	if at < 0 {
		return gpu.Function{}, false
	}
	f := &m.functions[at]
	k := m.kernels[f.name]
	loads, stores := m.privateAccesses(f.code, k.private > 0)
	return gpu.Function{
		Name: f.name, Index: f.index, Size: f.size, Code: f.code,
		Registers: int(k.vector), Scalars: int(k.scalar), Shared: k.shared, Frame: k.private, LocalLoads: loads, LocalStores: stores,
		Offsets: func(yield func(uint64) bool) {
			m.generation.each(f.code, func(at uint64, _ []byte) bool { return yield(at) })
		},
		Frames:       func(offset uint64) []profile.SourceFrame { return m.frames(f, offset) },
		AssemblyLine: func(uint64) int { return 0 },
	}, true
}

// Kernels is described with gpu.Module.
func (m *module) Kernels() (names []string) {
	for _, f := range m.functions {
		if f.kernel {
			names = append(names, f.name)
		}
	}
	return names
}

// Symbol is a function of a code object: its place in the symbol table, and its addresses in the ELF file.
type Symbol struct {
	Name          string
	Index         int
	Address, Size uint64
}

// Symbols returns the functions of a code object in the order of their addresses.
func Symbols(image []byte) ([]Symbol, error) {
	m, err := read(image)
	if err != nil {
		return nil, err
	}
	all := make([]Symbol, 0, len(m.functions))
	for _, f := range m.functions {
		all = append(all, Symbol{f.name, f.index, f.address, f.size})
	}
	slices.SortFunc(all, func(a, b Symbol) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}
