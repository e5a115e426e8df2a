// Package inside shows the scopes inside of kernels that a profile has: how much of a kernel's time its warps were in each scope, how
// that varies over warps, blocks and multiprocessors, on which source lines, and which stall reasons a second run sampled there.
package inside

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// Kernel is an instrumented kernel, summed over the call paths that launched it.
type Kernel struct {
	Name    string
	Data    *profile.InsideKernel
	Scopes  []*Scope        // the outermost ones, in order of the profile
	With    *profile.Sketch // times of the launches, in ns; nil if they were not collected
	Without *profile.Sketch // the same of launches that ran without scopes, for comparison; nil if there are none
}

// Scope is a scope inside of a kernel.
type Scope struct {
	Kernel *Kernel
	Name   string
	Data   *profile.InsideScope // nil if no time of the scope itself was recorded
	Inner  []*Scope             // in order of the profile

	own     uint64             // cycles of its warps outside of all inner scopes
	covered profile.WarpCycles // of warps that were in it, or in an inner scope that is of other warps
}

// ErrNone is that a profile has no scopes inside of kernels.
var ErrNone = errors.New("the profile has no scopes inside of kernels; record those of a program's kernels with proton run -b instrumentation PROGRAM, " +
	"or have them put there with proton run --inside KERNELS PROGRAM")

// Find returns the kernels whose names match a regular expression; for "" the one whose scopes have most cycles. The others are returned
// as well. Both are in order of cycles.
func Find(p *profile.Profile, pattern string) (chosen, others []*Kernel, err error) {
	all := gather(p)
	if len(all) == 0 {
		return nil, nil, ErrNone
	}
	slices.SortStableFunc(all, func(a, b *Kernel) int { return cmp.Compare(b.Cycles(), a.Cycles()) })
	return kernels.Choose(all, "scopes inside", pattern, func(k *Kernel) []string { return []string{k.Name} })
}

// Frames of the profiler below which kernels stand that ran without scopes, to compare with.
const withoutScopes = "<without scopes>"

// gather adds up the kernels of one name.
func gather(p *profile.Profile) (all []*Kernel) {
	byName := map[string]*Kernel{}
	profile.Filter{}.Walk(p.Root, func(n *profile.Node, _ []string) {
		if n.Inside == nil || n.Inside.Kernel == nil {
			return
		}
		k := byName[n.Name]
		if k == nil {
			k = &Kernel{Name: n.Name, Data: &profile.InsideKernel{}}
			byName[n.Name] = k
			all = append(all, k)
		}
		sum := profile.Inside{Kernel: k.Data}
		sum.Merge(&profile.Inside{Kernel: n.Inside.Kernel})
		k.With = merged(k.With, n.Times)
		k.Scopes = k.add(k.Scopes, n.Children)
	})
	profile.Filter{}.Walk(p.Root, func(n *profile.Node, path []string) {
		if k := byName[n.Name]; k != nil && n.Inside == nil && slices.Contains(path, withoutScopes) {
			k.Without = merged(k.Without, n.Times)
		}
	})
	for _, k := range all {
		divide(k.Scopes)
	}
	return all
}

func merged(a, b *profile.Sketch) *profile.Sketch {
	if a == nil || b == nil {
		return cmp.Or(a, b.Clone())
	}
	a.Merge(b)
	return a
}

// add adds scopes of another call path to those that there are.
func (k *Kernel) add(to []*Scope, nodes []*profile.Node) []*Scope {
	for _, n := range nodes {
		if !hasScopes(n) {
			continue
		}
		at := slices.IndexFunc(to, func(s *Scope) bool { return s.Name == n.Name })
		if at < 0 {
			at = len(to)
			to = append(to, &Scope{Kernel: k, Name: n.Name})
		}
		s := to[at]
		if n.Inside != nil && n.Inside.Scope != nil {
			sum := profile.Inside{Scope: s.Data}
			sum.Merge(&profile.Inside{Scope: n.Inside.Scope})
			s.Data = sum.Scope
		}
		s.Inner = k.add(s.Inner, n.Children)
	}
	return to
}

