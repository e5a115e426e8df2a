package inside

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// Samples are the samples of a kernel by scope and by line.
type Samples struct {
	Parts []*Sampled // in order of the scopes
	Lines []*SampledLine
	All   uint64
	facts *kernels.Samples
}

// Sampled are scopes that have the same lines, with the instruction samples of a second run there. A line in several scopes counts for
// the innermost.
type Sampled struct {
	Scopes  []*Scope
	Outside bool   // what is outside of all scopes is a part of it; without scopes it is all
	Own     uint64 // cycles outside of inner scopes
	kernels.Counts
}

// SampledLine has the samples of one line, without those of functions that were inlined there.
type SampledLine struct {
	File   string
	Number int
	kernels.Counts
}

// Join adds the instruction samples that a second run took of the same kernel to the lines of its scopes.
func Join(k *Kernel, sampled *profile.Profile, files *kernels.Files) (*Samples, error) {
	r, err := kernels.Collect(kernels.Options{Profile: sampled, Files: files, Kernel: "^" + regexp.QuoteMeta(k.Name) + "$"})
	if err != nil {
		return nil, fmt.Errorf("join the samples of %s: %w", k.Name, err)
	}
	j := &joiner{files: files, of: &Samples{facts: r.Samples}, main: k.file()}
	j.scopes(k.Scopes, true)
	if j.whole == nil {
		j.whole = &Sampled{}
		j.of.Parts = append(j.of.Parts, j.whole)
	}
	j.whole.Outside = true
	j.whole.Own += k.Whole() - min(k.Cycles(), k.Whole())
	for _, f := range r.Samples.Functions {
		for _, l := range f.Lines {
			j.line(l, j.whole)
		}
		j.whole.Add(f.Unplaced)
		j.of.All += f.Samples
	}
	return j.of, nil
}

type joiner struct {
	files *kernels.Files
	of    *Samples
	main  string // the kernel's file
	spans []spanOf
	whole *Sampled // an outermost scope without lines, which is around the whole kernel
}

type spanOf struct {
	span
	part *Sampled
}

// scopes makes a part of scopes that have the same lines.
func (j *joiner) scopes(scopes []*Scope, outermost bool) {
	for _, s := range scopes {
		spans := s.spans(j.files)
		var part *Sampled
		for _, known := range j.spans {
			if len(spans) > 0 && known.span == spans[0] {
				part = known.part
			}
		}
		if part == nil {
			part = &Sampled{}
			j.of.Parts = append(j.of.Parts, part)
			for _, lines := range spans {
				j.spans = append(j.spans, spanOf{lines, part})
			}
		}
		part.Scopes = append(part.Scopes, s)
		part.Own += s.Own()
		if outermost && len(spans) == 0 && j.whole == nil {
			j.whole = part
		}
		j.scopes(s.Inner, false)
	}
}

// innermost is the part with the fewest lines around a line; nil for none.
func (j *joiner) innermost(file string, line int) (part *Sampled) {
	least := math.MaxInt
	for _, s := range j.spans {
		if size := s.last - s.first; s.has(file, line) && size < least {
			part, least = s.part, size
		}
	}
	return part
}

// nearest is the part whose scope begins nearest to a line of another file than the kernel's; nil for none. The file of a function that a
// scope is around has other functions that it calls: a reduction is in a library, next to what it combines values with. Modules of Triton
// 3.6 do not say what was inlined where.
func (j *joiner) nearest(file string, line int) (part *Sampled) {
	if sameFile(file, j.main) {
		return nil
	}
	least := math.MaxInt
	for _, s := range j.spans {
		if away := max(s.first-line, line-s.first); sameFile(file, s.file) && away < least {
			part, least = s.part, away
		}
	}
	return part
}

// line adds the samples of a line, and those of functions inlined there, which may have scopes of their own.
func (j *joiner) line(l *kernels.Line, around *Sampled) {
	part := j.innermost(l.File, l.Number)
	if part == nil && around == j.whole {
		part = j.nearest(l.File, l.Number)
	}
	if part != nil {
		around = part
	}
	own := l.Counts
	own.Reasons = slices.Clone(own.Reasons)
	for _, inlined := range l.Inlined {
		j.line(inlined, around)
		own.Samples -= inlined.Samples
		own.Stalled -= inlined.Stalled
		own.NotIssued -= inlined.NotIssued
		for i, n := range inlined.Reasons {
			own.Reasons[i] -= n
		}
	}
	around.Add(own)
	j.of.line(l.File, l.Number).Add(own)
}

// line finds or adds a line.
func (s *Samples) line(file string, number int) *SampledLine {
	for _, l := range s.Lines {
		if l.Number == number && l.File == file {
			return l
		}
	}
	l := &SampledLine{File: file, Number: number}
	s.Lines = append(s.Lines, l)
	return l
}
