package doctor

import (
	"fmt"
	"io"
)

// WriteText writes the findings for people: state, name, text, and the fix below; then every libcupti.
func (r Report) WriteText(w io.Writer) error {
	out := &lines{w: w}
	for _, f := range r.Findings {
		out.printf("%-8s %-11s %s\n", f.State, f.Name, f.Text)
		if f.Fix != "" {
			out.printf("%-8s %-11s fix: %s\n", "", "", f.Fix)
		}
	}
	if len(r.CUPTI) > 0 {
		out.printf("\nlibcupti, in the order of the search:\n")
	}
	for _, l := range r.CUPTI {
		mark := " "
		if l.Chosen {
			mark = "*"
		}
		out.printf("%s %-21s %s", mark, l.Origin, l.Path)
		if l.API != 0 {
			out.printf(" (API %d)", l.API)
		}
		if l.Reason != "" {
			out.printf(": %s", l.Reason)
		}
		out.printf("\n")
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
