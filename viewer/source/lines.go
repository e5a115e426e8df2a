package source

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Line is a line of the source with the samples of all instructions that were made of it.
type Line struct {
	File    string
	Number  int
	Func    string  // the function that the line is in; "" if the compiler did not say
	Counts          // with what was inlined at the line
	Own     uint64  // without
	Inlined []*Line // lines of functions that were inlined here, most samples first
}

// deepestInlined bounds what a file can make us nest; the deepest chain of real code that we have seen has 9 places.
const deepestInlined = 64

// place turns samples of instructions into those of lines.
func (k *Kernel) place() {
	top := &Line{}
	for i := range k.PCs {
		frames := k.Function.At(k.PCs[i].Offset)
		if len(frames) > 0 && frames[len(frames)-1].Line < 1 {
			frames = nil // what compilers add of their own has line 0
		}
		if len(frames) == 0 {
			k.Unplaced.Add(k.PCs[i].Counts)
			continue
		}
		line := top
		for f := len(frames) - 1; f >= max(0, len(frames)-deepestInlined); f-- {
			line = line.below(frames[f])
			line.Add(k.PCs[i].Counts)
		}
		line.Own += k.PCs[i].Samples
	}
	top.sort()
	k.Lines = top.Inlined
	slices.SortStableFunc(k.Lines, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Number, b.Number))
	})
}

// Straighten corrects the lines of instructions where the binary has them wrong; of inlined code the innermost.
func (k *Kernel) Straighten(right func(offset uint64, told int) int) {
	for i := range k.Function.Places {
		p := &k.Function.Places[i]
		if len(p.Frames) == 0 {
			continue
		}
		if line := right(p.Offset, p.Frames[0].Line); line != p.Frames[0].Line {
			p.Frames = slices.Clone(p.Frames) // instructions of one place may share them
			p.Frames[0].Line = line
		}
	}
	k.Unplaced = Counts{}
	k.place()
}

// below finds or adds the line of an inlined call.
func (l *Line) below(f profile.SourceFrame) *Line {
	for _, c := range l.Inlined {
		if c.Number == f.Line && c.File == f.File && c.Func == f.Func {
			return c
		}
	}
	c := &Line{File: f.File, Number: f.Line, Func: f.Func}
	l.Inlined = append(l.Inlined, c)
	return c
}

func (l *Line) sort() {
	slices.SortStableFunc(l.Inlined, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.File, b.File), cmp.Compare(a.Number, b.Number))
	})
	for _, c := range l.Inlined {
		c.sort()
	}
}

// merged are the lines of the function with each number once: code of a file that was inlined into the function, as
// macros and generated code are, may say another function there.
func merged(lines []*Line) []*Line {
	var all []*Line
	for _, l := range lines {
		if n := len(all); n > 0 && all[n-1].Number == l.Number && all[n-1].File == l.File {
			all[n-1].Add(l.Counts)
			all[n-1].Own += l.Own
			all[n-1].Inlined = append(all[n-1].Inlined, l.Inlined...)
			continue
		}
		one := *l // the kernel's own stay as they are
		one.Reasons, one.Inlined = slices.Clone(l.Reasons), slices.Clone(l.Inlined)
		all = append(all, &one)
	}
	return all
}

// files are the lines of the function by file, that with most samples first.
func (k *Kernel) files() [][]*Line {
	var all [][]*Line
	sums := map[string]uint64{}
	for _, l := range merged(k.Lines) {
		if n := len(all); n > 0 && all[n-1][0].File == l.File {
			all[n-1] = append(all[n-1], l)
		} else {
			all = append(all, []*Line{l})
		}
		sums[l.File] += l.Samples
	}
	slices.SortStableFunc(all, func(a, b []*Line) int { return cmp.Compare(sums[b[0].File], sums[a[0].File]) })
	return all
}
