package profiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/hotpath/drive"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profiler/record"
)

// fakeSampler is a fakeSource that also samples what a test says. A function's handle is its index in the symbol table.
type fakeSampler struct {
	*fakeSource
	samples   []record.Sample
	functions map[uint64]record.Function
	images    map[uint64][]byte
	facts     record.SamplingFacts
	asked     record.SamplingOptions
}

func (f *fakeSampler) Samples(to func(*record.Sample)) {
	for i := range f.samples {
		to(&f.samples[i])
	}
	f.samples = nil
}
func (f *fakeSampler) Function(handle uint64) (record.Function, bool) {
	known, ok := f.functions[handle]
	return known, ok
}
func (f *fakeSampler) Image(module uint64) []byte          { return f.images[module] }
func (f *fakeSampler) SamplingFacts() record.SamplingFacts { return f.facts }

// sample adds samples of an instruction: n that went on, and stalled that waited for memory, a third of them for nothing.
func (f *fakeSampler) sample(of record.Function, offset uint64, n, stalled uint32) {
	f.samples = append(f.samples, record.Sample{Module: of.Module, Index: of.Index, Function: of.Name, Offset: offset,
		Stalls: []record.Stall{{Reason: 1, Samples: n}, {Reason: 0, Samples: stalled, NotIssued: stalled / 3}}})
}

func samplingStage(t *testing.T) (*Manager, *fakeSampler) {
	t.Helper()
	m, source := stage(t)
	f := &fakeSampler{fakeSource: source, functions: map[uint64]record.Function{}, images: map[uint64][]byte{},
		facts: record.SamplingFacts{Mode: record.Continuous, Period: 65536, Reasons: []string{"long_scoreboard", "selected"}}}
	Register("fake", func(o SourceOptions) Source { f.asked = o.Sampling; return f })
	return m, f
}

func (f *fakeSampler) function(handle, module uint64, name string) record.Function {
	f.functions[handle] = record.Function{Module: module, Index: uint32(handle), Name: name}
	return f.functions[handle]
}

// launch launches a kernel within a scope.
func (f *fakeSampler) launch(scope string, corr uint32, handle uint64, nanos uint64) {
	defer drive.Scope(scope)()
	drive.Launch(corr, handle)
	f.kernel(corr, f.functions[handle].Name, nanos)
}
