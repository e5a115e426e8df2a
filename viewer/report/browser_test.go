package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// These tests open real pages in a headless Chromium and use them as a person does. Every page must stay silent: an
// error or a warning in the console, or a request for anything, fails the test that opened it (see page.silent).
// With PROTON_SCREENSHOTS=1 they leave pictures in build/report; with PROTON_SLOW_PAGES=1 every page is slow (slowpages_test.go).

// pageOf writes a report into a file.
func pageOf(t testing.TB, name string, profiles ...*profile.Profile) string {
	t.Helper()
	var sources []Source
	for i, p := range profiles {
		sources = append(sources, Source{Name: name + []string{"", "-after"}[i] + ".hatchet", Profile: p})
	}
	return pageWith(t, sources, Options{Version: "test"})
}

var (
	desk  = screen{width: 1280, height: 800}
	phone = screen{width: 390, height: 844}
)

func openModel(t *testing.T, s screen) *page {
	return browser(t).open(t, pageOf(t, "model", withTimeline(model(3000, 1), 3000)), s)
}

func TestSummaryNamesWhatMatters(t *testing.T) {
	p := openModel(t, desk)
	summary := p.text("#panel-summary")
	for _, want := range []string{"GPU time", "Kernel launches", "Utilisation", "Top kernels", "node-17", "132 multiprocessors", "vectorized_elementwise_kernel<4"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not say %q: %s", want, summary)
		}
	}
	if raw := regexp.MustCompile(`\b\d{19}\b`).FindString(summary); raw != "" {
		t.Errorf("%s is a time in ns since 1970, in place of a date: %s", raw, summary)
	}
	p.shoot("wide-summary")
	p.click(".plain tbody tr:nth-child(2) button")
	p.wait(`document.getElementById("tab-flame").getAttribute("aria-selected") === "true"`)
	if name := p.text("#panel-flame .details h2"); name == "" || name == "ROOT" {
		t.Errorf("a click on a kernel leads to %q", name)
	}
}

// TestSummaryOfAReplayWithCopies: the host and the start of a replay are not those of the run, and kernels have a part of the GPU time only.
func TestSummaryOfAReplayWithCopies(t *testing.T) {
	p := model(100, 1)
	p.Info[profile.InfoReplay] = "overlap.capture.gz"
	lasts := func(ns int64) []profile.Metric {
		return []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(ns)}}
	}
	p.Root.Children = []*profile.Node{{Name: "add", Metrics: lasts(300)}, {Name: "<memcpy HtoD>", Metrics: lasts(100)}}
	shown := browser(t).open(t, pageOf(t, "replay", p), desk)
	if head := shown.text("header"); !strings.Contains(head, "replay of overlap.capture.gz") || strings.Contains(head, "node-17") || strings.Contains(head, "UTC") {
		t.Errorf("the head of a replay: %s", head)
	}
	p.Info[profile.InfoSynthetic] = "no GPU was measured"
	if head := browser(t).open(t, pageOf(t, "synthetic", p), desk).text("header"); !strings.Contains(head, "replay of a synthetic recording: overlap.capture.gz") {
		t.Errorf("the head of a replay of a synthetic capture: %s", head)
	}
	if summary := shown.text("#panel-summary"); !strings.Contains(summary, "of GPU time, other frames, such as memcpy, the rest") {
		t.Errorf("the summary: %s", summary)
	}
}

func TestKeysWorkEverywhere(t *testing.T) {
	p := openModel(t, desk)
	for key, tab := range map[string]string{"2": "flame", "3": "table", "4": "roofline", "5": "timeline", "1": "summary"} {
		p.keys(key)
		p.wait(fmt.Sprintf(`!document.getElementById("panel-%s").hidden && document.querySelectorAll("[role=tabpanel]:not([hidden])").length === 1`, tab))
	}
	p.keys("ArrowRight")
	p.wait(`document.activeElement === document.querySelector("[role=tab][aria-selected=true]")`)
	p.keys("?")
	p.wait(`document.getElementById("help").open`)
	p.shoot("wide-help")
	p.keys("Escape")
	p.wait(`!document.getElementById("help").open`)
	p.keys("/")
	p.wait(`document.activeElement.id === "search"`)
	p.keys("t")
	p.wait(`document.getElementById("search").value === "t"`)
	p.keys("Escape")
	p.wait(`document.getElementById("search").value === "" && document.activeElement.id !== "search"`)
}

