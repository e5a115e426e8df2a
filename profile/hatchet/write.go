package hatchet

import (
	"errors"
	"io"
	"sort"

	"github.com/goproton/goproton/internal/atomicfile"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/fold"
	"github.com/goproton/goproton/profile/internal/rootkinds"
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

// WriteFile writes p to a file and replaces an older one in one step.
func WriteFile(path string, p *profile.Profile) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, p) })
}

func encode(w io.Writer, p *profile.Profile, indent bool) error {
	if p == nil || p.Root == nil {
		return errors.New("encode profile: it has no root node; start a session before writing")
	}
	p = fold.Deep(p)
	t := treeWriter{jsonWriter: jsonWriter{w: w, indent: indent}, kinds: p.Kinds, seen: rootkinds.New(p.Kinds), sampling: p.Sampling}
	if indent {
		t.raw("\n")
	}
	t.open('[')
	t.next(true)
	t.node(p.Root, p)
	t.next(false)
	t.devices(p.Devices)
	t.close(']')
	if indent {
		t.raw("\n")
	}
	return t.flush()
}

// treeWriter writes nodes as it walks; nothing but the buffer and the set of names it has met is kept.
// That the root's metrics and the kinds come after its children ("metrics" and "kinds" sort after "children") is
// what makes one pass enough: by then every metric of the tree is known.
type treeWriter struct {
	jsonWriter
	kinds profile.Kinds
	seen  *rootkinds.Seen // metrics met so far

	sampling *profile.Sampling // what nodes' samples mean; nil: there are none
	order    []int             // scratch of metrics
}

// node writes a node and what is below it; whole is the profile if n is its root.
func (t *treeWriter) node(n *profile.Node, whole *profile.Profile) {
	t.open('{')
	t.next(true)
	t.key("children")
	t.children(n.Children)
	t.next(false)
	t.key("frame")
	t.open('{')
	t.next(true)
	t.key("name")
	t.str(n.Name)
	t.next(false)
	t.key("type")
	t.raw(`"function"`)
	t.close('}')
	metrics := n.Metrics
	if whole != nil {
		t.info(whole.Info)
		t.kindExceptions(n)
		t.launchKinds(whole.Launches)
		metrics = t.seen.WithZeros(metrics)
	}
	t.launches(n.Launches)
	t.next(false)
	t.key("metrics")
	t.metrics(metrics)
	t.samples(n.Samples)
	if whole != nil {
		t.samplingTable()
	}
	t.times(n.Times)
	t.close('}')
}

func (t *treeWriter) children(nodes []*profile.Node) {
	if len(nodes) == 0 {
		t.raw("[]")
		return
	}
	t.open('[')
	for i, c := range nodes {
		t.next(i == 0)
		t.node(c, nil)
	}
	t.close(']')
}

func (t *treeWriter) metrics(list []profile.Metric) {
	if len(list) == 0 {
		t.raw("{}")
		return
	}
	t.open('{')
	for i, at := range t.sorted(list) {
		m := &list[at]
		t.seen.Note(m)
		t.next(i == 0)
		t.key(m.Name)
		t.value(m.Value)
	}
	t.close('}')
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

func (t *treeWriter) value(v profile.Value) {
	switch v.Type() {
	case profile.Int:
		t.integer(v.Int())
	case profile.Float:
		f, _ := v.Float()
		t.float(f)
	case profile.String:
		t.str(v.Str())
	case profile.Ints:
		t.list(len(v.Ints()), func(i int) { t.integer(v.Ints()[i]) })
	case profile.Floats:
		t.list(len(v.Floats()), func(i int) { t.float(v.Floats()[i]) })
	}
}

func (t *treeWriter) list(n int, element func(i int)) {
	if n == 0 {
		t.raw("[]")
		return
	}
	t.open('[')
	for i := range n {
		t.next(i == 0)
		element(i)
	}
	t.close(']')
}
