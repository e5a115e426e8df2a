package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/profile"
)

// pageOf writes a report into a file.
func pageOf(t testing.TB, name string, profiles ...*profile.Profile) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sources []Source
	for i, p := range profiles {
		sources = append(sources, Source{Name: name + []string{"", "-after"}[i] + ".hatchet", Profile: p})
	}
	if err := Write(f, sources, Options{Version: "test"}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLook(t *testing.T) {
	c := browser(t)
	pages := map[string]string{
		"":      pageOf(t, "model", withTimeline(model(3000, 1), 3000)),
		"diff-": pageOf(t, "run", model(1200, 1), model(1500, 1.6)),
	}
	for kind, path := range pages {
		for _, s := range []screen{{width: 1280, height: 800}, {width: 1280, height: 800, dark: true}, {width: 390, height: 844}} {
			p := c.open(t, path, s)
			name := map[int]string{1280: "wide", 390: "narrow"}[s.width]
			if s.dark {
				name += "-dark"
			}
			for _, tab := range []string{"summary", "flame", "table", "roofline", "timeline"} {
				if tab == "timeline" && kind != "" {
					continue
				}
				p.click("#tab-" + tab)
				p.wait(`new Promise((ok) => setTimeout(() => ok(true), 250))`)
				p.shoot(kind + name + "-" + tab)
			}
		}
	}
}
