package union

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// Each calls visit for every node, with its call path from the root on, both included. The path is only valid
// during the call.
func Each(root *profile.Node, visit func(path []string, n *profile.Node)) {
	var path []string
	root.Walk(func(n *profile.Node, depth int) bool {
		path = append(path[:depth], n.Name)
		visit(path, n)
		return true
	})
}

// mostFrames bounds all stacks of a file together. A stack repeats its callers, so a small tree that is deep and bushy
// could ask for any amount.
const mostFrames = 1 << 27

// Writable returns a profile whose call paths are not too deep for a file, or an error for one without a tree or whose stacks
// together are too long to be written one by one. sizes says what a frame of a stack takes in the format.
func Writable(p *profile.Profile, sizes profile.PathSizes) (*profile.Profile, error) {
	p, err := Fit(p)
	if err != nil {
		return nil, err
	}
	p, _ = p.WithOwnSpans()
	sizes.Instead = cmp.Or(sizes.Instead, "write a format that holds trees, .hatchet for example")
	frames := 0
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		sizes.Add(n.Name, depth)
		frames += depth
		return frames <= mostFrames
	})
	if err := sizes.Err(); err != nil {
		return nil, err
	}
	if frames > mostFrames {
		return nil, fmt.Errorf("encode profile: its stacks have more than %d frames together; write a format that holds trees, .hatchet for example", mostFrames)
	}
	return p, nil
}

// Additive returns the names of the metrics that can be shown as sizes of stacks: numbers that add up, by Rank.
func Additive(p *profile.Profile) []string {
	numbers := map[string]bool{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			m := &n.Metrics[i]
			if v, number := m.Value.Float(); number && v != 0 && p.Kinds[m.Name] != profile.Property {
				numbers[m.Name] = true
			}
		}
		return true
	})
	return slices.SortedFunc(maps.Keys(numbers), func(a, b string) int { return Rank(p, a, b) })
}

// Rank orders metrics by what a person wants to see first, as the viewer's default does: the times of kernels and scopes, the number of kernels,
// what the file shows, what frames have with all below, the rest; then by name.
func Rank(p *profile.Profile, a, b string) int {
	place := func(name string) int {
		first := []string{profile.TimeMetric, profile.CyclesMetric, profile.CPUTimeMetric, profile.CountMetric}
		if at := slices.Index(first, name); at >= 0 {
			return at
		}
		switch {
		case name == p.Shown:
			return len(first)
		case p.Kinds[name] == profile.Inclusive:
			return len(first) + 1
		}
		return len(first) + 2
	}
	return cmp.Or(place(a)-place(b), strings.Compare(a, b))
}

// Size returns the value of a metric at a node as the size of a stack; ok is false where there is none, or none
// that could be one: zero, below zero, NaN, infinite.
func Size(n *profile.Node, metric string) (v profile.Value, ok bool) {
	v, _ = n.OwnValue(metric)
	f, number := v.Float()
	return v, number && f > 0 && !math.IsInf(f, 1)
}

// Sizeless counts the values of additive metrics that cannot be the size of a stack, other than zero.
func Sizeless(p *profile.Profile, metrics []string) (count int) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, name := range metrics {
			v, has := n.OwnValue(name)
			if f, number := v.Float(); has && number && f != 0 {
				if _, ok := Size(n, name); !ok {
					count++
				}
			}
		}
		return true
	})
	return count
}

// Bare counts the leaves that no stack ends in, because they have no size.
func Bare(root *profile.Node, sized func(*profile.Node) bool) (count int) {
	root.Walk(func(n *profile.Node, _ int) bool {
		if len(n.Children) == 0 && !sized(n) {
			count++
		}
		return true
	})
	return count
}

// Duplicates counts the frames that have the name of an earlier sibling. Formats of stacks cannot keep them apart.
func Duplicates(root *profile.Node) (count int) {
	root.Walk(func(n *profile.Node, _ int) bool {
		if len(n.Children) > 1 {
			names := make(map[string]bool, len(n.Children))
			for _, c := range n.Children {
				names[c.Name] = true
			}
			count += len(n.Children) - len(names)
		}
		return true
	})
	return count
}

// Clause writes "1 leaf without a number" or "3 leaves …", and adds it to a list if there is any.
func Clause(list []string, n int, one, many, rest string) []string {
	switch n {
	case 0:
		return list
	case 1:
		return append(list, "1 "+one+rest)
	}
	return append(list, strconv.Itoa(n)+" "+many+rest)
}

// Tree collects stacks into a tree. Frames of one name below one frame are one.
type Tree struct {
	Root    *profile.Node
	Rounded int // integers of the file that its values do not hold; the profile's Rounded
	below   map[edge]*profile.Node
	memory  inflate.Memory
	nodes   int64 // since Check
}

// nodeSize is about what a frame of a Tree takes, with its edge. In a file it may be one digit.
const nodeSize = 256

// Check returns an error if the tree is too large for the first read bytes of a file. It is called after every stack.
func (t *Tree) Check(read int64) error {
	nodes := t.nodes
	t.nodes = 0
	return t.memory.Keep(nodes*nodeSize, read)
}

type edge struct {
	parent *profile.Node
	name   string
}

// NewTree makes a tree with nothing but a root.
func NewTree() *Tree {
	return &Tree{Root: &profile.Node{Name: "ROOT"}, below: map[edge]*profile.Node{}}
}

// Child finds or makes a frame below another one.
func (t *Tree) Child(parent *profile.Node, name string) *profile.Node {
	n := t.below[edge{parent, name}]
	if n == nil {
		t.nodes++
		n = &profile.Node{Name: name}
		t.below[edge{parent, name}] = n
		parent.Children = append(parent.Children, n)
	}
	return n
}

// Add adds to a metric of a node, as profile.Sum does.
func Add(n *profile.Node, metric string, v profile.Value) {
	if old, has := n.Metric(metric); has {
		v = profile.Sum(old, v)
	}
	n.Set(metric, v)
}

// Profile ends the collecting. Where all stacks begin with one frame, that is the root, as in the files that we
// write, unless there must be a ROOT above it. Every metric is inclusive: it came as the size of a stack.
func (t *Tree) Profile(keepRoot bool) *profile.Profile {
	root := t.Root
	if !keepRoot && len(root.Children) == 1 && len(root.Metrics) == 0 {
		root = root.Children[0]
	}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{}, Rounded: t.Rounded}
	root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			p.Kinds[n.Metrics[i].Name] = profile.Inclusive
		}
		return true
	})
	return p
}
