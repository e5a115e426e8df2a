package viewer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// recorded is one metric of the profile.
type recorded struct {
	name      string // in full: "time (ns)"
	inclusive bool
	text      bool // some value is no number: property strings, vectors
}

// amount is a number per frame that columns are computed from.
type amount struct {
	name      string
	inclusive bool // added up over subtrees
	of        func(n *profile.Node) float64
}

// column is a Column and how it is computed from its amounts.
type column struct {
	Column
	value func(a []float64) float64 // in base units; nil for text
	open  *quantity                 // of which a unit is still to be chosen; nil when it is fixed
	unit  unit
	share bool // of the total
}

// survey lists the metrics of the profile in the order of their first appearance from the root down, so inclusive
// metrics, which the root names, come first in a file's own order.
func (b *builder) survey() {
	b.index = map[string]int{}
	for f := range b.frames {
		for i := range b.frames[f].node.Metrics {
			m := &b.frames[f].node.Metrics[i]
			// Nodes that come one after another mostly have the same metrics in the same order.
			at, known := i, i < len(b.recorded) && b.recorded[i].name == m.Name
			if !known {
				at, known = b.index[m.Name]
			}
			if !known {
				at = len(b.recorded)
				b.index[m.Name] = at
				b.recorded = append(b.recorded, recorded{name: m.Name, inclusive: b.profile.Kinds[m.Name] == profile.Inclusive || alwaysInclusive(m.Name)})
			}
			if _, number := m.Value.Float(); !number {
				b.recorded[at].text = true
			}
		}
	}
}

// alwaysInclusive names the amounts of GPU work. Some versions of Triton's Proton forget to mark bytes and flops so,
// and a scope then has no rate.
func alwaysInclusive(name string) bool {
	base := baseName(name)
	return base == "time" || base == "count" || base == "bytes" || base == "cycles" || isFlops(base)
}

func isFlops(name string) bool {
	width, ok := strings.CutPrefix(name, "flops")
	return ok && (width == "" || slices.Contains(widths, width))
}

// widths of operands in bits, as they stand in the names of metrics.
var widths = []string{"8", "16", "32", "64"}

// baseName is a metric's name without its unit, in lower case: what users type.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, "(")
	return strings.ToLower(strings.TrimSpace(base))
}

// recordedUnit is what stands in the parentheses of a name: "ns" of "time (ns)".
func recordedUnit(name string) string {
	_, rest, _ := strings.Cut(name, "(")
	inside, _, _ := strings.Cut(rest, ")")
	return inside
}

// find looks a recorded metric up by its name with or without the unit, in any case. Inclusive metrics win.
func (b *builder) find(wanted string) (recorded, bool) {
	wanted = strings.ToLower(wanted)
	for _, inclusive := range []bool{true, false} {
		for _, r := range b.recorded {
			if r.inclusive == inclusive && (strings.ToLower(r.name) == wanted || baseName(r.name) == wanted) {
				return r, true
			}
		}
	}
	return recorded{}, false
}

// amount returns the position of a recorded metric among the amounts.
func (b *builder) amount(r recorded) int {
	return b.computed(r.name, r.inclusive, func(n *profile.Node) float64 {
		v, ok := n.Metric(r.name)
		if f, number := v.Float(); ok && number {
			return f
		}
		return missing
	})
}

// computed returns the position of an amount that is made of others, and adds it if it is new.
func (b *builder) computed(name string, inclusive bool, of func(n *profile.Node) float64) int {
	if at := slices.IndexFunc(b.amounts, func(a amount) bool { return a.name == name }); at >= 0 {
		return at
	}
	b.amounts = append(b.amounts, amount{name, inclusive, of})
	return len(b.amounts) - 1
}

// resolve turns names into columns.
func (b *builder) resolve(wanted []string) error {
	if len(wanted) == 0 {
		wanted = []string{b.defaultMetric()}
	}
	for _, w := range wanted {
		c, err := b.column(strings.TrimSpace(w))
		if err != nil {
			return err
		}
		c.Name = strings.ToLower(strings.TrimSpace(w))
		b.columns = append(b.columns, c)
	}
	return nil
}