func TestThemeFollowsTheSystemAndTheSwitch(t *testing.T) {
	p := openModel(t, screen{width: 1280, height: 800, dark: true})
	p.wait(`document.documentElement.dataset.theme === "dark"`)
	p.shoot("wide-dark-summary")
	p.click("#theme")
	p.wait(`document.documentElement.dataset.theme === "light"`)
	p.click("#theme")
	p.wait(`document.documentElement.dataset.theme === "dark" && document.getElementById("theme").getAttribute("aria-label") === "Theme: dark"`)
	p.click("#theme")
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "light"}}})
	p.wait(`document.documentElement.dataset.theme === "light"`)
}

func TestFlameGraphZoomsAndFinds(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-flame")
	const name, crumbs = "#panel-flame .details h2", "#panel-flame .crumbs"
	p.clickAt(p.place("#panel-flame canvas", 0.1, 0.05)) // second row: step 0
	p.reads(name, "step 0")
	p.reads(crumbs, "ROOT › step 0")
	p.keys("ArrowDown", "Enter")
	p.painted()
	first := p.text(name)
	p.reads(crumbs, "ROOT › step 0 › "+first)
	p.keys("ArrowRight")
	p.wait(fmt.Sprintf(`document.querySelector(%q).innerText !== %q`, name, first))
	p.keys("Escape", "Escape", "Escape")
	p.reads(crumbs, "")
	p.mouse("mouseMoved", p.place("#panel-flame canvas", 0.3, 0.05), nil)
	p.wait(`!document.getElementById("tip").hidden && document.getElementById("tip").textContent.includes("share of all")`)
	p.shoot("wide-flame")
	p.keys("/")
	p.keys(strings.Split("flash fwd", "")...)
	p.wait(`/^\d+ frames, \d+\.\d%$/.test(document.getElementById("found").textContent)`)
	p.keys("Enter")
	p.reads(name, "flash_fwd_kernel")
	p.shoot("wide-flame-search")
	p.pick("#panel-flame", "Width", "1")
	p.wait(`document.querySelector("#panel-flame .details dl dt").textContent === "share of runs"`)
}

// A click zooms, and a click at the same place zooms out again: the graph does not move under the pointer.
func TestFlameGraphStaysUnderThePointer(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-flame")
	p.painted()
	at := p.place("#panel-flame canvas", 0.1, 0.05) // second row: step 0
	p.mouse("mouseMoved", at, nil)
	p.wait(`!document.getElementById("tip").hidden`)
	p.clickAt(at)
	p.reads("#panel-flame .crumbs", "ROOT › step 0")
	p.wait(`document.getElementById("tip").hidden`)
	p.clickAt(at)
	p.reads("#panel-flame .crumbs", "")
	// Browsers count a second click within half a second as a double click. It zooms out as any other does, unless it comes at once.
	p.clickAt(at)
	p.reads("#panel-flame .crumbs", "ROOT › step 0")
	time.Sleep(300 * time.Millisecond)
	double := map[string]any{"button": "left", "clickCount": 2, "buttons": 1}
	p.mouse("mousePressed", at, double)
	p.mouse("mouseReleased", at, double)
	p.reads("#panel-flame .crumbs", "")
}

// A timeline that is nearly empty opens where something happens, and a drag over the whole selects what is shown.
func TestTimelineThatIsNearlyEmpty(t *testing.T) {
	profile := withTimeline(model(200, 1), 200)
	for i := range profile.Timeline.Slices[1:] {
		profile.Timeline.Slices[1+i].Start += 4e9 // one slice long before the others
	}
	p := browser(t).open(t, pageOf(t, "sparse", profile), desk)
	p.click("#tab-timeline")
	p.wait(`document.querySelector("#panel-timeline .bar .number").textContent.startsWith("4")`)
	opened := p.text("#panel-timeline .bar .number")
	overview := "#panel-timeline .overview"
	p.drag(p.place(overview, 0.25, 0.5), p.place(overview, 0.75, 0.5))
	p.wait(fmt.Sprintf(`document.querySelector("#panel-timeline .bar .number").innerText !== %q`, opened))
	p.wait(`document.querySelector("#panel-timeline .bar .number").innerText.startsWith("1.0")`) // a quarter of 4 s
	p.shoot("wide-timeline-sparse")
}

