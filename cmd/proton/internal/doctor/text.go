package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/goproton/goproton/internal/term"
)

// textColumn is where the text of a finding begins; the rest of a long line continues there.
const textColumn = 21

// WriteText writes the findings for people, in lines of at most width columns (0: any number): state, name, text, and the fix
// below; then what each vendor adds.
func (r Report) WriteText(w io.Writer, width int) error {
	var text strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&text, "%-8s %-11s %s\n", f.State, f.Name, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(&text, "%-8s %-11s fix: %s\n", "", "", f.Fix)
		}
	}
	for _, c := range all {
		c.text(&r, &text)
	}
	if r.Healthy() {
		text.WriteString("\nKernels can be timed on this machine.\n")
	} else {
		text.WriteString("\nKernels cannot be timed on this machine until the problems above are solved.\n")
	}
	var fitting strings.Builder
	for line := range strings.Lines(text.String()) {
		fitting.WriteString(term.Broken(strings.TrimSuffix(line, "\n"), textColumn, width))
	}
	_, err := io.WriteString(w, fitting.String())
	return err
}
