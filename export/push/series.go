package push

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/pprofile"
)

// bounds are what a profile has at most.
type bounds struct {
	samples int
	depth   int
	bytes   int // before compression
}

// limits are what Pyroscope takes by default: 16,000 samples of 4 MiB together; and 1,000 frames, beyond which it would cut the kernels.
var limits = bounds{samples: 16_000, depth: 1_000, bytes: 4 << 20}

// types are the sample types, in the order of the columns of a sample. Their names have letters and underscores only, because
// Pyroscope refuses others. The first two are in every profile, the others where there is something to show.
var types = [...]struct {
	metric, name, unit string
}{
	{profile.TimeMetric, "gpu_time", "nanoseconds"},
	{profile.CountMetric, "launches", "count"},
	{profile.SamplesMetric, "instruction_samples", "count"},
	{profile.BytesMetric, "bytes", "bytes"},
	{"flops", "flops", "count"},
}

const alwaysTypes = 2

// frame is a node of the window's tree.
type frame struct {
	outer *frame // nil for the outermost
	name  string
	depth int // frames from the outermost to this one
}

// sample is a call path with values of its own.
type sample struct {
	at     *frame
	values [len(types)]int64
}

const (
	otherFrame = "(other)"                 // stands for the rarest call paths below a frame
	cutFrame   = "(outer frames left out)" // for the outermost frames of one that is too deep
	noFrame    = "(no call path)"          // for what was recorded outside of any frame
)

// split returns the samples of a window by GPU, "" for values that belong to none. Values without a GPU of their own, such as
// flops at the frame around a kernel, belong to the GPU of all kernels below that frame, if it is one.
func split(p *profile.Profile) map[string][]sample {
	out := map[string][]sample{}
	gpus := counters.GPUs(p.Root)
	var walk func(n *profile.Node, at *frame)
	walk = func(n *profile.Node, at *frame) {
		var s sample
		some := false
		for i, t := range types {
			if v, has := n.Metric(t.metric); has && v.Int() > 0 {
				s.values[i], some = v.Int(), true
			}
		}
		if some {
			if s.at = at; at == nil {
				s.at = &frame{name: noFrame, depth: 1}
			}
			out[gpus[n]] = append(out[gpus[n]], s)
		}
		for _, c := range n.Children {
			next := &frame{outer: at, name: c.Name, depth: 1}
			if at != nil {
				next.depth = at.depth + 1
			}
			walk(c, next)
		}
	}
	walk(p.Root, nil)
	return out
}

// fill makes the profile of the samples. If its names are so long that it has too many bytes, it gets fewer call paths.
func (s *Series) fill(samples []sample, b bounds, begin, duration int64) error {
	for {
		s.build(samples, b, begin, duration)
		var raw bytes.Buffer
		if err := s.Profile.WriteUncompressed(&raw); err != nil {
			return fmt.Errorf("encode the window: %w", err)
		}
		if s.raw = raw.Bytes(); len(s.raw) <= b.bytes || b.samples <= 16 {
			return nil
		}
		b.samples = min(b.samples, len(s.Profile.Sample)) / 2
	}
}

func (s *Series) build(samples []sample, b bounds, begin, duration int64) {
	s.Cut = 0
	samples, s.Folded = fold(samples, b.samples)
	used := columns(samples)
	w := writer{functions: map[functionKey]*pprof.Function{}, locations: map[string]*pprof.Location{}, p: &pprof.Profile{
		TimeNanos: begin, DurationNanos: duration,
		PeriodType: &pprof.ValueType{Type: types[0].name, Unit: types[0].unit}, Period: 1, DefaultSampleType: types[0].name,
	}}
	for _, column := range used {
		w.p.SampleType = append(w.p.SampleType, &pprof.ValueType{Type: types[column].name, Unit: types[column].unit})
	}
	for _, one := range samples {
		stack, cut := w.stack(one.at, b.depth)
		if cut {
			s.Cut++
		}
		values := make([]int64, 0, len(used))
		for _, column := range used {
			values = append(values, one.values[column])
		}
		w.p.Sample = append(w.p.Sample, &pprof.Sample{Location: stack, Value: values})
	}
	s.Profile = w.p
}