// column reads one name. A recorded metric of exactly that name comes first, since names may hold anything.
func (b *builder) column(name string) (column, error) {
	if at, ok := b.index[name]; ok {
		return b.plain(b.recorded[at]), nil
	}
	name = strings.ToLower(name)
	for _, read := range []func(string) (column, bool, error){b.timeColumn, b.rateColumn, b.recordedColumn} {
		if c, ok, err := read(name); ok || err != nil {
			return c, err
		}
	}
	if of, ok := strings.CutSuffix(name, "/%"); ok {
		return b.shareColumn(of)
	}
	return column{}, b.unknown(name)
}

// unknown is the error for a name that means nothing here.
func (b *builder) unknown(name string) error {
	return fmt.Errorf("there is no metric %s; see --list for those of this profile", name)
}

// defaultMetric is what is shown when nothing was asked for.
func (b *builder) defaultMetric() string {
	for _, name := range []string{"time", "cycles", "cpu_time"} {
		if _, ok := b.find(name); ok {
			return name
		}
	}
	for _, keep := range []func(r recorded) bool{
		func(r recorded) bool { return r.inclusive && !r.text },
		func(r recorded) bool { return !r.text },
	} {
		if at := slices.IndexFunc(b.recorded, keep); at >= 0 {
			return b.recorded[at].name
		}
	}
	return b.recorded[0].name
}

// recordedColumn reads the name of a recorded metric without its unit.
func (b *builder) recordedColumn(name string) (column, bool, error) {
	r, ok := b.find(name)
	if !ok {
		return column{}, false, nil
	}
	c := b.plain(r)
	c.Label = baseName(r.name)
	return c, true, nil
}

// plain is a recorded metric as it is.
func (b *builder) plain(r recorded) column {
	c := column{Column: Column{Label: baseName(r.name), Exact: r.name, Unit: recordedUnit(r.name), Inclusive: r.inclusive, Additive: true}, unit: unit{factor: 1}}
	if r.text {
		c.Text, c.Additive = true, false
		return c
	}
	at := b.amount(r)
	c.Additive = b.profile.Kinds[r.name] != profile.Property
	c.value = func(a []float64) float64 { return a[at] }
	return c
}

// timeColumn reads time, cpu_time and their averages per kernel, with or without a unit.
func (b *builder) timeColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	of, averaged := strings.CutPrefix(base, "avg_")
	u, known := times.byName(wanted)
	if of != "time" && of != "cpu_time" || fixed && !known {
		return column{}, false, nil
	}
	elapsed, err := b.seconds(of)
	if err != nil {
		return column{}, true, err
	}
	c := column{Column: Column{Label: base, Inclusive: b.amounts[elapsed.at].inclusive, Additive: !averaged}, value: elapsed.of}
	if averaged {
		count, ok := b.find("count")
		if !ok {
			return column{}, true, b.unknown("count")
		}
		n := b.amount(count)
		c.value = func(a []float64) float64 { return elapsed.of(a) / a[n] }
	}
	c.in(&times, u, fixed)
	return c, true, nil
}

// in sets a column's unit, or leaves it open.
func (c *column) in(q *quantity, u unit, fixed bool) {
	if !fixed {
		c.open = q
		return
	}
	c.unit, c.Unit = u, u.label
}

// span is a recorded time in seconds.
type span struct {
	at     int
	factor float64
}

func (s span) of(a []float64) float64 { return a[s.at] * s.factor }

// seconds finds a recorded time.
func (b *builder) seconds(name string) (span, error) {
	r, ok := b.find(name)
	if !ok {
		return span{}, b.unknown(name)
	}
	u, known := times.byName(recordedUnit(r.name))
	if !known {
		return span{}, fmt.Errorf("read %q as a time: its name ends in no unit; record it as \"%s (ns)\"", r.name, name)
	}
	return span{b.amount(r), u.factor}, nil
}

