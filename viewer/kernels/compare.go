package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Comparison joins the samples of two runs by line: A is the old run, B the new one. What is compared is a line's share of its
// kernel's samples and not the number of samples, which depends on how long the kernels ran.
type Comparison struct {
	Sides   [2]*Run
	Kernels []*ComparedFunction // the requested ones, the largest part of either run first
	Others  []*ComparedFunction
	Notes   []string
	Joint   Samples // the reasons and labels of both sides; it has no functions of its own
}

// ComparedFunction is one compilation of a kernel in two runs; see counterparts.
type ComparedFunction struct {
	Function                 // samples of B, lines of both; Symbol is B's, or A's if B has none
	Old         Counts       // of A
	OldUnplaced Counts       // of A
	Sides       [2]*Function // nil in a run that has no samples of it
}

// CompareOptions say what is compared.
type CompareOptions struct {
	Kernel string                     // regular expression found anywhere in the name; "" is the kernel with the largest part of either run
	Rename func(kernel string) string // maps the names of kernels before they are matched; nil renames none
}

// CollectPair collects two runs for a comparison. An error names the side whose samples are missing.
func CollectPair(o [2]Options) (runs [2]*Run, err error) {
	for side := range o {
		if runs[side], err = Collect(o[side]); err != nil {
			if errors.Is(err, ErrNoSamples) {
				err = fmt.Errorf("%c: %w", "AB"[side], err)
			}
			return runs, err
		}
	}
	return runs, nil
}

// CompareSamples puts the samples of two runs side by side. Both must have some. Lines that moved are matched by their text.
func CompareSamples(runs [2]*Run, o CompareOptions) (*Comparison, error) {
	if a, b := runs[0].Samples.Unit, runs[1].Samples.Unit; a != b {
		return nil, fmt.Errorf("profile A has %ss by line and B has %ss, which cannot be compared: record both with the same --mode", a, b)
	}
	c := &Comparison{Sides: runs}
	c.Joint.Label, c.Joint.Stalls, c.Joint.Unit = runs[1].Samples.Label, runs[1].Samples.Stalls, runs[1].Samples.Unit
	c.notes()
	all := c.match(o.Rename)
	for _, k := range all {
		c.fill(k)
	}
	return c, c.choose(all, o.Kernel)
}

// notes adds what limits the comparison.
func (c *Comparison) notes() {
	for side, r := range c.Sides {
		for _, n := range r.Samples.Notes() {
			c.Notes = append(c.Notes, string("AB"[side])+": "+n)
		}
	}
	a, b := c.Sides[0].Samples.Facts, c.Sides[1].Samples.Facts
	if a.Period != b.Period && a.Period > 0 && b.Period > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("A was sampled every %s and B every %s: compare shares, not numbers of samples", figures.Count(a.Period, "cycle"), figures.Grouped(b.Period)))
	}
}

// match finds the counterpart of each function of A in B.
func (c *Comparison) match(rename func(string) string) (all []*ComparedFunction) {
	if rename == nil {
		rename = func(name string) string { return name }
	}
	var named [2]map[string][]*Function
	var names []string
	for side, r := range c.Sides {
		named[side] = map[string][]*Function{}
		for _, f := range r.Samples.AllFunctions() {
			name := rename(f.Name)
			if named[side][name] == nil && named[0][name] == nil {
				names = append(names, name)
			}
			named[side][name] = append(named[side][name], f)
		}
	}
	for _, name := range names {
		for _, pair := range counterparts(named[0][name], named[1][name]) {
			of := cmp.Or(pair[1], pair[0])
			all = append(all, &ComparedFunction{Function: Function{Name: name, Symbol: of.Symbol, Vendor: of.Vendor}, Sides: pair})
		}
	}
	return all
}

// counterparts pairs the compilations of a kernel in A with those in B: those of one binary, then those with equal size, registers and memory,
// then what is left in the order of samples, which the lists have. What is left of the longer list has no counterpart.
func counterparts(a, b []*Function) (pairs [][2]*Function) {
	steps := []func(a, b *profile.SampledFunction) bool{
		func(a, b *profile.SampledFunction) bool {
			return a.Module == b.Module && a.Module != "" && a.Index == b.Index
		},
		func(a, b *profile.SampledFunction) bool {
			return a.Arch != "" && a.Arch == b.Arch && a.Size == b.Size && a.Registers == b.Registers && a.Shared == b.Shared && a.Frame == b.Frame
		},
		func(a, b *profile.SampledFunction) bool { return true },
	}
	b = slices.Clone(b)
	other := make([]*Function, len(a))
	for _, same := range steps {
		for i, f := range a {
			at := slices.IndexFunc(b, func(g *Function) bool { return other[i] == nil && same(f.Symbol, g.Symbol) })
			if at >= 0 {
				other[i] = b[at]
				b = slices.Delete(b, at, at+1)
			}
		}
	}
	for i, f := range a {
		pairs = append(pairs, [2]*Function{f, other[i]})
	}
	for _, g := range b {
		pairs = append(pairs, [2]*Function{nil, g})
	}
	return pairs
}