func TestTableSortsOpensAndFilters(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-table")
	cells := func(column int) string { // of the rows in sight, from the top
		return fmt.Sprintf(`[...document.querySelectorAll(".grid .row:not(.head)")].sort((a, b) => a.getAttribute("aria-rowindex") - b.getAttribute("aria-rowindex"))
			.map((r) => parseFloat(r.children[%d].textContent.replace(",", ""))).filter((v) => !Number.isNaN(v))`, column)
	}
	p.shoot("wide-table")
	p.eval(`[...document.querySelectorAll("#panel-table .segments button")].find((b) => b.textContent === "Kernels").click()`)
	p.wait(`document.querySelectorAll(".grid .row:not(.head)").length === 13`)
	p.wait(cells(1) + `.every((v, i, all) => i === 0 || all[i - 1] >= v)`)
	p.click(".grid .head [aria-colindex='4'] button")
	p.wait(`document.querySelector(".grid .head [aria-colindex='4']").getAttribute("aria-sort") === "descending"`)
	p.wait(cells(3) + `.every((v, i, all) => i === 0 || all[i - 1] >= v)`)
	p.click(".grid .head [aria-colindex='4'] button")
	p.wait(cells(3) + `.every((v, i, all) => i === 0 || all[i - 1] <= v)`)
	p.shoot("wide-table-kernels")
	p.eval(`[...document.querySelectorAll("#panel-table .segments button")].find((b) => b.textContent === "Call tree").click()`)

	rows := func() float64 {
		return p.eval(`Number(document.querySelector(".grid").getAttribute("aria-rowcount"))`).(float64)
	}
	p.eval(`[...document.querySelectorAll("#panel-table button")].find((b) => b.textContent === "Collapse all").click()`)
	if rows() != 1+1+3 { // the head, the root, three steps
		t.Errorf("collapsed, the table has %v rows", rows())
	}
	p.eval(`document.querySelector(".grid").focus()`)
	p.keys("Home", "ArrowDown", "ArrowRight")
	if rows() != 1+1+3+3 {
		t.Errorf("with step 0 open, the table has %v rows", rows())
	}
	p.wait(`document.querySelector(".grid [aria-selected=true]")?.getAttribute("aria-expanded") === "true"`)
	p.keys("ArrowRight")
	p.wait(`document.querySelector(".grid [aria-selected=true] .name")?.textContent === "forward"`)
	p.keys("ArrowLeft", "ArrowLeft")
	if rows() != 1+1+3 {
		t.Errorf("closed again, the table has %v rows", rows())
	}
	p.keys("/")
	p.keys(strings.Split("rope", "")...)
	p.wait(`document.querySelector(".grid mark")?.textContent === "rope"`)
	p.shoot("wide-table-search")
	p.click("#panel-table .menu summary")
	before := p.eval(`document.querySelectorAll(".grid .head > *").length`).(float64)
	p.click("#panel-table .menu label:nth-child(1) input")
	p.wait(fmt.Sprintf(`document.querySelectorAll(".grid .head > *").length === %v`, before-1))
	p.shoot("wide-table-columns")
}

