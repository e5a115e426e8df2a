package viewer

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// Table is a profile as rows and columns, filtered and with its metrics computed. Views, reports and comparisons start
// from one. It shares nodes with the profile and changes nothing in it.
type Table struct {
	Columns []Column
	Root    *Row
	Total   []float64 // by column: the value of the whole program, before filters; NaN where there is none
	ShareOf string    // label of the metric that Row.Share is a part of; "" when no metric adds up
	Notes   []string  // what the reader should know, a line each: a GPU without peaks, for example
	Profile *profile.Profile

	sums     *sums // what the rows were made of
	names    *namer
	roofs    []Roof
	cutAsked bool    // a threshold or a depth hides rows as asked for, so no note reports them
	others   int     // rows that were left out, since they have other metrics only
	elided   int     // rows that were left out by default
	tail     float64 // those with less than this part of what is shown
}

// Column is one metric that was requested.
type Column struct {
	Name       string // as it was requested, in lower case: "time", "tflop16/s", "loss"
	Exact      string // with the unit spelled out: "time/ms" for "time"; gives the same column for another profile
	Label      string // for people: "time", "flop16/s"
	Unit       string // of the values: "ms", "Tflop/s", "%"; "" for counts and ratios
	Inclusive  bool   // values are of the whole subtree; otherwise of the frame alone
	Additive   bool   // values of disjoint parts add up: amounts do, rates, averages and text do not
	Text       bool   // values are text: see Table.Text
	Ratio      bool   // 1 is the best that there is, as of util
	Percentile bool   // of a distribution: values have no more digits than are known

	quantity *figures.Quantity // of a column without a requested unit
	factor   float64           // of Unit to the quantity's base unit
}

// Row is one frame, or several of one name that a filter or a grouping joined.
type Row struct {
	Name     string        // as recorded; see Table.Label for what people read
	Node     *profile.Node // the first frame of the profile that became this row
	Parent   *Row          // nil for the root
	Depth    int           // 0 for the root
	Children []*Row
	Hidden   []*Row    // children that a cut left out
	Values   []float64 // by column; NaN where there is none
	Own      []float64 // by column: the same of the frame alone, without what is below it
	Share    float64   // 0 to 1, of the whole program's ShareOf; NaN where there is none
	Measured float64   // part of the time of the row's kernels that hardware counters measured, if a column is made of them; 0 to 1
	WorkOf   string    // the scope whose flops and bytes a kernel has, as its only kernel; "" for its own

	id int // position in the table's sums
}

var missing = math.NaN()

// ErrNoMetrics is the error for a profile without metrics.
var ErrNoMetrics = errors.New("no metrics found in the profile; check that the program launched GPU work while it was profiled")

// NewTable computes the metrics that were requested, for every frame that the filters leave.
func NewTable(p *profile.Profile, o Options) (*Table, error) {
	names, err := newNamer(o.Names)
	if err != nil {
		return nil, err
	}
	b := &builder{profile: p, frames: collect(p.Root)}
	b.survey()
	if len(b.recorded) == 0 {
		return nil, ErrNoMetrics
	}
	if b.overrides, err = parsePeaks(o.Peaks); err != nil {
		return nil, err
	}
	if err := b.resolve(&o); err != nil {
		return nil, err
	}
	if err := b.filter(&o); err != nil {
		return nil, err
	}
	b.addUp()
	b.sums.total()
	b.noteUtil(names)
	b.noteEstimates()
	if callers := b.sums.group(o.Group); callers < maxCallers {
		b.note(fmt.Sprintf("only %d callers of each frame are shown, since all of them would be too many rows: those above count for the last", callers))
	}
	t := &Table{Profile: p, sums: &b.sums, names: names, roofs: b.roofs()}
	b.derive(t, o.BaseUnits)
	t.link()
	b.markLent(t, o.Group)
	b.markMeasured(t)
	t.Notes = b.notes
	if err := t.cut(&o); err != nil {
		return nil, err
	}
	return t, nil
}

