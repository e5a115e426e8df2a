package report

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestLarge opens a tree of 100,000 frames and a timeline of 100,000 slices, and says how long that takes. It asserts
// only that it works: machines differ.
func TestLarge(t *testing.T) {
	c := browser(t)
	path := pageOf(t, "large", withTimeline(model(100_000, 1), 100_000))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := c.open(t, path, screen{width: 1280, height: 800})
	at := func(mark string) any { // both come some frames after the page says that it is ready
		named := fmt.Sprintf(`performance.getEntriesByName(%q)`, mark)
		p.wait(named + `.length > 0`)
		return p.eval(named + `[0].startTime`)
	}
	paint, ready := at("first-contentful-paint"), at("ready")
	t.Logf("a file of %.1f MB; first paint after %.0f ms, summary on the screen after %.0f ms", float64(info.Size())/1e6, paint, ready)
	for _, tab := range []string{"flame", "table", "roofline", "timeline"} {
		t.Logf("%s: %.0f ms until it is on the screen", tab, p.eval(`new Promise((ok) => {
			const start = performance.now();
			document.getElementById("tab-`+tab+`").click();
			requestAnimationFrame(() => requestAnimationFrame(() => ok(performance.now() - start)));
		})`))
		p.shoot("large-" + tab)
	}
	// What a person does many times a second must not take longer than a frame of the screen.
	t.Logf("timeline: %.1f ms a frame while zooming", p.eval(`new Promise((ok) => {
		const canvas = document.querySelector("#panel-timeline .stage canvas");
		const start = performance.now();
		let frames = 0;
		const step = () => {
			if (frames++ === 60) return ok((performance.now() - start) / 60);
			canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: frames < 30 ? -40 : 40, ctrlKey: true, clientX: 500, clientY: 400, cancelable: true}));
			requestAnimationFrame(step);
		};
		step();
	})`))
	p.click("#tab-table")
	p.eval(`[...document.querySelectorAll("#panel-table button")].find((b) => b.textContent === "Expand all").click()`)
	p.wait(`document.querySelector(".grid").getAttribute("aria-rowcount") > 100000`)
	p.eval(`document.querySelector(".grid").scrollTop = 1e9`)
	p.wait(`[...document.querySelectorAll(".grid .row")].some((r) => r.getAttribute("aria-rowindex") === document.querySelector(".grid").getAttribute("aria-rowcount"))`)
	if rows := p.eval(`document.querySelectorAll(".grid .row").length`).(float64); rows > 100 {
		t.Errorf("%v rows are elements; only those in sight should be", rows)
	}
}

func benchmarkWrite(b *testing.B, p *profile.Profile) {
	for b.Loop() {
		var page bytes.Buffer
		if err := Write(&page, []Source{{"large", p}}, Options{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len())/1e6, "MB")
	}
}

// BenchmarkWrite100k is the command without reading the profile.
func BenchmarkWrite100k(b *testing.B) { benchmarkWrite(b, model(100_000, 1)) }
func BenchmarkWriteTimeline100k(b *testing.B) {
	benchmarkWrite(b, withTimeline(model(1000, 1), 100_000))
}
