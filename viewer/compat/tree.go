package compat

import (
	"bufio"
	"math"

	"github.com/goproton/goproton/internal/term"
)

// printTree prints a line per frame down to a depth, then an empty line. With colour a legend follows.
func (t *table) printTree(out *bufio.Writer, depth int, color bool) {
	p := treePrinter{out: out, table: t, depth: depth}
	if color {
		p.paint = newPaint(t)
	}
	p.frame(t.root, "", "", 0)
	if color && t.metrics[0].text == nil {
		p.paint.legend(out, t.metrics[0].label)
	}
	out.WriteByte('\n')
}

type treePrinter struct {
	out   *bufio.Writer
	table *table
	depth int
	paint paint
}

// frame prints one line, indented by first, and its children's, indented by rest.
func (p *treePrinter) frame(r *row, first, rest string, depth int) {
	if depth >= p.depth {
		return
	}
	p.out.WriteString(first)
	for i := range p.table.metrics {
		color := p.paint.faint
		if i == 0 {
			color = p.paint.forValue(r.cells[0])
		}
		p.out.WriteString(color)
		p.out.WriteString(p.cell(r, i))
		p.out.WriteString(p.paint.end)
		p.out.WriteByte(' ')
	}
	p.out.WriteString(term.Printable(r.name))
	p.out.WriteString(p.paint.end)
	p.out.WriteString(p.paint.mark(r.side))
	p.out.WriteByte('\n')
	for i, c := range r.children {
		if i < len(r.children)-1 {
			p.frame(c, rest+"├─ ", rest+"│  ", depth+1)
		} else {
			p.frame(c, rest+"└─ ", rest+"   ", depth+1)
		}
	}
}

func (p *treePrinter) cell(r *row, i int) string {
	if text := p.table.metrics[i].text; text != nil {
		return text(r)
	}
	return fixed(r.cells[i])
}

// extent is the smallest and largest finite value of the first metric; NaN when there is none.
func (t *table) extent() (lowest, highest float64) {
	lowest, highest = missing, missing
	t.each(func(r *row) {
		v := r.cells[0]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if !(v >= lowest) {
			lowest = v
		}
		if !(v <= highest) {
			highest = v
		}
	})
	return lowest, highest
}