// fill adds up the lines of a kernel.
func (c *Comparison) fill(k *ComparedFunction) {
	top := &Line{}
	moved := newMoves(k, [2]*Files{c.Sides[0].Files, c.Sides[1].Files})
	for _, side := range []int{1, 0} {
		joint := c.translation(side)
		counts, unplaced := &k.Counts, &k.Unplaced
		if side == 0 {
			counts, unplaced = &k.Old, &k.OldUnplaced
		}
		if f := k.Sides[side]; f != nil {
			counts.Add(joint(f.Counts))
			unplaced.Add(joint(f.Unplaced))
			top.take(f.Lines, side, joint, moved, true)
		}
	}
	top.sort(func(a, b *Line) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.At, b.At), cmp.Compare(figures.OneIf[int](b.Gone), figures.OneIf[int](a.Gone)), cmp.Compare(a.Number, b.Number))
	})
	k.Lines = top.Inlined
}

// translation adds the stall reasons of a side that c.Joint does not have, and returns a function that numbers the reasons of
// the side's counts as c.Joint does.
func (c *Comparison) translation(side int) func(Counts) Counts {
	var to []int
	for _, name := range c.Sides[side].Samples.Reasons {
		at := slices.Index(c.Joint.Reasons, name)
		if at < 0 {
			at = len(c.Joint.Reasons)
			c.Joint.Reasons = append(c.Joint.Reasons, name)
		}
		to = append(to, at)
	}
	return func(counts Counts) Counts {
		of := counts.Reasons
		counts.Reasons = make([]uint64, len(c.Joint.Reasons))
		for i, n := range of {
			counts.Reasons[to[i]] += n
		}
		return counts
	}
}

// take adds the lines of one side. With own these are the kernel's own lines, which match whatever the name of their function,
// since it may have been renamed. Otherwise they are lines of inlined functions.
func (l *Line) take(lines []*Line, side int, joint func(Counts) Counts, moved *moves, own bool) {
	for _, from := range lines {
		c := l.below(moved.place(side, from), own)
		counts := &c.Counts
		if side == 0 {
			counts = &c.Old
		}
		counts.Add(joint(from.Counts))
		c.take(from.Inlined, side, joint, moved, false)
	}
}

// Shares are the shares that a line, or what has no line, has of the kernel's samples in A and B.
func (k *ComparedFunction) Shares(old, new Counts) (a, b float64) {
	return old.Share(k.Old.Samples), new.Share(k.Samples)
}

// Files groups the lines by file. The file with the largest share comes first.
func (k *ComparedFunction) Files() [][]*Line {
	return byFile(k.Lines, func(l *Line) float64 {
		a, b := k.Shares(l.Old, l.Counts)
		return max(a, b)
	})
}

// Parts are the shares that a kernel has of all samples of A and of B.
func (c *Comparison) Parts(k *ComparedFunction) (a, b float64) {
	return k.Old.Share(c.Sides[0].Samples.All), k.Share(c.Sides[1].Samples.All)
}

func (c *Comparison) choose(all []*ComparedFunction, pattern string) (err error) {
	largest := func(k *ComparedFunction) float64 {
		a, b := c.Parts(k)
		return max(a, b)
	}
	slices.SortStableFunc(all, func(x, y *ComparedFunction) int {
		return cmp.Or(cmp.Compare(largest(y), largest(x)), cmp.Compare(x.Name, y.Name))
	})
	c.Kernels, c.Others, err = Choose(all, "samples", pattern, func(k *ComparedFunction) []string {
		names := []string{k.Name}
		for _, f := range k.Sides {
			if f != nil {
				names = append(names, f.Symbol.Name)
			}
		}
		return names
	})
	return err
}

// fileNames returns the files of a kernel's lines on one side, including those of inlined functions.
func (k *ComparedFunction) fileNames(side int) (names []string) {
	var walk func([]*Line)
	walk = func(lines []*Line) {
		for _, l := range lines {
			if !slices.Contains(names, l.File) {
				names = append(names, l.File)
			}
			walk(l.Inlined)
		}
	}
	if f := k.Sides[side]; f != nil {
		walk(f.Lines)
	}
	return names
}

// namesake finds the file of B that corresponds to a file of A: the file with the same path, or the only one with the same base
// name. Without either it returns the file of A.
func namesake(file string, ofB []string) string {
	found := ""
	for _, other := range ofB {
		if other == file {
			return file
		}
		if path.Base(other) == path.Base(file) {
			if found != "" {
				return file
			}
			found = other
		}
	}
	return cmp.Or(found, file)
}
