package viewer

const (
	faint    = "\x1b[2m"
	endColor = "\x1b[0m"
)

// heats colour by share of what is shown. Colour repeats what the bar says, for eyes that look for the hot spot.
var heats = []struct {
	from  float64
	color string
}{
	{0.5, "\x1b[38;5;196m"}, // red
	{0.2, "\x1b[38;5;208m"}, // orange
	{0.05, "\x1b[38;5;220m"},
	{0.01, "\x1b[38;5;34m"}, // green
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
	if !l.terminal.Color || color == "" || text == "" {
		return text
	}
	return color + text + endColor
}

func (l *lines) faint(text string) string { return l.painted(text, faint) }
