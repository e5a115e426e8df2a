package compat

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// table is a profile as rows and columns. A column is a metric as recorded. The metrics that the user requested are computed
// from the columns and stored in the cells of the rows.
type table struct {
	root    *row
	columns []column
	index   map[string]int // name → position in columns
	profile *profile.Profile
	metrics []metric // requested metrics, see derive
}

// column is one recorded metric.
type column struct {
	name string
	kind profile.Kind
	text bool // at least one value is not a number but a property string or a vector
}

// row is one frame.
type row struct {
	name     string
	children []*row
	node     *profile.Node // for values that are not numbers
	own      []float64     // by column; NaN where the frame has none
	sum      []float64     // over the subtree, for inclusive columns; NaN where no frame has one
	cells    []float64     // by shown metric
	side     side          // in a diff: which profiles have the frame
}

var missing = math.NaN()

// newTable prunes a profile and turns it into rows, in the order of the file.
func newTable(p *profile.Profile) (*table, error) {
	t := &table{index: map[string]int{}, profile: p}
	root := prune(p.Root)
	t.findColumns(root)
	if len(t.columns) == 0 {
		return nil, errors.New("no metrics found in the profile; check that the program launched GPU work while it was profiled")
	}
	t.root = t.newRow(root)
	t.sumUp(t.root)
	return t, nil
}

// findColumns collects columns in order of first appearance from the root down, so inclusive metrics, which
// the root names, come first in a file's own order.
func (t *table) findColumns(root *profile.Node) {
	root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			m := &n.Metrics[i]
			at, known := t.index[m.Name]
			if !known {
				at = len(t.columns)
				t.index[m.Name] = at
				t.columns = append(t.columns, column{name: m.Name, kind: t.profile.Kinds[m.Name]})
			}
			if _, number := m.Value.Float(); !number {
				t.columns[at].text = true
			}
		}
		return true
	})
}

func (t *table) newRow(n *profile.Node) *row {
	r := &row{name: n.Name, node: n, own: make([]float64, len(t.columns))}
	for i := range r.own {
		r.own[i] = missing
	}
	for i := range n.Metrics {
		if v, number := n.Metrics[i].Value.Float(); number {
			r.own[t.index[n.Metrics[i].Name]] = v
		}
	}
	if len(n.Children) > 0 {
		r.children = make([]*row, len(n.Children))
		for i, c := range n.Children {
			r.children[i] = t.newRow(c)
		}
	}
	return r
}

// sort orders siblings by name, as proton-viewer does whatever their order in the file. It runs after the sums are computed:
// floating point sums depend on the order of addition, and proton-viewer adds in the order of the file.
func (t *table) sort() {
	t.each(func(r *row) {
		slices.SortStableFunc(r.children, func(a, b *row) int { return strings.Compare(a.name, b.name) })
	})
}

// sumUp computes the subtree sums of the inclusive columns.
func (t *table) sumUp(r *row) {
	r.sum = append(r.sum[:0], r.own...)
	for _, c := range r.children {
		t.sumUp(c)
		for i := range t.columns {
			if t.columns[i].kind == profile.Inclusive {
				r.sum[i] = add(r.sum[i], c.sum[i])
			}
		}
	}
}

// add is a sum in which one missing value counts as 0, and which is missing if both values are.
func add(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

// each calls visit for every row, parents first.
func (t *table) each(visit func(r *row)) { t.root.each(visit) }

func (r *row) each(visit func(r *row)) {
	visit(r)
	for _, c := range r.children {
		c.each(visit)
	}
}

// property returns a text value of a frame, "" if it has none.
func (r *row) property(name string) string {
	v, _ := r.node.Metric(name)
	return v.Str()
}

// List prints the names that a metric can be asked for by. The text is proton-viewer's, its "name" column
// included.
func List(w io.Writer, p *profile.Profile) error {
	t, err := newTable(p)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("Available inclusive metrics:\n")
	for i := range t.columns {
		if t.columns[i].inclusive() {
			fmt.Fprintf(&b, "- %s\n", term.Printable(figures.MetricName(t.columns[i].name)))
		}
	}
	b.WriteString("Available exclusive metrics:\n- name\n")
	for i := range t.columns {
		if !t.columns[i].inclusive() {
			fmt.Fprintf(&b, "- %s\n", term.Printable(figures.MetricName(t.columns[i].name)))
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
