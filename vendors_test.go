package goproton

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/vendors"
)

// without says that something is missing. It matches within a sentence.
var without = regexp.MustCompile(`(?i)\b(not|nor) (yet )?supported\b|\bunsupported\b|\bplanned\b|\bno support\b`)

// TestBackendsAreNotCalledUnsupported: a vendor or backend that is registered is not said to be missing, neither in a message nor on a page.
func TestBackendsAreNotCalledUnsupported(t *testing.T) {
	var names []string // of vendors that have a backend in libproton
	library, err := os.ReadFile("cmd/libproton/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vendors.All {
		if !strings.Contains(string(library), "goproton/"+v.Package+`"`) {
			t.Errorf("cmd/libproton does not import %s: its backends are in vendors.All", v.Package)
		}
		names = append(names, v.Name+" GPU", v.API+" GPU")
		for _, b := range v.Backends {
			names = append(names, b.Names...)
		}
	}
	for planned, why := range vendors.Planned {
		if v, _ := vendors.ByBackend(planned); v != nil {
			t.Errorf("backend %s is planned, and registered for %s", planned, v.Name)
		}
		refuse(t, "vendor.Planned of "+planned, strings.Split(why, ";"), names)
	}
	pages := sources(t, ".md")
	if !slices.Contains(pages, filepath.FromSlash("docs/amd.md")) {
		t.Error("docs/amd.md is not among the pages that are read")
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		refuse(t, page, regexp.MustCompile(`[.;:|]\s|\n\n`).Split(string(text), -1), names)
	}
	if sentence := "AMD GPUs are not supported\nyet"; !slices.ContainsFunc(names, func(n string) bool { return unsupported(sentence, n) }) {
		t.Errorf("%q is not recognised", sentence)
	}
}

func refuse(t *testing.T, where string, sentences, names []string) {
	t.Helper()
	for _, sentence := range sentences {
		for _, name := range names {
			if unsupported(sentence, name) {
				t.Errorf("%s calls %s unsupported, and it is registered: %s", where, name, strings.TrimSpace(sentence))
			}
		}
	}
}

func unsupported(sentence, name string) bool {
	sentence = strings.Join(strings.Fields(sentence), " ")
	return without.MatchString(sentence) && strings.Contains(sentence, name)
}
