package report

import (
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// TestCounterLane opens the page of a real timeline with a counter, whose lane lies above the others.
func TestCounterLane(t *testing.T) {
	prof, err := formats.ReadFile("../testdata/recorded/overlap.chrome_trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	first := prof.Timeline.First()
	for i := range int64(4000) {
		value := i * 1e6
		if i == 700 {
			value = 8e9 // one point among many
		}
		if err := prof.Timeline.Count("GPU 0 allocated", "", profile.Point{At: first + i*1e6, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	p := browser(t).open(t, pageOf(t, "counter", prof), screen{width: 1200, height: 900})
	p.click("#tab-timeline")
	p.painted()
	p.shoot("counter")
	p.eval(`(() => {
		const canvas = document.querySelector("#panel-timeline .stage canvas"), box = canvas.getBoundingClientRect();
		canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 300, clientY: box.top + 60, bubbles: true}));
	})()`)
	if got := p.eval(`document.querySelector("#tip .name").textContent`); got != "GPU 0 allocated" {
		t.Errorf("the tip of the counter says %q", got)
	}
	p.eval(`document.querySelector("#panel-timeline .stage canvas").dispatchEvent(new WheelEvent("wheel", {clientX: 300, deltaY: -100, ctrlKey: true, bubbles: true}))`)
	if !p.eval(`document.getElementById("tip").hidden`).(bool) {
		t.Error("after a zoom the tip still shows what was there before")
	}
}
