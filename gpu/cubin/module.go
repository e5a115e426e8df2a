package cubin

import (
	"debug/elf"
	"strconv"
	"sync"

	"github.com/goproton/goproton/gpu"
)

// module answers about a cubin. Reading all of one takes milliseconds, which only those pay for that ask about functions.
type module struct {
	image []byte
	read  func() *File // empty where the image is damaged
}

// NewModule returns a cubin as a module to ask. One that is damaged has no functions.
func NewModule(image []byte) gpu.Module {
	return &module{image: image, read: sync.OnceValue(func() *File {
		file, err := Read(image)
		if err != nil {
			return &File{}
		}
		return file
	})}
}

// Open reads a cubin as a module to ask.
func Open(image []byte) (gpu.Module, error) {
	file, err := Read(image)
	if err != nil {
		return nil, err
	}
	return &module{image: image, read: func() *File { return file }}, nil
}

// Is reports whether an image is a cubin, by its first bytes: an ELF file of NVIDIA's machine.
func Is(image []byte) bool {
	const machineAt = 18
	return len(image) > machineAt+1 && string(image[:len(elf.ELFMAG)]) == elf.ELFMAG &&
		int(image[machineAt])|int(image[machineAt+1])<<8 == machineCUDA
}

// Arch is the compute capability: "90" for 9.0.
func (m *module) Arch() string {
	if sm := m.read().SM; sm > 0 {
		return strconv.Itoa(sm)
	}
	return ""
}

// Function is described with gpu.Module.
func (m *module) Function(index uint32, name string) (gpu.Function, bool) {
	f := m.find(int(index), name)
	if f == nil {
		return gpu.Function{}, false
	}
	out := f.Function
	out.Offsets, out.Frames, out.Assembly, out.AssemblyLine = f.offsets, f.Frames, m.read().PTX, f.PTXLine
	return out, true
}

func (m *module) find(index int, name string) *Function {
	file := m.read()
	for i := range file.Functions {
		if f := &file.Functions[i]; f.Index == index && f.Name == name {
			return f
		}
	}
	return file.Function(name)
}

// offsets are those of the instructions.
func (f *Function) offsets(yield func(uint64) bool) {
	for pc := uint64(0); pc < f.Size && yield(pc); pc += InstructionSize {
	}
}

// Kernels is described with gpu.Module.
func (m *module) Kernels() (names []string) {
	for _, f := range m.read().Functions {
		if f.Entry {
			names = append(names, f.Name)
		}
	}
	return names
}

// Callers is described with gpu.Module.
func (m *module) Callers() map[string][]string {
	callers, _ := Callers(m.image) // a damaged image has none
	return callers
}
