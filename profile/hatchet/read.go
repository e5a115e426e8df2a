package hatchet

import (
	"io"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/tree"
)

// Read reads one profile. What it cannot understand is a *profile.FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	d := newDecoder(r)
	p := &profile.Profile{}
	elements := 0
	for c := d.List("a .hatchet file"); c.More; c = d.Next(c) {
		switch elements++; elements {
		case 1:
			p.Root = d.node(0)
		case 2:
			p.Devices = tree.ReadDevices(d)
		default:
			d.Fail(d.Offset(), "a third element; a .hatchet file has a tree and a device table")
		}
	}
	if !d.atEnd() {
		d.Unexpected("the end of the file")
	}
	if p.Root == nil {
		d.Fail(0, "the file holds no tree; profile again")
	}
	if d.Err != nil {
		return nil, d.Err
	}
	if err := d.finish(p); err != nil {
		return nil, err
	}
	return p, nil
}

// finish fills in what is known when everything has been read.
func (d *decoder) finish(p *profile.Profile) error {
	p.Rounded = d.Rounded
	return d.tree.Finish(p, d.Offset())
}

// decoder turns text into nodes. Nodes, their metrics and their lists of children are cut from slabs.
type decoder struct {
	syntax
	tree tree.Decoder

	limit   int64      // where the next piece of the file begins, see pieces.go; 0 when there is none
	open    []openNode // at the limit, the innermost first
	deepest int        // depth so far
}

func newDecoder(r io.Reader) *decoder { return &decoder{syntax: syntax{jsonscan.New(r)}} }

func (d *decoder) node(depth int) *profile.Node {
	start := d.Here()
	if start == d.limit && d.limit > 0 && d.Err == nil {
		d.Err = errLimit
	}
	if depth > profile.MaxDepth {
		d.Fail(start, "call paths of more than %d frames", profile.MaxDepth)
	}
	if d.Err != nil {
		return nil
	}
	d.deepest = max(d.deepest, depth)
	n := d.tree.NewNode()
	d.Expect('{', "at the start of a node")
	named := d.members(n, depth, d.Begin('}'))
	switch {
	case d.Err == errLimit:
		d.open = append(d.open, openNode{n, named})
	case d.Err == nil && !named:
		d.Fail(start, "a node without a frame name")
	}
	return n
}

// members reads the keys of a node and says whether its name was among them.
func (d *decoder) members(n *profile.Node, depth int, more bool) (named bool) {
	for ; more; more = d.More('}') {
		switch key := d.Key(); string(key) {
		case "children":
			d.Expect('[', "at the start of children")
			d.siblings(n, depth, d.Begin(']'))
		case "frame":
			named = d.frame(n) || named
		case "metrics":
			d.metrics(n)
		default:
			if !d.tree.NodeKey(d, n, key) && (depth > 0 || !d.tree.RootKey(d, key)) {
				d.Scanner.Skip(depth)
			}
		}
	}
	return named
}

// siblings reads children up to the bracket behind the last one.
func (d *decoder) siblings(n *profile.Node, depth int, more bool) {
	first := d.tree.Pending()
	for ; more; more = d.More(']') {
		if c := d.node(depth + 1); c != nil {
			d.tree.Add(c)
		}
	}
	d.tree.Adopt(n, first)
}

func (d *decoder) frame(n *profile.Node) (named bool) {
	d.Expect('{', "at the start of a frame")
	for more := d.Begin('}'); more; more = d.More('}') {
		if string(d.Key()) != "name" {
			d.Scanner.Skip(0)
			continue
		}
		n.Name = d.Intern(d.Str("a name in quotes"))
		named = d.Err == nil
	}
	return named
}

func (d *decoder) metrics(n *profile.Node) {
	d.tree.Begin()
	d.Expect('{', "at the start of metrics")
	for more := d.Begin('}'); more; more = d.More('}') {
		f := d.tree.Fact(d, d.Key())
		var v profile.Value
		c := d.Peek()
		at := d.Offset()
		if c == '"' {
			v = d.tree.Text(d, f, d.Str("a string"))
		} else {
			v = d.Value()
		}
		d.tree.Set(d, at, f, v)
	}
	n.Metrics = d.tree.End()
}
