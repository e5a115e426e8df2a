package report

import (
	"fmt"
	"testing"

	"github.com/goproton/goproton/profile"
)

// The call tree and the list of kernels each keep their chosen row: a row's number means another frame in the other mode.
func TestTableKeepsAChosenRowForEachMode(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-table")
	mode := func(name string) {
		p.eval(fmt.Sprintf(`[...document.querySelectorAll("#panel-table .segments button")].find((b) => b.textContent === %q).click()`, name))
		p.painted()
	}
	const chosen = `[...document.querySelectorAll(".grid [aria-selected=true] .name")].map((n) => n.textContent).join()`
	p.eval(`document.querySelector(".grid").focus()`)
	p.keys("Home", "ArrowDown")
	p.wait(`document.querySelector(".grid [aria-selected=true]")?.getAttribute("aria-rowindex") === "3"`)
	frame := p.eval(chosen)
	mode("Kernels")
	if got := p.eval(chosen); got != "" {
		t.Errorf("the list of kernels begins with %q chosen", got)
	}
	p.eval(`document.querySelector(".grid").focus()`)
	p.keys("ArrowDown")
	p.wait(`document.querySelector(".grid [aria-selected=true]")?.getAttribute("aria-rowindex") === "2"`)
	kernel := p.eval(chosen)
	mode("Call tree")
	p.wait(fmt.Sprintf(chosen+` === %q`, frame))
	mode("Kernels")
	p.wait(fmt.Sprintf(chosen+` === %q`, kernel))
}

// A chain with more callers than bottom up follows: the panel says so.
func TestBottomUpSaysWhatItCuts(t *testing.T) {
	const note = `document.querySelector("#panel-flame .details").textContent.includes("Only the nearest 64 callers")`
	for callers, cut := range map[int]bool{64: false, 65: true} {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
		n := p.Root
		for i := range callers + 1 {
			n.Children = []*profile.Node{{Name: fmt.Sprint("f", i)}}
			n = n.Children[0]
		}
		n.Metrics = []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(1000)}}
		tab := browser(t).open(t, pageOf(t, fmt.Sprint("chain", callers), p), desk)
		tab.click("#tab-flame")
		tab.pick("#panel-flame", "Show", "up")
		tab.reads("#panel-flame .details .kind", "all frames")
		if got := tab.eval(note); got != cut {
			t.Errorf("%d callers: the panel says that callers are missing: %v, want %v", callers, got, cut)
		}
		tab.close()
	}
}
