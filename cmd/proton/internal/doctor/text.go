package doctor

import (
	"fmt"
	"io"
)

// WriteText writes the findings for people: state, name, text, and the fix below; then what each vendor adds.
func (r Report) WriteText(w io.Writer) error {
	out := &lines{w: w}
	for _, f := range r.Findings {
		out.printf("%-8s %-11s %s\n", f.State, f.Name, f.Text)
		if f.Fix != "" {
			out.printf("%-8s %-11s fix: %s\n", "", "", f.Fix)
		}
	}
	for _, c := range all {
		c.text(&r, out)
	}
	if r.Healthy() {
		out.printf("\nKernels can be timed on this machine.\n")
	} else {
		out.printf("\nKernels cannot be timed on this machine until the problems above are solved.\n")
	}
	return out.err
}

// lines keeps the first error of many prints.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}
