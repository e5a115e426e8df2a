package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// Samples are the instruction samples of a profile.
type Samples struct {
	Facts     *profile.Sampling        // owned by the profile
	All       uint64                   // samples of the whole profile; shares of functions are parts of it
	Total     uint64                   // samples of the call paths that pass the filters
	Functions []*Function              // the requested ones, most samples first
	Others    []*Function              // the others that have samples
	Unit      string                   // what Counts.Samples counts: "sample", or "instruction" where nothing was sampled, see Counted
	Reasons   []string                 // names of the stall reasons; Counts.Reasons has their samples
	Stalls    *vendors.Stalls          // explains them
	Label     func(name string) string // shortens the name of a function for a reader

	numbers []int // in Reasons, of the profile's; -1 for a counter
}

// Function is a function on the GPU, as one compilation made it, with its samples. Functions of one name are those of one
// kernel, compiled for different arguments.
type Function struct {
	Symbol *profile.SampledFunction // owned by the profile
	Vendor *vendors.Vendor          // of the GPU that it is for
	Name   string                   // as Samples.Label has it
	Counts
	Paths    []Path        // call paths that it was launched from, most samples first
	PCs      []Instruction // the sampled ones, by offset
	Lines    []*Line       // of the function itself, by file and number
	Unplaced Counts        // of instructions without line information
	Variants int           // number of other functions of the same name

	code     *code     // of the trace; nil without one
	compiled *Compiled // see Compiled; nil until it is requested
}

// Path is a call path that kernels were launched from.
type Path struct {
	Frames  []string `json:"frames"` // from below the root to above the kernel, or to the name that a hook gave it
	Samples uint64   `json:"samples"`
}

// Instruction is a sampled one.
type Instruction struct {
	Offset uint64 // bytes from the start of the function
	Counts
}

// Counts are numbers of samples, in total and by stall reason.
type Counts struct {
	Samples   uint64
	Stalled   uint64   // samples in which the warp did not issue its instruction
	NotIssued uint64   // stalled samples in which no other warp of the scheduler issued one either
	Reasons   []uint64 // by index in Samples.Reasons
	Did       Did
}

// ErrNoSamples is returned for profiles without instruction samples.
var ErrNoSamples = errors.New("the profile has no instruction samples; record them with: proton run --mode pcsampling PROGRAM")

// NoMatchError says that no kernel with samples, or with scopes inside, has the requested name.
type NoMatchError struct {
	What    string // "samples"
	Pattern string
	Most    string // the kernels with most
}

func (e *NoMatchError) Error() string {
	return fmt.Sprintf("no kernel with %s matches %q; those with most are %s", e.What, e.Pattern, e.Most)
}

// collectSamples gathers the samples of a profile.
func collectSamples(o Options) (*Samples, error) {
	filter, err := profile.NewFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	p := o.Profile
	if !hasInstructions(p) {
		if p = fromTree(p); p == nil {
			return nil, ErrNoSamples
		}
	}
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return nil, err
	}
	s := &Samples{Facts: p.Sampling, Unit: "sample", Label: label, Stalls: vendorOf(p).Stalls}
	if !hasSamples(p) {
		s.Unit = instruction
	}
	s.number()
	s.All = s.total(p)
	g := gatherer{s: s, vendor: vendorOf(p), byPath: o.ByPath, functions: map[functionKey]*gathered{}}
	filter.Walk(p.Root, g.add)
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

// vendorOf is the vendor whose devices a profile has.
func vendorOf(p *profile.Profile) *vendors.Vendor {
	deviceType := ""
	if len(p.Devices) > 0 {
		deviceType = p.Devices[0].Type
	}
	return vendors.ByDevice(deviceType)
}

// Counted reports whether nothing was sampled, and instructions counted.
func (s *Samples) Counted() bool { return s.Unit == instruction }

const instruction = "instruction"

// number makes the list of reasons: those of the profile without counters.
func (s *Samples) number() {
	for _, name := range s.Facts.Reasons {
		at := -1
		if !profile.IsCount(name) {
			at = len(s.Reasons)
			s.Reasons = append(s.Reasons, name)
		}
		s.numbers = append(s.numbers, at)
	}
	s.Reasons = append(s.Reasons, "unknown")
}

// total counts all samples of known functions.
func (s *Samples) total(p *profile.Profile) (sum uint64) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, f := range n.Samples {
			if f.Function < 0 || f.Function >= len(p.Sampling.Functions) {
				continue
			}
			for i := range f.PCs {
				sum += s.counts(&f.PCs[i]).Samples
			}
		}
		return true
	})
	return sum
}

