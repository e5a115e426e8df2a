package profiler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/profile"
)

// images are the modules that samples fell in. Reading one takes milliseconds, so nothing here is called with the
// manager's lock held.
type images struct {
	image func(module uint64) []byte

	mu    sync.Mutex
	files map[uint64]*cubin.File // nil for those that could not be read
}

func newImages(image func(uint64) []byte) *images {
	return &images{image: image, files: map[uint64]*cubin.File{}}
}

// file returns a module, nil if its image is not there or broken: samples of it then stay without lines.
func (m *images) file(module uint64) *cubin.File {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, known := m.files[module]
	if known {
		return f
	}
	image := m.image(module)
	if image == nil {
		return nil // it may still come
	}
	f, err := cubin.Read(image)
	if err != nil {
		f = nil
	}
	m.files[module] = f
	return f
}

// describe adds to a profile what the modules tell of the sampled functions, and shows the samples by line.
func (m *images) describe(p *profile.Profile) {
	offsets := make([][]uint64, len(p.Sampling.Functions))
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, f := range n.Samples {
			for _, pc := range f.PCs {
				offsets[f.Function] = append(offsets[f.Function], pc.Offset)
			}
		}
		return true
	})
	for i := range p.Sampling.Functions {
		slices.Sort(offsets[i])
		m.describeFunction(&p.Sampling.Functions[i], slices.Compact(offsets[i]))
	}
	p.AddLines()
}

func (m *images) describeFunction(f *profile.SampledFunction, offsets []uint64) {
	file := m.file(moduleHash(f.Module))
	if file == nil {
		return
	}
	from := functionIn(file, f)
	if from == nil {
		return
	}
	f.SM, f.Size, f.Registers, f.Shared = file.SM, from.Size, from.Registers, from.Shared
	f.Frame, f.LocalLoads, f.LocalStores = from.Frame, from.LocalLoads, from.LocalStores
	for _, offset := range offsets {
		var frames []profile.SourceFrame
		for _, frame := range from.Frames(offset) {
			frames = append(frames, profile.SourceFrame(frame))
		}
		if frames != nil {
			f.Places = append(f.Places, profile.Place{Offset: offset, Frames: frames})
		}
	}
}

// functionIn finds a function by its place in the symbol table, or should that not be what was counted by its name.
func functionIn(file *cubin.File, f *profile.SampledFunction) *cubin.Function {
	for i := range file.Functions {
		if x := &file.Functions[i]; x.Index == f.Index && x.Name == f.Name {
			return x
		}
	}
	return file.Function(f.Name)
}

func moduleHash(name string) uint64 {
	hash, _ := strconv.ParseUint(name, 16, 64)
	return hash
}

// cubinsSuffix names the folder beside a session's profiles in which the sampled modules lie.
const cubinsSuffix = ".cubins"

// keep writes the sampled modules into a folder, those that are not there yet.
func (m *images) keep(folder string, p *profile.Profile) error {
	for _, f := range p.Sampling.Functions {
		image := m.image(moduleHash(f.Module))
		if image == nil {
			continue
		}
		path := filepath.Join(folder, f.Module+".cubin")
		if info, err := os.Stat(path); err == nil && info.Size() == int64(len(image)) {
			continue
		}
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return fmt.Errorf("make a folder for the sampled modules: %w; cubins=drop in the mode does without", err)
		}
		if err := os.WriteFile(path, image, 0o666); err != nil {
			return fmt.Errorf("keep a sampled module: %w; cubins=drop in the mode does without", err)
		}
	}
	return nil
}
