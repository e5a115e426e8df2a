package literal

import (
	"io"
	"math"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

// Read reads one literal. What it cannot understand is a *profile.FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	d := &decoder{python: python{data: data}}
	var roots []*profile.Node
	for c := d.List("a hatchet literal"); c.More; c = d.Next(c) {
		if n := d.tree.Node(d, 0, d.otherKey); n != nil {
			roots = append(roots, n)
		}
	}
	if d.peek(); d.pos < len(data) {
		d.unexpected("the end of the file")
	}
	if len(roots) == 0 {
		d.fail(0, "the file holds no tree")
	}
	if d.err != nil {
		return nil, d.err
	}
	p := &profile.Profile{Root: join(roots), Devices: d.devices, Rounded: d.rounded}
	if err := d.tree.Finish(p, int64(len(data))); err != nil {
		return nil, err
	}
	if renamed := untangle(p.Root, d.tree.Root.Kinds != nil); renamed {
		p.Kinds = tree.KindsOf(p.Root)
	}
	return p, nil
}

// Sniff says by its first bytes whether a file is a literal in Python's spelling; JSON's cannot be distinguished from
// a .hatchet file.
func Sniff(head []byte) bool {
	d := python{data: head}
	for _, bracket := range []byte("[{") {
		if d.peek() != bracket {
			return false
		}
		d.pos++
	}
	return d.peek() == '\''
}

// join puts several roots below one, which names the metrics that they do, so that these count as inclusive.
func join(roots []*profile.Node) *profile.Node {
	if len(roots) == 1 {
		return roots[0]
	}
	all := &profile.Node{Name: "ROOT", Children: roots}
	for _, r := range roots {
		for _, m := range r.Metrics {
			if _, number := m.Value.Float(); number {
				all.Set(m.Name, profile.IntValue(0))
			}
		}
	}
	return all
}

type decoder struct {
	python
	tree    tree.Decoder
	devices []profile.Device
}

// otherKey reads what other trees have elsewhere: the device table, and the name that to_literal writes in addition to the
// frame's.
func (d *decoder) otherKey(n *profile.Node, depth int, key []byte) bool {
	switch {
	case string(key) == "name" && d.AtText():
		if name := d.Intern(d.Text("a name")); n.Name == "" {
			n.Name = name
		}
	case string(key) == "devices" && depth == 0:
		d.devices = tree.ReadDevices(d)
	default:
		return false
	}
	return true
}

// nodeID is hatchet's own numbering, which to_literal puts among the metrics.
const nodeID = "_hatchet_nid"

// untangle drops hatchet's numbering of nodes and, unless the file says its kinds as ours do, undoes the sums that hatchet adds.
// It reports whether the names of metrics have changed. "time (inc)" is dropped where the node also has "time", since readers add up
// themselves. Where "time (inc)" is alone, "time" is the part of it that the children do not account for.
func untangle(root *profile.Node, ours bool) (renamed bool) {
	own, sums := map[string]bool{}, false
	root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			own[m.Name] = true
			sums = sums || !ours && strings.HasSuffix(m.Name, inclusiveMark)
		}
		return true
	})
	if !sums && !own[nodeID] {
		return false
	}
	// Parents come before children, so a parent still sees its children's sums.
	root.Walk(func(n *profile.Node, _ int) bool {
		kept := make([]profile.Metric, 0, len(n.Metrics))
		for _, m := range n.Metrics {
			base, sum := strings.CutSuffix(m.Name, inclusiveMark)
			_, number := m.Value.Float()
			switch {
			case m.Name == nodeID:
			case ours || !sum || !number:
				kept = append(kept, m)
			case !own[base]:
				kept = append(kept, profile.Metric{Name: base, Value: minus(m, n.Children)})
			case n == root && !has(n, base):
				kept = append(kept, profile.Metric{Name: base}) // a zero: it is inclusive
			}
		}
		n.Metrics = kept
		return true
	})
	return true
}

func has(n *profile.Node, metric string) bool {
	_, found := n.Metric(metric)
	return found
}

// minus subtracts what the children have of a metric.
func minus(m profile.Metric, children []*profile.Node) profile.Value {
	whole := m.Value.Type() == profile.Int
	i := m.Value.Int()
	f, _ := m.Value.Float()
	for _, c := range children {
		v, _ := c.Metric(m.Name)
		g, number := v.Float()
		if !number || math.IsNaN(g) {
			continue
		}
		whole = whole && v.Type() == profile.Int
		i, f = i-v.Int(), f-g
	}
	if whole {
		return profile.IntValue(i)
	}
	return profile.FloatValue(f)
}