// hasInstructions reports whether a profile has samples of single instructions.
func hasInstructions(p *profile.Profile) bool {
	return p.Sampling != nil && len(p.Sampling.Functions) > 0 && p.Root.Any(func(n *profile.Node) bool { return len(n.Samples) > 0 })
}

// AllFunctions are the requested functions and then the others.
func (s *Samples) AllFunctions() []*Function { return slices.Concat(s.Functions, s.Others) }

// choose moves the functions that do not match the pattern to s.Others.
func (s *Samples) choose(pattern string) (err error) {
	s.Functions, s.Others, err = Choose(s.Functions, "samples", pattern, func(f *Function) []string { return []string{f.Name, f.Symbol.Name} })
	return err
}

// Choose separates the kernels with a name that matches a pattern from the others, or for "" the first one, which has most. The first of a
// kernel's names is the one that messages have.
func Choose[T any](all []T, what, pattern string, names func(T) []string) (chosen, others []T, err error) {
	if pattern == "" {
		return all[:1], all[1:], nil
	}
	chosen, others, err = split(all, pattern, names)
	if err == nil && len(chosen) == 0 {
		err = &NoMatchError{what, pattern, FirstNames(others, 5, func(one T) string { return names(one)[0] })}
	}
	return chosen, others, err
}

// split separates those with a name that matches a pattern from the others.
func split[T any](all []T, pattern string, names func(T) []string) (chosen, others []T, err error) {
	wanted, err := lookup.Kernels(pattern)
	if err != nil {
		return nil, nil, &viewer.OptionError{Err: err}
	}
	for _, one := range all {
		if slices.ContainsFunc(names(one), wanted) {
			chosen = append(chosen, one)
		} else {
			others = append(others, one)
		}
	}
	return chosen, others, nil
}

// FirstNames lists the first names, each once, and how many more there are.
func FirstNames[T any](all []T, most int, name func(T) string) string {
	var names []string
	seen := map[string]bool{}
	for _, one := range all {
		if n := name(one); !seen[n] {
			seen[n], names = true, append(names, n)
		}
	}
	return figures.First(names, most)
}

// show makes f the only requested function.
func (s *Samples) show(f *Function) {
	all := s.AllFunctions()
	s.Functions, s.Others = []*Function{f}, slices.DeleteFunc(all, func(other *Function) bool { return other == f })
}

// functionKey identifies a function of a listing.
type functionKey struct {
	function int
	path     *profile.Node // nil unless call paths are listed one by one
}

// gathered is a function whose samples are still added up.
type gathered struct {
	*Function
	at    map[uint64]int // positions in PCs
	first int            // in order of the tree
}

type gatherer struct {
	s         *Samples
	vendor    *vendors.Vendor
	byPath    bool
	functions map[functionKey]*gathered
}

// add adds the samples of a node.
func (g *gatherer) add(n *profile.Node, path []string) {
	from := min(1, len(path))
	for i := range n.Samples {
		fs := &n.Samples[i]
		if fs.Function < 0 || fs.Function >= len(g.s.Facts.Functions) {
			continue
		}
		key := functionKey{function: fs.Function}
		if g.byPath {
			key.path = n
		}
		f := g.functions[key]
		if f == nil {
			f = &gathered{Function: &Function{Symbol: &g.s.Facts.Functions[fs.Function], Vendor: g.vendor}, at: map[uint64]int{}, first: len(g.functions)}
			g.functions[key] = f
		}
		before := f.Samples
		for j := range fs.PCs {
			f.add(fs.PCs[j].Offset, g.s.counts(&fs.PCs[j]))
		}
		if f.Samples > before {
			to := len(path)
			if n.Name == f.Symbol.Name { // otherwise a hook renamed the launch
				to--
			}
			f.Paths = append(f.Paths, Path{slices.Clone(path[from:max(from, to)]), f.Samples - before})
		}
	}
}

// counts are the samples of an instruction, and what it counted.
func (s *Samples) counts(pc *profile.PCSamples) (c Counts) {
	c.Reasons = make([]uint64, len(s.Reasons))
	for _, stall := range pc.Stalls {
		r := len(s.Reasons) - 1
		if int(stall.Reason) < len(s.numbers) {
			r = s.numbers[stall.Reason]
		}
		if r < 0 {
			if to := c.Did.of(s.Facts.Reasons[stall.Reason]); to != nil {
				*to += stall.Samples
			}
			continue
		}
		c.Reasons[r] += stall.Samples
		c.Samples += stall.Samples
		if name := s.Reasons[r]; name != s.Stalls.Issued && name != profile.NoReason {
			c.Stalled += stall.Samples
			c.NotIssued += stall.NotIssued
		}
	}
	if s.Counted() {
		c.Samples = c.Did.Instructions
	}
	return c
}

