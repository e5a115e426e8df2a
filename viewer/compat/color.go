package compat

import (
	"bufio"
	"fmt"
)

// paint is what is written around values: terminal sequences, or nothing.
type paint struct {
	ramp         [6]string // from the largest values to the smallest
	negative     string
	faint, end   string
	left, right  string
	lowest, span float64
}

// shares are the lower bounds of the ramp's steps, as parts of the range of values.
var shares = [6]float64{0.9, 0.7, 0.5, 0.3, 0.1, 0}

func newPaint(t *table) paint {
	p := paint{negative: "\x1b[34m", faint: "\x1b[2m", end: "\x1b[0m", left: "\x1b[38;5;160m", right: "\x1b[38;5;28m"}
	for i, color := range []int{196, 208, 220, 46, 34, 22} { // red, orange, yellow, three greens
		p.ramp[i] = fmt.Sprintf("\x1b[38;5;%dm", color)
	}
	lowest, highest := t.extent()
	p.lowest, p.span = lowest, highest-lowest
	return p
}

// forValue picks the colour of a value of the first metric.
func (p *paint) forValue(v float64) string {
	share := v
	if p.span != 0 {
		share = (v - p.lowest) / p.span
	}
	for i, bound := range shares {
		if share > bound || bound == 0 && share >= 0 {
			return p.ramp[i]
		}
	}
	return p.negative
}

// mark is the arrow behind a frame that only one of two compared profiles has.
func (p *paint) mark(s side) string {
	switch s {
	case onlyLeft:
		return " " + p.left + "◀ " + p.end
	case onlyRight:
		return " " + p.right + "▶ " + p.end
	}
	return ""
}

func (p *paint) legend(out *bufio.Writer, metric string) {
	at := func(share float64) float64 { return share*p.span + p.lowest }
	fmt.Fprintf(out, "\n\x1b[4mLegend%s (Metric: %s Min: %s Max: %s)\n", p.end, metric, cents(at(0)), cents(at(1)))
	upper := 1.0
	for i, lower := range shares {
		fmt.Fprintf(out, "%s█ %s%s - %s\n", p.ramp[i], p.end, cents(at(lower)), cents(at(upper)))
		upper = lower
	}
	fmt.Fprintf(out, "\nname%s User code    %s◀ %s Only in left graph    %s▶ %s Only in right graph\n",
		p.end, p.left, p.end, p.right, p.end)
}

// cents prints two decimals.
func cents(v float64) string {
	if s, special := notFinite(v); special {
		return s
	}
	return fmt.Sprintf("%.2f", v)
}
