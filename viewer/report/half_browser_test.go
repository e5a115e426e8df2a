package report

import (
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/profile/formats"
)

// TestHalfAScreen opens pages on half of a screen, light and dark: neither the page nor a table is wider than the window, and names are whole.
func TestHalfAScreen(t *testing.T) {
	for _, c := range []struct{ file, tab string }{{"matmul.hatchet", "summary"}, {"attention_inside.hatchet.gz", "inside"}, {"overlap.chrome_trace.gz", "idle"}, {"overlap.chrome_trace.gz", "timeline"},
		{"", "summary"}, {"", "roofline"}} {
		p := countedProfile() // what hardware counters measured
		if c.file != "" {
			var err error
			if p, err = formats.ReadFile("../testdata/recorded/" + c.file); err != nil {
				t.Fatal(err)
			}
		}
		path := pageOf(t, c.file, p)
		for _, s := range []screen{{width: 800, height: 900}, {width: 800, height: 900, dark: true}} {
			p := browser(t).open(t, path, s)
			p.click("#tab-" + c.tab)
			p.painted()
			p.shoot(shotName(s) + "-" + c.tab + filepath.Ext(c.file))
			found := p.eval(`(() => {
				const all = [...document.querySelectorAll("#panel-` + c.tab + ` *")], names = all.filter((e) => e.matches(".plain .name, .plain .name *"));
				return [names.length, ...all.filter((e) => e.getBoundingClientRect().right > innerWidth + 1), ...names.filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 || e.getBoundingClientRect().right > e.closest("td").getBoundingClientRect().right)]
					.map((e) => (typeof e === "number" ? e : e.textContent.slice(0, 40)));
			})()`).([]any)
			if found[0] == 0.0 && c.tab != "timeline" && c.tab != "roofline" || len(found) > 1 {
				t.Errorf("%s, %s: of %v names and all tables, these are cut or out of the window: %v", c.tab, shotName(s), found[0], found[1:])
			}
			p.close()
		}
	}
}
