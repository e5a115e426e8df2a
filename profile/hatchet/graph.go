package hatchet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

// graph is what llnl-hatchet's to_json writes: nodes by number with the numbers of their children, and a table with a row for each node,
// or for each rank and thread of it.
type graph struct {
	*decoder
	nodes   map[int64]*graphNode
	order   []*graphNode // as in the file
	indices []string     // columns of the table that say of what a row is
	summed  []string     // metrics that have the sums of subtrees
	added   []string     // metrics of nodes alone
	members int          // profiles of which the table has rows, if it is a Thicket
}

type graphNode struct {
	*profile.Node
	id       int64
	children []int64
	called   bool // it is a child of another node
	placed   bool // it is in the tree
}

// graphNodeSize is about what a node of a graph takes in addition to a tree's.
const graphNodeSize = 150

func (d *decoder) graph() (*profile.Profile, error) {
	g := graph{decoder: d, nodes: map[int64]*graphNode{}, indices: []string{"node", "name"}}
	names := func(list *[]string) {
		d.Array("at the start of a list", func() { *list = append(*list, d.Intern(d.Str("a text"))) })
	}
	d.Scanner.Object("", func(key string) {
		switch key {
		case "graph":
			d.Array("at the start of the graphs", func() { d.Scanner.Object("at the start of a graph", g.node) })
		case "dataframe":
			d.Array("at the start of the table", g.row)
		case "dataframe_indices":
			names(&g.indices)
		case "inclusive_metrics":
			names(&g.summed)
		case "exclusive_metrics":
			names(&g.added)
		case "profile":
			d.Array("at the start of a list", func() { d.Scanner.Skip(0); g.members++ })
		default:
			d.Scanner.Skip(0)
		}
	})
	if !d.atEnd() {
		d.Unexpected("the end of the file")
	}
	p := &profile.Profile{}
	if len(g.order) == 0 {
		d.Fail(0, "expected '[' at the start of a .hatchet file, or a graph with nodes")
	}
	if d.Err == nil {
		p.Root = g.build()
	}
	if d.Err == nil {
		d.Err = d.finish(p)
	}
	if d.Err != nil {
		return nil, d.Err
	}
	for name, kind := range p.Kinds {
		if kind == profile.Inclusive && !g.addsUp(name) {
			p.Kinds[name] = profile.Exclusive
		}
	}
	if g.members > 1 {
		p.Note(fmt.Sprintf("the values of %d profiles of a Thicket are added up", g.members))
	}
	return p, nil
}

// addsUp says whether a metric adds up along call paths. A file that names those which do has others, such as averages and minima.
func (g *graph) addsUp(metric string) bool {
	base := strings.TrimSuffix(metric, tree.InclusiveMark)
	named := func(list []string) bool {
		return slices.Contains(list, base) || slices.Contains(list, base+tree.InclusiveMark)
	}
	return len(g.added)+len(g.summed) == 0 || named(g.added) || named(g.summed)
}

// at returns the node of a number. Its frame and its rows come in any order.
func (g *graph) at(id int64) *graphNode {
	n := g.nodes[id]
	if n == nil {
		g.Keep(tree.NodeSize + graphNodeSize)
		n = &graphNode{Node: g.tree.NewNode(), id: id}
		g.nodes[id] = n
		g.order = append(g.order, n)
	}
	return n
}

func (g *graph) node(key string) {
	id, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		g.Fail(g.Offset(), "expected the number of a node as a key, found %.40q", key)
		return
	}
	n := g.at(id)
	g.Scanner.Object("at the start of a node", func(key string) {
		switch key {
		case "data":
			g.frame(n.Node)
		case "children":
			g.Array("at the start of children", func() { n.children = append(n.children, g.Scalar().Int()) })
		default:
			g.Scanner.Skip(0)
		}
	})
}

