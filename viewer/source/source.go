// Package source shows where inside a kernel the time goes: its instruction samples by line of the source, with inlined
// functions, and by instruction.
//
// Its input is a profile with instruction samples. `proton viewer --source` and `--sass` and the report call it. Source texts
// and disassembly come from files (files.go, disassemble.go). If such a file is missing, only its text is missing from the
// output. The passes:
//
//  1. collect  the samples of every function are added up over the call paths that pass the filters (source.go); profiles
//     such as Triton's, which have frames for lines instead of instruction samples, are converted first (fromtree.go)
//  2. place    samples of instructions are added to lines, through the chain of inlined calls (lines.go)
//  3. advise   the stall reasons are summed up in a sentence (stalls.go, advice.go)
//  4. print    listing.go, sasslisting.go, json.go
package source

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// Options say which samples count and which kernels are shown.
type Options struct {
	Kernel  string // regular expression (Go's) found anywhere in the name; "" is the one kernel with most samples
	Include string // only call paths through a frame that matches
	Exclude string // no call path through a frame that matches
	ByPath  bool   // kernels launched from several call paths are shown once for each
}

// Samples are the instruction samples of a profile.
type Samples struct {
	Facts   *profile.Sampling
	All     uint64    // of the whole profile; shares of kernels are parts of it
	Total   uint64    // of the call paths that count
	Kernels []*Kernel // those asked for, most samples first
	Others  []*Kernel // the others that have samples
	reasons []string
	label   func(name string) string // as people read it
}

// Kernel is a function of the GPU with its samples.
type Kernel struct {
	Function *profile.SampledFunction
	Name     string // as people read it
	Counts
	Paths    []Path        // that it was launched from, most samples first
	PCs      []Instruction // that were sampled, in order of offset
	Lines    []*Line       // of the function itself, by file and number
	Unplaced Counts        // of instructions without line information
	Variants int           // number of other functions of the same name, compiled for different arguments
}

// Path is a call path that kernels were launched from.
type Path struct {
	Frames  []string // from below the root to above the kernel, or to the name that a hook gave it
	Samples uint64
}

// Instruction is one that was sampled.
type Instruction struct {
	Offset uint64
	Counts
}

// Counts are numbers of samples, in total and by stall reason.
type Counts struct {
	Samples   uint64
	Stalled   uint64   // samples in which the warp did not issue its instruction
	NotIssued uint64   // stalled samples in which no other warp of the scheduler issued one either
	Reasons   []uint64 // by index in Samples.reasons
}

// selected is the reason of samples in which the warp issued its instruction.
const selected = "selected"

// ErrNoSamples is returned for profiles without instruction samples.
var ErrNoSamples = errors.New("the profile has no instruction samples; record them with: proton run -m pcsampling PROGRAM")

// NoMatchError says that no kernel with samples has the name that was asked for.
type NoMatchError struct {
	Pattern string
	Most    string // the kernels with most samples
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("no kernel with samples matches %q; those with most are %s", e.Pattern, e.Most)
}

// Collect gathers the samples of a profile.
func Collect(p *profile.Profile, o Options) (*Samples, error) {
	filter, err := profile.NewFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	if !hasInstructions(p) {
		if p = fromTree(p); p == nil {
			return nil, ErrNoSamples
		}
	}
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return nil, err
	}
	s := &Samples{Facts: p.Sampling, reasons: append(slices.Clone(p.Sampling.Reasons), "unknown"), label: label}
	g := gatherer{s: s, byPath: o.ByPath, kernels: map[kernelKey]*gathered{}}
	filter.Walk(p.Root, g.add)
	s.All = total(p)
	g.finish()
	if s.Total == 0 {
		if !filter.All() {
			return nil, errors.New("no instruction samples are left by the filters; leave out -i and -e to see which kernels have some")
		}
		return nil, ErrNoSamples
	}
	if err := s.choose(o.Kernel); err != nil {
		return nil, err
	}
	return s, nil
}

// total counts all samples of known functions.
func total(p *profile.Profile) (sum uint64) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, f := range n.Samples {
			if f.Function < 0 || f.Function >= len(p.Sampling.Functions) {
				continue
			}
			for _, pc := range f.PCs {
				for _, stall := range pc.Stalls {
					sum += stall.Samples
				}
			}
		}
		return true
	})
	return sum
}

// hasInstructions says whether a profile has samples of single instructions.
func hasInstructions(p *profile.Profile) (has bool) {
	if p.Sampling == nil || len(p.Sampling.Functions) == 0 {
		return false
	}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		has = has || len(n.Samples) > 0
		return !has
	})
	return has
}

// choose moves the kernels that do not match the pattern to s.Others.
func (s *Samples) choose(pattern string) error {
	if pattern == "" {
		s.Kernels, s.Others = s.Kernels[:1], s.Kernels[1:]
		return nil
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("read the kernel's name %q: %w", pattern, err)
	}
	var chosen, others []*Kernel
	for _, k := range s.Kernels {
		if wanted.MatchString(k.Function.Name) || wanted.MatchString(k.Name) {
			chosen = append(chosen, k)
		} else {
			others = append(others, k)
		}
	}
	if len(chosen) == 0 {
		return &NoMatchError{pattern, FirstNames(others, 5, func(k *Kernel) string { return k.Name })}
	}
	s.Kernels, s.Others = chosen, others
	return nil
}

