package source

import (
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/goproton/goproton/internal/term"
)

// Page is what the Source tab of a report shows. Reasons are numbers in Page.Reasons, each with its samples.
type Page struct {
	Samples uint64       `json:"samples"`
	Old     *uint64      `json:"old,omitempty"` // of A, where two profiles are compared; all else is then B's
	About   string       `json:"about"`         // how they were taken
	Reasons []PageReason `json:"reasons"`
	Kernels []PageKernel `json:"kernels"`
	More    int          `json:"more"` // kernels that have too few samples to be on the page
}

// PageReason explains a reason.
type PageReason struct {
	Name  string `json:"name"`
	Means string `json:"means"`
	Hint  string `json:"hint"`
	Stall bool   `json:"stall"` // all but selected
}

// PageCounts are samples with their reasons.
type PageCounts struct {
	Samples uint64      `json:"n"`
	Reasons [][2]uint64 `json:"r,omitempty"`
}

// PageKernel is one kernel.
type PageKernel struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"` // distinguishes it from others of its name
	PageCounts
	Old    *PageCounts `json:"old,omitempty"`
	Facts  []string    `json:"facts"`
	Advice string      `json:"advice"`
	Paths  []PagePath  `json:"paths"`
	Files  []PageFile  `json:"files"`
	Code   []PageRow   `json:"code,omitempty"` // instructions
	NoLine uint64      `json:"noLine"`         // samples of instructions without line information
	Notes  []string    `json:"notes"`
}

// PagePath is a call path that a kernel was launched from.
type PagePath struct {
	Name    string `json:"name"`
	Samples uint64 `json:"n"`
}

// PageFile is a file with lines of a kernel.
type PageFile struct {
	Name string    `json:"name"`
	Rows []PageRow `json:"rows"`
}

// PageRow is a line or an instruction.
type PageRow struct {
	Number string `json:"at"` // of the line, or offset of the instruction
	Text   string `json:"text"`
	PageCounts
	Old     *PageCounts `json:"old,omitempty"`
	Place   string      `json:"place,omitempty"` // of an instruction, or of an inlined line
	Gap     bool        `json:"gap,omitempty"`   // what is before this row was left out
	Inlined []PageRow   `json:"inlined,omitempty"`
}

const (
	mostKernels = 20
	mostGap     = 30   // lines without samples that are shown between two with some
	mostCode    = 4000 // instructions
)

// NewPage computes the page of a profile's samples.
func NewPage(s *Samples, l Listing) *Page {
	p := newPrinter(io.Discard, s, &l)
	kernels := append(append([]*Kernel{}, s.Kernels...), s.Others...)
	page := &Page{Samples: s.Total, About: s.about(), Kernels: []PageKernel{}}
	for _, name := range s.reasons {
		r, _ := About(name)
		page.Reasons = append(page.Reasons, PageReason{term.Printable(name), r.Means, r.Hint, name != selected})
	}
	for i, k := range kernels {
		if i == mostKernels {
			page.More = len(kernels) - i
			break
		}
		page.Kernels = append(page.Kernels, p.pageKernel(k))
	}
	return page
}

// about says how samples were taken, and what limits them.
func (s *Samples) about() string {
	text := ""
	if s.Facts.Mode != "" {
		text = term.Printable(s.Facts.Mode) + " sampling"
	}
	if s.Facts.Period > 0 {
		text += fmt.Sprintf(", every %d cycles of each multiprocessor", s.Facts.Period)
	}
	for _, n := range s.Notes() {
		text += "; " + n
	}
	return text
}

func (p *printer) pageKernel(k *Kernel) PageKernel {
	before := p.notes
	p.notes = nil
	j := PageKernel{
		Name: term.Printable(k.Name), PageCounts: pageCounts(k.Counts), Facts: []string{}, Advice: p.s.Advice(k), Paths: []PagePath{}, Files: []PageFile{}, NoLine: k.Unplaced.Samples,
	}
	if p.IR != nil {
		j.Label = term.Printable(p.IR.Label(k))
	}
	j.Facts = append(j.Facts, p.facts(k)...)
	for i, launched := range k.Paths {
		if i == 10 {
			break
		}
		j.Paths = append(j.Paths, PagePath{p.launched(launched), launched.Samples})
	}
	for _, lines := range k.files() {
		text := p.Files.Text(lines[0].File)
		j.Files = append(j.Files, PageFile{p.found(lines[0].File, text, lines), p.pageLines(k, text, lines)})
	}
	if !k.fromLines() && p.Modules != nil {
		j.Code = p.pageCode(k)
	}
	j.Notes = append([]string{}, p.notes...)
	p.notes = before
	return j
}

