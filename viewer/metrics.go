package viewer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// recorded is one metric of the profile.
type recorded struct {
	name      string // in full: "time (ns)"
	inclusive bool
	text      bool // some value is not a number: property strings, vectors
}

// amount is a number per frame that columns are computed from.
type amount struct {
	name      string
	inclusive bool // added up over subtrees
	property  bool // not added up at all: over the frames of a row the first value stands
	spans     bool // what a frame has includes all below it; frames without any have the sum of those below
	of        func(f *frame) float64
}

// add adds a value of another frame.
func (a *amount) add(sum, v float64) float64 {
	if a.property && !math.IsNaN(sum) {
		return sum
	}
	return add(sum, v)
}

// column is a Column and how it is computed from its amounts.
type column struct {
	Column
	// How it is computed from the amounts of a row, in base units. One of these is set; none for recorded text.
	value func(a []float64) float64
	stat  func(s *profile.Sketch) float64
	word  func(a []float64) string

	recorded string            // the metric's name in the profile, of recorded text
	open     *figures.Quantity // of which a unit is still to be chosen; nil when it is fixed
	unit     figures.Unit
	share    bool // of the total
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
	base := figures.MetricName(name)
	_, flops := profile.Flops(base)
	return flops || Spans(name) || slices.Contains([]string{"time", timeError, "count", "bytes"}, base)
}

// Spans reports whether a metric is the time from a scope's begin to its end, which has that of the scopes within it: that of the
// program's scopes, or that of scopes inside of kernels.
func Spans(name string) bool {
	base, _, _ := strings.Cut(figures.MetricName(name), "@") // cycles@rank3: of one source of a merged profile
	return profile.IsCPUTime(name) || base == "cycles" || base == "normalized_cycles"
}

// widths of operands in bits, as they stand in the names of metrics.
var widths = []string{"8", "16", "32", "64"}

// find looks a recorded metric up by its name with or without the unit, in any case. Inclusive metrics win.
func (b *builder) find(wanted string) (recorded, bool) {
	for _, inclusive := range []bool{true, false} {
		for _, r := range b.recorded {
			if r.inclusive == inclusive && IsCalled(r.name, wanted) {
				return r, true
			}
		}
	}
	return recorded{}, false
}

// IsCalled reports whether a recorded metric is called by its name with or without the unit, in any case.
func IsCalled(recorded, wanted string) bool {
	wanted = strings.ToLower(wanted)
	return strings.ToLower(recorded) == wanted || figures.MetricName(recorded) == wanted
}

// amount returns the position of a recorded metric among the amounts.
func (b *builder) amount(r recorded) int {
	of := func(f *frame) float64 { return f.node.Number(r.name) }
	if countsWork(r.name) {
		b.lend()
		of = func(f *frame) float64 { return f.done().Number(r.name) }
	}
	at := b.computed(r.name, r.inclusive, of)
	a := &b.sums.amounts[at]
	a.property = b.profile.Kinds[r.name] == profile.Property
	if a.spans = Spans(r.name); a.spans {
		a.of = func(f *frame) float64 { return spanned(f.node, r.name) }
	}
	return at
}

// spanned is a recorded number that has what is below the frame.
func spanned(n *profile.Node, metric string) float64 {
	v, has := n.WholeValue(metric)
	if f, number := v.Float(); has && number {
		return f
	}
	return missing
}

// ours begins the names of amounts that are made of recorded ones: no recorded name does.
const ours = "\x00"

// computed returns the position of an amount, and adds it if it is new.
func (b *builder) computed(name string, inclusive bool, of func(f *frame) float64) int {
	s := &b.sums
	if at := slices.IndexFunc(s.amounts, func(a amount) bool { return a.name == name }); at >= 0 {
		return at
	}
	s.amounts = append(s.amounts, amount{name: name, inclusive: inclusive, of: of})
	return len(s.amounts) - 1
}

