package literal

import (
	"io"

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
	p := &profile.Profile{Root: tree.JoinRoots(roots), Devices: d.devices, Rounded: d.rounded}
	if err := d.tree.Finish(p, int64(len(data))); err != nil {
		return nil, err
	}
	for _, n := range d.repeated {
		n.Metrics = nil
	}
	ours := d.tree.Root.Kinds != nil
	frames := len(d.repeated)
	if !ours {
		frames += tree.DropRepeated(p.Root)
	}
	if renamed := tree.Untangle(p.Root, ours); renamed {
		p.Kinds = tree.KindsOf(p.Root)
	}
	tree.NoteRepeated(p, frames)
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

type decoder struct {
	python
	tree     tree.Decoder
	devices  []profile.Device
	repeated []*profile.Node // that stand in the tree before
}

// otherKey reads what other trees have elsewhere: the device table, the name that to_literal writes in addition to the frame's, and whether
// it has written the node before.
func (d *decoder) otherKey(n *profile.Node, depth int, key []byte) bool {
	switch {
	case string(key) == "name" && d.AtText():
		if name := d.Intern(d.Text("a name")); n.Name == "" {
			n.Name = name
		}
	case string(key) == "devices" && depth == 0:
		d.devices = tree.ReadDevices(d)
	case string(key) == "duplicate" && !d.AtText():
		if again := d.Value(); again.Type() == profile.Int && again.Int() == 1 {
			d.Keep(tree.NumberSize)
			d.repeated = append(d.repeated, n)
		}
	default:
		return false
	}
	return true
}