func TestRooflineShowsKernelsAndCeilings(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-roofline")
	p.wait(`document.querySelectorAll("#panel-roofline circle.point").length === 13`)
	p.wait(`[...document.querySelectorAll("#panel-roofline .ceiling-label")].map((l) => l.textContent).join() === "fp16 988.2 Tflop/s,memory 4.814 TB/s"`)
	p.shoot("wide-roofline")
	p.mouse("mouseMoved", p.place("#panel-roofline circle.point", 0.5, 0.5), nil)
	p.wait(`document.getElementById("tip").textContent.includes("flop/B")`)
	p.click("#panel-roofline circle.point")
	p.wait(`document.querySelector("#panel-roofline .details .kind")?.textContent === "kernel"`)
	p.eval(`(() => { const s = document.querySelector("#panel-roofline select"); s.value = "fp8"; s.dispatchEvent(new Event("change")); })()`)
	p.wait(`[...document.querySelectorAll("#panel-roofline .ceiling-label:not(.other)")].some((l) => l.textContent.startsWith("fp8 1.976 Pflop/s"))`)
	overlaps := p.eval(`(() => {
		const boxes = [...document.querySelectorAll("#panel-roofline .dot-label")].map((l) => l.getBoundingClientRect());
		return boxes.some((a, i) => boxes.some((b, k) => k > i && a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom));
	})()`)
	if overlaps != false {
		t.Error("names of kernels run into each other")
	}
}

// TestRooflineOnAPhone: the panel that opens takes room from the plot, which is drawn again and must keep the choice.
func TestRooflineOnAPhone(t *testing.T) {
	p := openModel(t, phone)
	p.click("#tab-roofline")
	p.click("#panel-roofline circle.point")
	for range 3 {
		p.painted()
		p.wait(`document.querySelector("#panel-roofline .details").checkVisibility() && document.querySelectorAll("#panel-roofline circle.chosen").length === 1`)
	}
	p.shoot("narrow-roofline-chosen")
}

func TestTimelineZoomsPansAndFollowsArrows(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-timeline")
	p.wait(`document.querySelector("#panel-timeline .range, #panel-timeline .bar .number").textContent.startsWith("0 ns to")`)
	view := func() string { return p.text("#panel-timeline .bar .number") }
	whole := view()
	p.shoot("wide-timeline")
	canvas := "#panel-timeline .stage canvas"
	p.eval(`document.querySelector("` + canvas + `").focus()`)
	p.keys("w", "w", "w", "w", "w")
	p.wait(`!document.querySelector("#panel-timeline .bar .number").textContent.startsWith("0 ns")`)
	zoomed := view()
	p.drag(p.place(canvas, 0.3, 0.8), p.place(canvas, 0.7, 0.8))
	p.wait(fmt.Sprintf(`document.querySelector("#panel-timeline .bar .number").innerText !== %q`, zoomed))
	p.keys("ArrowRight", "ArrowDown", "ArrowDown")
	p.wait(`document.querySelector("#panel-timeline .details h2")?.textContent === "cuLaunchKernel"`)
	launch := p.text("#panel-timeline .details")
	if !strings.Contains(launch, "Started") || !strings.Contains(launch, "later") {
		t.Errorf("a launch does not lead to what it started: %s", launch)
	}
	p.shoot("wide-timeline-zoomed")
	p.click("#panel-timeline .details .link")
	p.wait(`document.querySelector("#panel-timeline .details .kind").textContent === "kernel"`)
	if text := p.text("#panel-timeline .details"); !strings.Contains(text, "Call path ROOT › step") || !strings.Contains(text, "GPU 0 Stream 7") {
		t.Errorf("the kernel's details are %s", text)
	}
	p.eval(`document.querySelector("` + canvas + `").focus()`)
	p.keys("Escape")
	p.wait(fmt.Sprintf(`document.querySelector("#panel-timeline .bar .number").innerText === %q`, whole))
	p.keys("/")
	p.keys(strings.Split("memcpy", "")...)
	p.keys("Enter")
	p.wait(`document.querySelector("#panel-timeline .details h2").textContent === "Memcpy HtoD"`)
	if text := p.text("#panel-timeline .details"); !strings.Contains(text, "3.146 MB") || !strings.Contains(text, "52.43 GB/s") {
		t.Errorf("a copy does not say its bytes and its rate: %s", text)
	}
}