// resolve turns names into columns.
func (b *builder) resolve(o *Options) error {
	wanted := o.Metrics
	if len(wanted) == 0 {
		wanted = []string{b.defaultMetric()}
		if why := counters.NoTimes(b.profile); why != "" {
			b.note(why)
		}
		if _, estimated := b.find(timeError); estimated && o.errors && wanted[0] == "time" {
			wanted = append(wanted, timeError)
		}
	}
	for _, w := range wanted {
		w = strings.TrimSpace(w)
		c, err := b.column(w)
		if err != nil {
			return err
		}
		c.Name = strings.ToLower(w)
		b.sums.columns = append(b.sums.columns, c)
	}
	b.sums.weight = b.weigh()
	return nil
}

// weigh chooses what shares are of: the first metric if it adds up, else the time, else the first that does.
func (b *builder) weigh() weight {
	adds := func(c *column) bool { return c.Additive && c.Inclusive }
	first := &b.sums.columns[0]
	if !adds(first) {
		if elapsed, err := b.seconds("time"); err == nil {
			return weight{"time", elapsed.of}
		}
	}
	for i := range b.sums.columns {
		if c := &b.sums.columns[i]; adds(c) {
			return weight{c.Label, c.value}
		}
	}
	return weight{}
}

// column reads one name. After the figures of hardware counters, a recorded metric of exactly that name comes first, since names may hold anything; only
// bytes and flops get units that they were not recorded in.
func (b *builder) column(name string) (column, error) {
	if c, ok, err := b.counterColumn(name); ok || err != nil {
		return c, err
	}
	if at, ok := b.index[name]; ok && !scaled(strings.ToLower(name)) {
		return b.plain(b.recorded[at]), nil
	}
	name = strings.ToLower(name)
	for _, read := range []func(string) (column, bool, error){b.timeColumn, b.statColumn, b.rateColumn, b.roofColumn, b.occupancyColumn, b.overTimeColumn, b.amountColumn, b.scaledColumn, b.recordedColumn} {
		if c, ok, err := read(name); ok || err != nil {
			return c, err
		}
	}
	if of, ok := strings.CutSuffix(name, "/%"); ok {
		return b.shareColumn(of)
	}
	return column{}, b.unknown(name)
}

// defaultMetric is the metric of a profile that is shown if the user names none.
func (b *builder) defaultMetric() string {
	for _, name := range []string{"time", "cycles", "cpu_time"} {
		if _, ok := b.find(name); ok {
			return name
		}
	}
	for _, keep := range []func(r recorded) bool{
		func(r recorded) bool { return r.name == b.profile.Shown },
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
	c.Label = figures.MetricName(r.name)
	return c, true, nil
}

// plain is a recorded metric as it is.
func (b *builder) plain(r recorded) column {
	c := column{Column: Column{Label: figures.MetricName(r.name), Exact: r.name, Unit: figures.MetricUnit(r.name), Inclusive: r.inclusive, Additive: true}, unit: figures.Unit{Factor: 1}}
	if r.text {
		c.Text, c.Additive, c.recorded = true, false, r.name
		return c
	}
	at := b.amount(r)
	c.Additive = b.profile.Kinds[r.name] != profile.Property
	c.value = func(a []float64) float64 { return a[at] }
	return c
}

// timeError is the standard error of times that are estimates. That of a frame is the sum of those of its kernels: the most that it can be.
const timeError = "time_error"

// timeColumn reads time, its error, cpu_time and their averages per kernel, with or without a unit.
func (b *builder) timeColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	of, averaged := strings.CutPrefix(base, "avg_")
	u, known := figures.Times.Unit(wanted)
	kind, source, split := strings.Cut(of, "@") // time@rank3: of one source of a merged profile
	if !slices.Contains([]string{"time", timeError, "cpu_time"}, kind) || fixed && !known {
		return column{}, false, nil
	}
	elapsed, err := b.seconds(of)
	if err != nil {
		return column{}, true, err
	}
	c := column{Column: Column{Label: base, Inclusive: b.sums.amounts[elapsed.at].inclusive, Additive: !averaged}, value: elapsed.of}
	if averaged {
		counted := "count"
		if split {
			counted += "@" + source
		}
		count, ok := b.find(counted)
		if !ok {
			return column{}, true, b.unknown(counted)
		}
		n := b.amount(count)
		c.value = func(a []float64) float64 { return elapsed.of(a) / a[n] }
	}
	c.in(&figures.Times, u, fixed)
	return c, true, nil
}

