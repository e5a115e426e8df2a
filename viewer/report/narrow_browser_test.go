package report

import (
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// TestComparisonHasRoomForItsTexts opens a comparison on a desk and on a phone. On the roofline, no name covers a dot and the
// memory's name does not cover the axis; in the summary, the changes are in sight without scrolling.
func TestComparisonHasRoomForItsTexts(t *testing.T) {
	var both [2]*profile.Profile
	for i := range both {
		p, err := formats.ReadFile("../testdata/recorded/matmul.hatchet")
		if err != nil {
			t.Fatal(err)
		}
		both[i] = p
	}
	both[1].Root.Walk(func(n *profile.Node, _ int) bool {
		if v, ok := n.Metric("time (ns)"); ok {
			ns, _ := v.Float()
			n.Set("time (ns)", profile.IntValue(int64(ns*5)))
		}
		return true
	})
	path := pageOf(t, "matmul", both[:]...)
	for _, s := range []screen{desk, phone} {
		p := browser(t).open(t, path, s)
		if over := p.eval(`[...document.querySelectorAll("#panel-summary .scroll")].map((e) => e.scrollWidth - e.clientWidth).filter((v) => v > 0)`); len(over.([]any)) > 0 {
			t.Errorf("%s: tables of changes are %v pixels too wide", shotName(s), over)
		}
		p.click("#tab-roofline")
		p.painted()
		covered := p.eval(`(() => {
			const inside = (t, c) => c.x > t.left && c.x < t.right && c.y > t.top && c.y < t.bottom;
			const dots = [...document.querySelectorAll(".plot .point")].map((e) => e.getBoundingClientRect()).map((b) => ({x: b.left + b.width / 2, y: b.top + b.height / 2}));
			const names = [...document.querySelectorAll(".plot .dot-label")];
			return [names.length, ...names.filter((e) => dots.some((d) => inside(e.getBoundingClientRect(), d))).map((e) => e.textContent)];
		})()`).([]any)
		if covered[0] == 0.0 || len(covered) > 1 {
			t.Errorf("%s: of %v names, these cover dots: %v", shotName(s), covered[0], covered[1:])
		}
		if over := p.eval(`(() => {
			const memory = [...document.querySelectorAll(".plot .ceiling-label")].find((e) => e.textContent.startsWith("memory"));
			return document.querySelector(".plot .ceiling").getBoundingClientRect().left - memory.getBoundingClientRect().left;
		})()`).(float64); over > 4 {
			t.Errorf("%s: the memory's name covers %v pixels of the axis", shotName(s), over)
		}
		p.close()
	}
}