// add adds the samples of one instruction.
func (f *gathered) add(offset uint64, c Counts) {
	at, known := f.at[offset]
	if !known {
		at = len(f.PCs)
		f.at[offset] = at
		f.PCs = append(f.PCs, Instruction{Offset: offset})
	}
	f.PCs[at].Add(c)
	f.Counts.Add(c)
}

// Add adds other samples.
func (c *Counts) Add(o Counts) {
	c.Samples += o.Samples
	c.Stalled += o.Stalled
	c.NotIssued += o.NotIssued
	c.Did.add(o.Did)
	if c.Reasons == nil && o.Reasons != nil {
		c.Reasons = make([]uint64, len(o.Reasons))
	}
	for i, n := range o.Reasons {
		c.Reasons[i] += n
	}
}

// finish sorts the functions and adds their samples to lines.
func (g *gatherer) finish() {
	var all []*gathered
	symbols := map[string]map[*profile.SampledFunction]bool{}
	for _, f := range g.functions {
		if f.Samples == 0 {
			continue
		}
		all = append(all, f)
		g.s.Total += f.Samples
		if symbols[f.Symbol.Name] == nil {
			symbols[f.Symbol.Name] = map[*profile.SampledFunction]bool{}
		}
		symbols[f.Symbol.Name][f.Symbol] = true
	}
	slices.SortFunc(all, func(a, b *gathered) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Symbol.Name, b.Symbol.Name), cmp.Compare(a.first, b.first))
	})
	for _, f := range all {
		f.Name = g.s.Label(f.Symbol.Name)
		f.Variants = len(symbols[f.Symbol.Name]) - 1
		slices.SortFunc(f.PCs, func(a, b Instruction) int { return cmp.Compare(a.Offset, b.Offset) })
		slices.SortStableFunc(f.Paths, func(a, b Path) int { return cmp.Compare(b.Samples, a.Samples) })
		f.place()
		g.s.Functions = append(g.s.Functions, f.Function)
	}
}

// At returns the samples of the instruction at an offset.
func (f *Function) At(offset uint64) Counts {
	i, found := slices.BinarySearchFunc(f.PCs, offset, func(pc Instruction, offset uint64) int { return cmp.Compare(pc.Offset, offset) })
	if !found {
		return Counts{}
	}
	return f.PCs[i].Counts
}

// FromLines reports whether the samples came from frames that stand for lines, so that the instructions are not known.
func (f *Function) FromLines() bool {
	return f.Samples > 0 && f.Symbol.Module == "" && f.Symbol.Size == 0
}

// Share is the part that these samples are of others, from 0 to 1.
func (c Counts) Share(of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(c.Samples) / float64(of)
}

// Wait is one reason with its samples.
type Wait struct {
	Name    string
	Samples uint64
}

// Waits are the reasons for which warps waited, most samples first, without the samples in which they did not wait.
func (s *Samples) Waits(c Counts) []Wait {
	var all []Wait
	for i, n := range c.Reasons {
		if n > 0 && s.Reasons[i] != s.Stalls.Issued && s.Reasons[i] != profile.NoReason {
			all = append(all, Wait{s.Reasons[i], n})
		}
	}
	slices.SortStableFunc(all, func(a, b Wait) int { return cmp.Compare(b.Samples, a.Samples) })
	return all
}

// Of returns how many samples have a reason.
func (s *Samples) Of(c Counts, reason string) (n uint64) {
	for i, name := range s.Reasons {
		if name == reason && i < len(c.Reasons) {
			n += c.Reasons[i]
		}
	}
	return n
}

// Notes say what limits the numbers.
func (s *Samples) Notes() []string {
	var notes []string
	f := s.Facts
	if f.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("the hardware lost %s in addition to the %s it took", figures.Count(f.Dropped, "sample"), figures.Grouped(f.Total)))
	}
	if f.BufferFull {
		notes = append(notes, "the hardware's buffer was full at times, so an unknown number of samples is missing; sample less often (interval=) or give it a larger buffer")
	}
	if f.Apportioned > 0 && f.Total > 0 {
		note := figures.Share(float64(f.Apportioned)/float64(f.Total)) + " of the samples are of functions launched from several call paths, and were apportioned by kernel time"
		if exact := s.Stalls.Exact; exact != "" {
			note += "; " + exact + " attributes them exactly"
		}
		notes = append(notes, note)
	}
	return notes
}
