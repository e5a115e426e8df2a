package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/kernels"
	"github.com/goproton/goproton/viewer/listing"
)

// traced is a run on an H200 that was profiled, sampled and traced.
func traced(t testing.TB) (*profile.Profile, *Texts) {
	t.Helper()
	const recorded = "../kernels/testdata/h200/"
	p, err := formats.ReadFile(recorded + "joined.hatchet.zst")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := tritonparse.Open(recorded+"traces", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	none := func(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }
	return p, &Texts{Files: &kernels.Files{}, Modules: &kernels.Modules{Env: none}, Trace: trace}
}

func tracedPage(t testing.TB, p *profile.Profile, texts *Texts) string {
	t.Helper()
	return pageWith(t, []Source{{Name: "joined.hatchet", Profile: p}}, Options{Version: "test", Texts: texts})
}

// The same numbers as proton viewer --trace prints of this run: see viewer/listing/testdata/h200/matmul.txt.
func TestLaunchesTab(t *testing.T) {
	p, texts := traced(t)
	b, err := build([]Source{{Name: "joined", Profile: p}}, Options{Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	k := b.Launches.Kernels[0]
	if k.Name != "matmul_kernel" || k.Count != 3319 || len(k.Rows) != 6 {
		t.Fatalf("%s has %d launches in %d rows", k.Name, k.Count, len(k.Rows))
	}
	var got []string
	for _, r := range k.Rows {
		got = append(got, fmt.Sprintf("%v %s | %s | %d %.1f %d %d %.1f %.1f %.3f %s %v", r.Kind, r.Name, r.About, r.Count, r.Average/1e3, r.Least, r.Most, r.Bytes/1e9, r.Flops/1e12, r.Roof, r.Bound, r.Counted))
	}
	for i, want := range []string{
		"false BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 num_warps=4 num_stages=2 | 62 registers · 16,384 bytes of shared memory · compilation 55378e69 | 2260 40.9 6784 103839 474.3 294.5 0.298 compute true",
		"true M=4096 N=4096 K=1024 | record 2556 · a_ptr=float16[4096,1024] b_ptr=float16[1024,4096] c_ptr=float16[4096,4096]",
	} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("row %d is\n%s, want\n%s", i, got[i], want)
		}
	}
	if !strings.Contains(got[1], "grid=64×64 · of dedicated_log_triton_trace") || !strings.Contains(got[1], "746 100.9 95840 103839 498.9 340.6 0.345 compute") {
		t.Errorf("row 1 is\n%s", got[1])
	}
}

// A line of a kernel that is in the trace has its IR below it, stage by stage; its binary is the trace's.
func TestSourceTabHasTheIR(t *testing.T) {
	p, texts := traced(t)
	var b builder
	if err := b.addSource(Source{Profile: p}, texts); err != nil {
		t.Fatal(err)
	}
	for _, k := range b.Source.Kernels {
		if k.Name == "matmul_kernel" && k.Label == "BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 num_warps=4 num_stages=2" {
			hottest(t, &k)
		}
		if k.Name != "add_kernel" {
			continue
		}
		if facts := strings.Join(k.Facts, "; "); !strings.Contains(facts, "BLOCK=1024 num_warps=4; compilation 04b93003 of the trace, known by its binary") {
			t.Errorf("facts %s", facts)
		}
		if len(k.Code) == 0 || k.Code[0].Text == "" {
			t.Errorf("there are %d instructions without text, and the trace has the binary: %v", len(k.Code), k.Notes)
		}
		for _, row := range k.Files[0].Rows {
			if row.Number != "50" {
				continue
			}
			var stages []string
			for _, stage := range row.Inlined {
				stages = append(stages, stage.Number)
			}
			if got := strings.Join(stages, " "); got != "ttir ttgir llir ptx sass" {
				t.Errorf("line 50 has %s below it", got)
			}
			if row.Text == "" || !strings.Contains(row.Text, "tl.store(out_ptr + at") {
				t.Errorf("line 50 is %q", row.Text)
			}
			return
		}
	}
	t.Error("line 50 of add_kernel is not on the page")
}

// hottest looks for what most samples are of: of many lines of IR the page has those with most.
func hottest(t *testing.T, k *listing.PageKernel) {
	t.Helper()
	for _, row := range k.Files[0].Rows {
		for _, stage := range row.Inlined {
			if row.Number != "30" || stage.Number != "sass" && stage.Number != "ptx" {
				continue
			}
			most := uint64(0)
			for _, i := range stage.Inlined {
				most = max(most, i.Samples)
			}
			if most != 1407268 || len(stage.Inlined) != 20 {
				t.Errorf("of line 30, %s has %d lines on the page, the hottest with %d samples; want 20 and 1407268", stage.Number, len(stage.Inlined), most)
			}
		}
	}
}

func TestPageOfATracedRun(t *testing.T) {
	p, texts := traced(t)
	path := tracedPage(t, p, texts)
	page := browser(t).open(t, path, desk)
	page.click("#tab-launches")
	page.wait(`location.hash === "#launches" && document.querySelectorAll("#panel-launches .card").length === 2`)
	card := page.text("#panel-launches .card")
	for _, want := range []string{
		"matmul_kernel 3,319 launches in 155.4 ms, 50.2% of all · * counted in the trace",
		"BLOCK_M=128 BLOCK_N=128 BLOCK_K=64 num_warps=8 num_stages=3 107 registers · 98,304 bytes of shared memory",
		"1,001 62.50 ms 40.2% 62.43 us 60.45 us 66.34 us 806.1 GB/s * 550.3 Tflop/s * 55.7% compute",
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card of matmul_kernel does not say %q: %s", want, card)
		}
	}
	page.click("#panel-launches .card button")
	page.wait(`!document.getElementById("panel-flame").hidden && document.querySelector("#panel-flame .details h2").textContent === "matmul_kernel"`)

	page.click("#tab-source")
	page.eval(`(() => {
		const s = document.querySelector("#panel-source select");
		s.value = [...s.options].find((o) => o.textContent === "matmul_kernel – 28.6% · BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 num_warps=4 num_stages=2").value;
		s.dispatchEvent(new Event("change"));
	})()`)
	page.click("#panel-source .bar > button")
	page.wait(`document.activeElement.querySelector(".at").textContent === "30"`)
	page.keys("Enter")
	page.wait(`[...document.querySelectorAll("#panel-source .line.inlined .at")].map((a) => a.textContent).join() === "ttir,ttgir,llir,ptx,sass"`)
	page.click(`#panel-source [aria-label="unfold sass"]`)
	page.wait(`[...document.querySelectorAll("#panel-source .line.inlined")].some((l) => l.textContent.includes("1,407,268") && l.textContent.includes("BAR"))`)
	page.eval(`[...document.querySelectorAll("#panel-source .segments button")].find((b) => b.textContent === "Instructions").click()`)
	page.wait(`[...document.querySelectorAll("#panel-source .line")].some((l) => l.textContent.includes("HGMMA") && l.textContent.includes("kernels.py:30"))`)
}

