package compat

import (
	"bufio"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
)

const (
	longestName = 100
	nameColumn  = 105
)

// printSorted prints all frames but the root, the largest of the first metric first, those without at the end.
// (proton-viewer leaves out the first row instead, which hides the largest frame when the root is not first.)
func (t *table) printSorted(out *bufio.Writer) {
	fmt.Fprintf(out, "Sorted kernels by metric %s\n", t.metrics[0].label)
	var rows []*row
	t.each(func(r *row) {
		if r != t.root {
			rows = append(rows, r)
		}
	})
	slices.SortStableFunc(rows, func(a, b *row) int { return figures.Descending(a.cells[0], b.cells[0]) })
	print := treePrinter{table: t}
	for _, r := range rows {
		value := short(r.cells[0])
		if t.metrics[0].text != nil {
			value = print.cell(r, 0)
		}
		name := clipName(term.Printable(r.name))
		fmt.Fprintf(out, "%s%*s %s\n", name, max(nameColumn-utf8.RuneCountInString(name), 0), "", value)
	}
}

// clipName cuts a name after a hundred characters.
func clipName(name string) string {
	count := 0
	for i := range name {
		if count == longestName {
			return name[:i] + "..."
		}
		count++
	}
	return name
}
