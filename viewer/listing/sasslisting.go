package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// instructions prints those with samples and what surrounds them; all of a function if it is asked for.
func (p *printer) instructions(f *kernels.Function) {
	if f.FromLines() {
		p.line("  the profile has samples of lines and not of instructions; --source shows those")
		return
	}
	code, shown := p.instructionsOf(f), p.nearHot(f)
	var rows []row
	hidden, gap := kernels.Counts{}, false
	place := ""
	var ir []kernels.IRLine
	for _, offset := range code.Offsets() {
		c := f.At(offset)
		if !shown(offset) {
			gap = true
			hidden.Add(c)
			continue
		}
		if gap {
			rows = append(rows, p.gap(hidden))
			hidden, gap, place, ir = kernels.Counts{}, false, "", nil
		}
		if label := code.Labels[offset]; label != "" {
			rows = append(rows, row{text: term.Printable(label) + ":", color: grid.Faint})
		}
		rows, ir = p.madeOf(rows, code.IR(offset), ir)
		r := row{counts: c, number: fmt.Sprintf("%04x", offset), text: "  " + term.Printable(code.Text[offset]), mark: c.Share(f.Samples) >= hot/2}
		at := code.Frames(offset)
		if now := p.where(at); now != place {
			place = now
			r.after = p.withText(now, at)
		}
		rows = append(rows, r)
	}
	if gap {
		rows = append(rows, p.gap(hidden))
	}
	p.rows(f.Samples, "offset", rows)
}

// madeOf adds the lines of IR that an instruction was compiled from, of the requested stages, unless the previous instruction
// has the same.
func (p *printer) madeOf(rows []row, lines, before []kernels.IRLine) ([]row, []kernels.IRLine) {
	for _, l := range lines {
		same := slices.ContainsFunc(before, func(b kernels.IRLine) bool { return b.Stage == l.Stage && b.Number == l.Number })
		if slices.Contains(p.Stages, l.Stage) && !same {
			rows = append(rows, p.irRow(l, "", 0))
		}
	}
	return rows, lines
}

// withText adds the text of the source line to a place if there is a trace, which has the source as compiled. Without a trace
// the files on disk may have changed since.
func (p *printer) withText(place string, frames []profile.SourceFrame) string {
	if !p.run.Traced() || len(frames) == 0 {
		return place
	}
	own := frames[len(frames)-1]
	if text, found := p.run.Files.Text(own.File).Line(own.Line); found {
		return place + "  " + printable(strings.TrimSpace(text))
	}
	return place
}
