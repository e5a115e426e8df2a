// Package vendortest has a second vendor for tests: what shared code does for it needs no line of its own.
package vendortest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profile"
)

// Synthetic is a second vendor: its architectures are words, its instructions differ in size, it has no disassembler, and a
// binary is a text with one line per instruction: size, line of the source, line that inlined it or 0. Its driver loads no library into
// other programs, warps have 64 threads on some of its GPUs, and a multiprocessor holds 16 warps of any kernel.
var Synthetic = &vendors.Vendor{
	Name: "Synthetic", API: "SYN", Backends: []vendors.Backend{{Names: []string{"synthetic"}}}, DeviceType: "SYNTHETIC", Target: "synthetic", Driver: []string{"dev/synthetic"},
	Stalls: &vendors.Stalls{Issued: "issue", Ready: "ready", Reasons: []vendors.Stall{{Name: "memory", Means: "waits for memory", Hint: "load less"}}},
	Code: &gpu.Format{
		Suffix:     "syn",
		Is:         func(image []byte) bool { return bytes.HasPrefix(image, []byte(magic)) },
		Open:       open,
		SourceName: func(symbol string) string { return strings.TrimPrefix(symbol, "syn.") },
		Disassemble: func(gpu.Disassembler, string, *gpu.Function) (*gpu.Code, error) {
			return &gpu.Code{}, errors.New("synthetic binaries have no disassembler")
		},
		List:        func(tool, file string) string { return "listing of " + filepath.Base(file) + " by " + tool },
		ListingName: "synasm",
		Recorded:    func(string, string) *gpu.Recorded { return nil },
		Occupancy: func(_ gpu.Module, f *gpu.Function, threads, shared int) (gpu.Occupancy, bool) {
			return gpu.Occupancy{Blocks: 1, Warps: threads / 64, MaxWarps: 16, Limits: []string{"warps"}}, f.Registers > 0 && shared < 1<<20
		},
	},
}

const magic = "SYNTHETIC\n"

// Source is the file that Binary was made of. Binary has one kernel, syn.add.
const (
	Source = "/synthetic/add.py"
	Binary = magic + "4 2 0\n8 3 0\n4 9 3\n8 3 0\n"
)

// module is a binary with one kernel, syn.add.
type module struct {
	offsets []uint64
	frames  map[uint64][]profile.SourceFrame
	size    uint64
}

func open(image []byte) (gpu.Module, error) {
	text, is := strings.CutPrefix(string(image), magic)
	if !is {
		return nil, errors.New("not a synthetic binary")
	}
	m := &module{frames: map[uint64][]profile.SourceFrame{}}
	for line := range strings.Lines(text) {
		var size uint64
		var own, caller int
		if _, err := fmt.Sscanf(line, "%d %d %d", &size, &own, &caller); err != nil {
			return nil, err
		}
		frames := []profile.SourceFrame{{File: Source, Line: own, Func: "add"}}
		if caller > 0 {
			frames[0].Func = "helper"
			frames = append(frames, profile.SourceFrame{File: Source, Line: caller, Func: "add"})
		}
		m.offsets, m.frames[m.size] = append(m.offsets, m.size), frames
		m.size += size
	}
	return m, nil
}

func (m *module) Arch() string                 { return "syn1" }
func (m *module) Kernels() []string            { return []string{"syn.add"} }
func (m *module) Callers() map[string][]string { return nil }
func (m *module) Function(_ uint32, name string) (gpu.Function, bool) {
	return gpu.Function{
		Name: name, Index: 1, Size: m.size, Registers: 12, Scalars: 5, Offsets: slices.Values(m.offsets),
		Frames:       func(offset uint64) []profile.SourceFrame { return m.frames[offset] },
		AssemblyLine: func(uint64) int { return 0 },
	}, name == "syn.add"
}

// Add makes NVIDIA and the synthetic vendor the only ones that are known, until the test ends.
func Add(t *testing.T) {
	t.Helper()
	before := vendors.All
	t.Cleanup(func() { vendors.All = before })
	vendors.All = []*vendors.Vendor{vendors.NVIDIA, Synthetic}
}
