package viewer

import "bufio"

// printTree prints call paths from the top down, a line each.
func printTree(out *bufio.Writer, t *Table, p *Terminal) error {
	l := newLines(out, t, p)
	l.branched = true
	l.measure()
	l.header()
	l.branches(t.Root)
	l.footer()
	return nil
}

// branch is a row that is still to be printed, or the rows that are not shown.
type branch struct {
	row           *Row
	hidden        []*Row
	first, follow string // what stands before its name, and before those below it
}

// branches prints a row and what is below it. It does not recurse: call paths may be thousands deep.
func (l *lines) branches(root *Row) {
	for pending := []branch{{row: root}}; len(pending) > 0; {
		b := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if b.row == nil {
			l.rest(b.hidden, b.first)
			continue
		}
		l.row(b.row, b.first)
		b.follow = l.glyphs.Short(b.follow)
		hidden := b.row.Hidden
		if l.table.cutAsked {
			hidden = nil
		}
		last := branch{hidden: hidden, first: b.follow + l.glyphs.Last, follow: b.follow + l.glyphs.Below}
		if len(hidden) > 0 {
			pending = append(pending, last)
		}
		for i := len(b.row.Children) - 1; i >= 0; i-- {
			next := branch{first: b.follow + l.glyphs.Child, follow: b.follow + l.glyphs.Through}
			if i == len(b.row.Children)-1 && len(hidden) == 0 {
				next.first, next.follow = last.first, last.follow
			}
			next.row = b.row.Children[i]
			pending = append(pending, next)
		}
	}
}
