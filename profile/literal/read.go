package literal

import (
	"io"
	"math"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/rootkinds"
)

// Read reads one literal. What it cannot understand is a *FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	d := decoder{python: python{data: data, names: map[string]string{}}}
	var roots []*profile.Node
	d.list("a hatchet literal", func() {
		if n := d.node(0); n != nil {
			roots = append(roots, n)
		}
	})
	if d.peek(); d.pos < len(data) {
		d.unexpected("the end of the file")
	}
	if len(roots) == 0 {
		d.fail(0, "the file holds no tree")
	}
	if d.err != nil {
		return nil, d.err
	}
	p := &profile.Profile{Root: join(roots), Info: d.info, Devices: d.devices, Rounded: d.rounded}
	if d.kinds == nil {
		untangle(p.Root) // hatchet's own sums; what we write says in kinds that there are none
	}
	p.Kinds = rootkinds.Tell(p.Root, d.kinds)
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
	info    profile.Info
	devices []profile.Device
	kinds   profile.Kinds    // nil unless the root says some
	found   []profile.Metric // of one node
	index   map[string]int   // where a name is in found
}

func (d *decoder) node(depth int) *profile.Node {
	d.peek()
	start := d.pos
	if depth > profile.MaxDepth {
		d.fail(start, "call paths of more than %d frames", profile.MaxDepth)
		return nil
	}
	n := &profile.Node{}
	named := false
	d.dict("a node", func(key string) {
		switch {
		case key == "frame":
			named = d.frame(n) || named
		case key == "name" && d.atString(): // to_literal writes it in addition to the frame
			name := d.str("a name")
			if !named {
				n.Name, named = name, true
			}
		case key == "metrics":
			d.metrics(n)
		case key == "children":
			d.list("children", func() {
				if c := d.node(depth + 1); c != nil {
					n.Children = append(n.Children, c)
				}
			})
		case key == "times":
			n.Times = d.times()
		case depth == 0:
			d.rootKey(key)
		default:
			d.skip(0)
		}
	})
	if d.err == nil && !named {
		d.fail(start, "a node without a frame name")
	}
	return n
}

func (d *decoder) frame(n *profile.Node) (named bool) {
	d.dict("a frame", func(key string) {
		if key != "name" {
			d.skip(0)
			return
		}
		n.Name = d.str("a name in quotes")
		named = d.err == nil
	})
	return named
}

// nodeID is hatchet's own numbering, which to_literal puts among the metrics.
const nodeID = "_hatchet_nid"

func (d *decoder) metrics(n *profile.Node) {
	if d.index == nil {
		d.index = map[string]int{}
	}
	d.found = d.found[:0]
	clear(d.index)
	d.dict("metrics", func(name string) {
		d.peek()
		start := d.pos
		v := d.value()
		at, twice := d.index[name]
		switch {
		case d.err != nil || name == nodeID:
		case twice:
			d.found[at].Value = v
		case len(d.found) >= profile.MaxMetrics:
			d.fail(start, "more than %d metrics on one node", profile.MaxMetrics)
		default:
			d.index[name] = len(d.found)
			d.found = append(d.found, profile.Metric{Name: name, Value: v})
		}
	})
	n.Metrics = append([]profile.Metric(nil), d.found...)
}

// rootKey reads what only a root has, and skips what we do not know.
func (d *decoder) rootKey(key string) {
	switch key {
	case "info":
		d.info = profile.Info{}
		d.dict("info", func(key string) { d.info[key] = d.str("a string") })
	case "kinds":
		d.kinds = profile.Kinds{}
		d.dict("kinds", func(name string) {
			d.peek()
			at := d.pos
			word := d.str("a kind")
			kind, ok := profile.ParseKind(word)
			if !ok {
				d.fail(at, "%.40q is not a kind of metric: expected exclusive, inclusive or property", word)
			}
			d.kinds[name] = kind
		})
	case "devices":
		d.devices = nil
		d.dict("the device table", func(typ string) {
			d.dict("a device type", func(id string) {
				dev := profile.Device{Type: typ, ID: id}
				d.dict("a device", func(fact string) { d.deviceFact(&dev, fact) })
				d.devices = append(d.devices, dev)
			})
		})
	default:
		d.skip(0)
	}
}

func (d *decoder) deviceFact(dev *profile.Device, fact string) {
	if fact == "arch" {
		dev.Arch = d.str("an architecture")
		return
	}
	if fact == "name" {
		dev.Name = d.str("a device's name")
		return
	}
	into := dev.Number(fact)
	if into == nil {
		d.skip(0)
		return
	}
	v := d.number()
	if f, _ := v.Float(); !math.IsNaN(f) { // None leaves the fact unknown
		*into = v.Int()
	}
}

// times reads a distribution and makes sure that it is one.
func (d *decoder) times() *profile.Sketch {
	d.peek()
	start := d.pos
	s := &profile.Sketch{}
	d.dict("times", func(key string) {
		switch key {
		case "count":
			s.Count = d.unsigned()
		case "min":
			s.Min = d.unsigned()
		case "max":
			s.Max = d.unsigned()
		case "mean":
			s.Mean, _ = d.number().Float()
		case "m2":
			s.M2, _ = d.number().Float()
		case "buckets":
			s.Buckets = d.buckets()
		default:
			d.skip(0)
		}
	})
	if d.err == nil {
		if err := s.Check(); err != nil {
			d.fail(start, "times of a node: %v", err)
		}
	}
	return s
}

func (d *decoder) buckets() []profile.Bucket {
	var list []profile.Bucket
	d.list("buckets", func() {
		d.peek()
		start := d.pos
		var pair []uint64
		d.list("a bucket", func() { pair = append(pair, d.unsigned()) })
		if d.err != nil {
			return
		}
		if len(pair) != 2 {
			d.fail(start, "a bucket of times is [lower bound, count], not %d numbers", len(pair))
			return
		}
		index := profile.BucketOf(pair[0])
		if bound, _ := profile.BucketBounds(index); bound != pair[0] {
			d.fail(start, "no bucket of times begins at %d", pair[0])
		}
		list = append(list, profile.Bucket{Index: index, Count: pair[1]})
	})
	return list
}

// unsigned reads a whole number. Beyond 63 bits it was read as a float, which holds every bucket's bound exactly.
func (d *decoder) unsigned() uint64 {
	d.peek()
	at := d.pos
	v := d.number()
	f, _ := v.Float()
	switch {
	case d.err != nil:
	case v.Type() == profile.Int && v.Int() >= 0:
		return uint64(v.Int())
	case f >= 0 && f < math.MaxUint64 && f == math.Trunc(f):
		return uint64(f)
	default:
		d.fail(at, "expected a whole number of at least 0")
	}
	return 0
}

// untangle undoes the sums that hatchet adds. "time (inc)" is dropped where the node also has "time", since readers add up
// themselves. Where "time (inc)" is alone, "time" is the part of it that the children do not account for.
func untangle(root *profile.Node) {
	own, sums := map[string]bool{}, false
	root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			own[m.Name] = true
			sums = sums || strings.HasSuffix(m.Name, inclusiveMark)
		}
		return true
	})
	if !sums {
		return
	}
	// Parents come before children, so a parent still sees its children's sums.
	root.Walk(func(n *profile.Node, _ int) bool {
		kept := make([]profile.Metric, 0, len(n.Metrics))
		for _, m := range n.Metrics {
			base, sum := strings.CutSuffix(m.Name, inclusiveMark)
			_, number := m.Value.Float()
			switch {
			case !sum || !number:
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
