// Package compare puts two or more profiles side by side, call path by call path.
//
// The passes, in order:
//
//  1. fold   frames are renamed, and siblings of the same name are merged by adding their amounts (fold.go)
//  2. table  the viewer makes a table of every profile: amounts are summed, then rates are derived from the sums
//  3. match  rows with equal paths are joined into one row with a value per profile
//  4. cut    rows that changed too little are hidden, and siblings are sorted (cut.go)
//  5. print  a file per output: tree.go, csv.go, json.go, pprof.go
//
// Pass 1 comes before pass 2 because rates do not add up. A rate is the work of one side divided by its time. Adding the
// rates of two merged frames, or subtracting rates before filtering, as other tools do, gives rates that no kernel reached.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// Input is a profile and its name in the output, such as its file name.
type Input struct {
	Name    string
	Profile *profile.Profile
}

// Options say what to compare. The zero value compares the time of all frames.
type Options struct {
	Metrics []string // as in viewer.Options
	Rename  []Rename // applied in order to the name of every frame
	Include string   // only paths through frames that match this regular expression
	Exclude string   // no path through frames that match

	BaseUnits bool              // as in viewer.Options: units that do not depend on the values, for programs
	Group     viewer.Grouping   // as in viewer.Options
	Peaks     []string          // as in viewer.Options
	Names     viewer.NameFormat // of labels, as in viewer.Options
}

// Diff is the comparison of two or more profiles. The first is the baseline that all others are compared with.
type Diff struct {
	Names    []string // of the profiles
	Profiles []*profile.Profile
	Tables   []*viewer.Table // of the profiles
	Columns  []Column
	Root     *Row
	Notes    []string // what limits the comparison, a line each
	shown    Cut      // the last argument of Diff.Cut
	errors   int      // column of Tables that has the errors of times that are estimates; 0: there is none
}

// Column is one metric.
type Column struct {
	viewer.Column
	Better Direction
}

// Direction reports whether a smaller or a larger value of a metric is better.
type Direction int8

// The directions. Amounts of work are neither good nor bad.
const (
	Lower   Direction = -1
	Neutral Direction = 0
	Higher  Direction = 1
)

// Row is one call path.
type Row struct {
	Name     string // as matched, after renaming
	Label    string // the name as the output shows it
	Parent   *Row
	Children []*Row
	Hidden   int           // rows below this one that Cut left out
	In       []bool        // which profiles have it
	Sides    []*viewer.Row // its rows in Diff.Tables; nil for a profile that lacks the path
	Values   [][]float64   // by column and profile; NaN where there is none
}

// New compares profiles.
func New(inputs []Input, o Options) (*Diff, error) {
	if len(inputs) < 2 {
		return nil, errors.New("compare profiles: two are needed")
	}
	filter, err := profile.NewFilter(o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	d := &Diff{}
	for _, in := range inputs {
		p, err := fold(in.Profile, o.Rename, filter)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", in.Name, err)
		}
		d.Names, d.Profiles = append(d.Names, in.Name), append(d.Profiles, p)
	}
	if !slices.ContainsFunc(d.Profiles, func(p *profile.Profile) bool { return len(p.Root.Children)+len(p.Root.Metrics) > 0 }) {
		return nil, errors.New("no frame is left after the filters in any of the profiles; use wider ones")
	}
	shareMetrics(d.Profiles)
	if d.Tables, err = d.tables(&o); err != nil {
		return nil, err
	}
	for i, c := range d.Tables[0].Columns {
		if d.errors == 0 || i < d.errors {
			d.Columns = append(d.Columns, Column{c, direction(&c)})
		}
	}
	var rows []*viewer.Row
	for _, t := range d.Tables {
		rows = append(rows, t.Root)
	}
	d.Root = d.match(rows)
	for c := range d.Columns {
		for _, i := range d.Lacking(c) {
			d.Notes = append(d.Notes, fmt.Sprintf("%s has no %s: it was recorded without, so that a change of it says nothing", d.Names[i], d.Columns[c].Name))
		}
	}
	return d, nil
}