func pageCounts(c Counts) PageCounts {
	j := PageCounts{Samples: c.Samples}
	for i, n := range c.Reasons {
		if n > 0 {
			j.Reasons = append(j.Reasons, [2]uint64{uint64(i), n})
		}
	}
	return j
}

// pageLines are the lines of a file from a few before the first with samples to a few after the last.
func (p *printer) pageLines(k *Kernel, text *Text, lines []*Line) []PageRow {
	const around = 3
	var rows []PageRow
	next := max(1, lines[0].Number-around)
	for _, l := range lines {
		gap := false
		if l.Number-next > mostGap || l.Number > text.Lines() {
			gap, next = l.Number > next && len(rows) > 0, max(next, min(l.Number-around, text.Lines()))
		}
		for ; next < l.Number && next <= text.Lines(); next++ {
			rows = append(rows, p.pageLine(text, next, gap))
			gap = false
		}
		row := p.pageLine(text, l.Number, gap)
		if text.Err != nil {
			row.Text = p.s.label(l.Func)
		}
		row.PageCounts = pageCounts(l.Counts)
		row.Inlined = append(p.pageInlined(k, l.Inlined), p.pageIR(k, l)...)
		rows = append(rows, row)
		next = l.Number + 1
	}
	for last := min(next+around, text.Lines()+1); next < last; next++ {
		rows = append(rows, p.pageLine(text, next, false))
	}
	return rows
}

func (p *printer) pageLine(text *Text, number int, gap bool) PageRow {
	line, _ := text.Line(number)
	return PageRow{Number: fmt.Sprint(number), Text: printable(line), Gap: gap}
}

// mostPageIR is how many lines of a stage are on the page for one line of the source.
const mostPageIR = 20

// pageIR are the rows for the IR of a line, by stage: the lines with samples and the significant ones, and of too many those
// with the most samples.
func (p *printer) pageIR(k *Kernel, l *Line) []PageRow {
	if p.IR == nil || l.Share(k.Samples) < cold {
		return nil
	}
	lines := p.IR.Lines(k, l.File, l.Number)
	var rows []PageRow
	for _, stage := range p.IR.Stages(k) {
		own := ofStage(lines, stage)
		if len(own) == 0 {
			continue
		}
		var shown []PageRow
		worthwhile := slices.DeleteFunc(slices.Clone(own), func(i IRLine) bool { return i.Samples == 0 && !Significant(i.Text) })
		for _, i := range mostSampled(worthwhile, mostPageIR) {
			shown = append(shown, PageRow{Number: i.Number, Text: printable(i.Text), Place: stage + " " + i.Number, PageCounts: pageCounts(i.Counts)})
		}
		about := fmt.Sprintf("%d lines", len(own))
		if len(own) == 1 {
			about = "1 line"
		}
		if len(shown) < len(own) {
			about += fmt.Sprintf(", of which %d are here", len(shown))
		}
		rows = append(rows, PageRow{Number: stage, Text: about, Inlined: shown})
	}
	return rows
}

func (p *printer) pageInlined(k *Kernel, inlined []*Line) []PageRow {
	var rows []PageRow
	for _, l := range inlined {
		line, _ := p.Files.Text(l.File).Line(l.Number)
		rows = append(rows, PageRow{
			Number: fmt.Sprintf("%s:%d", term.Printable(path.Base(l.File)), l.Number), Text: printable(line), Place: p.callee(k, l),
			PageCounts: pageCounts(l.Counts), Inlined: p.pageInlined(k, l.Inlined),
		})
	}
	return rows
}

// pageCode are the rows for the instructions. Of long functions only those near instructions with many samples are kept.
func (p *printer) pageCode(k *Kernel) []PageRow {
	m := p.machine(k)
	offsets := m.offsets(k)
	all, hottest := len(offsets) <= mostCode, k.hottestInstruction()
	var rows []PageRow
	gap := false
	for _, offset := range offsets {
		c := k.at(offset)
		if !all && !p.near(k, offset, hottest) || len(rows) == mostCode {
			gap = true
			continue
		}
		text := term.Printable(m.code.Text[offset])
		if label := m.code.Labels[offset]; label != "" {
			text = term.Printable(label) + ":  " + text
		}
		rows = append(rows, PageRow{
			Number: fmt.Sprintf("%04x", offset), Text: text, PageCounts: pageCounts(c), Place: p.where(m.frames(k, offset)), Gap: gap,
		})
		gap = false
	}
	return rows
}
