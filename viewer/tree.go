package viewer

import (
	"bufio"
	"fmt"
)

// printTree prints a line per row.
func printTree(out *bufio.Writer, t *Table, p *Paper) error {
	for r := range t.All() {
		for _, v := range r.Values {
			fmt.Fprintf(out, "%10.3f ", v)
		}
		fmt.Fprintf(out, "%*s%s\n", 2*r.Depth, "", t.Label(r))
	}
	return nil
}
