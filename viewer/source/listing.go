package source

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
)

// Listing says how a kernel is printed.
type Listing struct {
	viewer.Terminal
	Unfold  bool // show the lines of functions that were inlined
	Context int  // lines around those with samples
	Files   *Files
	Modules *Modules // for instructions

	IR       IR       // intermediate representations of lines; nil without a trace
	IRStages []string // stages of which all lines are shown; none means a few lines of each stage
}

// A line with at least the share hot of its kernel's samples is marked. Lines with less than cold are left out.
const (
	hot  = 0.10
	cold = 0.01
)

// printer prints listings.
type printer struct {
	*Listing
	s     *Samples
	out   *bufio.Writer
	marks marks
	notes []string
}

type marks struct {
	hot, gap, inlined, full, cut string
	parts                        []string
}

var (
	unicodeMarks = marks{"▶", "⋮", "↳", "█", "…", []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}}
	asciiMarks   = marks{">", ":", "`-", "#", "...", nil}
)

func newPrinter(w io.Writer, s *Samples, l *Listing) *printer {
	p := &printer{Listing: l, s: s, out: bufio.NewWriter(w), marks: unicodeMarks}
	if l.ASCII {
		p.marks = asciiMarks
	}
	return p
}

// Print prints the source of the requested kernels and returns notes on what limits it.
func Print(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	whole, variants := p.listed()
	for i, k := range whole {
		if i > 0 {
			p.line("")
		}
		p.head(k)
		p.source(k)
	}
	p.variants(variants)
	p.others()
	return append(s.Notes(), p.notes...), p.out.Flush()
}

// head says what a kernel is, where it was launched, and where its time goes.
func (p *printer) head(k *Kernel) {
	share := samplesOf(k.Samples) + ", " + percent(k.Share(p.s.All)) + " of all"
	p.line(p.bold(term.Printable(k.Name)) + ": " + share)
	for _, fact := range p.facts(k) {
		p.line("  " + p.fit(fact, 2))
	}
	for i, launched := range k.Paths {
		if i == 3 {
			p.line(fmt.Sprintf("  %s %d more call paths", p.marks.gap, len(k.Paths)-i))
			break
		}
		p.line("  " + p.fit(p.launch(k, launched), 2))
	}
	if mix := p.mix(k.Counts, math.MaxInt); mix != "" {
		p.line("  " + p.fit("stalls: "+mix, 2))
	}
	if advice := p.s.Advice(k); advice != "" {
		p.wrapped("hint: "+advice, "  ")
	}
}

func samplesOf(n uint64) string {
	if n == 1 {
		return "1 sample"
	}
	return fmt.Sprintf("%d samples", n)
}

// launch names a call path, after its share of the kernel's samples if there are several.
func (p *printer) launch(k *Kernel, launched Path) string {
	text := p.launched(launched)
	if len(k.Paths) > 1 {
		text = percent(float64(launched.Samples)/float64(k.Samples)) + " " + text
	}
	return text
}

// launched names a call path.
func (p *printer) launched(at Path) string {
	var names []string
	for _, name := range at.Frames {
		names = append(names, p.frame(name))
	}
	if len(names) == 0 {
		return "outside of all scopes"
	}
	return "called from " + strings.Join(names, " > ")
}

// frame is the short name of a frame.
func (p *printer) frame(name string) string {
	if m := lineFrame.FindStringSubmatch(name); m != nil {
		name = path.Base(m[1]) + ":" + m[2]
		if m[3] != "" {
			name += "@" + m[3]
		}
	}
	return term.Printable(name)
}

// facts describe a function's code: architecture, registers, memory, module.
func (k *Kernel) facts() []string {
	var facts []string
	f := k.Function
	var parts []string
	if f.SM > 0 {
		parts = append(parts, fmt.Sprintf("sm_%d", f.SM), fmt.Sprintf("%d instructions", f.Size/16), fmt.Sprintf("%d registers", f.Registers))
		if f.Shared > 0 {
			parts = append(parts, fmt.Sprintf("%d bytes of static shared memory", f.Shared))
		}
		if f.Frame > 0 || f.LocalLoads+f.LocalStores > 0 {
			parts = append(parts, fmt.Sprintf("%d bytes of local memory per thread (%d loads, %d stores: register spills are the usual cause)", f.Frame, f.LocalLoads, f.LocalStores))
		} else {
			parts = append(parts, "no local memory")
		}
	}
	if len(parts) > 0 {
		facts = append(facts, strings.Join(parts, ", "))
	}
	if k.Variants > 0 && f.Module != "" {
		facts = append(facts, fmt.Sprintf("module %s; compiled %d times, for different arguments", term.Printable(f.Module), k.Variants+1))
	}
	return facts
}

