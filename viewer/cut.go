package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// cut hides rows below the threshold, with all that is below them unless some of it reaches the threshold, and
// those that are too deep; it sorts what stays.
func (t *Table) cut(o *Options) error {
	order, err := t.order(o.Sort)
	if err != nil {
		return err
	}
	var rows []*Row
	for r := range t.All() {
		rows = append(rows, r)
	}
	keep := make([]bool, len(rows))
	for i := len(rows) - 1; i >= 0; i-- { // children come after their parents
		r := rows[i]
		r.Children, r.Hidden = divide(r.Children, func(c *Row) bool { return keep[c.id] })
		if order != nil {
			slices.SortStableFunc(r.Children, order)
		}
		tooDeep := o.Depth > 0 && r.Depth > o.Depth
		keep[r.id] = !tooDeep && (o.Threshold == 0 || r.Values[0] >= o.Threshold || len(r.Children) > 0)
	}
	if o.Threshold != 0 && !keep[t.Root.id] {
		return fmt.Errorf("no frame is left after --threshold %g; the largest has %.4g %s", o.Threshold, t.Root.Values[0], t.Columns[0].Unit)
	}
	return nil
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
	case "", "time-of-day", "chronological":
		return nil, nil
	case "name":
		return func(a, b *Row) int { return strings.Compare(a.Name, b.Name) }, nil
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Text && (c.Name == by || c.Label == by) {
			return func(a, b *Row) int { return descending(a.Values[i], b.Values[i]) }, nil
		}
	}
	return nil, fmt.Errorf("sort by %q: sort by name, or by a metric that is shown: add it to -m", by)
}

// descending puts the largest first and what has no value last.
func descending(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(b, a)
}