// rateColumn reads flop/s, flop8/s … flop64/s and byte/s with any prefix. Without one the unit is open.
func (b *builder) rateColumn(name string) (column, bool, error) {
	q, label, of, ok := rateOf(name)
	if !ok {
		return column{}, false, nil
	}
	u, _ := q.byName(name)
	var amounts []int
	for _, metric := range of {
		if r, ok := b.find(metric); ok {
			amounts = append(amounts, b.amount(r))
		}
	}
	if len(amounts) == 0 {
		return column{}, true, b.unknown(name)
	}
	elapsed, err := b.seconds("time")
	if err != nil {
		return column{}, true, err
	}
	c := column{Column: Column{Label: label, Inclusive: true}}
	c.value = func(a []float64) float64 {
		sum := missing
		for _, at := range amounts {
			sum = add(sum, a[at])
		}
		return sum / elapsed.of(a)
	}
	c.in(&q, u, u.factor != 1)
	return c, true, nil
}

// rateOf takes the name of a rate apart: its quantity, what it is of, and the metrics that add up to it.
func rateOf(name string) (q quantity, label string, of []string, ok bool) {
	if _, ok := byteRate.byName(name); ok {
		return byteRate, "byte/s", []string{"bytes"}, true
	}
	for _, width := range append([]string{""}, widths...) {
		q = flopRate(width)
		if _, ok := q.byName(name); !ok {
			continue
		}
		of = []string{"flops" + width}
		if width == "" { // of any width
			for _, w := range widths {
				of = append(of, "flops"+w)
			}
		}
		return q, "flop" + width + "/s", of, true
	}
	return quantity{}, "", nil, false
}

// shareColumn is a percentage of the whole program's value.
func (b *builder) shareColumn(of string) (column, error) {
	c, err := b.column(of)
	if err != nil {
		return column{}, err
	}
	if c.Text || !c.Additive {
		return column{}, fmt.Errorf("%s/%%: a share needs an amount that adds up, such as time, count or bytes; %s is none", of, of)
	}
	c.open, c.unit, c.Unit, c.share = nil, percentUnit, "%", true
	return c, nil
}

// textOf prints a value that is no number.
func textOf(n *profile.Node, name string) string {
	for i := range n.Metrics {
		if m := &n.Metrics[i]; strings.ToLower(m.Name) == name || baseName(m.Name) == name {
			return valueText(m.Value)
		}
	}
	return ""
}

func valueText(v profile.Value) string {
	switch v.Type() {
	case profile.String:
		return v.Str()
	case profile.Ints:
		return strings.ReplaceAll(fmt.Sprint(v.Ints()), " ", ", ")
	case profile.Floats:
		return strings.ReplaceAll(fmt.Sprint(v.Floats()), " ", ", ")
	}
	f, _ := v.Float()
	return fmt.Sprint(f)
}

// derive computes totals, chooses open units and finishes the columns.
func (b *builder) derive(t *Table, baseUnits bool) {
	k := len(b.amounts)
	for i := range b.columns {
		c := &b.columns[i]
		if c.Text {
			t.Total = append(t.Total, missing)
			t.Columns = append(t.Columns, c.Column)
			continue
		}
		if c.open != nil {
			c.unit = c.open.base
			if !baseUnits {
				largest := 0.0
				for r := range b.rows {
					if v := c.value(b.sum[r*k : (r+1)*k]); v > largest && finite(v) {
						largest = v
					}
				}
				c.unit = c.open.fit(largest)
			}
			c.Unit, c.Exact = c.unit.label, b.exact(c)
		}
		if c.Exact == "" {
			c.Exact = c.Name
		}
		total := c.value(b.total)
		if c.share {
			c.unit.factor *= total
		}
		t.Total = append(t.Total, total/c.unit.factor)
		t.Columns = append(t.Columns, c.Column)
	}
}

// exact is the name of a column with its unit.
func (b *builder) exact(c *column) string {
	if strings.HasSuffix(c.Name, "/s") {
		return c.unit.name
	}
	return c.Name + "/" + c.unit.name
}

// evaluate computes every column of every row from its amounts.
func (b *builder) evaluate(amounts []float64) []float64 {
	n, k := len(b.columns), len(b.amounts)
	values := make([]float64, n*len(b.rows))
	for i := range b.columns {
		c := &b.columns[i]
		for r := range b.rows {
			v := missing
			if c.value != nil {
				v = c.value(amounts[r*k:(r+1)*k]) / c.unit.factor
			}
			values[r*n+i] = v
		}
	}
	return values
}

func finite(v float64) bool { return v-v == 0 }