// columns are the types that the samples have.
func columns(samples []sample) (used []int) {
	for i := range types {
		if i < alwaysTypes || slices.ContainsFunc(samples, func(s sample) bool { return s.values[i] != 0 }) {
			used = append(used, i)
		}
	}
	return used
}

// fold returns at most so many samples. The heaviest three quarters of that number stay. The others are added up in a frame
// (other), each below the innermost frame with which the rest fits.
func fold(samples []sample, most int) (kept []sample, folded int) {
	if len(samples) <= most {
		return samples, 0
	}
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := samples[order[a]].values, samples[order[b]].values
		return slices.Compare(x[:], y[:]) > 0
	})
	whole := most * 3 / 4
	heavy := slices.Clone(order[:whole])
	slices.Sort(heavy) // in the order of the tree again
	for _, i := range heavy {
		kept = append(kept, samples[i])
	}
	tail := make([]sample, 0, len(samples)-whole)
	for _, i := range order[whole:] {
		tail = append(tail, samples[i])
	}
	deepest := 0
	for _, s := range tail {
		deepest = max(deepest, s.at.depth-1)
	}
	room := most - whole
	depth := sort.Search(deepest+1, func(d int) bool { return groups(tail, d, room+1) > room }) - 1
	return append(kept, grouped(tail, max(depth, 0))...), len(tail)
}

// above returns the frame below which a sample is folded: the one around it, or the one at that depth; nil is the root.
func above(s sample, depth int) *frame {
	f := s.at.outer
	for f != nil && f.depth > depth {
		f = f.outer
	}
	return f
}

// groups counts the frames (other) that samples would be folded into, up to a number that is enough.
func groups(tail []sample, depth, enough int) int {
	seen := map[*frame]bool{}
	for _, s := range tail {
		if seen[above(s, depth)] = true; len(seen) >= enough {
			break
		}
	}
	return len(seen)
}

func grouped(tail []sample, depth int) (list []sample) {
	at := map[*frame]int{}
	for _, s := range tail {
		f := above(s, depth)
		i, known := at[f]
		if !known {
			i = len(list)
			at[f] = i
			other := &frame{outer: f, name: otherFrame, depth: 1}
			if f != nil {
				other.depth = f.depth + 1
			}
			list = append(list, sample{at: other})
		}
		for column, v := range s.values {
			list[i].values[column] += v
		}
	}
	return list
}

// writer makes functions and locations, one of each frame name. Their numbers are 1 to n, without gaps.
type writer struct {
	p         *pprof.Profile
	functions map[functionKey]*pprof.Function
	locations map[string]*pprof.Location
}

type functionKey struct{ name, system, file string }

// stack is a call path, innermost first. Of one that is too deep the outermost frames are left out: the kernel stays.
func (w *writer) stack(f *frame, most int) (stack []*pprof.Location, cut bool) {
	cut = f.depth > most
	for ; f != nil; f = f.outer {
		if cut && len(stack) == most-1 {
			return append(stack, w.location(cutFrame)), true
		}
		stack = append(stack, w.location(f.name))
	}
	return stack, cut
}

func (w *writer) location(name string) *pprof.Location {
	if l := w.locations[name]; l != nil {
		return l
	}
	function, system, file, line := pprofile.Frame(foreign.Plain(name, mostNameBytes))
	key := functionKey{foreign.Plain(cmp.Or(function, "(no name)"), mostNameBytes), system, file}
	fn := w.functions[key]
	if fn == nil {
		fn = &pprof.Function{ID: uint64(len(w.p.Function) + 1), Name: key.name, SystemName: key.system, Filename: key.file}
		w.functions[key] = fn
		w.p.Function = append(w.p.Function, fn)
	}
	l := &pprof.Location{ID: uint64(len(w.p.Location) + 1), Line: []pprof.Line{{Function: fn, Line: line}}}
	w.locations[name] = l
	w.p.Location = append(w.p.Location, l)
	return l
}
