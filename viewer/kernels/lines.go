package kernels

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

	// Of a comparison of two runs, A and B. File and Number are then those in B, or in A if B lacks the file or the line.
	Old     Counts // of A; the line's own Counts are B's
	Gone    bool   // only A's text has the line
	OldFile string // path in A of a line that is gone
	At      int    // for a line that is gone the line of B before which it is listed, else Number; 0 without a comparison
}

// Place is the number of the line at which it is listed.
func (l *Line) Place() int { return cmp.Or(l.At, l.Number) }

// deepestInlined limits the depth of inlining that is read from a file. The deepest chain seen in real code has 9 places.
const deepestInlined = 64

// place adds the samples of instructions to lines, through the chain of inlined calls.
func (f *Function) place() {
	top := &Line{}
	for i := range f.PCs {
		frames := f.Symbol.At(f.PCs[i].Offset)
		if len(frames) > 0 && frames[len(frames)-1].Line < 1 {
			frames = nil // code that the compiler adds has line 0
		}
		if len(frames) == 0 {
			f.Unplaced.Add(f.PCs[i].Counts)
			continue
		}
		line := top
		for at := len(frames) - 1; at >= max(0, len(frames)-deepestInlined); at-- {
			line = line.below(Line{File: frames[at].File, Number: frames[at].Line, Func: frames[at].Func}, false)
			line.Add(f.PCs[i].Counts)
		}
		line.Own += f.PCs[i].Samples
	}
	top.sort(func(a, b *Line) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.File, b.File), cmp.Compare(a.Number, b.Number))
	})
	f.Lines = top.Inlined
	slices.SortStableFunc(f.Lines, func(a, b *Line) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Number, b.Number))
	})
}

// correctLines replaces the line of every instruction, for inlined code the innermost, by the result of correct, and adds up
// the samples of lines again. Binaries have some lines wrong. correct gets the recorded line and returns the right one.
func (f *Function) correctLines(correct func(offset uint64, recorded int) int) {
	for i := range f.Symbol.Places {
		p := &f.Symbol.Places[i]
		if len(p.Frames) == 0 {
			continue
		}
		if line := correct(p.Offset, p.Frames[0].Line); line != p.Frames[0].Line {
			p.Frames = slices.Clone(p.Frames) // instructions of the same place may share the slice
			p.Frames[0].Line = line
		}
	}
	f.Unplaced = Counts{}
	f.place()
}

// below finds or adds a line of inlined code. With anyFunc the name of its function may be another.
func (l *Line) below(want Line, anyFunc bool) *Line {
	for _, c := range l.Inlined {
		if c.Number == want.Number && c.Gone == want.Gone && c.File == want.File && (anyFunc || c.Func == want.Func) {
			return c
		}
	}
	c := &want
	l.Inlined = append(l.Inlined, c)
	return c
}

func (l *Line) sort(by func(a, b *Line) int) {
	slices.SortStableFunc(l.Inlined, by)
	for _, c := range l.Inlined {
		c.sort(by)
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
		one := *l // a copy, since Function.Lines must not change
		one.Reasons, one.Inlined = slices.Clone(l.Reasons), slices.Clone(l.Inlined)
		all = append(all, &one)
	}
	return all
}

// Files groups the lines of the function by file. The file with the most samples comes first.
func (f *Function) Files() [][]*Line {
	return byFile(merged(f.Lines), func(l *Line) float64 { return float64(l.Samples) })
}

// byFile groups lines, which are in order of their files. The file with the largest sum of weights comes first.
func byFile(lines []*Line, weight func(*Line) float64) [][]*Line {
	var all [][]*Line
	sums := map[string]float64{}
	for _, l := range lines {
		if n := len(all); n > 0 && all[n-1][0].File == l.File {
			all[n-1] = append(all[n-1], l)
		} else {
			all = append(all, []*Line{l})
		}
		sums[l.File] += weight(l)
	}
	slices.SortStableFunc(all, func(a, b []*Line) int { return cmp.Compare(sums[b[0].File], sums[a[0].File]) })
	return all
}

// moreCallers chooses between two chains of places for the same code, innermost first: a, unless b begins with a and has further
// callers.
func moreCallers(a, b []profile.SourceFrame) []profile.SourceFrame {
	if len(b) <= len(a) {
		return a
	}
	for i := range a {
		if a[i].File != b[i].File || a[i].Line != b[i].Line {
			return a
		}
	}
	return slices.Concat(a, b[len(a):])
}
