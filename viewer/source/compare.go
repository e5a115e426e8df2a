package source

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Comparison joins the samples of two profiles by line: A is the old profile, B the new one. It compares a line's share of its
// kernel's samples and not the numbers of samples, which depend on how long the kernels ran.
type Comparison struct {
	Sides   [2]*Samples
	Kernels []*Compared // the requested kernels, the largest part of either profile first
	Others  []*Compared
	Notes   []string
	reasons []string
}

// Compared is a kernel in two profiles. Functions of the same name that were compiled for different arguments are one kernel.
type Compared struct {
	Name     string
	Counts   [2]Counts
	Unplaced [2]Counts
	Lines    []*ComparedLine // by file and place
	kernels  [2][]*Kernel    // most samples first
}

// ComparedLine is a line of the source in two profiles.
type ComparedLine struct {
	File    string // path in B, or in A if B lacks the file
	Number  int    // in B, or in A if Gone
	Gone    bool   // only A's text has the line
	Func    string
	Counts  [2]Counts
	Inlined []*ComparedLine
	at      int // line of B before which a line that is gone is listed; else Number
}

// CompareOptions say what is compared.
type CompareOptions struct {
	Options
	Rename func(kernel string) string // maps the names of kernels before they are matched; nil renames none
	Files  [2]*Files                  // source texts of A and B; lines that moved are matched by their text
}

// Compare puts the samples of two profiles side by side.
func Compare(old, new *profile.Profile, o CompareOptions) (*Comparison, error) {
	c := &Comparison{}
	pattern := o.Kernel
	o.Kernel, o.ByPath = "", false
	for side, p := range []*profile.Profile{old, new} {
		s, err := Collect(p, o.Options)
		if err != nil {
			if errors.Is(err, ErrNoSamples) {
				err = fmt.Errorf("%s: %w", []string{"A", "B"}[side], err)
			}
			return nil, err
		}
		c.Sides[side] = s
	}
	c.notes()
	all := c.match(o.Rename)
	for _, k := range all {
		c.fill(k, o.Files)
	}
	return c, c.choose(all, pattern)
}

// notes adds what limits the comparison.
func (c *Comparison) notes() {
	for side, s := range c.Sides {
		for _, n := range s.Notes() {
			c.Notes = append(c.Notes, []string{"A: ", "B: "}[side]+n)
		}
	}
	a, b := c.Sides[0].Facts, c.Sides[1].Facts
	if a.Period != b.Period && a.Period > 0 && b.Period > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("A was sampled every %d cycles and B every %d: compare shares, not numbers of samples", a.Period, b.Period))
	}
}

// match groups the kernels of both profiles by name.
func (c *Comparison) match(rename func(string) string) []*Compared {
	known := map[string]*Compared{}
	var all []*Compared
	for side, s := range c.Sides {
		for _, k := range append(slices.Clone(s.Kernels), s.Others...) {
			name := k.Name
			if rename != nil {
				name = rename(name)
			}
			if known[name] == nil {
				known[name] = &Compared{Name: name}
				all = append(all, known[name])
			}
			known[name].kernels[side] = append(known[name].kernels[side], k)
		}
	}
	return all
}

// fill adds up the lines of a kernel.
func (c *Comparison) fill(k *Compared, files [2]*Files) {
	top := &ComparedLine{}
	moved := newMoves(k, files)
	for _, side := range []int{1, 0} {
		to := c.translation(side)
		for _, one := range k.kernels[side] {
			k.Counts[side].Add(translated(one.Counts, to))
			k.Unplaced[side].Add(translated(one.Unplaced, to))
			top.take(one.Lines, side, to, moved, true)
		}
	}
	top.sort()
	k.Lines = top.Inlined
}

// translation maps the indexes of a side's stall reasons to indexes in c.reasons, and adds reasons that are missing there.
func (c *Comparison) translation(side int) []int {
	var to []int
	for _, name := range c.Sides[side].reasons {
		at := slices.Index(c.reasons, name)
		if at < 0 {
			at = len(c.reasons)
			c.reasons = append(c.reasons, name)
		}
		to = append(to, at)
	}
	return to
}

func translated(c Counts, to []int) Counts {
	reasons := c.Reasons
	c.Reasons = nil
	for i, n := range reasons {
		if n > 0 {
			for len(c.Reasons) <= to[i] {
				c.Reasons = append(c.Reasons, 0)
			}
			c.Reasons[to[i]] += n
		}
	}
	return c
}

