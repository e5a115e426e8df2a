package reproduce

import (
	"maps"
	"slices"
)

// rawText writes a JSON object as a Python text over several lines. Valid JSON has no three quotes in a row, ends in a brace,
// and has a backslash only within texts, where it makes a pair with what follows: so it does in Python's raw texts.
func rawText(json []byte) string { return `r"""` + string(json) + `"""` }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
