package report

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// slowLoads gives the loads of matmul's line 48 three times their samples, and takes those of inlined away.
func slowLoads(p *profile.Profile) *profile.Profile {
	scope := p.Root.Child("sampled")
	f := &p.Sampling.Functions[0]
	for i := range scope.Children[0].Samples[0].PCs {
		pc := &scope.Children[0].Samples[0].PCs[i]
		if frames := f.At(pc.Offset); frames[len(frames)-1].Line == 48 {
			pc.Stalls[0].Samples *= 3
		}
	}
	scope.Children = scope.Children[:1]
	return p
}

func comparedPage(t *testing.T) string {
	t.Helper()
	a, textsA := withSamples(t, model(300, 1))
	b, textsB := withSamples(t, model(300, 1))
	sources := []Source{{Name: "before.hatchet", Profile: a}, {Name: "after.hatchet", Profile: slowLoads(b)}}
	return pageWith(t, sources, Options{Version: "test", Old: textsA, Texts: textsB})
}

func TestSourceOfTwoProfilesShowsWhatMoved(t *testing.T) {
	p := browser(t).open(t, comparedPage(t), desk)
	p.click("#tab-source")
	head := p.text("#panel-source .source-head")
	for _, want := range []string{"matmul", " → ", "168 registers", "long_scoreboard"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head does not say %q: %s", want, head)
		}
	}
	p.click("#panel-source .bar > button")
	p.wait(`document.activeElement.querySelector(".text")?.textContent.trim().startsWith("x = tl.load(pa") && document.activeElement.querySelector(".change").textContent.startsWith("+")`)
	p.mouse("mouseMoved", p.place("#panel-source .line.hot .text", 0.1, 0.5), nil)
	p.wait(`!document.getElementById("tip").hidden && /share\d.* → /.test(document.getElementById("tip").textContent)`)
	p.shoot("wide-source-compared")
	p.keys("/")
	p.keys(strings.Split("tl.dot", "")...)
	p.keys("Enter")
	p.wait(`document.querySelector("#panel-source .line.found .text").textContent.trim().startsWith("acc = tl.dot")`)

	p.eval(`(() => { const s = document.querySelector("#panel-source select"); s.value = "1"; s.dispatchEvent(new Event("change")); })()`)
	p.wait(`document.querySelector("#panel-source h2").textContent === "inlined" && document.querySelector("#panel-source .source-head").textContent.includes("B has no samples of it")`)
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		p := browser(t).open(t, comparedPage(t), s)
		p.click("#tab-source")
		p.readable(t, s, "source-compared-read")
	}
}

// A profile without samples costs the tab and is said.
func TestNoSourceOfOneSampledProfile(t *testing.T) {
	a := model(100, 1)
	b, _ := withSamples(t, model(100, 1))
	for _, two := range [][2]*profile.Profile{{a, b}, {b, a}, {a, a}} {
		var page builder
		err := page.compareSources([2]Source{{"a", two[0]}, {"b", two[1]}}, Options{})
		if sampled := two[0] != two[1]; page.Source != nil || err != nil || sampled != strings.Contains(strings.Join(page.Notes, ""), "no Source tab") {
			t.Errorf("%v, %q, %v", page.Source, page.Notes, err)
		}
	}
	var page builder
	if err := page.compareSources([2]Source{{"a", b}, {"b", b}}, Options{}); err != nil || len(page.Source.Kernels) != 2 || *page.Source.Old != page.Source.Samples {
		t.Errorf("%+v, %v", page.Source, err)
	}
}