// row reads a row of the table. Rows of one node add up.
func (g *graph) row() {
	var n *graphNode
	name := ""
	g.tree.Begin()
	g.Scanner.Object("at the start of a row", func(key string) {
		switch f, at := (*tree.Fact)(nil), g.Offset(); {
		case key == "node":
			n = g.at(g.Scalar().Int())
		case key == "name" && g.AtText():
			name = g.Intern(g.Str("a name"))
		case g.AtText():
			f = g.tree.Fact(g, []byte(key))
			g.tree.Set(g, at, f, g.tree.Text(g, f, g.Str("a text")))
		case g.Peek() == '{':
			g.Scanner.Skip(0)
		default:
			f = g.tree.Fact(g, []byte(key))
			g.tree.Set(g, at, f, g.Value())
		}
	})
	list := g.tree.End()
	if g.Err != nil {
		return
	}
	if n == nil {
		g.Fail(g.Offset(), "a row without the number of a node")
		return
	}
	n.Name = cmp.Or(n.Name, name)
	for _, m := range list {
		if f, number := m.Value.Float(); number && math.IsNaN(f) {
			continue // no value
		}
		if old, has := n.Metric(m.Name); has && m.Value.Type() != profile.String {
			m.Value = profile.Sum(old, m.Value)
		}
		n.Set(m.Name, m.Value)
	}
}

// build makes a tree of the graph. What is said of metrics comes behind the table, so indices are dropped here.
func (g *graph) build() *profile.Node {
	g.foreign = true
	for _, n := range g.order {
		g.attributes(n.Node)
		for _, id := range n.children {
			c := g.nodes[id]
			if c == nil {
				g.Fail(0, "node %d has a child %d, which the file does not have", n.id, id)
				return nil
			}
			c.called = true
		}
	}
	var roots []*profile.Node
	for _, n := range g.order {
		if !n.called {
			roots = append(roots, g.place(n, 0))
		}
	}
	if len(roots) == 0 {
		g.Fail(0, "the file holds no node that no other one calls")
		return nil
	}
	root := tree.JoinRoots(roots)
	if len(roots) > 1 { // its zeros say what adds up
		root.Metrics = slices.DeleteFunc(root.Metrics, func(m profile.Metric) bool { return !g.addsUp(m.Name) })
	}
	for _, m := range g.added { // a zero: it adds up
		if !slices.ContainsFunc(root.Metrics, func(own profile.Metric) bool { return own.Name == m }) {
			root.Set(m, profile.IntValue(0))
		}
	}
	return root
}

// attributes drops indices, makes texts of numbers that are not metrics, such as lines, and marks sums of subtrees by their names.
func (g *graph) attributes(n *profile.Node) {
	n.Metrics = slices.DeleteFunc(n.Metrics, func(m profile.Metric) bool { return slices.Contains(g.indices, m.Name) })
	for i := range n.Metrics {
		if m := &n.Metrics[i]; m.Value.Type() == profile.Int && !slices.Contains(g.added, m.Name) && !slices.Contains(g.summed, m.Name) {
			m.Value = profile.StringValue(strconv.FormatInt(m.Value.Int(), 10))
		}
		if m := &n.Metrics[i]; slices.Contains(g.summed, m.Name) && !strings.HasSuffix(m.Name, tree.InclusiveMark) { // Caliper's have other names
			m.Name += tree.InclusiveMark
		}
	}
}

// place puts the nodes below a node into the tree. One that is there already stands at the further place without values.
func (g *graph) place(n *graphNode, depth int) *profile.Node {
	if depth > profile.MaxDepth {
		g.Fail(0, "call paths of more than %d frames", profile.MaxDepth)
	}
	if n.Name == "" {
		g.Fail(0, "node %d has no name", n.id)
	}
	if g.Err != nil {
		return n.Node
	}
	n.placed = true
	for _, id := range n.children {
		c := g.nodes[id]
		if c.placed {
			g.repeated++
			n.Children = append(n.Children, &profile.Node{Name: c.Name})
			continue
		}
		n.Children = append(n.Children, g.place(c, depth+1))
	}
	return n.Node
}