// Show makes k the only requested kernel.
func (s *Samples) Show(k *Kernel) {
	all := slices.Concat(s.Kernels, s.Others)
	s.Kernels, s.Others = []*Kernel{k}, slices.DeleteFunc(all, func(other *Kernel) bool { return other == k })
}

// kernelKey identifies a kernel of a listing.
type kernelKey struct {
	function int
	path     *profile.Node // nil unless every call path stands for itself
}

// gathered is a kernel whose samples are still added up.
type gathered struct {
	*Kernel
	at    map[uint64]int // positions in PCs
	first int            // in order of the tree
}

type gatherer struct {
	s       *Samples
	byPath  bool
	kernels map[kernelKey]*gathered
}

// add takes over what a node has.
func (g *gatherer) add(n *profile.Node, path []string) {
	from := min(1, len(path))
	for i := range n.Samples {
		fs := &n.Samples[i]
		if fs.Function < 0 || fs.Function >= len(g.s.Facts.Functions) {
			continue
		}
		key := kernelKey{function: fs.Function}
		if g.byPath {
			key.path = n
		}
		k := g.kernels[key]
		if k == nil {
			k = &gathered{Kernel: &Kernel{Function: &g.s.Facts.Functions[fs.Function]}, at: map[uint64]int{}, first: len(g.kernels)}
			g.kernels[key] = k
		}
		before := k.Samples
		for j := range fs.PCs {
			k.add(&fs.PCs[j], g.s.reasons)
		}
		if k.Samples > before {
			to := len(path)
			if n.Name == k.Function.Name { // otherwise a hook renamed the launch
				to--
			}
			k.Paths = append(k.Paths, Path{slices.Clone(path[from:max(from, to)]), k.Samples - before})
		}
	}
}

// add takes over the samples of one instruction.
func (k *gathered) add(pc *profile.PCSamples, reasons []string) {
	at, known := k.at[pc.Offset]
	if !known {
		at = len(k.PCs)
		k.at[pc.Offset] = at
		k.PCs = append(k.PCs, Instruction{Offset: pc.Offset})
	}
	var c Counts
	c.Reasons = make([]uint64, len(reasons))
	for _, stall := range pc.Stalls {
		r := min(int(stall.Reason), len(reasons)-1)
		c.Reasons[r] += stall.Samples
		c.Samples += stall.Samples
		if reasons[r] != selected {
			c.Stalled += stall.Samples
			c.NotIssued += stall.NotIssued
		}
	}
	k.PCs[at].Add(c)
	k.Counts.Add(c)
}

// Add adds other samples.
func (c *Counts) Add(o Counts) {
	c.Samples += o.Samples
	c.Stalled += o.Stalled
	c.NotIssued += o.NotIssued
	if c.Reasons == nil && o.Reasons != nil {
		c.Reasons = make([]uint64, len(o.Reasons))
	}
	for i, n := range o.Reasons {
		c.Reasons[i] += n
	}
}

// finish sorts the kernels and adds their samples to lines.
func (g *gatherer) finish() {
	var all []*gathered
	functions := map[string]map[*profile.SampledFunction]bool{}
	for _, k := range g.kernels {
		if k.Samples == 0 {
			continue
		}
		all = append(all, k)
		g.s.Total += k.Samples
		if functions[k.Function.Name] == nil {
			functions[k.Function.Name] = map[*profile.SampledFunction]bool{}
		}
		functions[k.Function.Name][k.Function] = true
	}
	slices.SortFunc(all, func(a, b *gathered) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Function.Name, b.Function.Name), cmp.Compare(a.first, b.first))
	})
	for _, k := range all {
		k.Name = g.s.label(k.Function.Name)
		k.Variants = len(functions[k.Function.Name]) - 1
		slices.SortFunc(k.PCs, func(a, b Instruction) int { return cmp.Compare(a.Offset, b.Offset) })
		slices.SortStableFunc(k.Paths, func(a, b Path) int { return cmp.Compare(b.Samples, a.Samples) })
		k.place()
		g.s.Kernels = append(g.s.Kernels, k.Kernel)
	}
}

// Share is the part that these samples are of others.
func (c Counts) Share(of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(c.Samples) / float64(of)
}

// Stall is one reason with its samples.
type Stall struct {
	Name    string
	Samples uint64
}

// Stalls are the reasons that a warp stood still for, most samples first, without those in which it went on.
func (s *Samples) Stalls(c Counts) []Stall {
	var all []Stall
	for i, n := range c.Reasons {
		if n > 0 && s.reasons[i] != selected {
			all = append(all, Stall{s.reasons[i], n})
		}
	}
	slices.SortStableFunc(all, func(a, b Stall) int { return cmp.Compare(b.Samples, a.Samples) })
	return all
}

// Of returns how many samples have a reason.
func (s *Samples) Of(c Counts, reason string) (n uint64) {
	for i, name := range s.reasons {
		if name == reason && i < len(c.Reasons) {
			n += c.Reasons[i]
		}
	}
	return n
}
