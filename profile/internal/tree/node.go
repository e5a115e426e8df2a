package tree

import "github.com/goproton/goproton/profile"

// Other reads the value of a key that only one syntax has; false for a key that it does not know either.
type Other func(n *profile.Node, depth int, key []byte) bool

// Node reads a node and what is below it. Package hatchet reads the nodes of its files itself, in pieces.
func (d *Decoder) Node(r Reader, depth int, other Other) *profile.Node {
	start := r.Here()
	if depth > profile.MaxDepth {
		r.Fail(start, "call paths of more than %d frames", profile.MaxDepth)
		return nil
	}
	r.Keep(NodeSize)
	n := d.NewNode()
	named := false
	for c := r.Object("a node"); c.More; c = r.Next(c) {
		switch key := r.Key(); {
		case string(key) == "frame":
			named = readFrame(r, n) || named || n.Name != ""
		case string(key) == "metrics":
			d.readMetrics(r, n)
		case string(key) == "children":
			d.children(r, n, depth, other)
		case d.NodeKey(r, n, key) || depth == 0 && d.RootKey(r, key):
		case other != nil && other(n, depth, key):
			named = named || n.Name != ""
		default:
			r.Skip()
		}
	}
	if !named {
		r.Fail(start, "a node without a frame name")
	}
	return n
}

// readFrame reads a frame and says whether it has a name. A statement has a file and a line instead.
func readFrame(r Reader, n *profile.Node) (named bool) {
	file, line := "", profile.Value{}
	for c := r.Object("a frame"); c.More; c = r.Next(c) {
		switch key := r.Key(); {
		case string(key) == "name":
			n.Name, named = r.Intern(r.Text("a name in quotes")), true
		case string(key) == "file" && r.AtText():
			file = r.Intern(r.Text("a file"))
		case string(key) == "line" && !r.AtText():
			line = r.Value()
		default:
			r.Skip()
		}
	}
	if !named && n.Name == "" {
		n.Name = Statement(file, line)
	}
	return named
}

func (d *Decoder) children(r Reader, n *profile.Node, depth int, other Other) {
	first := d.Pending()
	for c := r.List("children"); c.More; c = r.Next(c) {
		if child := d.Node(r, depth+1, other); child != nil {
			d.Add(child)
		}
	}
	d.Adopt(n, first)
}

// NewNode returns an empty node.
func (d *Decoder) NewNode() *profile.Node { return &d.nodes.Cut(1)[0] }

// Pending is how many children wait for their list to end, Add adds one, and Adopt gives a node those from the first on.
func (d *Decoder) Pending() int { return len(d.pending) }

// Add is described with Pending.
func (d *Decoder) Add(child *profile.Node) { d.pending = append(d.pending, child) }

// Adopt is described with Pending.
func (d *Decoder) Adopt(n *profile.Node, first int) {
	own := d.pending[first:]
	if len(n.Children) > 0 { // the key came twice
		n.Children = append(n.Children, own...)
	} else {
		n.Children = d.lists.Copy(own)
	}
	clear(own)
	d.pending = d.pending[:first]
}

func (d *Decoder) readMetrics(r Reader, n *profile.Node) {
	d.Begin()
	for c := r.Object("metrics"); c.More; c = r.Next(c) {
		f, at := d.Fact(r, r.Key()), r.Here()
		var v profile.Value
		if r.AtText() {
			v = d.Text(r, f, r.Text("a string"))
		} else {
			v = r.Value()
		}
		d.Set(r, at, f, v)
	}
	n.Metrics = d.End()
}

// Slab allocates many values of T at once and returns pointers to them: a tree of a million nodes is some ten thousand
// allocations, not four million. One pointer keeps its whole slab in memory, which costs nothing here: all nodes of a profile
// are freed together.
type Slab[T any] struct {
	rest []T
	size int
}

const (
	smallestSlab = 16 // a small file stays small
	largestSlab  = 1024
)

// Cut returns n fresh elements.
func (s *Slab[T]) Cut(n int) []T {
	if n > len(s.rest) {
		if n > largestSlab/4 {
			return make([]T, n)
		}
		s.size = min(max(2*s.size, smallestSlab, n), largestSlab)
		s.rest = make([]T, s.size)
	}
	piece := s.rest[:n:n]
	s.rest = s.rest[n:]
	return piece
}

// Copy returns a copy of a list at its final size; nil for an empty one.
func (s *Slab[T]) Copy(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	own := s.Cut(len(list))
	copy(own, list)
	return own
}
