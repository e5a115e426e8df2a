package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
)

// Cut says which rows are shown, and in which order. The zero value shows all rows in the order of the profiles.
type Cut struct {
	Threshold Threshold
	Depth     int  // levels that are shown; the root is the first; 0 shows all
	Sort      Sort // of siblings
}

// Sort is an order of siblings.
type Sort string

// The orders. Those by change put the largest absolute change first.
const (
	AsHappened Sort = ""
	ByName     Sort = "name"
	ByChange   Sort = "change"
	ByRelative Sort = "percent"
)

// Threshold is the smallest change of the first column that is shown.
type Threshold struct {
	Amount   float64
	Unit     string // of Amount, for times; "" for that of the column
	Relative bool   // Amount is a part of the first profile's value
	OfTotal  bool   // Amount is a part of the largest value that a root has
}

// SmallChange is the default threshold: changes by less than 0.5 % of the total are hidden.
var SmallChange = Threshold{Amount: 0.005, OfTotal: true}

func (t Threshold) String() string {
	switch {
	case t.OfTotal:
		return fmt.Sprintf("%g%% of the total", 100*t.Amount)
	case t.Relative:
		return fmt.Sprintf("%g%%", 100*t.Amount)
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", t.Amount, t.Unit)) // no unit means that of the first metric
}

// ParseThreshold reads "5%", "2ms", or a number in the unit of the first column.
func ParseThreshold(text string) (Threshold, error) {
	least, ok := figures.ParseLeast(text)
	if !ok {
		return Threshold{}, fmt.Errorf("read --threshold %q: write a change such as 5%%, 2ms or 0.5 (in the unit of the first metric)", text)
	}
	if least.Unit == "%" {
		return Threshold{Amount: least.Amount, Relative: true}, nil
	}
	return Threshold{Amount: least.Amount, Unit: least.Unit}, nil
}

// Cut hides rows and sorts the remaining siblings. A row remains if it, or a row below it, reaches the threshold.
func (d *Diff) Cut(c Cut) error {
	sort, err := d.sorter(c.Sort)
	if err != nil {
		return err
	}
	scale := 1.0
	if unit := c.Threshold.Unit; unit != "" {
		own := figures.Nanos(d.Columns[0].Unit)
		if own == 0 {
			return fmt.Errorf("read --threshold in %s: the first metric, %s, is not a time; give a number or a percentage", unit, d.Columns[0].Name)
		}
		scale = figures.Nanos(unit) / own
	}
	if c.Threshold.OfTotal {
		scale = d.total()
	}
	reaches := func(r *Row) bool {
		if c.Threshold.Relative {
			return d.largest(r, d.Relative) >= c.Threshold.Amount
		}
		change := d.largest(r, d.Change)
		return change >= c.Threshold.Amount*scale && (change > 0 || !c.Threshold.OfTotal)
	}
	d.cut(d.Root, 0, c.Depth, reaches, sort)
	d.shown = c
	return nil
}

// cut hides rows of a subtree, counts them in Row.Hidden, and reports whether the row itself stays.
func (d *Diff) cut(r *Row, depth, levels int, reaches func(*Row) bool, sort func(siblings []*Row)) (stays bool) {
	kept := r.Children[:0:0]
	for _, c := range r.Children {
		if d.cut(c, depth+1, levels, reaches, sort) && (levels == 0 || depth+1 < levels) {
			kept = append(kept, c)
			r.Hidden += c.Hidden
		} else {
			r.Hidden += c.size() + c.Hidden
		}
	}
	sort(kept)
	r.Children = kept
	return len(kept) > 0 || reaches(r)
}

// total is the largest value of the first column at the root.
func (d *Diff) total() float64 {
	total := 0.0
	for _, v := range d.Root.Values[0] {
		if !math.IsNaN(v) { // a profile without this metric
			total = max(total, math.Abs(v))
		}
	}
	return total
}

func (r *Row) size() int {
	n := 0
	r.Walk(func(*Row, int) { n++ })
	return n
}

// largest is the largest absolute change of the first column. A change that is NaN because only one side has a value counts
// as infinite.
func (d *Diff) largest(r *Row, change func(r *Row, column, profile int) float64) float64 {
	largest := 0.0
	for i := 1; i < len(d.Names); i++ {
		v := math.Abs(change(r, 0, i))
		if math.IsNaN(v) && math.IsNaN(r.Values[0][0]) != math.IsNaN(r.Values[0][i]) {
			v = math.Inf(1)
		}
		if v > largest {
			largest = v
		}
	}
	return largest
}

func (d *Diff) sorter(s Sort) (func(siblings []*Row), error) {
	switch s {
	case AsHappened, "none":
		return func([]*Row) {}, nil
	case ByName:
		return func(siblings []*Row) {
			slices.SortStableFunc(siblings, func(a, b *Row) int { return cmp.Compare(a.Name, b.Name) })
		}, nil
	case ByChange:
		return func(siblings []*Row) { d.sortBy(siblings, d.Change) }, nil
	case ByRelative:
		return func(siblings []*Row) { d.sortBy(siblings, d.Relative) }, nil
	}
	return nil, fmt.Errorf("read --sort %q: use change, percent, name or none", s)
}

// sortBy puts the largest change first. It computes the change once per row and not in every comparison, since computing it
// is expensive.
func (d *Diff) sortBy(rows []*Row, change func(r *Row, column, profile int) float64) {
	type ranked struct {
		row *Row
		by  float64
	}
	list := make([]ranked, len(rows))
	for i, r := range rows {
		list[i] = ranked{r, d.largest(r, change)}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.by, a.by) })
	for i := range list {
		rows[i] = list[i].row
	}
}
