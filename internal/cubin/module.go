package cubin

import (
	"sync"

	"github.com/goproton/goproton/internal/gpucode"
)

// module answers about a  Reading all of one takes milliseconds, which only those pay for that ask about functions.
type module struct {
	image []byte
	read  func() *File // empty where the image is damaged
}

// NewModule returns a cubin as a module to ask. One that is damaged has no functions.
func NewModule(image []byte) gpucode.Module {
	return &module{image: image, read: sync.OnceValue(func() *File {
		file, err := Read(image)
		if err != nil {
			return &File{}
		}
		return file
	})}
}

// Arch is the compute capability: 90 for 9.0.
func (m *module) Arch() int { return m.read().SM }

// Function is described with gpucode.Module.
func (m *module) Function(index uint32, name string) (gpucode.Function, bool) {
	f := m.find(int(index), name)
	if f == nil {
		return gpucode.Function{}, false
	}
	return gpucode.Function{
		Size: f.Size, Registers: f.Registers, Shared: f.Shared, Frame: f.Frame, LocalLoads: f.LocalLoads, LocalStores: f.LocalStores,
		Frames: func(offset uint64) (frames []gpucode.Frame) {
			for _, frame := range f.Frames(offset) {
				frames = append(frames, gpucode.Frame(frame))
			}
			return frames
		},
	}, true
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

// Callers is described with gpucode.Module.
func (m *module) Callers() map[string][]string {
	callers, _ := Callers(m.image) // a damaged image has none
	return callers
}
