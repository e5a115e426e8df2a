package parse_test

import (
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// init is all that a backend needs that is maintained elsewhere: its stages, a parser for what is its own, and an analysis of it.
func init() {
	sourcemap.Register("toy", func(text string, _ *sourcemap.Files) []sourcemap.Entry {
		var entries []sourcemap.Entry
		for i, line := range strings.Split(text, "\n") {
			number, _, _ := strings.Cut(line, " ")
			if n, err := strconv.Atoi(number); err == nil {
				entries = append(entries, sourcemap.Entry{Frame: sourcemap.Frame{File: "/k.py", Line: n, Column: 1}, Own: i + 1})
			}
		}
		return entries
	})
	backend.Register(backend.Backend{Name: "toychip", Stages: []backend.Stage{
		{Name: "ttir", Order: 10, Text: true, Syntax: "mlir", Parser: "mlir"},
		{Name: "toy", Display: "Toy", Order: 20, Text: true, Syntax: "plaintext", Parser: "toy"},
	}, Analyses: []backend.Analysis{{Name: "toy_operations", Stages: []string{"toy"}, Run: countToy}}})
}

// countToy counts operations, and the Python lines that any of them came from.
func countToy(a *backend.Artifacts) []backend.Finding {
	lines := map[int]bool{}
	for _, e := range a.Maps.Entries("toy") {
		lines[e.Line] = true
	}
	return []backend.Finding{{Name: "toy_operations", Value: map[string]int{"count": strings.Count(a.Texts["toy"], "\n"), "lines": len(lines)}}}
}
