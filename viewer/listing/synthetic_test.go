package listing

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/internal/vendor"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/viewer/kernels"
)

// syntheticVendor is a second vendor: its architectures are words, its instructions differ in size, it has no disassembler, and a
// binary is a text with one line per instruction: size, line of the source, line that inlined it or 0.
var syntheticVendor = &vendor.Vendor{
	Name: "Synthetic", DeviceType: "SYNTHETIC", Target: "synthetic",
	Stalls: &vendor.Stalls{Issued: "issue", Ready: "ready", Reasons: []vendor.Stall{{Name: "memory", Means: "waits for memory", Hint: "load less"}}},
	Code: &gpucode.Format{
		Suffix:     "syn",
		Is:         func(image []byte) bool { return bytes.HasPrefix(image, []byte(syntheticMagic)) },
		Open:       openSynthetic,
		SourceName: func(symbol string) string { return strings.TrimPrefix(symbol, "syn.") },
		Disassemble: func(gpucode.Disassembler, string, *gpucode.Function) (*gpucode.Code, error) {
			return &gpucode.Code{}, errors.New("synthetic binaries have no disassembler")
		},
		Recorded: func(string, string) *gpucode.Recorded { return nil },
	},
}

const (
	syntheticMagic  = "SYNTHETIC\n"
	syntheticSource = "/synthetic/add.py"
	syntheticBinary = syntheticMagic + "4 2 0\n8 3 0\n4 9 3\n8 3 0\n"
)

// syntheticModule is a binary with one kernel, syn.add.
type syntheticModule struct {
	offsets []uint64
	frames  map[uint64][]gpucode.Frame
	size    uint64
}

func openSynthetic(image []byte) (gpucode.Module, error) {
	text, is := strings.CutPrefix(string(image), syntheticMagic)
	if !is {
		return nil, errors.New("not a synthetic binary")
	}
	m := &syntheticModule{frames: map[uint64][]gpucode.Frame{}}
	for line := range strings.Lines(text) {
		var size uint64
		var own, caller int
		if _, err := fmt.Sscanf(line, "%d %d %d", &size, &own, &caller); err != nil {
			return nil, err
		}
		frames := []gpucode.Frame{{File: syntheticSource, Line: own, Func: "add"}}
		if caller > 0 {
			frames[0].Func = "helper"
			frames = append(frames, gpucode.Frame{File: syntheticSource, Line: caller, Func: "add"})
		}
		m.offsets, m.frames[m.size] = append(m.offsets, m.size), frames
		m.size += size
	}
	return m, nil
}

func (m *syntheticModule) Arch() string                 { return "syn1" }
func (m *syntheticModule) Kernels() []string            { return []string{"syn.add"} }
func (m *syntheticModule) Callers() map[string][]string { return nil }
func (m *syntheticModule) Function(_ uint32, name string) (gpucode.Function, bool) {
	return gpucode.Function{
		Name: name, Index: 1, Size: m.size, Registers: 12, Offsets: slices.Values(m.offsets),
		Frames:       func(offset uint64) []gpucode.Frame { return m.frames[offset] },
		AssemblyLine: func(uint64) int { return 0 },
	}, name == "syn.add"
}

// syntheticProfile has samples of the kernel of syntheticBinary, as the drainer makes them, after a file was written and read.
func syntheticProfile(t *testing.T) *profile.Profile {
	t.Helper()
	module, err := vendor.OpenModule([]byte(syntheticBinary))
	if err != nil {
		t.Fatal(err)
	}
	code, _ := module.Function(1, "syn.add")
	f := profile.SampledFunction{
		Name: "syn.add", Module: vendor.ImageName([]byte(syntheticBinary)), Index: 1, Arch: module.Arch(), Size: code.Size, Registers: code.Registers,
	}
	var samples profile.FunctionSamples
	for offset := range code.Offsets {
		var frames []profile.SourceFrame
		for _, frame := range code.Frames(offset) {
			frames = append(frames, profile.SourceFrame(frame))
		}
		f.Places = append(f.Places, profile.Place{Offset: offset, Frames: frames})
		samples.PCs = append(samples.PCs, profile.PCSamples{Offset: offset, Stalls: []profile.Stall{
			{Reason: 0, Samples: 5}, {Reason: 1, Samples: 10 + 20*offset, NotIssued: 10 * offset}}})
	}
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "syn.add", Samples: []profile.FunctionSamples{samples}}}}, Kinds: profile.Kinds{}, Info: profile.Info{},
		Devices:  []profile.Device{{Type: "SYNTHETIC", ID: "0", Arch: "syn1"}},
		Sampling: &profile.Sampling{Mode: "continuous", Period: 1 << 16, Reasons: []string{"issue", "memory"}, Functions: []profile.SampledFunction{f}},
	}
	file := filepath.Join(t.TempDir(), "run.hatchet")
	if err := hatchet.WriteFile(file, p); err != nil {
		t.Fatal(err)
	}
	if p, err = hatchet.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSyntheticVendor: a vendor is an entry in the list of vendors, and no line of the viewer.
func TestSyntheticVendor(t *testing.T) {
	before := vendor.All
	t.Cleanup(func() { vendor.All = before })
	vendor.All = append(vendor.All[:1:1], syntheticVendor)
	p := syntheticProfile(t)
	folder := t.TempDir()
	name := filepath.Join(folder, "run.syns", p.Sampling.Functions[0].Module+".syn")
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(syntheticBinary), 0o666)); err != nil {
		t.Fatal(err)
	}
	files := &kernels.Files{}
	files.Add(syntheticSource, 3, "    return x + helper(y)")
	noEnv := func(string) (string, bool) { return "", false }
	o := kernels.Options{Profile: p, Files: files, Modules: &kernels.Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: noEnv}}
	testkit.Golden(t, "testdata/synthetic.source.txt", withNotes(t, o, Options{Context: 1, Unfold: true}))
	testkit.Golden(t, "testdata/synthetic.instructions.txt", withNotes(t, o, Options{Context: 1, Instructions: true}))
	testkit.Golden(t, "testdata/synthetic.source.json", printedJSON(t, o, Options{}))

	o.Modules = &kernels.Modules{Profile: filepath.Join(t.TempDir(), "run.hatchet"), Env: noEnv}
	if text := string(withNotes(t, o, Options{Instructions: true})); !strings.Contains(text, ".syn is neither next to the profile nor in Triton's cache; keep the folder NAME.syns") {
		t.Errorf("without its binary:\n%s", text)
	}
}
