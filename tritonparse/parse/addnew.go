package parse

import "slices"

func addNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// names are different texts, in the order of their first use.
type names struct {
	list []string
	has  map[string]bool // of long lists
}

func (n *names) add(s string) {
	const few = 16
	switch {
	case n.has != nil:
		if n.has[s] {
			return
		}
		n.has[s] = true
	case slices.Contains(n.list, s):
		return
	case len(n.list) == few:
		n.has = map[string]bool{s: true}
		for _, t := range n.list {
			n.has[t] = true
		}
	}
	n.list = append(n.list, s)
}
