package union

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Samples is what the profiles have together.
type Samples struct {
	out       *profile.Sampling // nil until a profile with samples came
	functions map[identity]int
	reasons   map[string]uint16
}

// identity tells functions of one name apart, as far as a profile knows.
type identity struct {
	module, name string
	index        int
}

// SampleSource is one profile: it has the numbers of the union for its own.
type SampleSource struct {
	functions []int
	reasons   []uint16
	sorted    bool // the numbers rise, and so do lists that are sorted by them
}

// Add adds the table of a profile; nil stands for a profile without samples. uneven says that its samples were taken at
// another interval than those before, so that one sample stands for another time.
func (u *Samples) Add(s *profile.Sampling) (source *SampleSource, uneven bool) {
	if s == nil {
		return &SampleSource{}, false
	}
	if u.out == nil {
		u.out = &profile.Sampling{Mode: s.Mode, Period: s.Period}
		u.functions, u.reasons = map[identity]int{}, map[string]uint16{}
	}
	switch counted := s.Mode == profile.CountedByLine; {
	case counted: // nothing was sampled
	case u.out.Mode == profile.CountedByLine:
		u.out.Mode, u.out.Period = s.Mode, s.Period
	default:
		if u.out.Mode != s.Mode {
			u.out.Mode = "mixed"
		}
		uneven = u.out.Period != s.Period
	}
	u.out.Total += s.Total
	u.out.Dropped += s.Dropped
	u.out.NonUser += s.NonUser
	u.out.Apportioned += s.Apportioned
	u.out.BufferFull = u.out.BufferFull || s.BufferFull
	for _, text := range s.Sources {
		u.source(text)
	}
	source = &SampleSource{}
	for i := range s.Functions {
		source.functions = append(source.functions, u.function(&s.Functions[i]))
	}
	for _, reason := range s.Reasons {
		source.reasons = append(source.reasons, u.reason(reason))
	}
	source.sorted = rise(source.functions) && rise(source.reasons)
	return source, uneven
}

// source takes in the lines of a file. Two versions of one file stay apart.
func (u *Samples) source(text profile.SourceText) {
	for i := range u.out.Sources {
		have := &u.out.Sources[i]
		if have.File != text.File || have.SHA256 != text.SHA256 {
			continue
		}
		have.Lines = append(slices.Clone(have.Lines), text.Lines...)
		slices.SortStableFunc(have.Lines, func(a, b profile.SourceLine) int { return cmp.Compare(a.Number, b.Number) })
		have.Lines = slices.CompactFunc(have.Lines, func(a, b profile.SourceLine) bool { return a.Number == b.Number })
		return
	}
	u.out.Sources = append(u.out.Sources, text)
}

func rise[T cmp.Ordered](list []T) bool {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return false
		}
	}
	return true
}

// Same reports whether the profile's numbers are those of the union.
func (s *SampleSource) Same() bool {
	return s.sorted && (len(s.functions) == 0 || s.functions[len(s.functions)-1] == len(s.functions)-1) &&
		(len(s.reasons) == 0 || int(s.reasons[len(s.reasons)-1]) == len(s.reasons)-1)
}

func (u *Samples) function(f *profile.SampledFunction) int {
	key := identity{f.Module, f.Name, f.Index}
	at, known := u.functions[key]
	if !known {
		at = len(u.out.Functions)
		u.functions[key] = at
		own := *f
		own.Places = slices.Clone(f.Places)
		u.out.Functions = append(u.out.Functions, own)
		return at
	}
	have := &u.out.Functions[at]
	if have.Arch == "" { // its module was not seen there
		places := have.Places
		*have = *f
		have.Places = places
	}
	have.Places = joinPlaces(have.Places, f.Places)
	return at
}

func (u *Samples) reason(name string) uint16 {
	at, known := u.reasons[name]
	if !known {
		at = uint16(len(u.out.Reasons))
		u.reasons[name] = at
		u.out.Reasons = append(u.out.Reasons, name)
	}
	return at
}

// Result returns the table of the union, nil if no profile had samples.
func (u *Samples) Result() *profile.Sampling { return u.out }

