package viewer

import (
	"bufio"
	"slices"

	"github.com/goproton/goproton/profile"
)

// wantFlat is a row per frame name, the largest of their own first.
func wantFlat(_ *profile.Profile, o *Options) {
	o.Group = ByName
	if o.Sort == "" {
		o.Sort = "own"
	}
	o.elide = true
}

// DefaultTop is how many rows the top view shows if Options.Top is 0.
const DefaultTop = 20

// wantTop is wantFlat for the largest few rows only.
func wantTop(_ *profile.Profile, o *Options) {
	wantFlat(nil, o)
	if o.Top == 0 {
		o.Top = DefaultTop
	}
	o.elide = false
}

// wantBottomUp is a row per frame name with something of its own, its callers below it.
func wantBottomUp(_ *profile.Profile, o *Options) {
	o.Group = ByCaller
	if o.Sort == "" {
		o.Sort = "share"
	}
	o.elide = true
}

// printFlat prints a line per frame name: what it has of its own, then what it has with all below it. The bar is of
// its own share.
func printFlat(out *bufio.Writer, t *Table, p *Terminal) error {
	l := newLines(out, t, p)
	if t.ShareOf != "" {
		l.share = t.ownShare
	}
	for i := range l.columns {
		l.columns[i].sum = false // what frames have with all below them overlaps
	}
	if c := &t.Columns[0]; c.Additive && c.Inclusive {
		own := l.columns[0]
		own.label, own.sum, own.shared = "own", true, false
		own.value, own.sibling = func(r *Row) float64 { return r.Own[0] }, l.columns[0].value
		l.columns[0].sibling = own.value
		l.columns = slices.Insert(l.columns, 0, own)
	}
	l.measure()
	l.header()
	for _, r := range t.Root.Children {
		l.row(r, "")
	}
	if len(t.Root.Hidden) > 0 && !t.cutAsked {
		l.rest(t.Root.Hidden, "")
	}
	l.footer()
	return nil
}

// ownShare is the part of the whole that a row has without what is below it.
func (t *Table) ownShare(r *Row) float64 {
	w := t.sums.weight.value
	return w(t.sums.of(t.sums.own, r.id)) / w(t.sums.whole)
}
