package viewer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
)

// elideBelow are shares of the shown total. By default the views for people leave out rows with a smaller share, and all
// but the largest of many siblings. A tree that fits a screen is shown whole; for larger ones the first share is taken
// that leaves a few screens, or else the last.
var elideBelow = []float64{0.005, 0.01, 0.02}

const (
	elideBeyond = 40
	fitsScreen  = 50
	fewScreens  = 150
)

// cut hides rows: those below the threshold, with all that is below them unless some of it reaches the threshold; those
// that are too deep; those beyond the top; the long tail. It sorts what stays.
func (t *Table) cut(o *Options) error {
	order, err := t.order(o.Sort)
	if err != nil {
		return err
	}
	asked := figures.Least{Amount: o.Threshold, Unit: o.ThresholdUnit}
	whole := t.Root.Values[0]
	if math.IsNaN(whole) { // a metric of the frames themselves
		whole = t.Total[0]
	}
	least, ok := asked.Of(whole, t.Columns[0].Unit)
	if !ok {
		return badOption("read --threshold %s: the first metric, %s, is not a time; give a number or a percentage", asked, t.Columns[0].Label)
	}
	rows := slices.Collect(t.All())
	keep := make([]bool, len(rows)) // by id
	if o.elide {
		rows = t.dropOthers(rows)
	}
	t.cutAsked = o.Threshold != 0 || o.Depth > 0
	tail := o.elide && !t.cutAsked && o.Top == 0 && len(rows) > fitsScreen
	if tail {
		t.tail = t.smallest(rows)
	}
	for _, r := range slices.Backward(rows) { // children come after their parents
		r.Children, r.Hidden = divide(r.Children, func(c *Row) bool { return keep[c.id] })
		if order != nil {
			slices.SortStableFunc(r.Children, order)
		}
		if o.Top > 0 && r == t.Root {
			t.top(o.Top)
		}
		if tail {
			t.hideTail(r)
		}
		tooDeep := o.Depth > 0 && r.Depth >= o.Depth
		keep[r.id] = !tooDeep && (o.Threshold == 0 || r.Values[0] >= least || len(r.Children) > 0)
	}
	if o.Threshold != 0 && !keep[t.Root.id] {
		largest := 0.0
		for _, r := range rows {
			if v := r.Values[0]; v > largest {
				largest = v
			}
		}
		return fmt.Errorf("no frame is left after --threshold %s; the largest has %s %s", asked, figures.Number(largest), t.Columns[0].Unit)
	}
	return nil
}

// dropOthers removes rows that have metrics, but none of the shown ones, for example lines of instruction samples where
// times are asked for. It returns the other rows; rows without any metric are among them.
func (t *Table) dropOthers(rows []*Row) []*Row {
	dropped := make([]bool, len(rows)) // by id
	for _, r := range slices.Backward(rows) {
		below := len(r.Children)
		r.Children, _ = divide(r.Children, func(c *Row) bool { return !dropped[c.id] })
		measured := len(r.Node.Metrics) > 0 || below > 0
		dropped[r.id] = r != t.Root && len(r.Children) == 0 && measured && t.isBlank(r)
	}
	kept, others := divide(rows, func(r *Row) bool { return !dropped[r.id] })
	t.others = len(others)
	return kept
}

func (t *Table) isBlank(r *Row) bool {
	for i := range t.Columns {
		if !math.IsNaN(r.Values[i]) || t.rawText(r, i) != "" {
			return false
		}
	}
	return math.IsNaN(r.Share)
}

// smallest is the share of the shown total below which rows are left out.
func (t *Table) smallest(rows []*Row) float64 {
	for _, part := range elideBelow {
		count := 0
		for _, r := range rows {
			if r.Share >= part*t.Root.Share {
				count++
			}
		}
		if count <= fewScreens {
			return part
		}
	}
	return elideBelow[len(elideBelow)-1]
}

// hideTail hides the small children of a row, but never a single one, because the line that reports it is as long.
func (t *Table) hideTail(r *Row) {
	least := t.tail * t.Root.Share
	if len(r.Children) > elideBeyond {
		shares := make([]float64, len(r.Children))
		for i, c := range r.Children {
			shares[i] = figures.OrZero(c.Share)
		}
		slices.Sort(shares)
		least = max(least, shares[len(shares)-elideBeyond])
	}
	room := elideBeyond // among equals the first stay
	kept, hidden := divide(slices.Clone(r.Children), func(c *Row) bool {
		if t.ShareOf != "" && figures.OrZero(c.Share) < least || room == 0 {
			return false
		}
		room--
		return true
	})
	if len(hidden) > 1 {
		r.Children, r.Hidden = kept, append(r.Hidden, hidden...)
		t.elided += len(hidden)
	}
}

// top keeps the n rows below the root with the largest own values.
func (t *Table) top(n int) {
	all := t.Root.Children
	var largest []*Row
	if t.ShareOf != "" {
		largest, _ = divide(slices.Clone(all), func(r *Row) bool { return t.ownShare(r) > 0 })
		slices.SortStableFunc(largest, func(a, b *Row) int { return figures.Descending(t.ownShare(a), t.ownShare(b)) })
	} else {
		largest = slices.Clone(all)
	}
	chosen := map[*Row]bool{}
	for _, r := range largest[:min(n, len(largest))] {
		chosen[r] = true
	}
	t.Root.Hidden = append(t.Root.Hidden, largest[min(n, len(largest)):]...)
	t.Root.Children, _ = divide(all, func(r *Row) bool { return chosen[r] })
}

// divide splits a list in two, each in the old order.
func divide(rows []*Row, keep func(r *Row) bool) (kept, hidden []*Row) {
	kept = rows[:0]
	for _, r := range rows {
		if keep(r) {
			kept = append(kept, r)
		} else {
			hidden = append(hidden, r)
		}
	}
	return kept, hidden
}

// order compares siblings; nil leaves them as they are.
func (t *Table) order(by string) (func(a, b *Row) int, error) {
	switch by = strings.ToLower(by); by {
	case "", "chronological":
		return nil, nil
	case "name":
		return func(a, b *Row) int { return strings.Compare(a.Name, b.Name) }, nil
	case "own", "share", strings.ToLower(t.ShareOf):
		if t.ShareOf == "" {
			return nil, nil
		}
		return func(a, b *Row) int {
			if by == "own" {
				if own := figures.Descending(t.ownShare(a), t.ownShare(b)); own != 0 {
					return own
				}
			}
			return figures.Descending(a.Share, b.Share)
		}, nil
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Text && (c.Name == by || c.Label == by || c.Exact == by) {
			return func(a, b *Row) int { return figures.Descending(a.Values[i], b.Values[i]) }, nil
		}
	}
	return nil, badOption("sort by %q: sort by chronological, name, own, or a metric that is shown: add it to -m", by)
}
