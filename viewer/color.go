package viewer

import "github.com/goproton/goproton/viewer/internal/grid"

// heats are colours by share of what is shown. Colour repeats the bar, for readers who look for the hot spot.
var heats = []struct {
	from  float64
	color string
}{
	{0.5, grid.Red},
	{0.2, grid.Orange},
	{0.05, grid.Yellow},
	{0.01, grid.Green},
}

// heat is the colour of a share, "" for a small one.
func (l *lines) heat(share float64) string {
	for _, h := range heats {
		if share/l.widest >= h.from {
			return h.color
		}
	}
	return ""
}

// Paint gives a text a colour of package grid if the terminal has colours.
func (p *Terminal) Paint(text, color string) string {
	if !p.Color {
		return text
	}
	return grid.Paint(text, color)
}

// Faint and Bold paint a text so.
func (p *Terminal) Faint(text string) string { return p.Paint(text, grid.Faint) }
func (p *Terminal) Bold(text string) string  { return p.Paint(text, grid.Bold) }
