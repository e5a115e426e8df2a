package listing

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// muchMoved is the smallest change of a line's share of its kernel that is marked.
const muchMoved = 0.02

// PrintComparison prints the lines of the requested kernels with the samples of both runs, and returns notes on what limits
// them.
func PrintComparison(w io.Writer, c *kernels.Comparison, terminal viewer.Terminal) (notes []string, err error) {
	l := comparedListing{&printer{view: newView(c.Sides[1], c.Sides[1].Samples, Options{Terminal: terminal}), out: bufio.NewWriter(w)}, c}
	l.old = c.Sides[0].Files
	for i, k := range c.Kernels {
		if i > 0 {
			l.line("")
		}
		l.kernel(k)
	}
	var rest []string
	for _, k := range c.Others {
		rest = append(rest, variantName(&k.Function, cmp.Or(k.Sides[1], k.Sides[0]).Variants)+" "+l.ofAll(k))
	}
	l.notShown(rest)
	return slices.Concat(c.Notes, l.notes), l.out.Flush()
}

type comparedListing struct {
	*printer
	c *kernels.Comparison
}

func (l *comparedListing) kernel(k *kernels.ComparedFunction) {
	l.line(l.Bold(term.Printable(k.Name)) + fmt.Sprintf(": %s %s %s, %s of all", figures.Grouped(k.Old.Samples), l.glyphs.Arrow, figures.Count(k.Samples, l.c.Joint.Unit), l.ofAll(k)))
	for _, fact := range comparedFacts(k) {
		l.line("  " + l.fit(fact, 2))
	}
	for side, counts := range [2]kernels.Counts{k.Old, k.Counts} {
		if mix := mix(&l.c.Joint, counts, math.MaxInt); mix != "" {
			l.uncut(string("AB"[side])+" stalls: "+mix, "  ")
		}
	}
	if len(k.Lines) == 0 {
		l.paragraph("  no line information: it was compiled without (nvcc -lineinfo adds it), or the module is unknown")
		return
	}
	for _, lines := range k.Files() {
		l.file(k, lines)
	}
	if a, b := k.Shares(k.OldUnplaced, k.Unplaced); a+b > 0 {
		l.paragraph(fmt.Sprintf("%s %s %s of the samples are of instructions without line information", figures.Share(a), l.glyphs.Arrow, figures.Share(b)))
	}
}

// comparedFacts are lines about a kernel's code, listed once if they are equal in both runs.
func comparedFacts(k *kernels.ComparedFunction) []string {
	var of [2][]string
	for side := range of {
		if f := k.Sides[side]; f != nil {
			of[side] = codeFacts(f)
		}
	}
	if slices.Equal(of[0], of[1]) {
		return of[0]
	}
	var all []string
	for side, name := range []string{"A", "B"} {
		if k.Sides[side] == nil {
			all = append(all, name+" has no samples of it")
		}
		for _, fact := range of[side] {
			all = append(all, name+": "+fact)
		}
	}
	return all
}

func (l *comparedListing) ofAll(k *kernels.ComparedFunction) string {
	a, b := l.c.Parts(k)
	return fmt.Sprintf("%s %s %s", figures.Share(a), l.glyphs.Arrow, figures.Share(b))
}

const comparedHeader = "      A   share        B   share     change  "

// file prints the lines of one file that have at least 1 % of the kernel's samples in either profile.
func (l *comparedListing) file(k *kernels.ComparedFunction, lines []*kernels.Line) {
	text := l.run.Files.Text(lines[0].File)
	name := l.found(lines[0].File, lastNumber(lines))
	var shown []*kernels.Line
	for _, one := range lines {
		if a, b := k.Shares(one.Old, one.Counts); l.All || a >= cold || b >= cold {
			shown = append(shown, one)
		}
	}
	l.paragraph(l.Faint(name))
	number := len("line")
	for _, one := range shown {
		number = max(number, len(lineNumber(one)))
	}
	most, stalls := l.stallColumn(shown, len(comparedHeader)+number+6)
	if len(shown) > 0 {
		l.line(l.Faint(comparedHeader + grid.Pad(stallHeader[:min(stalls, len(stallHeader))], stalls, false) + "    " + grid.Pad("line", number, true)))
	}
	for _, one := range shown {
		l.row(k, one, text, most, stalls, number)
	}
	if left := len(lines) - len(shown); left > 0 {
		l.line(l.Faint(fmt.Sprintf("%s lines with less than 1%% in both: %d", l.glyphs.Gap, left)))
	}
}

// lineNumber is the number in B. A line that is gone has its number in A, with a minus.
func lineNumber(one *kernels.Line) string {
	if one.Gone {
		return fmt.Sprint(-one.Number)
	}
	return fmt.Sprint(one.Number)
}

const stallHeader = "stalls in B"

// leastComparedText is how many columns of a line's text remain on a narrow terminal.
const leastComparedText = 20

// stallColumn says how many reasons of side B each line has room for, 2 at most, and how wide they are.
func (l *comparedListing) stallColumn(lines []*kernels.Line, others int) (most, width int) {
	for most = 2; most > 0; most-- {
		width = len(stallHeader)
		for _, one := range lines {
			width = max(width, grid.Columns(l.stalls(one, most)))
		}
		if l.Width <= 0 || l.Width-others-width >= leastComparedText {
			return most, width
		}
	}
	return 0, 0
}

// stalls are the most frequent reasons of side B.
func (l *comparedListing) stalls(one *kernels.Line, most int) string {
	if one.Samples == 0 {
		return ""
	}
	return mix(&l.c.Joint, one.Counts, most)
}

func (l *comparedListing) row(k *kernels.ComparedFunction, one *kernels.Line, text *kernels.Text, most, stalls, number int) {
	a, b := k.Shares(one.Old, one.Counts)
	change, color, mark := fmt.Sprintf("%+.1f pp", 100*(b-a)), "", " "
	if math.Abs(b-a) >= muchMoved {
		color, mark = grid.Orange, l.glyphs.Right
	}
	line := l.text(one)
	if !one.Gone && text.Err != nil {
		line = printable(l.s.Label(one.Func))
	}
	left := fmt.Sprintf("%7s %7s  %7s %7s  %s  %s  %s %s  ", count0(one.Old), share0(one.Old, a), count0(one.Counts), share0(one.Counts, b),
		l.Paint(grid.Pad(change, 9, true), color), grid.Pad(l.stalls(one, most), stalls, false), l.Paint(mark, color), l.Faint(grid.Pad(lineNumber(one), number, true)))
	body := line
	if l.Width > 0 {
		body = l.fit(body, min(len(comparedHeader)+stalls+number+6, l.Width-leastComparedText))
	}
	l.line(left + body)
}

func count0(c kernels.Counts) string {
	if c.Samples == 0 {
		return ""
	}
	return fmt.Sprint(c.Samples)
}

func share0(c kernels.Counts, share float64) string {
	if c.Samples == 0 {
		return ""
	}
	return figures.Share(share)
}
