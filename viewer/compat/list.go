package compat

import (
	"fmt"
	"io"
	"strings"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// List prints the names that a metric can be asked for by. The text is proton-viewer's, its "name" column
// included.
func List(w io.Writer, p *profile.Profile) error {
	t, err := newTable(p)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("Available inclusive metrics:\n")
	for i := range t.columns {
		if t.columns[i].inclusive() {
			fmt.Fprintf(&b, "- %s\n", term.Printable(baseName(t.columns[i].name)))
		}
	}
	b.WriteString("Available exclusive metrics:\n- name\n")
	for i := range t.columns {
		if !t.columns[i].inclusive() {
			fmt.Fprintf(&b, "- %s\n", term.Printable(baseName(t.columns[i].name)))
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
