package inside

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// Sampled are scopes that have the same lines, with the instruction samples of a second run there. A line in several scopes counts for
// the innermost.
type Sampled struct {
	Scopes []*Scope // none of what is outside of all scopes
	Own    uint64   // cycles outside of inner scopes
	kernels.Counts
}

// Samples are the samples of a kernel by scope.
type Samples struct {
	Parts []*Sampled // in order of the scopes; what is outside of all scopes is the last
	All   uint64
	facts *kernels.Samples
}

// Join adds the instruction samples that a second run took of the same kernel to the lines of its scopes.
func Join(k *Kernel, sampled *profile.Profile, files *kernels.Files) (*Samples, error) {
	r, err := kernels.Collect(kernels.Options{Profile: sampled, Files: files, Kernel: "^" + regexp.QuoteMeta(k.Name) + "$"})
	if err != nil {
		return nil, fmt.Errorf("join the samples of %s: %w", k.Name, err)
	}
	j := &joiner{files: files, of: &Samples{facts: r.Samples}, outside: &Sampled{}}
	j.scopes(k.Scopes, nil)
	own := k.Cycles()
	j.outside.Own = k.Whole() - min(own, k.Whole())
	j.of.Parts = append(j.of.Parts, j.outside)
	for _, f := range r.Samples.Functions {
		rest := j.whole
		if rest == nil {
			rest = j.outside
		}
		for _, l := range f.Lines {
			j.line(l, rest)
		}
		rest.Add(f.Unplaced)
		j.of.All += f.Samples
	}
	return j.of, nil
}

type joiner struct {
	files   *kernels.Files
	of      *Samples
	spans   []spanOf
	whole   *Sampled // an outermost scope without lines, which is around the whole kernel
	outside *Sampled
}

type spanOf struct {
	span
	part *Sampled
}

// scopes makes a part of scopes that have the same lines.
func (j *joiner) scopes(scopes []*Scope, around *Sampled) {
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
		if around == nil && len(spans) == 0 && j.whole == nil {
			j.whole = part
		}
		j.scopes(s.Inner, part)
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

// line adds the samples of a line, and those of functions inlined there, which may have scopes of their own.
func (j *joiner) line(l *kernels.Line, around *Sampled) {
	if part := j.innermost(l.File, l.Number); part != nil {
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
}

// samples prints the parts: their shares of cycles and of samples, and what their warps waited for.
func (t *texts) samples(k *Kernel, s *Samples) {
	lines := []grid.Line{{Cells: grid.Plain("cycles", "samples", "stalled by"), Name: "own part of scope"}}
	widest, at := 0.0, ""
	for _, p := range s.Parts {
		name := "(outside of scopes)"
		if len(p.Scopes) > 0 {
			var names []string
			for _, scope := range p.Scopes {
				if shown := term.Printable(t.label(scope.Name)); !slices.Contains(names, shown) {
					names = append(names, shown)
				}
			}
			name = strings.Join(names, ", ")
		}
		cycles, samples := k.Share(p.Own), p.Share(s.All)
		if apart := math.Abs(cycles - samples); apart > widest {
			widest, at = apart, name
		}
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Share(cycles), figures.Share(samples), s.stalls(p)), Name: name})
	}
	t.b.WriteString("\n" + figures.Count(s.All, "sample") + " of a second run, by the innermost scope of their lines\n")
	grid.Layout{Width: t.Width, Dots: t.glyphs.Dots}.Write(&t.b, lines, 2) //nolint:errcheck // a strings.Builder
	if widest > 0 {
		line := fmt.Sprintf("check: the shares of cycles and of samples are at most %s points apart (%s)", figures.Places(100*widest, 1), at)
		t.b.WriteString(strings.Join(term.Break(line, 2, t.Width), "\n") + "\n")
	}
}

// stalls are the two most frequent stall reasons.
func (s *Samples) stalls(p *Sampled) string {
	var parts []string
	for _, wait := range s.facts.Waits(p.Counts) {
		if len(parts) == 2 || p.Samples == 0 {
			break
		}
		parts = append(parts, term.Printable(wait.Name)+" "+figures.BriefShare(float64(wait.Samples)/float64(p.Samples)))
	}
	return strings.Join(parts, ", ")
}
