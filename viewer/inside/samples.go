package inside

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// samples prints the parts: their shares of cycles and of samples, and what their warps waited for.
func (t *texts) samples(k *Kernel, s *Samples) {
	widest, at, names := 0.0, "", 0
	for _, p := range s.Parts {
		names = max(names, grid.Columns(t.partName(p)))
	}
	reasons := 2
	if t.Width > 0 && names > t.Width-60 {
		reasons = 1
	}
	lines := []grid.Line{{Cells: grid.Plain("cycles", "samples", "stalled by"), Name: "own part of scope"}}
	for _, p := range s.Parts {
		name := t.partName(p)
		cycles, samples := k.Share(p.Own), p.Share(s.All)
		if apart := math.Abs(cycles - samples); apart > widest {
			widest, at = apart, name
		}
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Share(cycles), figures.Share(samples), s.stalls(p.Counts, reasons)), Name: name})
	}
	t.b.WriteString("\n" + figures.Count(s.All, "sample") + " of a second run, by the innermost scope of their lines\n")
	grid.Layout{Width: t.Width, Dots: t.glyphs.Dots}.Write(&t.b, lines, 2) //nolint:errcheck // a strings.Builder
	if widest > 0 {
		line := fmt.Sprintf("check: the shares of cycles and of samples are at most %s points apart, in %s", figures.Places(100*widest, 1), at)
		t.b.WriteString(term.Broken(line, 2, t.Width))
	}
}

const outsideName = "outside of scopes"

// partName lists the scopes of a part.
func (t *texts) partName(p *Sampled) string {
	var names []string
	for _, scope := range p.Scopes {
		if shown := term.Printable(t.label(scope.Name)); !slices.Contains(names, shown) {
			names = append(names, shown)
		}
	}
	if p.Outside {
		names = append(names, outsideName)
	}
	return strings.Join(names, ", ")
}

// stalls are the most frequent stall reasons, of those that are at least 1 % of the samples.
func (s *Samples) stalls(of kernels.Counts, most int) string {
	var parts []string
	for _, wait := range s.facts.Waits(of) {
		share := float64(wait.Samples) / float64(of.Samples)
		if len(parts) == most || share < 0.01 {
			break
		}
		parts = append(parts, term.Printable(wait.Name)+" "+figures.BriefShare(share))
	}
	return strings.Join(parts, ", ")
}
