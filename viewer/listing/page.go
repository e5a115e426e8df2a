package listing

import (
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// Page is what the Source tab of a report shows. Reasons are numbers in Page.Reasons, each with its samples.
type Page struct {
	Samples uint64       `json:"samples"`
	Old     *uint64      `json:"old,omitempty"` // of A, where two profiles are compared; all else is then B's
	Unit    string       `json:"unit"`          // what they are: "sample", or "instruction" where these counted
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
	Counted string      `json:"did,omitempty"` // in a few words
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
	around      = 3    // lines that are shown before the first line with samples and after the last
	codeContext = 8    // instructions that are shown around those with many samples
)

// pager makes the rows of a page.
type pager struct{ *view }

// NewPage computes the page of a run's samples.
func NewPage(r *kernels.Run) *Page {
	p := pager{newView(r, r.Samples, Options{Context: codeContext})}
	page := &Page{Samples: r.Samples.Total, Unit: r.Samples.Unit, About: about(r.Samples), Reasons: pageReasons(r.Samples), Kernels: []PageKernel{}}
	all := r.Samples.AllFunctions()
	for _, f := range all[:min(mostKernels, len(all))] {
		page.Kernels = append(page.Kernels, p.kernel(f))
	}
	page.More = len(all) - len(page.Kernels)
	return page
}

// NewComparePage computes the page of a report that compares two runs. The fields that a page of one run has are B's. The fields
// named Old are A's.
func NewComparePage(c *kernels.Comparison) *Page {
	a, b := c.Sides[0].Samples, c.Sides[1].Samples
	page := &Page{Samples: b.Total, Unit: b.Unit, Old: &a.Total, About: "A: " + about(a) + "; B: " + about(b), Reasons: pageReasons(&c.Joint), Kernels: []PageKernel{}}
	p := pager{newView(c.Sides[1], b, Options{})}
	p.old = c.Sides[0].Files
	all := slices.Concat(c.Kernels, c.Others)
	for _, k := range all[:min(mostKernels, len(all))] {
		page.Kernels = append(page.Kernels, p.compared(k))
	}
	page.More = len(all) - len(page.Kernels)
	return page
}

func pageReasons(s *kernels.Samples) (all []PageReason) {
	for _, name := range s.Reasons {
		r, _ := s.Stalls.Explain(name)
		all = append(all, PageReason{term.Printable(name), r.Means, r.Hint, name != s.Stalls.Issued && name != profile.NoReason})
	}
	return all
}

// about says how samples were taken, and what limits them.
func about(s *kernels.Samples) string {
	text := ""
	if s.Facts.Mode == profile.CountedByLine {
		text = "instructions of chosen launches counted what they did"
	} else if s.Facts.Mode != "" {
		text = term.Printable(s.Facts.Mode) + " sampling"
	}
	if s.Facts.Period > 0 {
		text += ", every " + figures.Count(s.Facts.Period, "cycle") + " of each multiprocessor"
	}
	for _, n := range s.Notes() {
		text += "; " + n
	}
	return text
}

// kernel is a function of one run.
func (p *pager) kernel(f *kernels.Function) PageKernel {
	p.notes = nil
	j := p.pageKernel(f, f.Files())
	j.Label, j.Advice = term.Printable(f.Compiled().Label()), p.advice(f)
	j.Facts = append(j.Facts, facts(f)...)
	if did := f.Did.Sentence(); did != "" {
		j.Facts = append(j.Facts, did)
	}
	for _, launched := range f.Paths[:min(10, len(f.Paths))] {
		j.Paths = append(j.Paths, PagePath{pathText(launched), launched.Samples})
	}
	if !f.FromLines() && p.run.Modules != nil {
		j.Code = p.code(f)
	}
	j.Notes = append(j.Notes, p.notes...)
	return j
}

// compared is a kernel of two runs.
func (p *pager) compared(k *kernels.ComparedFunction) PageKernel {
	p.notes = nil
	j := p.pageKernel(&k.Function, k.Files())
	j.Old = p.oldCounts(k.Old)
	j.Facts = append(j.Facts, comparedFacts(k)...)
	if ofB := k.Sides[1]; ofB != nil {
		j.Advice = p.advice(ofB)
	}
	j.Notes = append(j.Notes, p.notes...)
	return j
}

// pageKernel is what the pages of one run and of two have in common.
func (p *pager) pageKernel(f *kernels.Function, files [][]*kernels.Line) PageKernel {
	j := PageKernel{
		Name: term.Printable(f.Name), PageCounts: pageCounts(f.Counts), Facts: []string{}, Paths: []PagePath{}, Files: []PageFile{}, NoLine: f.Unplaced.Samples, Notes: []string{},
	}
	for _, lines := range files {
		j.Files = append(j.Files, PageFile{p.found(lines[0].File, lastNumber(lines)), p.lines(f, lines)})
	}
	return j
}

func pageCounts(c kernels.Counts) PageCounts {
	j := PageCounts{Samples: c.Samples, Counted: c.Did.Short(math.MaxInt)}
	for i, n := range c.Reasons {
		if n > 0 {
			j.Reasons = append(j.Reasons, [2]uint64{uint64(i), n})
		}
	}
	return j
}

// oldCounts are counts of A; nil on a page of one run.
func (p *pager) oldCounts(c kernels.Counts) *PageCounts {
	if p.old == nil {
		return nil
	}
	return new(pageCounts(c))
}

// lines are the lines of a file from a few before the first with samples to a few after the last. Lines that only A has are
// listed where they were.
func (p *pager) lines(f *kernels.Function, lines []*kernels.Line) []PageRow {
	var rows []PageRow
	text := p.run.Files.Text(lines[0].File)
	next := max(1, lines[0].Place()-around)
	for _, l := range lines {
		gap, at := false, l.Place()
		if at-next > mostGap || at > text.Lines() {
			gap, next = at > next && len(rows) > 0, max(next, min(at-around, text.Lines()))
		}
		for ; next < at && next <= text.Lines(); next++ {
			rows = append(rows, textRow(text, next, gap))
			gap = false
		}
		row := textRow(text, l.Number, gap)
		if l.Gone {
			row.Number, row.Text = "-"+row.Number, p.text(l)
		} else {
			next = at + 1
		}
		if text.Err != nil {
			row.Text = p.s.Label(l.Func)
		}
		row.PageCounts, row.Old = pageCounts(l.Counts), p.oldCounts(l.Old)
		row.Inlined = append(p.inlined(f, l.Inlined), p.ir(f, l)...)
		rows = append(rows, row)
	}
	for last := min(next+around, text.Lines()+1); next < last; next++ {
		rows = append(rows, textRow(text, next, false))
	}
	return rows
}

// textRow is a line without samples.
func textRow(text *kernels.Text, number int, gap bool) PageRow {
	line, _ := text.Line(number)
	return PageRow{Number: fmt.Sprint(number), Text: printable(line), Gap: gap}
}

func (p *pager) inlined(f *kernels.Function, inlined []*kernels.Line) []PageRow {
	var rows []PageRow
	for _, l := range inlined {
		rows = append(rows, PageRow{
			Number: fileLine(l.File, l.Number), Text: p.text(l), Place: p.callee(f, l),
			PageCounts: pageCounts(l.Counts), Old: p.oldCounts(l.Old), Inlined: p.inlined(f, l.Inlined),
		})
	}
	return rows
}

// mostPageIR is how many lines of a stage are on the page for one line of the source.
const mostPageIR = 20

// ir are the rows for the IR of a line, by stage: the lines with samples and the significant ones, and of too many those with
// the most samples.
func (p *pager) ir(f *kernels.Function, l *kernels.Line) []PageRow {
	compiled := f.Compiled()
	if compiled == nil || l.Share(f.Samples) < cold {
		return nil
	}
	lines := compiled.Lines(l.File, l.Number)
	var rows []PageRow
	for _, stage := range compiled.Stages() {
		own := kernels.OfStage(lines, stage)
		if len(own) == 0 {
			continue
		}
		var shown []PageRow
		worthwhile := slices.DeleteFunc(slices.Clone(own), func(i kernels.IRLine) bool { return i.Samples == 0 && !kernels.Significant(i.Text) })
		for _, i := range kernels.MostSampled(worthwhile, mostPageIR) {
			shown = append(shown, PageRow{Number: i.Number, Text: printable(i.Text), Place: stage + " " + i.Number, PageCounts: pageCounts(i.Counts)})
		}
		about := figures.Count(len(own), "line")
		if len(shown) < len(own) {
			about += fmt.Sprintf(", of which %d are here", len(shown))
		}
		rows = append(rows, PageRow{Number: stage, Text: about, Inlined: shown})
	}
	return rows
}

// code are the rows for the instructions. Of long functions only those near instructions with many samples are kept.
func (p *pager) code(f *kernels.Function) []PageRow {
	code, near := p.instructionsOf(f), p.nearHot(f)
	offsets := code.Offsets()
	var rows []PageRow
	gap := false
	for _, offset := range offsets {
		if len(offsets) > mostCode && !near(offset) || len(rows) == mostCode {
			gap = true
			continue
		}
		text := term.Printable(code.Text[offset])
		if label := code.Labels[offset]; label != "" {
			text = term.Printable(label) + ":  " + text
		}
		rows = append(rows, PageRow{
			Number: fmt.Sprintf("%04x", offset), Text: text, PageCounts: pageCounts(f.At(offset)), Place: p.where(code.Frames(offset)), Gap: gap,
		})
		gap = false
	}
	return rows
}
