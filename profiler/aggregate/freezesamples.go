package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/goproton/goproton/profile"
)

// sampleFreezer copies samples into a profile.
type sampleFreezer struct {
	of       *Sampling
	over     *shares // of the periods that are over
	sofar    *shares // of the period that has not ended
	out      profile.Sampling
	position map[uint32]int // of functions, by number, in out.Functions
}

func (a *Aggregator) newSampleFreezer(t *Tree) *sampleFreezer {
	return &sampleFreezer{of: a.Sampling, over: t.shares(), sofar: a.sofar(t), position: map[uint32]int{}}
}

// node gives a node's samples to its copy. Functions that its kernel calls have a frame below it.
func (f *sampleFreezer) node(out *profile.Node, n *node) {
	cells := map[uint32][]cell{}
	for number, s := range n.samples {
		cells[number] = s.cells()
	}
	for number, more := range f.sofar.nodes[n] {
		cells[number] = joinCells(cells[number], more)
	}
	f.add(out, cells)
}

func (f *sampleFreezer) add(out *profile.Node, cells map[uint32][]cell) {
	for _, number := range slices.SortedFunc(maps.Keys(cells), f.of.byIdentity) {
		if len(cells[number]) == 0 {
			continue
		}
		to := out
		if f.of.isCalled(number) {
			to = out.Made(f.of.function(number).Name)
		}
		f.addTo(to, number, cells[number])
	}
}

func (f *sampleFreezer) addTo(out *profile.Node, number uint32, cells []cell) {
	if len(cells) > 0 {
		out.Samples = append(out.Samples, profile.FunctionSamples{Function: f.function(number), PCs: f.pcs(cells)})
	}
}

// byIdentity orders functions in a way that is the same in every run.
func (s *Sampling) byIdentity(a, b uint32) int {
	x, y := s.function(a), s.function(b)
	return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Module, y.Module), cmp.Compare(x.Index, y.Index), cmp.Compare(a, b))
}

// function returns a function's position in the profile.
func (f *sampleFreezer) function(number uint32) int {
	if at, ok := f.position[number]; ok {
		return at
	}
	from := f.of.function(number)
	f.position[number] = len(f.out.Functions)
	f.out.Functions = append(f.out.Functions, profile.SampledFunction{Name: from.Name, Module: ModuleName(from.Module), Index: int(from.Index)})
	return f.position[number]
}

// ModuleName is a module's hash as profiles and files have it: "" for one that is not known.
func ModuleName(hash uint64) string {
	if hash == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", hash)
}

func (f *sampleFreezer) pcs(cells []cell) (out []profile.PCSamples) {
	for _, c := range cells {
		if len(out) == 0 || out[len(out)-1].Offset != c.offset {
			out = append(out, profile.PCSamples{Offset: c.offset})
		}
		f.out.Total += c.samples
		at := &out[len(out)-1]
		at.Stalls = append(at.Stalls, profile.Stall{Reason: c.reason, Samples: c.samples, NotIssued: c.notIssued})
	}
	return out
}

// finish adds what belongs to no launch, and the sums.
func (f *sampleFreezer) finish(p *profile.Profile) {
	unlaunched := maps.Clone(f.over.unlaunched)
	for number, cells := range f.sofar.unlaunched {
		unlaunched[number] = joinCells(unlaunched[number], cells)
	}
	for _, number := range slices.SortedFunc(maps.Keys(unlaunched), f.of.byIdentity) {
		under := p.Root.Made(UnattributedFrame).Made(f.of.function(number).Name)
		f.addTo(under, number, unlaunched[number])
	}
	f.out.Apportioned = f.over.apportioned + f.sofar.apportioned
	p.Sampling = &f.out
}
