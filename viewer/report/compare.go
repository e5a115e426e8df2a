package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
)

// compare fills a page with the comparison of two profiles: A is old, B is new.
func (b *builder) compare(a, z Source, o Options) error {
	b.Diff, b.Title = true, fmt.Sprintf("%s → %s", a.Name, z.Name)
	if a.Profile == nil {
		b.withoutProfile(a, z)
		return b.compareSources([2]Source{a, z}, o)
	}
	metrics := b.inProportion(common(a.Profile, z.Profile), a.Profile, z.Profile)
	tree, err := diffOf(a, z, metrics, viewer.ByPath, o)
	if err != nil {
		return err
	}
	kernels, err := diffOf(a, z, metrics, viewer.ByName, o)
	if err != nil {
		return err
	}
	b.note(tree.Notes...)
	b.addFile(a)
	b.addFile(z)
	has := func(i int) bool { return hasAny(tree.Tables[0], i) || hasAny(tree.Tables[1], i) }
	b.Columns, b.Metrics = diffColumns(tree, metrics, has)
	if len(b.Metrics) == 0 {
		return errNothingAdds
	}
	noDevices := namesNoDevice(a.Profile) || namesNoDevice(z.Profile)
	b.addTree(diffRows(tree), noDevices)
	columns, _ := diffColumns(kernels, metrics, has)
	b.addKernels(kernelsOf(diffRows(kernels), kernelNames(tree.Profiles...)), columns)
	b.addRoofline(tree.Tables[1])
	return b.compareSources([2]Source{a, z}, o)
}

// common lists the metrics of two profiles that can be compared: numbers that either has recorded, and what derives
// in both.
func common(a, z *profile.Profile) []viewer.Metric {
	ofA, ofZ := wanted(a), wanted(z)
	has := func(list []viewer.Metric, name string) bool {
		return slices.ContainsFunc(list, func(m viewer.Metric) bool { return m.Name == name })
	}
	all := slices.Clone(ofZ)
	for _, m := range ofA {
		if !has(ofZ, m.Name) && !m.Derived {
			all = append(all, m)
		}
	}
	all = slices.DeleteFunc(all, func(m viewer.Metric) bool { return m.Text || m.Derived && !has(ofA, m.Name) })
	sortByImportance(all, a)
	return all
}

func diffOf(a, z Source, metrics []viewer.Metric, by viewer.Grouping, o Options) (*compare.Diff, error) {
	options := compare.Options{BaseUnits: true, Group: by, Peaks: o.Peaks, Rename: o.Rename}
	for _, m := range metrics {
		options.Metrics = append(options.Metrics, m.Name)
	}
	return compare.New([]compare.Input{{Name: a.Name, Profile: a.Profile}, {Name: z.Name, Profile: z.Profile}}, options)
}

// diffRows lists the rows of a comparison, parents first.
func diffRows(d *compare.Diff) []row {
	var all []row
	d.Root.Walk(func(r *compare.Row, depth int) {
		next := row{old: r.Sides[0], new: r.Sides[1], diff: r, name: r.Name, depth: depth}
		switch {
		case next.new == nil:
			next.side = onlyOld
		case next.old == nil:
			next.side = onlyNew
		}
		all = append(all, next)
	})
	return all
}

// diffColumns turns each column of a comparison into four: what B has, what A has, the change, and the change as a
// part of A.
func diffColumns(d *compare.Diff, metrics []viewer.Metric, has func(column int) bool) (columns []column, rules []metric) {
	for i := range d.Columns {
		if !has(i) {
			continue
		}
		c := &d.Columns[i].Column
		factor := 1.0
		now := column{Name: c.Name, Unit: unitOf(c), About: metrics[i].About, recorded: c.Additive && !metrics[i].Derived}
		if c.Ratio {
			now.Unit, factor = "%", 100
		}
		if at := rank(c.Name); at < len(importance) {
			now.Tip = importance[at].tip
		}
		label := labelOf(c)
		old, delta, ratio := now, now, now
		old.Role, delta.Role, ratio.Role = roleOld, roleDelta, roleRatio
		now.Label, old.Label, delta.Label, ratio.Label = label+" B", label+" A", "Δ "+label, "Δ "+label+" %"
		old.Tip, delta.Tip, ratio.Tip = false, false, false
		delta.Signed, ratio.Signed, ratio.Unit = true, true, "%"
		delta.recorded, ratio.recorded = false, false
		now.of = func(r *row) float64 { return r.diff.Values[i][1] * factor }
		old.of = func(r *row) float64 { return r.diff.Values[i][0] * factor }
		delta.of = func(r *row) float64 { return d.Change(r.diff, i, 1) * factor }
		ratio.of = func(r *row) float64 { return ratioOf(d, r, i) }
		first := len(columns)
		if !c.Text && c.Additive && c.Inclusive {
			rules = append(rules, metric{Label: label, Unit: now.Unit, Column: first + 1, Old: first, Delta: first + 2, Ratio: first + 3})
			if len(rules) == 1 {
				old.Shown, now.Shown, delta.Shown, ratio.Shown = true, true, true, true
			}
		}
		ratio.Shown = ratio.Shown || slices.Contains([]string{"avg_time", "flop/s", "byte/s", "count"}, c.Name)
		columns = append(columns, old, now, delta, ratio)
	}
	return columns, rules
}

// ratioOf is a change in percent of what A has.
func ratioOf(d *compare.Diff, r *row, column int) float64 {
	v := d.Relative(r.diff, column, 1) * 100
	if math.IsNaN(v) && r.side == onlyNew {
		return math.Inf(1)
	}
	return v
}
