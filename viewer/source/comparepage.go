package source

import (
	"fmt"
	"io"
	"path"

	"github.com/goproton/goproton/internal/term"
)

// NewComparePage computes the Source tab of a report that compares two profiles. The fields that a page of one profile has
// hold B's values. The fields named Old hold A's.
func NewComparePage(c *Comparison, l [2]Listing) *Page {
	var p [2]*printer
	for side := range p {
		p[side] = newPrinter(io.Discard, c.Sides[side], &l[side])
	}
	page := &Page{Samples: c.Sides[1].Total, Old: &c.Sides[0].Total, Kernels: []PageKernel{}}
	page.About = fmt.Sprintf("A: %s; B: %s", c.Sides[0].about(), c.Sides[1].about())
	for _, name := range c.reasons {
		r, _ := About(name)
		page.Reasons = append(page.Reasons, PageReason{term.Printable(name), r.Means, r.Hint, name != selected})
	}
	all := append(append([]*Compared{}, c.Kernels...), c.Others...)
	for i, k := range all {
		if i == mostKernels {
			page.More = len(all) - i
			break
		}
		page.Kernels = append(page.Kernels, comparedKernel(c, k, p))
	}
	return page
}

func comparedKernel(c *Comparison, k *Compared, p [2]*printer) PageKernel {
	newest := k.newest()
	j := PageKernel{Name: term.Printable(k.Name), Facts: k.facts(), Paths: []PagePath{}, Files: []PageFile{}, NoLine: k.Unplaced[1].Samples, Notes: []string{}}
	j.PageCounts, j.Old = pageCounts(k.Counts[1]), oldCounts(k.Counts[0])
	if len(k.kernels[1]) > 0 {
		j.Advice = c.Sides[1].Advice(newest)
	}
	for side := range p {
		p[side].notes = nil
	}
	for _, lines := range k.files() {
		texts := [2]*Text{p[0].Files.Text(lines[0].File), p[1].Files.Text(lines[0].File)}
		name := p[1].found(lines[0].File, texts[1], []*Line{{Number: lines[len(lines)-1].at}})
		j.Files = append(j.Files, PageFile{name, comparedRows(c, k, p, lines)})
	}
	j.Notes = append(j.Notes, p[1].notes...)
	return j
}

func oldCounts(c Counts) *PageCounts {
	old := pageCounts(c)
	return &old
}

// comparedRows are the lines of a file in B. Lines that are gone are listed where they were.
func comparedRows(c *Comparison, k *Compared, p [2]*printer, lines []*ComparedLine) []PageRow {
	const around = 3
	var rows []PageRow
	text := p[1].Files.Text(lines[0].File)
	next := max(1, lines[0].at-around)
	for _, l := range lines {
		gap := false
		if l.at-next > mostGap || l.at > text.Lines() {
			gap, next = l.at > next && len(rows) > 0, max(next, min(l.at-around, text.Lines()))
		}
		for ; next < l.at && next <= text.Lines(); next++ {
			rows = append(rows, p[1].pageLine(text, next, gap))
			gap = false
		}
		row := p[1].pageLine(text, l.Number, gap)
		if l.Gone {
			row = PageRow{Number: "-" + fmt.Sprint(l.Number), Text: goneText(k, p[0], l), Gap: gap}
		} else {
			next = l.at + 1
		}
		if text.Err != nil {
			row.Text = c.Sides[1].label(l.Func)
		}
		row.PageCounts, row.Old = pageCounts(l.Counts[1]), oldCounts(l.Counts[0])
		row.Inlined = comparedInlined(k, p, l.Inlined)
		rows = append(rows, row)
	}
	for last := min(next+around, text.Lines()+1); next < last; next++ {
		rows = append(rows, p[1].pageLine(text, next, false))
	}
	return rows
}

// goneText is the text of a line that only A has.
func goneText(k *Compared, p *printer, l *ComparedLine) string {
	for _, file := range k.fileNames(0) {
		if namesake(file, k.fileNames(1)) == l.File {
			line, _ := p.Files.Text(file).Line(l.Number)
			return printable(line)
		}
	}
	return ""
}

func comparedInlined(k *Compared, p [2]*printer, inlined []*ComparedLine) []PageRow {
	var rows []PageRow
	for _, l := range inlined {
		side := 1
		if l.Gone {
			side = 0
		}
		line, _ := p[side].Files.Text(l.File).Line(l.Number)
		rows = append(rows, PageRow{
			Number: fmt.Sprintf("%s:%d", term.Printable(path.Base(l.File)), l.Number), Text: printable(line),
			Place:      p[side].callee(k.newest(), &Line{File: l.File, Number: l.Number, Func: l.Func}),
			PageCounts: pageCounts(l.Counts[1]), Old: oldCounts(l.Counts[0]), Inlined: comparedInlined(k, p, l.Inlined),
		})
	}
	return rows
}