// All yields every shown row, parents first and siblings in order.
func (t *Table) All() iter.Seq[*Row] { return t.Root.All() }

// All yields the row and all shown rows below it, parents first and siblings in order.
func (r *Row) All() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for pending := []*Row{r}; len(pending) > 0; {
			next := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if !yield(next) {
				return
			}
			for _, c := range slices.Backward(next.Children) {
				pending = append(pending, c)
			}
		}
	}
}

// Path returns the names from the root to the row, both included.
func (r *Row) Path() []string {
	var path []string
	for ; r != nil; r = r.Parent {
		path = append(path, r.Name)
	}
	slices.Reverse(path)
	return path
}

// Share returns a row's part of the whole program's value of a column, 0 to 1; NaN where that means nothing. Row.Share
// is that of the column that shares are shown of.
func (t *Table) Share(r *Row, column int) float64 {
	if !t.Columns[column].Additive {
		return missing
	}
	return r.Values[column] / t.Total[column]
}

// Text returns a row's value of a column that holds text, without control characters; "" where there is none.
func (t *Table) Text(r *Row, column int) string { return term.Printable(t.rawText(r, column)) }

// rawText is Text as it was recorded, for output that escapes control characters itself.
func (t *Table) rawText(r *Row, column int) string {
	c := &t.sums.columns[column]
	switch {
	case c.word != nil:
		return c.word(t.sums.of(t.sums.sum, r.id))
	case c.Text:
		return textOf(r.Node, c.recorded)
	}
	return ""
}

// Label returns a row's name for people, in the form of Options.Names and without control characters.
func (t *Table) Label(r *Row) string { return t.names.label(r.Name) }

// builder is a table in the making. Frames and rows are flat lists in which parents come before their children, so
// that every pass is a loop and a tree of any depth is safe.
type builder struct {
	profile       *profile.Profile
	frames        []frame
	recorded      []recorded     // every metric of the profile
	index         map[string]int // name → position in recorded
	roof          *roofline      // nil when no column needs it
	overrides     map[string]peak
	sums          sums
	notes         []string
	measuredWork  []recorded                // metrics of flops and bytes that hardware counters measured
	measuredShare func(a []float64) float64 // part of a row's kernels that they measured; nil when no column is made of it
	lenders       int                       // scopes whose flops and bytes count at their only kernel
	usesWork      bool                      // columns are made of flops or bytes, and lend was called
	halves        int                       // kernels of which bytes or flops were measured and not both
	partial       int                       // scopes with declared work of whose kernels only a part was measured
	trying        bool                      // only whether metrics can be computed is of interest: errors need no suggestions
}

// weight is what shares are of.
type weight struct {
	label string
	value func(a []float64) float64 // nil when no metric adds up
}

// rowFrame is a row in the making.
type rowFrame struct {
	node   *profile.Node
	parent int32 // -1 for the root
}

// link makes rows of the row frames, in slabs: a million rows are a handful of allocations.
func (t *Table) link() {
	s := t.sums
	rows := make([]Row, len(s.rows))
	counts := make([]int32, len(s.rows))
	for i := 1; i < len(rows); i++ {
		counts[s.rows[i].parent]++
	}
	children := make([]*Row, len(rows))
	k := len(t.Columns)
	values, own := s.evaluate(s.sum, s.sumTimes), s.evaluate(s.own, s.ownTimes)
	for i := range rows {
		r, f := &rows[i], &s.rows[i]
		r.Name, r.Node, r.id = f.node.Name, f.node, i
		r.Values = values[i*k : (i+1)*k : (i+1)*k]
		r.Own = own[i*k : (i+1)*k : (i+1)*k]
		r.Share = s.share(i)
		r.Children, children = children[:0:counts[i]], children[counts[i]:]
		if f.parent >= 0 {
			r.Parent = &rows[f.parent]
			r.Depth = r.Parent.Depth + 1
			r.Parent.Children = append(r.Parent.Children, r)
		}
	}
	t.Root = &rows[0]
}
