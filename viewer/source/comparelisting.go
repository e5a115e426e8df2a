package source

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
)

// muchMoved is the smallest change of a line's share of its kernel that is marked.
const muchMoved = 0.02

// PrintComparison prints the lines of the requested kernels with the samples of both profiles, and returns notes on what limits
// them. files are the source texts of A and of B.
func PrintComparison(w io.Writer, c *Comparison, files [2]*Files, terminal viewer.Terminal) (notes []string, err error) {
	l := comparedListing{c: c, printer: newPrinter(w, c.Sides[1], &Listing{Terminal: terminal, Files: files[1]})}
	l.old = newPrinter(io.Discard, c.Sides[0], &Listing{Terminal: terminal, Files: files[0]})
	l.out = bufio.NewWriter(w)
	for i, k := range c.Kernels {
		if i > 0 {
			l.line("")
		}
		l.kernel(k)
	}
	l.rest()
	return append(append([]string{}, c.Notes...), l.notes...), l.out.Flush()
}

type comparedListing struct {
	*printer
	c   *Comparison
	old *printer
}

func (l *comparedListing) kernel(k *Compared) {
	l.line(l.bold(term.Printable(k.Name)) + fmt.Sprintf(": %d %s %d samples, %s of all", k.Counts[0].Samples, l.arrow(), k.Counts[1].Samples, l.ofAll(k)))
	for _, fact := range k.facts() {
		l.line("  " + l.fit(fact, 2))
	}
	for side, name := range []string{"A", "B"} {
		if mix := l.c.mixOf(k.Counts[side], math.MaxInt); mix != "" {
			l.line("  " + l.fit(name+" stalls: "+mix, 2))
		}
	}
	if len(k.Lines) == 0 {
		l.line("")
		l.line("  no line information: it was compiled without (nvcc -lineinfo adds it), or the module is unknown")
		return
	}
	for _, lines := range k.files() {
		l.file(k, lines)
	}
	if a, b := k.Shares(k.Unplaced); a+b > 0 {
		l.line("")
		l.line(fmt.Sprintf("%s %s %s of the samples are of instructions without line information", percent(a), l.arrow(), percent(b)))
	}
}

func (l *comparedListing) arrow() string {
	if l.ASCII {
		return "->"
	}
	return "→"
}

func (l *comparedListing) ofAll(k *Compared) string {
	return fmt.Sprintf("%s %s %s", percent(k.Counts[0].Share(l.c.Sides[0].All)), l.arrow(), percent(k.Counts[1].Share(l.c.Sides[1].All)))
}

// mixOf lists the most frequent stall reasons, as printer.mix does for one profile.
func (c *Comparison) mixOf(counts Counts, most int) string {
	joint := Samples{reasons: c.reasons}
	return (&printer{s: &joint}).mix(counts, most)
}

const comparedHeader = "      A   share        B   share   change  "

// file prints the lines of one file that have at least 1 % of the kernel's samples in either profile.
func (l *comparedListing) file(k *Compared, lines []*ComparedLine) {
	text := l.Files.Text(lines[0].File)
	name := l.found(lines[0].File, text, []*Line{{Number: lines[len(lines)-1].at}})
	var shown []*ComparedLine
	for _, one := range lines {
		if a, b := k.Shares(one.Counts); l.All || a >= cold || b >= cold {
			shown = append(shown, one)
		}
	}
	l.line("")
	l.line(l.faint(name))
	stalls, number := len("stalls in B"), len("line")
	for _, one := range shown {
		stalls = max(stalls, runewidth.StringWidth(l.stalls(one)))
		number = max(number, len(lineNumber(one)))
	}
	if len(shown) > 0 {
		l.line(l.faint(comparedHeader + pad("stalls in B", stalls) + "    " + padLeft("line", number)))
	}
	for _, one := range shown {
		l.row(k, one, text, stalls, number)
	}
	if left := len(lines) - len(shown); left > 0 {
		l.line(l.faint(fmt.Sprintf("%s lines with less than 1%% in both: %d", l.marks.gap, left)))
	}
}

// lineNumber is the number in B. A line that is gone has its number in A, with a minus.
func lineNumber(one *ComparedLine) string {
	if one.Gone {
		return fmt.Sprint(-one.Number)
	}
	return fmt.Sprint(one.Number)
}

func (l *comparedListing) stalls(one *ComparedLine) string {
	if one.Counts[1].Samples == 0 {
		return ""
	}
	return l.c.mixOf(one.Counts[1], 2)
}

func (l *comparedListing) row(k *Compared, one *ComparedLine, text *Text, stalls, number int) {
	a, b := k.Shares(one.Counts)
	change, color, mark := fmt.Sprintf("%+.1f%%", 100*(b-a)), "", " "
	if math.Abs(b-a) >= muchMoved {
		color, mark = orange, l.marks.hot
	}
	line, _ := text.Line(one.Number)
	if one.Gone {
		line = goneText(k, l.old, one)
	} else if text.Err != nil {
		line = l.s.label(one.Func)
	}
	left := fmt.Sprintf("%7s %7s  %7s %7s  %s  %s  %s %s  ", count0(one.Counts[0]), share0(one.Counts[0], a), count0(one.Counts[1]), share0(one.Counts[1], b),
		l.painted(padLeft(change, 7), color), pad(l.stalls(one), stalls), l.painted(mark, color), l.faint(padLeft(lineNumber(one), number)))
	body := printable(line)
	if l.Width > 0 {
		body = l.fit(body, min(len(comparedHeader)+stalls+number+6, l.Width-20))
	}
	l.line(left + body)
}

func count0(c Counts) string {
	if c.Samples == 0 {
		return ""
	}
	return fmt.Sprint(c.Samples)
}

func share0(c Counts, share float64) string {
	if c.Samples == 0 {
		return ""
	}
	return percent(share)
}

// rest lists the largest kernels that are not shown.
func (l *comparedListing) rest() {
	var parts []string
	for i, k := range l.c.Others {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("%d more", len(l.c.Others)-i))
			break
		}
		parts = append(parts, term.Printable(k.Name)+" "+l.ofAll(k))
	}
	if len(parts) > 0 {
		l.line("")
		l.wrapped("not shown: "+strings.Join(parts, ", "), "")
	}
}