func TestComparisonShowsWhatChanged(t *testing.T) {
	path := pageOf(t, "run", model(1200, 1), model(1500, 1.6))
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		p := browser(t).open(t, path, s)
		summary := p.text("#panel-summary")
		for _, want := range []string{"GPU time in A", "GPU time in B", "Change, B − A", "More in B", "Less in B", "Run A", "Run B"} {
			if !strings.Contains(summary, want) {
				t.Errorf("the summary does not say %q: %s", want, summary)
			}
		}
		p.shoot(shotName(s) + "-diff-summary")
		p.click("#tab-flame")
		p.wait(`document.querySelector("#panel-flame .legend").textContent === "lesssamemore"`)
		p.wait(`document.querySelector("#panel-flame .changes th.number + th.number + th.number").textContent === "Δ"`)
		if p.eval(`(() => { const d = document.querySelector("#panel-flame .details"); return d.scrollWidth <= d.clientWidth; })()`) != true {
			t.Error("the comparison of a frame is wider than its panel")
		}
		p.shoot(shotName(s) + "-diff-flame")
		p.click("#tab-table")
		p.wait(`[...document.querySelectorAll(".grid .head > *")].some((h) => h.textContent.startsWith("Δ GPU time ("))`)
		p.eval(`[...document.querySelectorAll("#panel-table button")].find((b) => b.textContent === "Expand all").click()`)
		p.eval(`document.querySelector(".grid").scrollTop = 1e9`)
		p.wait(`[...document.querySelectorAll(".grid .tag")].some((e) => e.textContent === "only in B")`)
		p.wait(`[...document.querySelectorAll(".grid .value")].some((e) => e.textContent === "new")`)
		p.shoot(shotName(s) + "-diff-table")
		p.click("#tab-roofline")
		p.wait(`document.querySelectorAll("#panel-roofline circle.old").length > 0`)
		p.shoot(shotName(s) + "-diff-roofline")
	}
}

func shotName(s screen) string {
	name := map[int]string{1280: "wide", 800: "half", 390: "narrow"}[s.width]
	if s.dark {
		name += "-dark"
	}
	return name
}

var allTabs = []string{"summary", "flame", "table", "roofline", "timeline"}

// TestReadable looks at every tab in both themes and both widths: text has the contrast that WCAG's AA asks for,
// everything that can be pressed has a name, and no page is wider than its screen.
func TestReadable(t *testing.T) {
	path := pageOf(t, "model", withTimeline(model(3000, 1), 3000))
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone, {width: 390, height: 844, dark: true}} {
		p := browser(t).open(t, path, s)
		for _, tab := range allTabs {
			p.click("#tab-" + tab)
			p.painted()
			p.readable(t, s, tab)
		}
	}
}

// readable checks what is on the screen.
func (p *page) readable(t *testing.T, s screen, what string) {
	t.Helper()
	if wide := p.eval(`document.documentElement.scrollWidth`).(float64); wide > float64(s.width) {
		t.Errorf("%s at %d pixels is %v wide", what, s.width, wide)
	}
	if bad := p.eval(poorContrast).([]any); len(bad) > 0 {
		t.Errorf("%s, %s: too little contrast: %v", what, shotName(s), bad)
	}
	if bad := p.eval(unlabelled).([]any); len(bad) > 0 {
		t.Errorf("%s: no name for a screen reader: %v", what, bad)
	}
	p.shoot(shotName(s) + "-" + what)
}

// poorContrast lists texts whose colour is less than 4.5:1 from what is behind them.
const poorContrast = `(() => {
	const parse = (c) => c.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] === 1) return c;
		}
		return [255, 255, 255];
	};
	const bad = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
		if (!text || !e.checkVisibility() || e.closest("[disabled], script, style, .unseen, option")) continue;
		const style = getComputedStyle(e), svg = e instanceof SVGElement;
		const a = luminance(parse(svg ? style.fill : style.color)), b = luminance(ground(svg ? e.closest("div") : e));
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) bad.push(text.slice(0, 30) + " " + contrast.toFixed(2));
	}
	return [...new Set(bad)].slice(0, 10);
})()`

// unlabelled lists what can be pressed or focused and says nothing.
const unlabelled = `[...document.querySelectorAll("button, input, select, [role], canvas[tabindex], aside[tabindex]")].filter((e) => e.checkVisibility() &&
	!(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() || e.closest("label")?.textContent.trim() || e.closest("[aria-hidden=true]") ||
	["presentation", "gridcell", "rowheader", "tooltip", "img"].includes(e.getAttribute("role")))).map((e) => e.outerHTML.slice(0, 80))`

