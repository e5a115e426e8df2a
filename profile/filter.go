package profile

import (
	"fmt"
	"regexp"
)

// Filter says which call paths count: those through a frame that Include matches, and through none that Exclude does. The zero
// Filter counts all.
type Filter struct {
	Include, Exclude *regexp.Regexp // nil matches every frame for Include, and none for Exclude
}

// NewFilter compiles two regular expressions (Go's, found anywhere in a frame's name); "" asks for nothing.
func NewFilter(include, exclude string) (f Filter, err error) {
	for _, each := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"include", include, &f.Include}, {"exclude", exclude, &f.Exclude}} {
		if each.text == "" {
			continue
		}
		if *each.to, err = regexp.Compile(each.text); err != nil {
			return Filter{}, fmt.Errorf("read %s %q: %w", each.name, each.text, err)
		}
	}
	return f, nil
}

// All reports whether every call path counts.
func (f Filter) All() bool { return f.Include == nil && f.Exclude == nil }

// Walk visits the nodes whose call paths count, parents first. path is the names from the root to the node, valid during the call.
func (f Filter) Walk(root *Node, visit func(n *Node, path []string)) {
	var path []string
	var in []bool // by depth: whether the path goes through a frame that Include matches
	root.Walk(func(n *Node, depth int) bool {
		path, in = append(path[:depth], n.Name), in[:depth]
		if f.Exclude != nil && f.Exclude.MatchString(n.Name) {
			return false
		}
		in = append(in, f.Include == nil || depth > 0 && in[depth-1] || f.Include.MatchString(n.Name))
		if in[depth] {
			visit(n, path)
		}
		return true
	})
}