// Lacking are the profiles that have no value of a metric of which others have one.
func (d *Diff) Lacking(column int) (profiles []int) {
	has := make([]bool, len(d.Names))
	d.Root.Walk(func(r *Row, _ int) {
		for i, v := range r.Values[column] {
			has[i] = has[i] || !math.IsNaN(v)
		}
	})
	for i, h := range has {
		if !h && slices.Contains(has, true) {
			profiles = append(profiles, i)
		}
	}
	return profiles
}

// tables computes the metrics of all profiles, in the units that the viewer chooses for the first profile.
func (d *Diff) tables(o *Options) ([]*viewer.Table, error) {
	var all []*viewer.Table
	metrics := o.Metrics
	_, timed := d.Profiles[0].Kinds[profile.TimeMetric]
	if _, estimated := d.Profiles[0].Kinds[profile.TimeErrorMetric]; estimated && timed {
		if len(metrics) == 0 {
			metrics = []string{"time"}
		}
		d.errors = len(metrics)
		metrics = append(slices.Clone(metrics), "time_error")
	}
	for i, p := range d.Profiles {
		t, err := viewer.NewTable(p, viewer.Options{Metrics: metrics, BaseUnits: o.BaseUnits, Group: o.Group, Peaks: o.Peaks, Names: o.Names})
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", d.Names[i], err)
		}
		if i == 0 {
			metrics = nil
			for _, c := range t.Columns {
				if c.Text {
					return nil, fmt.Errorf("compare %s: it is text; choose metrics that are numbers", c.Name)
				}
				metrics = append(metrics, c.Exact)
			}
		}
		for _, note := range t.Notes {
			if !slices.Contains(d.Notes, note) {
				d.Notes = append(d.Notes, note)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// direction derives from name and unit which values are better: low times and cycles, high rates and utilisation.
func direction(c *viewer.Column) Direction {
	if figures.Nanos(c.Unit) > 0 {
		return Lower
	}
	switch label := strings.ToLower(c.Label); {
	case strings.Contains(label, "cycles"):
		return Lower
	case strings.HasSuffix(label, "/s"), strings.HasPrefix(label, "util"):
		return Higher
	}
	return Neutral
}

// match joins the rows that the profiles have for one path, and all rows below them. A nil row means that a profile lacks
// the path.
func (d *Diff) match(rows []*viewer.Row) *Row {
	r := &Row{In: make([]bool, len(rows)), Sides: rows, Values: make([][]float64, len(d.Columns))}
	for c := range r.Values {
		r.Values[c] = make([]float64, len(rows))
	}
	for i, in := range rows {
		if r.In[i] = in != nil; r.In[i] && r.Name == "" {
			r.Name, r.Label = in.Name, d.Tables[i].Label(in)
		}
		for c := range r.Values {
			r.Values[c][i] = math.NaN()
			if in != nil {
				r.Values[c][i] = snap(in.Values[c])
			}
		}
	}
	for _, group := range pairUp(rows) {
		child := d.match(group)
		child.Parent = r
		r.Children = append(r.Children, child)
	}
	return r
}

// pairUp groups the children of rows by name, in the order of the first profile. A child that only a later profile has comes
// after the sibling that it follows in that profile.
func pairUp(rows []*viewer.Row) [][]*viewer.Row {
	type entry struct {
		group     []*viewer.Row
		followers []*entry
	}
	var start entry
	byName := map[string]*entry{}
	for i, r := range rows {
		if r == nil {
			continue
		}
		fresh := map[*entry][]*entry{} // new entries by the entry that they follow
		anchor := &start
		for _, c := range r.Children {
			e := byName[c.Name]
			if e == nil {
				e = &entry{group: make([]*viewer.Row, len(rows))}
				byName[c.Name] = e
				fresh[anchor] = append(fresh[anchor], e)
			} else {
				anchor = e
			}
			e.group[i] = c
		}
		for anchor, entries := range fresh {
			anchor.followers = append(entries, anchor.followers...)
		}
	}
	var groups [][]*viewer.Row
	for pending := []*entry{&start}; len(pending) > 0; {
		e := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if e.group != nil {
			groups = append(groups, e.group)
		}
		for i := len(e.followers) - 1; i >= 0; i-- {
			pending = append(pending, e.followers[i])
		}
	}
	return groups
}

// Change is a profile's value of a column minus the first profile's. Where a path is missing, an additive metric counts as 0;
// for any other metric, such as a rate, the change is NaN.
func (d *Diff) Change(r *Row, column, profile int) float64 {
	return subtract(d.value(r, column, profile), d.value(r, column, 0))
}

// snap rounds to 15 significant digits, which removes the rounding errors of unit factors such as 1e-9. Without it 1100 ns may
// be 1100.0000000000002, and a frame that vanished would not have changed by exactly -100 %.
func snap(v float64) float64 { return figures.Rounded(v, 15) }

// subtract returns a-b rounded to the precision of the larger operand: 1.1-1 is 0.1 and not 0.10000000000000009.
func subtract(a, b float64) float64 {
	d := a - b
	largest := max(math.Abs(a), math.Abs(b))
	if d == 0 || largest-largest != 0 || largest < 1e-290 {
		return d
	}
	step := math.Pow10(int(math.Floor(math.Log10(largest))) - 13)
	return snap(math.Round(d/step) * step)
}

// Relative is Change divided by the first profile's value; it is infinite if that value is 0.
func (d *Diff) Relative(r *Row, column, profile int) float64 {
	change, base := d.Change(r, column, profile), math.Abs(d.value(r, column, 0))
	if change == 0 {
		return 0
	}
	return change / base
}

// estimated reports whether a column is of times that are estimates in one of the profiles.
func (d *Diff) estimated(column int) bool { return d.errors > 0 && d.Columns[column].Label == "time" }

// Error is the standard error of Change, of times that are estimates; 0 for anything else.
func (d *Diff) Error(r *Row, column, profile int) float64 {
	if !d.estimated(column) {
		return 0
	}
	of := func(side int) float64 {
		if in := r.Sides[side]; in != nil && !math.IsNaN(in.Values[d.errors]) {
			return in.Values[d.errors]
		}
		return 0
	}
	factor := figures.Nanos(d.Tables[0].Columns[d.errors].Unit) / figures.Nanos(d.Columns[column].Unit)
	return snap(math.Hypot(of(0), of(profile)) * factor)
}

func (d *Diff) value(r *Row, column, profile int) float64 {
	v := r.Values[column][profile]
	if math.IsNaN(v) && d.Columns[column].Additive {
		return 0
	}
	return v
}

// Path returns the names from the root to the row.
func (r *Row) Path() []string { return r.path(func(at *Row) string { return at.Name }) }

// Labels returns the path as the output shows it.
func (r *Row) Labels() []string { return r.path(func(at *Row) string { return at.Label }) }

func (r *Row) path(what func(*Row) string) (path []string) {
	for at := r; at != nil; at = at.Parent {
		path = append(path, what(at))
	}
	slices.Reverse(path)
	return path
}

// CheckPaths returns an error if the call paths of a row and of all below it take too much where each is written out.
func (r *Row) CheckPaths(what string) error {
	sizes := profile.PathSizes{What: what, Instead: "leave frames out (--exclude)", Frame: 3, Names: true}
	r.Walk(func(at *Row, depth int) { sizes.Add(at.Name, depth) })
	return sizes.Err()
}

// Walk calls visit for a row and all below it, parents first.
func (r *Row) Walk(visit func(r *Row, depth int)) { r.walk(visit, 0) }

func (r *Row) walk(visit func(r *Row, depth int), depth int) {
	visit(r, depth)
	for _, c := range r.Children {
		c.walk(visit, depth+1)
	}
}