// in sets a column's unit, or leaves it open.
func (c *column) in(q *figures.Quantity, u figures.Unit, fixed bool) {
	if !fixed {
		c.open = q
		return
	}
	c.unit, c.Unit = u, u.Label
}

// span is a recorded time in seconds.
type span struct {
	name   string // of the recorded metric
	at     int
	factor float64
}

func (s span) of(a []float64) float64 { return a[s.at] * s.factor }

// own is the time of a frame itself; NaN without one.
func (s span) own(f *frame) float64 {
	if s.name == "" {
		return missing
	}
	return f.node.Number(s.name) * s.factor
}

// seconds finds a recorded time.
func (b *builder) seconds(name string) (span, error) {
	r, ok := b.find(name)
	if !ok {
		return span{}, b.unknown(name)
	}
	u, known := figures.Times.Unit(figures.MetricUnit(r.name))
	if !known {
		return span{}, fmt.Errorf("read %q as a time: its name has no unit; record it as \"%s (ns)\"", r.name, name)
	}
	return span{r.name, b.amount(r), u.Factor}, nil
}

// rateColumn reads flop/s, flop8/s … flop64/s and byte/s with any prefix. Without one the unit is open.
func (b *builder) rateColumn(name string) (column, bool, error) {
	q, label, of, ok := rateOf(name)
	if !ok {
		return column{}, false, nil
	}
	u, _ := q.Unit(name)
	found := slices.DeleteFunc(b.workMetrics(), func(r recorded) bool { return !of(figures.MetricName(r.name)) })
	if len(found) == 0 {
		return column{}, true, b.noAmount(name, label)
	}
	var amount func(a []float64) float64
	if label == "flop/s" {
		amount = b.allFlops()
	} else {
		amount = b.sumOf(found)
	}
	elapsed, err := b.seconds("time")
	if err != nil {
		return column{}, true, err
	}
	c := column{Column: Column{Label: label, Inclusive: true}}
	c.value = func(a []float64) float64 { return amount(a) / elapsed.of(a) }
	c.in(&q, u, u.Factor != 1)
	return c, true, nil
}

// sumOf adds up metrics of flops or bytes, as rooflines and rates have them.
func (b *builder) sumOf(list []recorded) func(a []float64) float64 {
	var at []int
	for _, r := range list {
		at = append(at, b.computed(ours+"done "+r.name, true, func(f *frame) float64 { return f.does().Number(r.name) }))
	}
	return func(a []float64) float64 {
		sum := missing
		for _, i := range at {
			sum = add(sum, a[i])
		}
		return sum
	}
}

// rateOf parses the name of a rate into its quantity, its label, and which metrics add up to it. flop/s is of
// operands of any type, flop16/s of any that are 16 bits wide.
func rateOf(name string) (q figures.Quantity, label string, of func(metric string) bool, ok bool) {
	if _, ok := figures.ByteRate.Unit(name); ok {
		return figures.ByteRate, "byte/s", func(metric string) bool { return metric == "bytes" }, true
	}
	for _, width := range append([]string{""}, widths...) {
		q = figures.FlopRate(width)
		if _, ok := q.Unit(name); !ok {
			continue
		}
		of = func(metric string) bool {
			dtype, ok := profile.Flops(metric)
			return ok && (width == "" || strconv.Itoa(profile.OperandBits(dtype)) == width)
		}
		return q, "flop" + width + "/s", of, true
	}
	return figures.Quantity{}, "", nil, false
}