// facts describe the function's code, with what the trace knows of its compilation.
func (p *printer) facts(k *Kernel) []string {
	facts := k.facts()
	if p.IR != nil {
		facts = append(facts, p.IR.Facts(k)...)
	}
	return facts
}

// mix lists the most frequent reasons with their shares of the samples.
func (p *printer) mix(c Counts, most int) string {
	var parts []string
	for i, stall := range p.s.Stalls(c) {
		share := float64(stall.Samples) / float64(c.Samples)
		if i >= most || i > 0 && share < 0.05 && most < math.MaxInt || share < 0.01 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.0f%%", term.Printable(stall.Name), 100*share))
	}
	return strings.Join(parts, ", ")
}

// others lists the largest kernels that are not shown.
func (p *printer) others() {
	if len(p.s.Others) == 0 {
		return
	}
	var parts []string
	for i, k := range p.s.Others {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("%d more", len(p.s.Others)-i))
			break
		}
		parts = append(parts, term.Printable(k.Name)+" "+percent(k.Share(p.s.All)))
	}
	p.line("")
	p.wrapped("not shown: "+strings.Join(parts, ", "), "")
}

// Notes are what limits the numbers of a profile.
func (s *Samples) Notes() []string {
	var notes []string
	f := s.Facts
	if f.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("the hardware lost %d samples in addition to the %d it took", f.Dropped, f.Total))
	}
	if f.BufferFull {
		notes = append(notes, "the hardware's buffer was full at times, so an unknown number of samples is missing; sample less often (interval=) or give it a larger buffer")
	}
	if f.Apportioned > 0 && f.Total > 0 {
		notes = append(notes, fmt.Sprintf("%s of the samples are of functions launched from several call paths, and were shared out by kernel time; collection=serialized attributes them exactly",
			percent(float64(f.Apportioned)/float64(f.Total))))
	}
	return notes
}

func (p *printer) line(text string) {
	p.out.WriteString(strings.TrimRight(text, " "))
	p.out.WriteByte('\n')
}

func (p *printer) note(text string) {
	for _, n := range p.notes {
		if n == text {
			return
		}
	}
	p.notes = append(p.notes, text)
}

// fit cuts a text to the width of the terminal, less the columns before it.
func (p *printer) fit(text string, before int) string {
	if p.Width <= 0 {
		return text
	}
	return runewidth.Truncate(text, max(p.Width-before, 20), p.marks.cut)
}

// wrapped prints a text over several lines if it is too long for one.
func (p *printer) wrapped(text, indent string) {
	width := 100
	if p.Width > 0 {
		width = max(p.Width, 40)
	}
	current := indent
	for _, word := range strings.Fields(text) {
		if current != indent && runewidth.StringWidth(current)+1+runewidth.StringWidth(word) > width {
			p.line(current)
			current = indent
		}
		if current != indent {
			current += " "
		}
		current += word
	}
	p.line(current)
}

const (
	bold     = "\x1b[1m"
	faint    = "\x1b[2m"
	red      = "\x1b[38;5;196m"
	orange   = "\x1b[38;5;208m"
	yellow   = "\x1b[38;5;220m"
	endColor = "\x1b[0m"
)

func (p *printer) painted(text, color string) string {
	if !p.Color || color == "" || text == "" {
		return text
	}
	return color + text + endColor
}

func (p *printer) bold(text string) string  { return p.painted(text, bold) }
func (p *printer) faint(text string) string { return p.painted(text, faint) }

// heat is the colour of a line by its share of the kernel.
func heat(share float64) string {
	switch {
	case share >= 0.3:
		return red
	case share >= hot:
		return orange
	case share >= 0.03:
		return yellow
	}
	return ""
}

const barCells = 10

// bar draws a part of barCells.
func (p *printer) bar(part float64) string {
	if !(part > 0) {
		return ""
	}
	eighths := int(math.Round(min(part, 1) * barCells * 8))
	text := strings.Repeat(p.marks.full, eighths/8)
	switch rest := eighths % 8; {
	case p.marks.parts == nil && rest >= 4:
		text += p.marks.full
	case p.marks.parts != nil && rest > 0:
		text += p.marks.parts[rest-1]
	}
	return text
}

// pad fills a text up to a width; to the right of it, or before it.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-runewidth.StringWidth(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-runewidth.StringWidth(text), 0)) + text
}
