package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goproton/goproton/internal/testkit"
)

// quoted is an output in docs/compare.md: which file of which story, and the block below.
var quoted = regexp.MustCompile("(?s)(<!-- (\\w+\\.txtar): (\\S+) -->\n```\n)(.*?)(```\n)")

// TestComparePageShowsRealOutput compares the outputs in docs/compare.md with those of the stories, which the
// stories compare with what the commands print. -update rewrites the page.
func TestComparePageShowsRealOutput(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "compare.md")
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	want := quoted.ReplaceAllFunc(have, func(block []byte) []byte {
		found++
		m := quoted.FindSubmatch(block)
		story, err := txtar.ParseFile(filepath.Join("testdata", string(m[2])))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range story.Files {
			if f.Name == string(m[3]) {
				return append(append(append([]byte{}, m[1]...), f.Data...), m[5]...)
			}
		}
		t.Fatalf("%s has no file %s", m[2], m[3])
		return nil
	})
	if found != 4 {
		t.Errorf("%d outputs are marked in docs/compare.md, want 4", found)
	}
	testkit.Golden(t, page, want)
}