// A link to a tab opens it; there is no Launches tab without a trace, nor a Source tab without samples.
func TestTabsOfTracedRuns(t *testing.T) {
	sampled, texts := traced(t)
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Launches: sampled.Launches, Kinds: sampled.Kinds}
	sampled.Root.Walk(func(n *profile.Node, _ int) bool {
		if len(n.Launches) > 0 {
			p.Root.Children = append(p.Root.Children, &profile.Node{Name: n.Name, Launches: n.Launches, Metrics: timesAlone(n)})
		}
		return true
	})
	for _, c := range []struct {
		texts *Texts
		link  string
		tabs  string
		shown string
	}{
		{texts, "#launches", "Summary,Flame graph,Table,Launches,IR", "launches"},
		{nil, "#launches", "Summary,Flame graph,Table", "summary"},
	} {
		page := browser(t).open(t, tracedPage(t, p, c.texts)+c.link, desk)
		page.wait(fmt.Sprintf(`[...document.querySelectorAll("[role=tab]")].map((b) => b.textContent).join() === %q`, c.tabs))
		page.wait(fmt.Sprintf(`!document.getElementById("panel-%s").hidden && location.hash === "#%[1]s"`, c.shown))
	}
}

func timesAlone(n *profile.Node) (metrics []profile.Metric) {
	for _, m := range n.Metrics {
		if m.Name == "time (ns)" || m.Name == "count" {
			metrics = append(metrics, m)
		}
	}
	return metrics
}

// TestLaunchesAreReadable: contrast, names for screen readers, and widths, as TestReadable for the other tabs.
func TestLaunchesAreReadable(t *testing.T) {
	p, texts := traced(t)
	path := tracedPage(t, p, texts)
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		page := browser(t).open(t, path+"#launches", s)
		page.wait(`document.querySelectorAll("#panel-launches .card").length === 2`)
		page.readable(t, s, "launches")
	}
}
