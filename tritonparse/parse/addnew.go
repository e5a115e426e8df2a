package parse

import (
	"slices"

	"github.com/goproton/goproton/internal/lookup"
)

func addNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// names are different texts, in the order of their first use.
type names struct {
	list []string
	at   lookup.Index[string]
}

func (n *names) add(s string) {
	if n.at.Find(len(n.list), s, func(i int) string { return n.list[i] }) < 0 {
		n.list = append(n.list, s)
	}
}
