package listing

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/gpu/vendortest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer/kernels"
)

// syntheticProfile has samples of the kernel of vendortest.Binary, as the drainer makes them, after a file was written and read.
func syntheticProfile(t *testing.T) *profile.Profile {
	t.Helper()
	module, err := vendors.OpenModule([]byte(vendortest.Binary))
	if err != nil {
		t.Fatal(err)
	}
	code, _ := module.Function(1, "syn.add")
	f := profile.SampledFunction{
		Name: "syn.add", Module: vendors.ImageName([]byte(vendortest.Binary)), Index: 1, Arch: module.Arch(), Size: code.Size, Registers: code.Registers,
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
	var file bytes.Buffer
	if err := hatchet.Write(&file, p); err != nil {
		t.Fatal(err)
	}
	if p, err = hatchet.Read(&file); err != nil {
		t.Fatal(err)
	}
	return p
}

// counted has what the instructions of a profile counted instead of its samples.
func counted(p *profile.Profile) *profile.Profile {
	s := p.Sampling
	s.Mode, s.Period, s.Reasons = profile.CountedByLine, 0, []string{
		"smsp__sass_inst_executed", "smsp__sass_thread_inst_executed", "smsp__sass_inst_executed_op_global", "smsp__sass_sectors_mem_global",
		"smsp__sass_sectors_mem_global_ideal", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal"}
	pcs := p.Root.Children[0].Samples[0].PCs
	for i := range pcs {
		n := 1000 * uint64(i+1)
		pcs[i].Stalls = []profile.Stall{{Reason: 0, Samples: n}, {Reason: 1, Samples: n * uint64(32-7*i)}}
		if i == 0 {
			pcs[i].Stalls = append(pcs[i].Stalls, profile.Stall{Reason: 2, Samples: n}, profile.Stall{Reason: 3, Samples: 32 * n}, profile.Stall{Reason: 4, Samples: 4 * n})
		} else {
			pcs[i].Stalls = append(pcs[i].Stalls, profile.Stall{Reason: 5, Samples: 2 * n}, profile.Stall{Reason: 6, Samples: n})
		}
	}
	return p
}

// TestCountedLines: a listing has what instructions counted, alone or with the samples of another run.
func TestCountedLines(t *testing.T) {
	vendortest.Add(t)
	files := &kernels.Files{}
	files.Add(vendortest.Source, 3, "    return x + helper(y)")
	alone := counted(syntheticProfile(t))
	testkit.Golden(t, "testdata/counted.source.txt", withNotes(t, kernels.Options{Profile: alone, Files: files}, Options{Context: 1, Unfold: true}))
	testkit.Golden(t, "testdata/counted.source.json", printedJSON(t, kernels.Options{Profile: alone, Files: files}, Options{}))
	both := merge.New(merge.Options{})
	for _, p := range []*profile.Profile{syntheticProfile(t), alone} {
		if err := both.Add(p, merge.Source{}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Golden(t, "testdata/counted.both.txt", withNotes(t, kernels.Options{Profile: both.Profile(), Files: files}, Options{Context: 1}))
}

// TestSyntheticVendor: a vendor is an entry in the list of vendors, and no line of the viewer.
func TestSyntheticVendor(t *testing.T) {
	vendortest.Add(t)
	p := syntheticProfile(t)
	folder := t.TempDir()
	name := filepath.Join(folder, "run.syns", p.Sampling.Functions[0].Module+".syn")
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(vendortest.Binary), 0o666)); err != nil {
		t.Fatal(err)
	}
	files := &kernels.Files{}
	files.Add(vendortest.Source, 3, "    return x + helper(y)")
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

// A vendor whose binaries cannot be read, and that says nothing of its stall reasons, has samples by line all the same.
func TestVendorWithoutCodeAndStalls(t *testing.T) {
	vendortest.Add(t)
	p := syntheticProfile(t)
	vendors.All = vendors.List(vendors.NVIDIA, &vendors.Vendor{Name: "Bare", DeviceType: "SYNTHETIC"})
	o := kernels.Options{Profile: p, Files: &kernels.Files{}, Modules: &kernels.Modules{Profile: "run.hatchet", Env: func(string) (string, bool) { return "", false }}}
	if text := string(withNotes(t, o, Options{Instructions: true})); !strings.Contains(text, "binaries for GPUs of Bare cannot be read") {
		t.Errorf("instructions:\n%s", text)
	}
	if text := string(withNotes(t, o, Options{})); !strings.Contains(text, "add.py") || !strings.Contains(text, "memory") {
		t.Errorf("lines:\n%s", text)
	}
}
