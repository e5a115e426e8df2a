package viewer

import "github.com/goproton/goproton/viewer/internal/grid"

// heats colour by share of what is shown. Colour repeats what the bar says, for eyes that look for the hot spot.
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

func (l *lines) painted(text, color string) string {
	if !l.terminal.Color {
		return text
	}
	return grid.Paint(text, color)
}

func (l *lines) faint(text string) string { return l.painted(text, grid.Faint) }