// JoinSamples adds samples of a source to some that are in the union's numbers. The result shares nothing with the source.
func (s *SampleSource) Join(sum, more []profile.FunctionSamples) []profile.FunctionSamples {
	if len(more) == 0 {
		return sum
	}
	own := make([]profile.FunctionSamples, len(more))
	for i, f := range more {
		own[i] = s.own(f)
	}
	if !s.sorted {
		slices.SortStableFunc(own, byFunction)
		own = joinNeighbours(own, byFunction, bothFunctions)
	}
	return join(sum, own, byFunction, bothFunctions)
}

// joinNeighbours makes one of several neighbours that are equal.
func joinNeighbours[T any](sorted []T, compare func(a, b T) int, both func(a, b T) T) []T {
	out := sorted[:0]
	for _, one := range sorted {
		if n := len(out); n > 0 && compare(out[n-1], one) == 0 {
			out[n-1] = both(out[n-1], one)
			continue
		}
		out = append(out, one)
	}
	return out
}

// JoinSamples adds up samples that are in the same numbers.
func JoinSamples(a, b []profile.FunctionSamples) []profile.FunctionSamples {
	return join(a, b, byFunction, bothFunctions)
}

// own copies a function's samples into the union's numbers.
func (s *SampleSource) own(f profile.FunctionSamples) profile.FunctionSamples {
	out := profile.FunctionSamples{Function: s.functions[f.Function], PCs: make([]profile.PCSamples, len(f.PCs))}
	for i, pc := range f.PCs {
		stalls := slices.Clone(pc.Stalls)
		for j := range stalls {
			stalls[j].Reason = s.reasons[stalls[j].Reason]
		}
		if !s.sorted {
			slices.SortStableFunc(stalls, byReason)
			stalls = joinNeighbours(stalls, byReason, bothStalls) // two reasons may have one name
		}
		out.PCs[i] = profile.PCSamples{Offset: pc.Offset, Stalls: stalls}
	}
	return out
}

func bothFunctions(a, b profile.FunctionSamples) profile.FunctionSamples {
	a.PCs = join(a.PCs, b.PCs, byOffset, bothPCs)
	return a
}

func bothPCs(a, b profile.PCSamples) profile.PCSamples {
	a.Stalls = join(a.Stalls, b.Stalls, byReason, bothStalls)
	return a
}

func bothStalls(a, b profile.Stall) profile.Stall {
	return profile.Stall{Reason: a.Reason, Samples: a.Samples + b.Samples, NotIssued: a.NotIssued + b.NotIssued}
}

func byFunction(a, b profile.FunctionSamples) int { return cmp.Compare(a.Function, b.Function) }
func byOffset(a, b profile.PCSamples) int         { return cmp.Compare(a.Offset, b.Offset) }
func byReason(a, b profile.Stall) int             { return cmp.Compare(a.Reason, b.Reason) }

func joinPlaces(a, b []profile.Place) []profile.Place {
	return join(a, b, func(a, b profile.Place) int { return cmp.Compare(a.Offset, b.Offset) }, func(a, _ profile.Place) profile.Place { return a })
}

// join merges two sorted lists; both makes one element of two that are equal.
func join[T any](a, b []T, compare func(a, b T) int, both func(a, b T) T) []T {
	if len(a) == 0 {
		return b
	}
	out := make([]T, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, both(a[0], b[0])), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Pile adds up many sorted lists in the order in which they come. Lists of similar length are joined first, as in a merge
// sort: adding each to the sum would copy a growing list again and again, and a file may have 80,000 siblings of one name.
type Pile[T any] struct{ lists [][]T }

// Add puts a list on the pile, which owns it from then on.
func (p *Pile[T]) Add(list []T, join func(a, b []T) []T) {
	if len(list) == 0 {
		return
	}
	p.lists = append(p.lists, list)
	for n := len(p.lists); n > 1 && len(p.lists[n-2]) < 2*len(p.lists[n-1]); n-- {
		p.lists = append(p.lists[:n-2], join(p.lists[n-2], p.lists[n-1]))
	}
}

// All is the sum; nil if nothing was added.
func (p *Pile[T]) All(join func(a, b []T) []T) (sum []T) {
	for _, list := range slices.Backward(p.lists) {
		if sum == nil {
			sum = list
		} else {
			sum = join(list, sum)
		}
	}
	return sum
}
