package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// TestEveryKindOfSliceHasAColour compares the page's list with Go's: a slice without a colour stops the timeline from being drawn.
func TestEveryKindOfSliceHasAColour(t *testing.T) {
	script := testkit.Read(t, "web/colour.js")
	for _, list := range []string{"sliceKinds", "sliceHues"} {
		m := regexp.MustCompile(list + ` = \[(.*?)\]`).FindStringSubmatch(script)
		if m == nil || strings.Count(m[1], ",")+1 != int(profile.InsideSlice)+1 {
			t.Errorf("%s is %q, and there are %d kinds", list, m, profile.InsideSlice+1)
		}
	}
}

// TestWarpsOnTheTimeline opens a timeline with the warp of a kernel below the kernel's stream.
func TestWarpsOnTheTimeline(t *testing.T) {
	path := []string{"ROOT", "attention"}
	kernel := &profile.Node{Name: "attention"}
	kernel.Set(profile.TimeMetric, profile.IntValue(5000))
	prof := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}}, Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive}, Timeline: &profile.Timeline{
		Lanes: []profile.Lane{{ID: 1, Kind: profile.ThreadLane, Name: "CPU Thread 0"}, {ID: 2, Kind: profile.StreamLane, Name: "GPU 0 Stream 7"},
			{ID: 3, Kind: profile.WarpLane, Name: "attention: first block, warp 8"}},
		Slices: []profile.Slice{
			{Lane: 1, Kind: profile.ScopeSlice, Name: "attention", Start: 1000, Duration: 9000, Path: path},
			{Lane: 2, Kind: profile.KernelSlice, Name: "attention", Start: 2000, Duration: 5000, Path: path},
			{Lane: 3, Kind: profile.InsideSlice, Name: "CTA 17 (1, 1, 0)", Start: 2100, Duration: 4800, Path: path},
			{Lane: 3, Kind: profile.InsideSlice, Name: "wait k_free:32", Start: 2200, Duration: 4000, Path: append(path[:2:2], "wait k_free:32")},
		},
	}}
	for _, s := range []screen{{width: 1280, height: 800}, {width: 400, height: 800}} {
		p := browser(t).open(t, pageOf(t, "warps", prof), s)
		p.click("#tab-timeline")
		p.painted()
		if legend := p.text("#panel-timeline .legend"); !strings.Contains(legend, "warp in a kernel") {
			t.Errorf("the legend is %q", legend)
		}
		p.eval(`document.querySelector("#panel-timeline .stage canvas").focus()`)
		p.keys("/")
		p.keys(strings.Split("k_free", "")...)
		p.keys("Enter")
		p.wait(`document.querySelector("#panel-timeline .details h2")?.textContent === "wait k_free:32"`)
		if text := p.text("#panel-timeline .details"); !strings.Contains(text, "warp in a kernel") || !strings.Contains(text, "lane attention: first block, warp 8") {
			t.Errorf("the details are %q", text)
		}
		p.shoot("warps")
	}
}

// TestTimelineOfTorch: torch's slices have no call paths, and the page shows those that the tree has.
func TestTimelineOfTorch(t *testing.T) {
	prof, err := formats.ReadFile("../../testdata/upstream/torch-2.11.kineto.json")
	if err != nil {
		t.Fatal(err)
	}
	p := browser(t).open(t, pageOf(t, "torch", prof), screen{width: 1200, height: 900})
	p.click("#tab-timeline")
	p.keys("/")
	p.keys(strings.Split("cudalaunchkernel", "")...)
	p.keys("Enter")
	p.wait(`document.querySelector("#panel-timeline .details h2")?.textContent === "cudaLaunchKernel"`)
	if text, want := p.text("#panel-timeline .details"), "Call path ROOT › step › aten::relu › aten::clamp_min"; !strings.Contains(text, want) {
		t.Errorf("the details are %q, without %q", text, want)
	}
}