// scaled reports whether a metric is an amount that is shown in units of its own.
func scaled(metric string) bool {
	_, flops := profile.Flops(withoutOrigin(metric))
	return flops || scaledBytes(metric)
}

// withoutOrigin is the metric whose part a metric is, by the origin of the numbers.
func withoutOrigin(metric string) string {
	return strings.TrimPrefix(strings.TrimPrefix(metric, profile.OperatorPrefix), profile.EstimatedPrefix)
}

func scaledBytes(metric string) bool {
	return withoutOrigin(metric) == profile.BytesMetric || strings.HasSuffix(metric, "_bytes")
}

// amountColumn reads bytes and flops, which are easier to read in units of their own than with twelve digits.
func (b *builder) amountColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	if !scaled(base) || wanted == "%" {
		return column{}, false, nil
	}
	r, ok := b.find(base)
	if !ok || r.text {
		return column{}, false, nil
	}
	q := &figures.Flops
	if scaledBytes(base) {
		q = &figures.Bytes
	}
	c := b.plain(r)
	c.Exact = ""
	return c.shownIn(q, name, wanted, fixed)
}

// scaledColumn reads a recorded number whose name has a unit, in another unit of the same quantity: idle/ms of "idle (ns)".
func (b *builder) scaledColumn(name string) (column, bool, error) {
	at := strings.LastIndex(name, "/")
	if at < 0 || name[at+1:] == "%" {
		return column{}, false, nil
	}
	r, ok := b.find(name[:at])
	if !ok || r.text {
		return column{}, false, nil
	}
	q, from, ok := figures.QuantityOf(figures.MetricUnit(r.name))
	if !ok {
		return column{}, false, nil
	}
	c := b.plain(r)
	amount := c.value
	c.Exact, c.value = "", func(a []float64) float64 { return amount(a) * from.Factor }
	return c.shownIn(q, name, name[at+1:], true)
}

// shareColumn is a percentage of the whole program's value.
func (b *builder) shareColumn(of string) (column, error) {
	c, err := b.column(of)
	if err != nil {
		return column{}, err
	}
	if c.Text || !c.Additive {
		return column{}, fmt.Errorf("%s/%%: a share needs an amount that adds up, such as time, count or bytes; %s does not add up", of, of)
	}
	c.open, c.unit, c.Unit, c.share = nil, figures.Percent, "%", true
	c.Exact = "" // not that of the amount: the name that was asked for
	return c, nil
}

// textOf prints a value that is not a number.
func textOf(n *profile.Node, name string) string {
	for i := range n.Metrics {
		if m := &n.Metrics[i]; strings.ToLower(m.Name) == name || figures.MetricName(m.Name) == name {
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

// derive chooses open units, and finishes the columns and the totals.
func (b *builder) derive(t *Table, baseUnits bool) {
	s := &b.sums
	for i := range s.columns {
		c := &s.columns[i]
		if c.open != nil {
			c.unit = c.open.Exact
			if !baseUnits {
				c.unit = c.open.Fit(s.largest(c))
			}
			c.Unit, c.Exact = c.unit.Label, c.Name+"/"+c.unit.Name
			if strings.HasSuffix(c.Name, "/s") {
				c.Exact = c.unit.Name
			}
			c.quantity, c.factor = c.open, c.unit.Factor
		}
		if c.Exact == "" {
			c.Exact = c.Name
		}
		total := missing
		if c.value != nil {
			total = c.value(s.whole)
		}
		if c.share {
			c.unit.Factor *= total
		}
		t.Total = append(t.Total, total/c.unit.Factor)
		t.Columns = append(t.Columns, c.Column)
	}
	t.ShareOf = s.weight.label
}
