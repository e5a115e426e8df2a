package profile

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	leaf := func(name string, children ...*Node) *Node { return &Node{Name: name, Children: children} }
	root := leaf("ROOT",
		leaf("forward", leaf("tune", leaf("k")), leaf("k")),
		leaf("backward", leaf("k"), leaf("forward", leaf("k"))))
	for _, c := range []struct{ include, exclude, want string }{
		{"", "", "ROOT ROOT/forward ROOT/forward/tune ROOT/forward/tune/k ROOT/forward/k ROOT/backward ROOT/backward/k ROOT/backward/forward ROOT/backward/forward/k"},
		{"ward$", "tune|back", "ROOT/forward ROOT/forward/k"},
		{"^back", "", "ROOT/backward ROOT/backward/k ROOT/backward/forward ROOT/backward/forward/k"},
		{"tune", "", "ROOT/forward/tune ROOT/forward/tune/k"},
		{"nowhere", "", ""},
	} {
		f, err := NewFilter(c.include, c.exclude)
		if err != nil {
			t.Fatal(err)
		}
		var visited []string
		f.Walk(root, func(_ *Node, path []string) { visited = append(visited, strings.Join(path, "/")) })
		if got := strings.Join(visited, " "); got != c.want {
			t.Errorf("include %q, exclude %q: %s", c.include, c.exclude, got)
		}
	}
	if _, err := NewFilter("", "("); err == nil || !strings.Contains(err.Error(), `read exclude "("`) {
		t.Errorf("a wrong expression: %v", err)
	}
}