// take adds the lines of one side: the kernel's own, or those of inlined functions.
func (l *ComparedLine) take(lines []*Line, side int, to []int, moved *moves, own bool) {
	for _, from := range lines {
		c := l.below(moved.place(side, from.File, from.Number), from.Func, own)
		c.Counts[side].Add(translated(from.Counts, to))
		c.take(from.Inlined, side, to, moved, false)
	}
}

// below finds or adds a line. The kernel's own lines match whatever the name of their function, since it may have been renamed.
func (l *ComparedLine) below(at placed, function string, own bool) *ComparedLine {
	for _, c := range l.Inlined {
		if c.Number == at.number && c.Gone == at.gone && c.File == at.file && (own || c.Func == function) {
			return c
		}
	}
	c := &ComparedLine{File: at.file, Number: at.number, Gone: at.gone, Func: function, at: at.at}
	l.Inlined = append(l.Inlined, c)
	return c
}

func (l *ComparedLine) sort() {
	slices.SortStableFunc(l.Inlined, func(a, b *ComparedLine) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.at, b.at), cmp.Compare(b2i(b.Gone), b2i(a.Gone)), cmp.Compare(a.Number, b.Number))
	})
	for _, c := range l.Inlined {
		c.sort()
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Shares are the shares that a line has of its kernel's samples in A and B.
func (k *Compared) Shares(counts [2]Counts) (old, new float64) {
	return counts[0].Share(k.Counts[0].Samples), counts[1].Share(k.Counts[1].Samples)
}

// files groups the lines by file. The file with the largest share comes first.
func (k *Compared) files() [][]*ComparedLine {
	var all [][]*ComparedLine
	share := map[string]float64{}
	for _, l := range k.Lines {
		if n := len(all); n > 0 && all[n-1][0].File == l.File {
			all[n-1] = append(all[n-1], l)
		} else {
			all = append(all, []*ComparedLine{l})
		}
		a, b := k.Shares(l.Counts)
		share[l.File] += max(a, b)
	}
	slices.SortStableFunc(all, func(a, b []*ComparedLine) int { return cmp.Compare(share[b[0].File], share[a[0].File]) })
	return all
}

// part is the share that a kernel has of all samples, in the profile where it is larger.
func (c *Comparison) part(k *Compared) float64 {
	return max(k.Counts[0].Share(c.Sides[0].All), k.Counts[1].Share(c.Sides[1].All))
}

func (c *Comparison) choose(all []*Compared, pattern string) error {
	slices.SortStableFunc(all, func(a, b *Compared) int {
		return cmp.Or(cmp.Compare(c.part(b), c.part(a)), cmp.Compare(a.Name, b.Name))
	})
	if pattern == "" {
		c.Kernels, c.Others = all[:1], all[1:]
		return nil
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("read the kernel's name %q: %w", pattern, err)
	}
	for _, k := range all {
		if wanted.MatchString(k.Name) || slices.ContainsFunc(append(slices.Clone(k.kernels[0]), k.kernels[1]...), func(one *Kernel) bool { return wanted.MatchString(one.Function.Name) }) {
			c.Kernels = append(c.Kernels, k)
		} else {
			c.Others = append(c.Others, k)
		}
	}
	if len(c.Kernels) == 0 {
		return fmt.Errorf("no kernel with samples matches %q; those with most are %s", pattern, FirstNames(c.Others, 5, func(k *Compared) string { return k.Name }))
	}
	return nil
}

// newest is the function of B with the most samples, or of A if B has none.
func (k *Compared) newest() *Kernel {
	if len(k.kernels[1]) > 0 {
		return k.kernels[1][0]
	}
	return k.kernels[0][0]
}

// facts are lines about a kernel's code, listed once if they are equal in both profiles.
func (k *Compared) facts() []string {
	var of [2][]string
	for side := range of {
		if len(k.kernels[side]) > 0 {
			of[side] = k.kernels[side][0].facts()
		}
	}
	if slices.Equal(of[0], of[1]) {
		return append([]string{}, of[0]...)
	}
	var all []string
	for side, name := range []string{"A", "B"} {
		if len(k.kernels[side]) == 0 {
			all = append(all, name+" has no samples of it")
		}
		for _, fact := range of[side] {
			all = append(all, name+": "+fact)
		}
	}
	return all
}

// fileNames returns the files of a kernel's lines on one side, including those of inlined functions.
func (k *Compared) fileNames(side int) []string {
	seen := map[string]bool{}
	var names []string
	var walk func([]*Line)
	walk = func(lines []*Line) {
		for _, l := range lines {
			if !seen[l.File] {
				seen[l.File] = true
				names = append(names, l.File)
			}
			walk(l.Inlined)
		}
	}
	for _, one := range k.kernels[side] {
		walk(one.Lines)
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
