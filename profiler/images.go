package profiler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
)

// images are the modules in which samples fell. Reading a module takes milliseconds, so it is not done in a command of the
// drainer.
type images struct {
	sampler Sampler

	mu      sync.Mutex
	modules map[uint64]gpu.Module
}

func newImages(s Sampler) *images {
	return &images{sampler: s, modules: map[uint64]gpu.Module{}}
}

// module returns a module, nil if its image is not there: samples of it then stay without lines.
func (m *images) module(hash uint64) gpu.Module {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.modules[hash] == nil { // it may still come
		if module := m.sampler.Module(hash); module != nil {
			m.modules[hash] = module
		}
	}
	return m.modules[hash]
}

// describe adds to a profile what the modules contain about the sampled functions, and shows the samples by line.
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
	module := m.module(moduleHash(f.Module))
	if module == nil {
		return
	}
	from, found := module.Function(uint32(f.Index), f.Name)
	if !found {
		return
	}
	f.Arch, f.Size, f.Registers, f.Shared = module.Arch(), from.Size, from.Registers, from.Shared
	f.Frame, f.LocalLoads, f.LocalStores = from.Frame, from.LocalLoads, from.LocalStores
	for _, offset := range offsets {
		if frames := from.Frames(offset); len(frames) > 0 {
			f.Places = append(f.Places, profile.Place{Offset: offset, Frames: frames})
		}
	}
}

func moduleHash(name string) uint64 {
	hash, _ := strconv.ParseUint(name, 16, 64)
	return hash
}

// keep writes the sampled modules that are not there yet into a folder next to a session's profiles.
func (m *images) keep(session string, p *profile.Profile) error {
	suffix := m.sampler.ImageSuffix()
	folder := session + "." + suffix + "s"
	for _, f := range p.Sampling.Functions {
		image := m.sampler.Image(moduleHash(f.Module))
		if image == nil {
			continue
		}
		path := filepath.Join(folder, f.Module+"."+suffix)
		if info, err := os.Stat(path); err == nil && info.Size() == int64(len(image)) {
			continue
		}
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return fmt.Errorf("make a folder for the sampled modules: %w; %ss=drop in the mode does without", err, suffix)
		}
		if err := ownfile.WriteFile(path, image, 0o666); err != nil {
			return fmt.Errorf("keep a sampled module: %w; %ss=drop in the mode does without", err, suffix)
		}
	}
	return nil
}