// hasScopes reports whether a node is a scope, or holds some: the records of an outer scope may be lost.
func hasScopes(n *profile.Node) bool {
	if n.Inside != nil && n.Inside.Kernel != nil {
		return false
	}
	return n.Inside != nil && n.Inside.Scope != nil || slices.ContainsFunc(n.Children, hasScopes)
}

// divide computes what needs the scopes of all call paths.
func divide(scopes []*Scope) (covered profile.WarpCycles) {
	covered = profile.WarpCycles{}
	for _, s := range scopes {
		s.own, s.covered = s.Data.Around(divide(s.Inner))
		covered.Add(s.covered)
	}
	return covered
}

// Cycles are those that warps were in any scope.
func (k *Kernel) Cycles() (sum uint64) {
	for _, s := range k.Scopes {
		sum += s.covered.Sum()
	}
	return sum
}

// Cycles are those that warps were in the scope, and those of other warps in the scopes inside of it: of specialised warps, some may be in
// the inner scopes alone. So no scope has less than those inside of it.
func (s *Scope) Cycles() uint64 { return s.covered.Sum() }

// Own are the cycles of its warps outside of all inner scopes, so that the own cycles of all scopes add up to those of the kernel. They are 0
// where inner scopes overlap each other, as those of loops that run in several stages may.
func (s *Scope) Own() uint64 { return s.own }

// Whole are the cycles that all recorded warps existed: what shares are parts of. Without a measured clock they are those of the
// outermost scopes.
func (k *Kernel) Whole() uint64 {
	return cmp.Or(k.Data.Cycles, k.Cycles())
}

// Share is a number of cycles as a part of the kernel; NaN if nothing was recorded.
func (k *Kernel) Share(cycles uint64) float64 { return float64(cycles) / float64(k.Whole()) }

// Time is how long, in ns, a warp that ran the scope was in it in one block, on average; NaN without a measured clock, or without times of
// the scope itself.
func (s *Scope) Time() float64 {
	rate := s.Kernel.Data.Rate()
	if rate == 0 || s.Data == nil || s.Data.Sums == nil || s.Data.Sums.Count == 0 {
		return math.NaN()
	}
	ran := s.Data.Sums.Count // warps in blocks; older files count each of several scopes of one name
	if n := s.Kernel.Data.Blocks * uint64(len(s.Data.ByWarp)); n > 0 {
		ran = min(ran, n)
	}
	return float64(s.Data.Cycles) / float64(ran) / rate
}

// Imbalance is the busiest multiprocessor's part over the mean of all on which the kernel ran, and that multiprocessor; NaN if it is
// not known.
func Imbalance(by []profile.InsideShare, multiprocessors int) (factor float64, busiest uint32) {
	sum, most := 0.0, 0.0
	for _, s := range by {
		if amount := float64(s.Amount); amount > most {
			most, busiest = amount, s.At
		}
		sum += float64(s.Amount)
	}
	return most / (sum / float64(max(multiprocessors, len(by)))), busiest
}

// Imbalance is that of the scope's cycles.
func (s *Scope) Imbalance() (factor float64, busiest uint32) {
	if s.Data == nil {
		return math.NaN(), 0
	}
	return Imbalance(s.Data.BySM, len(s.Kernel.Data.BySM))
}

// Overhead is how much longer the kernel ran with scopes, as a ratio of medians, and whether that is known.
func (k *Kernel) Overhead() (ratio float64, known bool) {
	if k.With == nil || k.Without == nil || k.With.Count == 0 || k.Without.Count == 0 {
		return 0, false
	}
	ratio = k.With.Quantile(0.5) / k.Without.Quantile(0.5)
	return ratio, ratio > 0 && !math.IsInf(ratio, 0)
}

// All are the scopes with those inside of them, outer ones first.
func All(scopes []*Scope) (all []*Scope) {
	for _, s := range scopes {
		all = append(append(all, s), All(s.Inner)...)
	}
	return all
}
