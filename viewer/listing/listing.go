// Package listing prints what package kernels has collected: as text for a terminal, as JSON for programs, and as the data of
// a report's Source tab. No printer computes times or adds up samples.
//
//   - text: the table of a kernel's launches (table.go, with a trace), its lines (sourcelisting.go) or instructions
//     (sasslisting.go), two runs side by side (comparelisting.go)
//   - JSON: json.go, and tablesjson.go with a trace
//   - page: page.go
//
// The sentences that they share, and the notes about missing texts, are in describe.go.
package listing

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// Options say how kernels are printed.
type Options struct {
	viewer.Terminal
	Instructions bool     // print instructions instead of lines
	Unfold       bool     // show the lines of functions that were inlined
	Context      int      // lines around those with samples
	Stages       []string // stages of the compiler of which all lines are shown; none means a few lines of each stage
}

// A line with at least the share hot of its kernel's samples is marked. Lines with less than cold are left out.
const (
	hot  = 0.10
	cold = 0.01
)

// printer prints text for a terminal.
type printer struct {
	*view
	out      *bufio.Writer
	noStalls bool // a table had no room for the reasons of stalls
}

// Print prints the requested kernels of a run: with a trace a table of their specialisations and launches, then their source or
// instructions. It returns notes on what is missing.
func Print(w io.Writer, r *kernels.Run, o Options) (notes []string, err error) {
	p := &printer{view: newView(r, r.Samples, o), out: bufio.NewWriter(w)}
	var dropped []string
	if r.Traced() {
		if dropped, err = p.tables(); err != nil {
			return nil, err
		}
	}
	if r.Samples != nil {
		if len(r.Kernels) > 0 {
			p.line("")
		}
		p.sampled()
		notes = r.Samples.Notes()
	} else {
		p.unsampled()
		p.otherKernels()
	}
	notes = slices.Concat(r.Notes, notes, p.notes)
	if p.noStalls {
		dropped = append(dropped, "the stalls of each line")
	}
	if len(dropped) > 0 {
		notes = append(notes, "the table has no room for "+strings.Join(dropped, ", ")+"; a larger --width shows them")
	}
	return notes, p.out.Flush()
}

// sampled prints the requested functions.
func (p *printer) sampled() {
	whole, variants := p.listed()
	for i, f := range whole {
		if i > 0 {
			p.line("")
		}
		p.head(f)
		p.body(f)
	}
	p.variants(variants)
	p.others()
}

// body prints the code of a function without a heading.
func (p *printer) body(f *kernels.Function) {
	if p.Instructions {
		p.line("")
		p.instructions(f)
	} else {
		p.source(f)
	}
}

const noCode = "the trace has no machine code of it: cubins lie in cubins/ next to the traces of proton run --trace, or where they were compiled"

// unsampled prints the code of each kernel's specialisation with most time; with --all that of all specialisations.
func (p *printer) unsampled() {
	what := "lines"
	if p.Instructions {
		what = "instructions"
	}
	for _, k := range p.run.Kernels {
		shown := 0
		for i, s := range k.Specialisations {
			if shown > 0 && !p.All {
				p.paragraph(fmt.Sprintf("%s more; --all shows the %s of each", figures.Count(len(k.Specialisations)-i, "specialisation"), what))
				break
			}
			f := p.bare(k, s)
			if f == nil {
				continue
			}
			shown++
			if len(k.Specialisations) > 1 {
				p.paragraph(term.Printable(k.Name) + " [" + term.Printable(s.Label) + "]")
			}
			p.body(f)
		}
		if shown == 0 && p.Instructions {
			p.note(k.Name + ": " + noCode)
		}
	}
}

// otherKernels names the kernels of the trace that are not shown.
func (p *printer) otherKernels() {
	if len(p.run.Others) > 0 {
		p.paragraph("not shown: " + term.Printable(kernels.FirstNames(p.run.Others, 5, func(k *kernels.Kernel) string { return k.Name })))
	}
}

// head says what a function is, where it was launched, and where its time goes.
func (p *printer) head(f *kernels.Function) {
	share := figures.Count(f.Samples, p.s.Unit) + ", " + figures.Share(f.Share(p.s.All)) + " of all"
	p.line(p.Bold(term.Printable(f.Name)) + ": " + share)
	for _, fact := range facts(f) {
		p.line("  " + p.fit(fact, 2))
	}
	for i, launched := range f.Paths {
		if i == 3 {
			p.line(fmt.Sprintf("  %s %d more call paths", p.glyphs.Gap, len(f.Paths)-i))
			break
		}
		text := pathText(launched)
		if len(f.Paths) > 1 {
			text = figures.Share(float64(launched.Samples)/float64(f.Samples)) + " " + text
		}
		p.line("  " + p.fit(text, 2))
	}
	if mix := mix(p.s, f.Counts, math.MaxInt); mix != "" && !p.s.Counted() {
		p.uncut("stalls: "+mix, "  ")
	}
	if did := f.Did.Sentence(); did != "" {
		p.wrapped(did, "  ")
	}
	if advice := p.advice(f); advice != "" {
		p.wrapped("hint: "+advice, "  ")
	}
}

// others lists the largest functions that are not shown.
func (p *printer) others() {
	var parts []string
	for _, f := range p.s.Others {
		parts = append(parts, variantName(f, f.Variants)+" "+figures.Share(f.Share(p.s.All)))
	}
	p.notShown(parts)
}

// variantName is a function's name; if others have the same name, with its registers, by which people know it, and its module.
func variantName(f *kernels.Function, variants int) string {
	if variants == 0 || f.Symbol.Module == "" {
		return term.Printable(f.Name)
	}
	registers := ""
	if n := f.Symbol.Registers; n > 0 {
		registers = figures.Count(n, "register") + ", "
	}
	return term.Printable(f.Name) + " (" + registers + "module " + term.Printable(f.Symbol.Module[:min(len(f.Symbol.Module), 8)]) + ")"
}

// notShown prints the first of the functions that are not shown.
func (p *printer) notShown(parts []string) {
	if len(parts) == 0 {
		return
	}
	if n := len(parts); n > 5 {
		parts = append(parts[:5], fmt.Sprintf("%d more", n-5))
	}
	p.line("")
	p.wrapped("not shown: "+strings.Join(parts, ", "), "")
}

func (p *printer) line(text string) {
	p.out.WriteString(strings.TrimRight(text, " "))
	p.out.WriteByte('\n')
}

// paragraph prints a line with an empty one before it.
func (p *printer) paragraph(text string) {
	p.line("")
	p.line(text)
}

// fit cuts a text to the width of the terminal, less the columns before it.
func (p *printer) fit(text string, before int) string {
	if p.Width <= 0 {
		return text
	}
	return grid.Fit(text, max(p.Width-before, 20), p.glyphs.Dots)
}

// uncut prints a text whose end matters: in one line if it goes to a file, over several on a terminal.
func (p *printer) uncut(text, indent string) {
	if p.Width <= 0 {
		p.line(indent + text)
		return
	}
	p.wrapped(text, indent)
}

// wrapped prints a text over several lines if it is too long for one.
func (p *printer) wrapped(text, indent string) {
	width := 100
	if p.Width > 0 {
		width = max(p.Width, 40)
	}
	p.out.WriteString(term.Broken(indent+text, len(indent), width))
}

// heat is the colour of a line by its share of the kernel.
func heat(share float64) string {
	switch {
	case share >= 0.3:
		return grid.Red
	case share >= hot:
		return grid.Orange
	case share >= 0.03:
		return grid.Yellow
	}
	return ""
}
