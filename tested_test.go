package goproton

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// skips matches the reason of a skip in a test in Go or Python.
var skips = []*regexp.Regexp{
	regexp.MustCompile(`\bt\.Skipf?\("([^"]+)"`),
	regexp.MustCompile(`pytest\.skip\(f?"([^"]+)"`),
	regexp.MustCompile(`pytest\.mark\.skipif\(.*reason=f?"([^"]+)"`),
	regexp.MustCompile(`pytest\.(importorskip\("[^"]+"\))`),
}

// TestSkipsAreListed writes the list of docs/tested.md.
func TestSkipsAreListed(t *testing.T) {
	folders := map[string][]string{}
	for _, file := range sources(t, ".go", ".py") {
		text := testkit.Read(t, file)
		for _, skip := range skips {
			for _, m := range skip.FindAllStringSubmatch(text, -1) {
				if folder := path.Dir(file); !slices.Contains(folders[m[1]], folder) {
					folders[m[1]] = append(folders[m[1]], folder)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("| reason | in |\n|---|---|\n")
	for _, reason := range slices.Sorted(maps.Keys(folders)) {
		slices.Sort(folders[reason])
		fmt.Fprintf(&b, "| %s | `%s` |\n", strings.TrimSuffix(reason, ":"), strings.Join(folders[reason], "`, `"))
	}
	testkit.Between(t, "docs/tested.md", "<!-- skips: written by go test . -update -->\n", "<!-- end of skips -->", b.String())
}
