package kernels

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profile"
)

// Modules finds the binary modules of functions: next to the profile, where the collector stores them, in a trace, or in Triton's
// cache.
type Modules struct {
	Profile string                                             // its file; modules are looked for in a folder next to it
	Env     func(string) (string, bool)                        // the environment
	Run     func(tool, file string, index int) ([]byte, error) // the disassembler; nil runs the program

	traced func(*profile.SampledFunction) string // the file that a trace has, "" if it has none; nil without a trace
}

// Module is a module file with the requested function.
type Module struct {
	File     string
	Function *gpu.Function

	format *gpu.Format
}

// Code disassembles a function. If that fails, the error comes with the operations without operands.
func (m *Modules) Code(module *Module) (*gpu.Code, error) {
	return module.format.Disassemble(gpu.Disassembler{Env: m.Env, Run: m.Run}, module.File, module.Function)
}

// largestModule that is read. The largest of cuBLAS have some hundred MB.
const largestModule = 1 << 30

// Find returns the module of a function.
func (m *Modules) Find(f *Function) (*Module, error) {
	format := f.Vendor.Code
	s := f.Symbol
	if s.Module == "" || filepath.Base(s.Module) != s.Module {
		return nil, errors.New("the profile does not say which module the function was in")
	}
	if format.Suffix == "" { // the vendor's binaries cannot be read
		_, err := format.Open(nil)
		return nil, err
	}
	for _, file := range m.placesOf(s.Module, format.Suffix) {
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
		if file := m.traced(s); file != "" {
			image, err := readModule(file)
			if err != nil {
				return nil, err
			}
			return in(file, image, f)
		}
	}
	for _, file := range m.triton(s.Name, format.Suffix) {
		if image, err := readModule(file); err == nil && vendors.ImageName(image) == s.Module {
			return in(file, image, f)
		}
	}
	return nil, fmt.Errorf("%s.%[2]s is neither next to the profile nor in Triton's cache; keep the folder NAME.%[2]ss with NAME.hatchet", s.Module, format.Suffix)
}

func in(file string, image []byte, f *Function) (*Module, error) {
	module, err := f.Vendor.Code.Open(image)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	function, found := module.Function(uint32(f.Symbol.Index), f.Symbol.Name)
	if !found {
		return nil, fmt.Errorf("%s has no function %q: it is not the module that was sampled", file, f.Symbol.Name)
	}
	return &Module{File: file, Function: &function, format: f.Vendor.Code}, nil
}

// placesOf returns the paths next to the profile where a module may be. The files of phases and ranks have longer names than
// the session, so shorter names are tried too: for run.part_1.hatchet and the suffix co these are run.part_1.cos and run.cos.
func (m *Modules) placesOf(name, suffix string) []string {
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
		files = append(files, filepath.Join(folder, base+"."+suffix+"s", name+"."+suffix))
	}
}

// triton lists the files of Triton's cache that have a function's name.
func (m *Modules) triton(function, suffix string) []string {
	if strings.ContainsAny(function, `/*?[\`) || len(function) > 200 {
		return nil
	}
	folder, set := m.Env(settings.TritonCache.Name)
	if !set {
		home, _ := m.Env("HOME")
		if folder = filepath.Join(home, ".triton", "cache"); home == "" {
			return nil
		}
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*", function+"."+suffix)) //nolint:errcheck // a folder with brackets in its name costs the cache
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
