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
	if d.Peek() == '{' {
		return d.graph()
	}
	var roots []*profile.Node // llnl-hatchet's trees may have several
	devices := false
	for c := d.List("a .hatchet file"); c.More; c = d.Next(c) {
		switch {
		case roots == nil || d.Peek() == '{' && !d.deviceTableAhead():
			roots = append(roots, d.node(0))
		case !devices:
			p.Devices, devices = tree.ReadDevices(d), true
		default:
			d.Fail(d.Offset(), "a second device table; a .hatchet file has trees and one table")
		}
	}
	if len(roots) > 0 {
		p.Root = tree.JoinRoots(roots)
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
	if err := d.tree.Finish(p, d.Offset()); err != nil || d.tree.Root.Kinds != nil || !d.foreign && !d.tree.IsTangled(p.Root) {
		return err
	}
	d.untangle(p)
	return nil
}

// untangle makes of a tree of llnl-hatchet what others have.
func (d *decoder) untangle(p *profile.Profile) {
	d.repeated += tree.DropRepeated(p.Root)
	tree.Untangle(p.Root)
	p.Kinds = tree.KindsOf(p.Root)
	tree.NoteRepeated(p, d.repeated)
}

// decoder turns text into nodes. Nodes, their metrics and their lists of children are cut from slabs.
type decoder struct {
	syntax
	tree tree.Decoder

	limit   int64      // where the next piece of the file begins, see pieces.go; 0 when there is none
	open    []openNode // at the limit, the innermost first
	deepest int        // depth so far

	foreign  bool // some node has a key of llnl-hatchet's
	repeated int  // nodes that stand in the tree before
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
	framed, repeated := false, false
	for ; more; more = d.More('}') {
		switch key := d.Key(); string(key) {
		case "children":
			d.Expect('[', "at the start of children")
			d.siblings(n, depth, d.Begin(']'))
		case "frame":
			framed = d.frame(n) || framed
			named = framed || named || n.Name != ""
		case "metrics":
			d.metrics(n)
		case "name":
			if d.foreign = true; framed || !d.AtText() {
				d.Scanner.Skip(depth)
				continue
			}
			n.Name, named = d.Intern(d.Str("a name")), true
		case "duplicate":
			d.foreign, repeated = true, d.Peek() == 't'
			d.Scanner.Skip(depth)
		default:
			if !d.tree.NodeKey(d, n, key) && (depth > 0 || !d.tree.RootKey(d, key)) {
				d.Scanner.Skip(depth)
			}
		}
	}
	if repeated {
		n.Metrics = nil
		d.repeated++
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

// frame reads a frame and says whether it has a name. A statement has a file and a line instead.
func (d *decoder) frame(n *profile.Node) (named bool) {
	d.Expect('{', "at the start of a frame")
	file, line := "", profile.Value{}
	for more := d.Begin('}'); more; more = d.More('}') {
		switch key := d.Key(); {
		case string(key) == "name":
			n.Name = d.Intern(d.Str("a name in quotes"))
			named = d.Err == nil
		case string(key) == "file" && d.Peek() == '"':
			file = d.Intern(d.Str("a file"))
		case string(key) == "line" && d.Peek() != '"':
			line = d.Scalar()
		default:
			d.Scanner.Skip(0)
		}
	}
	if !named && n.Name == "" {
		n.Name = tree.Statement(file, line)
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
