package kernels

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/internal/nvdisasm"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profile"
)

// Modules finds the binary modules (cubins) of functions: next to the profile, where the collector stores them, in a trace, or
// in Triton's cache.
type Modules struct {
	Profile string                                             // its file; modules are looked for in NAME.cubins next to it
	Env     func(string) (string, bool)                        // the environment
	Run     func(tool, file string, index int) ([]byte, error) // the disassembler; nil runs the program

	traced func(*profile.SampledFunction) string // the file that a trace has, "" if it has none; nil without a trace
}

// Module is a module file with the requested function.
type Module struct {
	File     string
	Function *cubin.Function
	PTX      []string // that the module was assembled from, by line
	Offset   uint64   // of the function within its section
}

// Code disassembles a function. If that fails, the error comes with the operations without operands.
func (m *Modules) Code(module *Module) (*gpucode.Code, error) {
	return nvdisasm.Tool{Env: m.Env, Run: m.Run}.Code(module.File, module.Function)
}

// largestModule that is read. The largest of cuBLAS have some hundred MB.
const largestModule = 1 << 30

// Find returns the module of a function.
func (m *Modules) Find(f *profile.SampledFunction) (*Module, error) {
	if f.Module == "" || filepath.Base(f.Module) != f.Module {
		return nil, errors.New("the profile does not say which module the function was in")
	}
	for _, file := range m.placesOf(f.Module + ".cubin") {
		image, err := readModule(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return in(file, image, f)
	}
	if m.traced != nil {
		if file := m.traced(f); file != "" {
			image, err := readModule(file)
			if err != nil {
				return nil, err
			}
			return in(file, image, f)
		}
	}
	for _, file := range m.triton(f) {
		if image, err := readModule(file); err == nil && fmt.Sprintf("%016x", cubin.Hash(image)) == f.Module {
			return in(file, image, f)
		}
	}
	return nil, fmt.Errorf("%s.cubin is neither next to the profile nor in Triton's cache; keep the folder NAME.cubins with NAME.hatchet", f.Module)
}

func in(file string, image []byte, f *profile.SampledFunction) (*Module, error) {
	module, err := cubin.Read(image)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	function := module.Function(f.Name)
	for i := range module.Functions {
		if x := &module.Functions[i]; x.Index == f.Index && x.Name == f.Name {
			function = x
		}
	}
	if function == nil {
		return nil, fmt.Errorf("%s has no function %q: it is not the module that was sampled", file, f.Name)
	}
	return &Module{File: file, Function: function, PTX: module.PTX}, nil
}

// placesOf returns the paths next to the profile where a module may be. The files of phases and ranks have longer names than
// the session, so shorter names are tried too: for run.part_1.hatchet these are run.part_1.cubins and run.cubins.
func (m *Modules) placesOf(name string) []string {
	var files []string
	if m.Profile == "" || m.Profile == "-" {
		return nil
	}
	folder, base := filepath.Split(m.Profile)
	for {
		dot := strings.LastIndexByte(base, '.')
		if dot <= 0 {
			return files
		}
		base = base[:dot]
		files = append(files, filepath.Join(folder, base+".cubins", name))
	}
}

// triton lists the files of Triton's cache that have a function's name.
func (m *Modules) triton(f *profile.SampledFunction) []string {
	if strings.ContainsAny(f.Name, `/*?[\`) || len(f.Name) > 200 {
		return nil
	}
	folder, set := m.Env(settings.TritonCache.Name)
	if !set {
		home, _ := m.Env("HOME")
		if folder = filepath.Join(home, ".triton", "cache"); home == "" {
			return nil
		}
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*", f.Name+".cubin")) //nolint:errcheck // a folder with brackets in its name costs the cache
	return files
}

func readModule(file string) ([]byte, error) {
	h, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if info, err := h.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largestModule {
		return nil, fmt.Errorf("%s is not a module: no regular file of up to %d MB", file, largestModule>>20)
	}
	return io.ReadAll(io.LimitReader(h, largestModule))
}
