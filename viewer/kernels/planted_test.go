package kernels

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

const cubins = "../../gpu/cubin/testdata/"

// reasons are those of an H200, without the prefix of CUPTI's names.
var reasons = []string{
	"barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle",
	"misc", "no_instructions", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait", "warpgroup_arrive",
}

func reason(name string) uint16 {
	for i, r := range reasons {
		if r == name {
			return uint16(i)
		}
	}
	panic("BUG: no reason " + name)
}

// sampled makes a profile with planted samples of the functions of real modules.
type sampled struct {
	*profile.Profile
}

func newSampled() sampled {
	return sampled{&profile.Profile{
		Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}, Info: profile.Info{},
		Sampling: &profile.Sampling{Mode: "continuous", Period: 1 << 16, Reasons: reasons},
	}}
}

// plant gives a kernel samples: at each instruction those that a function says.
func (s sampled) plant(t testing.TB, file, function string, path []string, samples func(f *cubin.Function, pc uint64) []profile.Stall) {
	t.Helper()
	image, err := os.ReadFile(cubins + file)
	if err != nil {
		t.Fatal(err)
	}
	module, err := cubin.Read(image)
	if err != nil {
		t.Fatal(err)
	}
	f := module.Function(function)
	at := s.function(module, f, file)
	fs := profile.FunctionSamples{Function: at}
	for pc := uint64(0); pc < f.Size; pc += cubin.InstructionSize {
		stalls := samples(f, pc)
		if len(stalls) == 0 {
			continue
		}
		fs.PCs = append(fs.PCs, profile.PCSamples{Offset: pc, Stalls: stalls})
		for _, stall := range stalls {
			s.Sampling.Total += stall.Samples
		}
	}
	n := s.Root
	for _, name := range append(path, function) {
		next := n.Child(name)
		if next == nil {
			next = &profile.Node{Name: name}
			n.Children = append(n.Children, next)
		}
		n = next
	}
	n.Samples = append(n.Samples, fs)
}

func (s sampled) function(module *cubin.File, f *cubin.Function, file string) int {
	for i := range s.Sampling.Functions {
		if have := &s.Sampling.Functions[i]; have.Name == f.Name && have.Module == file {
			return i
		}
	}
	sf := profile.SampledFunction{
		Name: f.Name, Module: file, Index: f.Index, Arch: strconv.Itoa(module.SM), Size: f.Size, Registers: f.Registers, Shared: f.Shared, Frame: f.Frame,
		LocalLoads: f.LocalLoads, LocalStores: f.LocalStores,
	}
	for pc := uint64(0); pc < f.Size; pc += cubin.InstructionSize {
		var frames []profile.SourceFrame
		for _, frame := range f.Frames(pc) {
			file := strings.Replace(frame.File, tritonFolder, noFolder, 1)
			frames = append(frames, profile.SourceFrame{File: file, Line: frame.Line, Func: frame.Func})
		}
		if frames != nil {
			sf.Places = append(sf.Places, profile.Place{Offset: pc, Frames: frames})
		}
	}
	s.Sampling.Functions = append(s.Sampling.Functions, sf)
	return len(s.Sampling.Functions) - 1
}

// matmul waits most in line 50, for the tensor cores, and some in 48 and 49, for memory.
func matmul(f *cubin.Function, pc uint64) []profile.Stall {
	frames := f.Frames(pc)
	if len(frames) == 0 {
		return nil
	}
	n := pc / cubin.InstructionSize
	switch frames[len(frames)-1].Line {
	case 50:
		return []profile.Stall{{Reason: reason("math_pipe_throttle"), Samples: 40 + n%7, NotIssued: 20}, {Reason: reason("wait"), Samples: 9}, {Reason: reason("selected"), Samples: 12}}
	case 48, 49:
		return []profile.Stall{{Reason: reason("long_scoreboard"), Samples: 30 + n%11, NotIssued: 28}, {Reason: reason("lg_throttle"), Samples: 4}, {Reason: reason("selected"), Samples: 3}}
	}
	if n%5 == 0 {
		return []profile.Stall{{Reason: reason("wait"), Samples: 1 + n%3}}
	}
	return nil
}

func inlinedCode(f *cubin.Function, pc uint64) []profile.Stall {
	n := pc / cubin.InstructionSize
	return []profile.Stall{{Reason: reason("short_scoreboard"), Samples: n % 9}, {Reason: reason("wait"), Samples: 5, NotIssued: 5}, {Reason: reason("selected"), Samples: 2}}
}

// spilling has few instructions that matter: those that read and write local memory.
func spilling(f *cubin.Function, pc uint64) []profile.Stall {
	switch cubin.Operation(f.Code[pc:]) {
	case "LDL", "STL":
		return []profile.Stall{{Reason: reason("long_scoreboard"), Samples: 100 + pc%48, NotIssued: 90}, {Reason: reason("lg_throttle"), Samples: pc % 32}}
	case "BAR":
		return []profile.Stall{{Reason: reason("barrier"), Samples: 700, NotIssued: 600}}
	}
	return []profile.Stall{{Reason: reason("selected"), Samples: pc / 16 % 2}}
}

func model(t testing.TB) *profile.Profile {
	s := newSampled()
	s.plant(t, "matmul.sm80.cubin", "matmul", []string{"forward", "mlp"}, matmul)
	s.plant(t, "matmul.sm80.cubin", "matmul", []string{"backward"}, matmul)
	s.plant(t, "inlined.sm90.cubin", "inlined", []string{"forward"}, inlinedCode)
	s.plant(t, "inlined.sm80.cubin", "inlined", []string{"forward"}, inlinedCode)
	s.plant(t, "two.sm90.cubin", "second", nil, spilling)
	s.plant(t, "two.sm90.cubin", "first", nil, inlinedCode)
	return s.Profile
}

// tritonFolder is where the cubins say Triton is installed. On the machine of a developer that folder may exist, so the
// model names one that exists nowhere instead, since /dev/null is a file.
const tritonFolder, noFolder = "/opt/triton39/", "/dev/null/triton39/"

// modules are the cubins; the disassembler is nvdisasm's recorded output, if a test wants one.
func modules(t testing.TB, p *profile.Profile, disassembly string) *Modules {
	t.Helper()
	files := map[string]string{}
	for _, f := range p.Sampling.Functions {
		files["run.cubins/"+f.Module+".cubin"] = cubins + f.Module
	}
	folder := testkit.Linked(t, files)
	env := map[string]string{"PROTON_NVDISASM": ""}
	m := &Modules{Profile: filepath.Join(folder, "run.part_0.hatchet"), Env: func(name string) (string, bool) { v, set := env[name]; return v, set }}
	if disassembly != "" {
		env["PROTON_NVDISASM"] = "/bin/sh"
		m.Run = func(string, string, int) ([]byte, error) { return os.ReadFile(disassembly) }
	}
	return m
}
