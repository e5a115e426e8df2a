package counts

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/triton/mlir"
)

// Metrics of lines, in addition to profile.BytesMetric and those of flops. Bytes that are offered are those of all elements of an access, and
// active without those that masks leave out. profile.BytesMetric has, if they were counted, different bytes: those that the launch loaded, or
// stored, at least once, which is what the memory sees at least; each counts for the first line. Otherwise it has the active ones. Bytes that
// an atomic operation changes are loaded and stored.
const (
	LoadsMetric   = "loads" // operations; those on tensors count once for each program instance
	StoresMetric  = "stores"
	AtomicsMetric = "atomics"
	OfferedMetric = "offered_bytes"
	ActiveMetric  = "active_bytes"
)

// Profile is a profile of kernels.
func Profile(kernels []*Kernel) *profile.Profile {
	b := builder{profile.Kinds{profile.CountMetric: profile.Inclusive}}
	p := &profile.Profile{Root: &profile.Node{}, Kinds: b.kinds, Info: profile.Info{profile.InfoTool: "goproton interpreter"}}
	for _, k := range kernels {
		n := p.Root
		for _, scope := range k.Path {
			n = n.Made(scope)
		}
		n = n.Made(k.Name)
		if k.Kind != "" {
			n = n.Made(k.Label)
			n.Launches = append(n.Launches, profile.LaunchTimes{Kind: len(p.Launches), Durations: profile.Durations{Count: uint64(k.Launches)}})
			p.Launches = append(p.Launches, profile.LaunchKind{ID: k.Kind, Kernel: k.Name, Hash: k.Hash})
		}
		b.add(n, k)
	}
	noteSampled(p, kernels)
	if slices.ContainsFunc(kernels, func(k *Kernel) bool { return !k.Different }) {
		p.Note("bytes are those of all accesses, whatever caches spare the memory")
	}
	return p
}

// noteSampled notes the kernels of which only some program instances ran.
func noteSampled(p *profile.Profile, kernels []*Kernel) {
	ran, of := map[string]int64{}, map[string]int64{}
	for _, k := range kernels {
		ran[k.Name] += k.Programs
		of[k.Name] += max(k.Of, k.Programs)
	}
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		if ran[name] < of[name] {
			p.Note(fmt.Sprintf("%d of %d program instances of %s ran, and its counts are scaled", ran[name], of[name], name))
		}
	}
}

// builder makes a profile.
type builder struct{ kinds profile.Kinds }

func (b *builder) amount(n *profile.Node, metric string, amount int64) {
	if amount == 0 {
		return
	}
	b.kinds[metric] = profile.Inclusive
	v := profile.IntValue(amount)
	if old, has := n.Metric(metric); has {
		v = profile.Sum(old, v)
	}
	n.Set(metric, v)
}

func (b *builder) add(kernel *profile.Node, k *Kernel) {
	b.amount(kernel, profile.CountMetric, int64(k.Launches))
	b.kinds[merge.WorksMetric] = profile.Property
	kernel.Set(merge.WorksMetric, profile.IntValue(int64(len(k.Works))))
	for i := range k.Lines {
		l := &k.Lines[i]
		if !busy(l) {
			continue
		}
		at := kernel
		for _, f := range slices.Backward(l.Frames) {
			at = at.Made(nameOf(f))
		}
		active := l.Loads.ActiveBytes + l.Stores.ActiveBytes + 2*l.Atomics.ActiveBytes
		bytes := active
		if k.Different {
			bytes = l.Loads.FirstBytes + l.Stores.FirstBytes + l.Atomics.FirstBytes
		}
		b.amount(at, profile.BytesMetric, bytes)
		b.amount(at, ActiveMetric, active)
		b.amount(at, OfferedMetric, l.Loads.Bytes+l.Stores.Bytes+2*l.Atomics.Bytes)
		b.amount(at, LoadsMetric, l.Loads.Operations)
		b.amount(at, StoresMetric, l.Stores.Operations)
		b.amount(at, AtomicsMetric, l.Atomics.Operations)
		for of, n := range sorted(l.Flops) {
			dtype, _ := peaks.Counted(of)
			b.amount(at, profile.FlopsMetric(dtype), n)
		}
		for of, n := range sorted(l.DotFlops) {
			dtype, passes := peaks.Counted(of)
			b.amount(at, profile.FlopsMetric(dtype), n*int64(passes))
		}
	}
}

func sorted(m map[string]int64) func(yield func(string, int64) bool) {
	return func(yield func(string, int64) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func nameOf(f mlir.Frame) string {
	if f.File == "" {
		return fmt.Sprintf("line %d of the TTIR", f.Line)
	}
	return profile.SourceFrame{File: f.File, Line: f.Line}.String()
}

// busy says whether a line did something that is counted.
func busy(l *interpreter.LineCounts) bool {
	sum := l.Loads.Operations + l.Stores.Operations + l.Atomics.Operations
	for _, flops := range []map[string]int64{l.Flops, l.DotFlops} {
		for _, n := range flops {
			sum += n
		}
	}
	return sum > 0
}
