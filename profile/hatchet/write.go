// Package hatchet reads and writes .hatchet files, the JSON trees that Triton's Proton and proton-viewer use.
//
// A file is an array of two: the root node and an object that describes the devices. The sessions write one at
// finalize and at every checkpoint, data.get hands out the compact form, and the viewer reads any of them,
// ours or upstream's. docs/formats.md describes the file field by field; profile/internal/tree has the keys that upstream
// does not know.
//
// The format has no place for a metric's kind. Inclusive metrics are recognised by a zero at the root, so the
// writer puts the zeros there and the reader takes every number at the root as inclusive.
package hatchet

import (
	"io"
	"math"
	"slices"
	"sort"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
	"github.com/goproton/goproton/profile/internal/union"
)

// Write writes p as upstream writes its files: indented by four, keys in alphabetical order, a newline
// before and after.
func Write(w io.Writer, p *profile.Profile) error {
	return encode(w, p, true)
}

// Compact writes p on a single line without a newline, the form of data.get.
func Compact(w io.Writer, p *profile.Profile) error {
	return encode(w, p, false)
}

// Loses says what a file cannot hold of p: JSON has no infinity.
func Loses(p *profile.Profile) []string {
	infinite := 0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			v := n.Metrics[i].Value
			f, _ := v.Float()
			if math.IsInf(f, 0) || slices.ContainsFunc(v.Floats(), func(f float64) bool { return math.IsInf(f, 0) }) {
				infinite++
			}
		}
		return true
	})
	return union.Clause(nil, infinite, "infinite value", "infinite values", ", written as null")
}

func encode(w io.Writer, p *profile.Profile, indent bool) error {
	p, err := union.Fit(p)
	if err != nil {
		return err
	}
	t := treeWriter{JSON: tree.JSON{W: w, Indent: indent}, root: p.Root}
	t.extra = tree.NewEncoder(&t.JSON, p)
	if indent {
		t.Raw("\n")
	}
	t.List(0)
	t.Next()
	t.node(p.Root)
	t.Next()
	tree.Devices(&t.JSON, p.Devices, false, tree.DeviceFacts)
	t.EndList()
	if indent {
		t.Raw("\n")
	}
	return t.Flush()
}

// treeWriter writes nodes as it walks; nothing but the buffer and the set of names it has met is kept.
// That the root's metrics and the kinds come after its children ("metrics" and "kinds" sort after "children") is
// what makes one pass enough: by then every metric of the tree is known.
type treeWriter struct {
	tree.JSON
	root  *profile.Node
	extra tree.Encoder
	order []int // scratch of sorted
}

func (t *treeWriter) node(n *profile.Node) {
	t.Object(0)
	t.known("children")
	t.List(0)
	for _, c := range n.Children {
		t.Next()
		t.node(c)
	}
	t.EndList()
	t.known("frame")
	t.Object(0)
	t.known("name")
	t.Text(n.Name)
	t.known("type")
	t.Raw(`"function"`)
	t.EndObject()
	const beforeMetrics = tree.Info | tree.Inside | tree.Kinds | tree.LaunchKinds | tree.Launches
	metrics, keys := n.Metrics, t.extra.Keys(n)
	t.extra.Write(n, keys&beforeMetrics)
	if n == t.root {
		metrics = t.extra.WithZeros(metrics)
	}
	t.known("metrics")
	t.metrics(metrics)
	t.extra.Write(n, keys&^beforeMetrics)
	t.EndObject()
}

// known writes a key that needs no escapes.
func (t *treeWriter) known(key string) {
	t.Next()
	t.Buf = append(append(append(t.Buf, '"'), key...), '"', ':')
	if t.Indent {
		t.Buf = append(t.Buf, ' ')
	}
}

func (t *treeWriter) metrics(list []profile.Metric) {
	t.Object(0)
	for _, at := range t.sorted(list) {
		m := &list[at]
		t.extra.Note(m)
		t.Key(m.Name)
		switch m.Value.Type() {
		case profile.Int:
			t.Integer(m.Value.Int())
		case profile.String:
			t.Text(m.Value.Str())
		default:
			tree.Value(&t.JSON, m.Value)
		}
	}
	t.EndObject()
}

// sorted returns the positions of the metrics in order of name, by insertion: a node has a handful of them.
func (t *treeWriter) sorted(list []profile.Metric) []int {
	order := t.order[:0]
	for i := range list {
		order = append(order, i)
	}
	if len(list) > 32 {
		sort.Slice(order, func(a, b int) bool { return list[order[a]].Name < list[order[b]].Name })
	} else {
		for i := 1; i < len(order); i++ {
			for j := i; j > 0 && list[order[j]].Name < list[order[j-1]].Name; j-- {
				order[j], order[j-1] = order[j-1], order[j]
			}
		}
	}
	t.order = order
	return order
}
