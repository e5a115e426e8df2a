package report

import (
	"testing"

	"github.com/goproton/goproton/profile/formats"
)

// TestIdleTab opens the page of a real timeline: the tab's numbers are those of the gaps, and a gap leads to the timeline.
func TestIdleTab(t *testing.T) {
	prof, err := formats.ReadFile("../testdata/recorded/overlap.chrome_trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	p := browser(t).open(t, pageOf(t, "overlap", prof), screen{width: 1200, height: 900})
	p.click("#tab-idle")
	p.painted()
	p.shoot("idle")
	text := func(selector string) string {
		return p.eval(`document.querySelector("` + selector + `").textContent`).(string)
	}
	if got, want := text("#panel-idle .columns .card p"), "busy 27.97 ms, idle 4.667 s in 269 gaps, of 4.695 s"; got != want {
		t.Errorf("the GPU says %q, want %q", got, want)
	}
	if got := text("#panel-idle .columns + .card tbody tr:nth-child(3)"); got != "warm-up › workcode17.33 ms0.4%517.18 ms" {
		t.Errorf("the third cause is %q", got)
	}
	p.click("#panel-idle .card:last-child tbody tr:nth-child(3) button")
	p.painted()
	p.shoot("idle gap")
	if got := p.eval(`document.querySelector("#tab-timeline").getAttribute("aria-selected")`); got != "true" {
		t.Error("a gap does not lead to the timeline")
	}
	if got := text("#panel-timeline .bar .number"); got == "" {
		t.Error("the timeline does not say which range it shows")
	} else {
		t.Log("the timeline shows", got)
	}
}