func TestHostileNamesStayNames(t *testing.T) {
	names := []string{
		"</script><script>window.hacked = 1</script>", `"><img src=x onerror="window.hacked = 1">`, "' onmouseover='window.hacked=1", "&lt;b&gt; & <b>",
		"left\u202egnp.exe", "\x00\x1b[31mred", "\u2028line", "\xff\xfe", strings.Repeat("very_long_name_", 400), "", " ", "{{.Data}}", "{{", "javascript:alert(1)",
	}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}, Info: profile.Info{"host": names[0], names[1]: names[4]}}
	for i, name := range names {
		p.Root.Children = append(p.Root.Children, &profile.Node{Name: name, Metrics: []profile.Metric{
			{Name: "time (ns)", Value: profile.IntValue(int64(i + 1))}, {Name: names[0], Value: profile.FloatValue(2)}, {Name: "said", Value: profile.StringValue(names[1])}}})
	}
	p.Timeline = &profile.Timeline{Lanes: []profile.Lane{{ID: 1, Name: names[0], Process: names[1]}}}
	for i, name := range names {
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 1, Name: name, Start: int64(i) * 10, Duration: 9, Path: []string{"ROOT", name}})
	}
	tab := browser(t).open(t, pageOf(t, names[0], p), desk)
	for _, id := range []string{"flame", "table", "timeline", "summary"} {
		tab.click("#tab-" + id)
		tab.painted()
		tab.shoot("hostile-" + id)
	}
	tab.mouse("mouseMoved", tab.place("#tab-table", 0.5, 0.5), nil)
	if tab.eval(`window.hacked === undefined && document.querySelectorAll("img, script, iframe").length === 1`) != true {
		t.Error("a name became markup")
	}
	if title := tab.text("h1"); title != names[0]+".hatchet" {
		t.Errorf("the title is %q", title)
	}
	tab.click("#tab-table")
	table, _ := tab.eval(`document.querySelector(".grid").textContent`).(string) // innerText has a line break where a long name gives way
	for _, want := range []string{names[0], names[1], "left\\u202egnp.exe", "\\x00\\x1b[31mred", "(2000 bytes more)"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not show %s", want)
		}
	}
}

// TestBrowsersWithoutDecompression stands for those that are some years old.
func TestBrowsersWithoutDecompression(t *testing.T) {
	s := desk
	s.before = `delete window.DecompressionStream; delete Uint8Array.fromBase64;`
	p := openModel(t, s)
	if !strings.Contains(p.text("#panel-summary"), "Top kernels") {
		t.Error("the summary is empty")
	}
}

func TestNothingIsEvaluated(t *testing.T) {
	p := openModel(t, desk)
	got := p.eval(`new Promise((ok) => {
		addEventListener("securitypolicyviolation", (e) => ok(e.violatedDirective));
		const script = document.createElement("script");
		script.textContent = "window.hacked = 1";
		document.body.append(script);
	})`)
	if got != "script-src-elem" {
		t.Errorf("an injected script ran: %v", got)
	}
	p.forget()
}

// TestRealProfiles opens whatever profiles the repository has: those of Triton's Proton, of torch.profiler, and odd ones. make test opens every third.
func TestRealProfiles(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../testdata/profiles/*", "../compat/testdata/profiles/*", "../../testdata/upstream/*/*", "../../testdata/upstream/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	opened, every := 0, 3
	if testkit.All() {
		every = 1
	}
	for i := 0; i < len(files); i += every {
		file := files[i]
		profile, err := formats.ReadFile(file)
		if err != nil || Write(discard{}, []Source{{file, profile}}, Options{}) != nil {
			continue // no profile, or one without metrics: other tests hold that
		}
		opened++
		p := browser(t).open(t, pageOf(t, filepath.Base(file), profile), desk)
		for _, tab := range allTabs {
			if p.eval(fmt.Sprintf(`document.getElementById("tab-%s") !== null`, tab)) == true {
				p.click("#tab-" + tab)
				p.painted()
				p.shoot("real-" + filepath.Base(file) + "-" + tab)
			}
		}
		p.close()
	}
	if opened < 15/every {
		t.Errorf("only %d of %d files could be opened", opened, len(files))
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
