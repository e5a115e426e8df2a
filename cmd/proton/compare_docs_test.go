package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goproton/goproton/internal/testkit"
)

// quoted is an output in a page: which file of which story, and the block below.
var quoted = regexp.MustCompile("(?s)(<!-- (\\w+\\.txtar): (\\S+) -->\n```\n)(.*?)(```\n)")

// TestPagesShowRealOutput compares the outputs in pages with those of the stories, which the
// stories compare with what the commands print. -update rewrites the pages.
func TestPagesShowRealOutput(t *testing.T) {
	showsRealOutput(t, "compare.md", 3)
	showsRealOutput(t, "launchers.md", 1)
}

func showsRealOutput(t *testing.T, name string, outputs int) {
	page := filepath.Join("..", "..", "docs", name)
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
	if found != outputs {
		t.Errorf("%d outputs are marked in %s, want %d", found, page, outputs)
	}
	testkit.Golden(t, page, want)
}
