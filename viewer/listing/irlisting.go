package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// warm is the smallest share of a kernel's samples with which a line's IR is shown.
const warm = 0.03

// fewIR is how many lines of a stage are shown unless stages are requested.
const fewIR = 2

// ir adds rows for the IR of a line: a few lines of each stage, or all lines of the requested stages.
func (p *printer) ir(rows []row, f *kernels.Function, l *kernels.Line, indent string) []row {
	compiled := f.Compiled()
	if compiled == nil || len(p.Stages) == 0 && !p.All && f.Samples > 0 && l.Share(f.Samples) < warm {
		return rows
	}
	lines := compiled.Lines(l.File, l.Number)
	var rest []string
	for _, stage := range compiled.Stages() {
		own := kernels.OfStage(lines, stage)
		shown := own
		switch {
		case len(p.Stages) > 0 && !slices.Contains(p.Stages, stage):
			continue
		case len(p.Stages) == 0 && !p.All:
			shown = few(own, f.Samples > 0)
		}
		width := 0
		for _, i := range shown {
			width = max(width, len(i.Number))
		}
		for _, i := range shown {
			rows = append(rows, p.irRow(i, indent, width))
		}
		if n := len(own) - len(shown); n > 0 {
			rest = append(rest, fmt.Sprintf("%d of %s", n, stage))
		}
	}
	if len(rest) > 0 {
		rows = append(rows, row{text: indent + p.glyphs.Gap + " " + strings.Join(rest, ", "), color: grid.Faint})
	}
	return rows
}

// mostIR is how many columns of a line of IR are shown unless its stage was requested. A Hopper matrix instruction in PTX
// names 128 registers.
const mostIR = 120

func (p *printer) irRow(i kernels.IRLine, indent string, width int) row {
	text := printable(strings.TrimSpace(i.Text))
	if len(p.Stages) == 0 && !p.All {
		text = grid.Fit(text, mostIR, p.glyphs.Dots)
	}
	text = fmt.Sprintf("%s%s %s %s  %s", indent, p.glyphs.Inlined, i.Stage, grid.Pad(i.Number, width, true), text)
	return row{counts: i.Counts, text: text, color: grid.Faint}
}

// few chooses the lines with the most samples. Without samples it chooses one line: the last significant one, or the last,
// which computes the value of an expression.
func few(lines []kernels.IRLine, sampled bool) []kernels.IRLine {
	if !sampled {
		for i := len(lines) - 1; i >= 0; i-- {
			if kernels.Significant(lines[i].Text) {
				return lines[i : i+1]
			}
		}
		return lines[max(0, len(lines)-1):]
	}
	return slices.DeleteFunc(kernels.MostSampled(lines, fewIR), func(l kernels.IRLine) bool { return l.Samples == 0 })
}
