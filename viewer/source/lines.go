package source

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Line is a line of the source with the samples of all instructions that were compiled from it.
type Line struct {
	File    string
	Number  int
	Func    string  // the function that the line is in; "" if the compiler did not record it
	Counts          // including those of functions inlined at the line
	Own     uint64  // samples without those of inlined functions
	Inlined []*Line // lines of functions that were inlined here, most samples first
}

// deepestInlined limits the depth of inlining that is read from a file. The deepest chain seen in real code has 9 places.
const deepestInlined = 64

// place adds the samples of instructions to lines, through the chain of inlined calls.
func (k *Kernel) place() {
	top := &Line{}
	for i := range k.PCs {
		frames := k.Function.At(k.PCs[i].Offset)
		if len(frames) > 0 && frames[len(frames)-1].Line < 1 {
			frames = nil // code that the compiler adds has line 0
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

// CorrectLines replaces the line of every instruction, for inlined code the innermost, by the result of correct, and adds up
// the samples of lines again. Binaries have some lines wrong. correct gets the recorded line and returns the right one.
func (k *Kernel) CorrectLines(correct func(offset uint64, recorded int) int) {
	for i := range k.Function.Places {
		p := &k.Function.Places[i]
		if len(p.Frames) == 0 {
			continue
		}
		if line := correct(p.Offset, p.Frames[0].Line); line != p.Frames[0].Line {
			p.Frames = slices.Clone(p.Frames) // instructions of the same place may share the slice
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

// merged returns the lines of the function with one entry per file and number. Code that was inlined from the same file, such
// as macros and generated code, may have the same line under another function.
func merged(lines []*Line) []*Line {
	var all []*Line
	for _, l := range lines {
		if n := len(all); n > 0 && all[n-1].Number == l.Number && all[n-1].File == l.File {
			all[n-1].Add(l.Counts)
			all[n-1].Own += l.Own
			all[n-1].Inlined = append(all[n-1].Inlined, l.Inlined...)
			continue
		}
		one := *l // a copy, since Kernel.Lines must not change
		one.Reasons, one.Inlined = slices.Clone(l.Reasons), slices.Clone(l.Inlined)
		all = append(all, &one)
	}
	return all
}

// files groups the lines of the function by file. The file with the most samples comes first.
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
