package report

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

const cubins = "../../gpu/cubin/testdata/"

// withSamples gives a profile the samples of two real kernels, planted by line, and writes their modules next to it.
func withSamples(t testing.TB, p *profile.Profile) (*profile.Profile, *Texts) {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "run.cubins"), 0o777); err != nil {
		t.Fatal(err)
	}
	p.Sampling = &profile.Sampling{Mode: "continuous", Period: 1 << 16, Reasons: []string{"long_scoreboard", "math_pipe_throttle", "selected", "wait"}, Dropped: 7, Total: 1}
	scope := &profile.Node{Name: "sampled"}
	p.Root.Children = append(p.Root.Children, scope)
	for i, k := range []struct{ file, name string }{{"matmul.sm80.cubin", "matmul"}, {"inlined.sm90.cubin", "inlined"}} {
		image, err := os.ReadFile(cubins + k.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "run.cubins", k.name+".cubin"), image, 0o666); err != nil {
			t.Fatal(err)
		}
		module, err := cubin.Read(image)
		if err != nil {
			t.Fatal(err)
		}
		f := module.Function(k.name)
		sf := profile.SampledFunction{Name: k.name, Module: k.name, Index: f.Index, Arch: strconv.Itoa(module.SM), Size: f.Size, Registers: f.Registers}
		fs := profile.FunctionSamples{Function: i}
		for pc := uint64(0); pc < f.Size; pc += cubin.InstructionSize {
			var frames []profile.SourceFrame
			for _, frame := range f.Frames(pc) {
				// Triton's folder may exist on some machine; /dev/null is a file everywhere.
				frame.File = strings.Replace(frame.File, "/opt/triton39/", "/dev/null/triton39/", 1)
				frames = append(frames, profile.SourceFrame(frame))
			}
			if frames == nil {
				continue
			}
			sf.Places = append(sf.Places, profile.Place{Offset: pc, Frames: frames})
			at := profile.PCSamples{Offset: pc, Stalls: []profile.Stall{{Reason: 3, Samples: 1 + pc/16%3}, {Reason: 2, Samples: 1}}}
			switch frames[len(frames)-1].Line {
			case 48, 49:
				at.Stalls[0] = profile.Stall{Reason: 0, Samples: 20, NotIssued: 19}
			case 50:
				at.Stalls = append(at.Stalls, profile.Stall{Reason: 1, Samples: 90})
			}
			fs.PCs = append(fs.PCs, at)
		}
		p.Sampling.Functions = append(p.Sampling.Functions, sf)
		scope.Children = append(scope.Children, &profile.Node{Name: k.name, Samples: []profile.FunctionSamples{fs}})
	}
	none := func(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }
	return p, &Texts{
		Files:   &kernels.Files{Moves: []string{"/home/user=" + cubins}},
		Modules: &kernels.Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: none},
	}
}

// pageWith writes a page and returns its path.
func pageWith(t testing.TB, sources []Source, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(f, sources, o); err != nil {
		t.Fatal(err)
	}
	return path
}

func sampledPage(t *testing.T) string {
	t.Helper()
	p, texts := withSamples(t, model(300, 1))
	return pageWith(t, []Source{{Name: "run.hatchet", Profile: p}}, Options{Version: "test", Texts: texts})
}

func TestSourceShowsWhereWarpsWait(t *testing.T) {
	path := sampledPage(t)
	p := browser(t).open(t, path, desk)
	p.click("#tab-source")
	p.eval(`document.querySelector("#panel-source details").open = true`)
	head := p.text("#panel-source .source-head")
	for _, want := range []string{"matmul", "168 registers", "called from sampled", "Hint: warps wait for data", "long_scoreboard", "kernels.py:", "the hardware lost 7 samples", "every 65,536 cycles"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head does not say %q: %s", want, head)
		}
	}
	p.click("#panel-source .bar > button")
	p.wait(`document.activeElement.classList.contains("hot") && document.activeElement.querySelector(".text").textContent.trim().startsWith("x = tl.load(pa")`)
	p.shoot("wide-source")
	p.keys("ArrowDown", "ArrowDown")
	p.wait(`document.activeElement.querySelector(".text").textContent.trim() === "acc = tl.dot(x, y, acc)"`)
	p.mouse("mouseMoved", p.place("#panel-source .line.hot .text", 0.1, 0.5), nil)
	p.wait(`!document.getElementById("tip").hidden && document.getElementById("tip").textContent.includes("long_scoreboard: the warp waits for data")`)
	p.shoot("wide-source-tip")

	p.eval(`(() => { const s = document.querySelector("#panel-source select"); s.value = "1"; s.dispatchEvent(new Event("change")); })()`)
	p.wait(`document.querySelector("#panel-source h2").textContent === "inlined" && document.querySelectorAll("#panel-source .line.inlined").length === 0`)
	p.eval(`[...document.querySelectorAll("#panel-source .line")].find((l) => l.textContent.includes("twice(v)")).querySelector(".twist").click()`)
	p.wait(`document.querySelector("#panel-source .line.inlined .text").textContent.trim() === "return act(act(v))"`)
	p.shoot("wide-source-inlined")

	p.eval(`[...document.querySelectorAll("#panel-source .segments button")].find((b) => b.textContent === "Instructions").click()`)
	p.wait(`[...document.querySelectorAll("#panel-source .line")].some((l) => l.textContent.includes("FMUL") && l.textContent.includes("kernels.py:25 > kernels.py:18 > kernels.py:13"))`)
	p.shoot("wide-source-instructions")
	p.keys("/")
	p.keys(strings.Split("mufu", "")...)
	p.keys("Enter")
	p.wait(`document.querySelector("#panel-source .line.found .text").textContent === "MUFU"`)
}

// TestSourceShowsWhatInstructionsCounted: of a run without samples the page has instructions, and at each line what they counted.
func TestSourceShowsWhatInstructionsCounted(t *testing.T) {
	profiled, texts := withSamples(t, model(300, 1))
	s := profiled.Sampling
	s.Mode, s.Period, s.Dropped, s.Reasons = profile.CountedByLine, 0, 0, []string{"smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal", "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"}
	profiled.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, f := range n.Samples {
			for i := range f.PCs {
				f.PCs[i].Stalls = []profile.Stall{{Reason: 0, Samples: 36}, {Reason: 1, Samples: 8}, {Reason: 2, Samples: 1000}, {Reason: 3, Samples: 20000}}
			}
		}
		return true
	})
	p := browser(t).open(t, pageWith(t, []Source{{Name: "run.hatchet", Profile: profiled}}, Options{Version: "test", Texts: texts}), desk)
	p.click("#tab-source")
	head := p.text("#panel-source .source-head")
	for _, want := range []string{"instructions, ", "each of 20.0 of 32 threads", "Hint: warps move 4.5 sectors"} {
		if !strings.Contains(head, want) {
			t.Errorf("the head does not say %q: %s", want, head)
		}
	}
	p.wait(`[...document.querySelectorAll("#panel-source .line .why")].some((why) => why.textContent === "global x4.5, 20.0 threads")`)
	p.mouse("mouseMoved", p.place("#panel-source .line.hot .text", 0.1, 0.5), nil)
	p.wait(`["instructions", "counted", "global x4.5"].every((text) => document.getElementById("tip").textContent.includes(text))`)
	p.shoot("wide-source-counted")
}

// TestTipOfAPageThatHasJustScrolled: the browser reports scrolling a frame later, and that must not hide the tip of what
// the pointer is on since.
func TestTipOfAPageThatHasJustScrolled(t *testing.T) {
	p := browser(t).open(t, sampledPage(t), desk)
	p.click("#tab-source")
	p.eval(`(() => {
		const page = document.querySelector("#panel-source .source"), line = document.querySelector("#panel-source .line.hot");
		window.frames_ = 0;
		page.addEventListener("scroll", () => { window.frames_++; });
		page.scrollTop += 40;
		line.dispatchEvent(new PointerEvent("pointerover", {bubbles: true, clientX: 300, clientY: 300}));
	})()`)
	p.wait(`window.frames_ > 0`)
	p.wait(`!document.getElementById("tip").hidden`)
	p.eval(`document.querySelector("#panel-source .source").scrollTop += 40`)
	p.wait(`document.getElementById("tip").hidden`)
}

// TestSourceIsReadable: contrast, names for screen readers, and widths, as TestReadable for the other tabs.
func TestSourceIsReadable(t *testing.T) {
	path := sampledPage(t)
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		p := browser(t).open(t, path, s)
		p.click("#tab-source")
		p.readable(t, s, "source-read")
	}
}

func TestNoSourceWithoutSamples(t *testing.T) {
	var without, with builder
	if err := without.addSource(Source{Profile: model(100, 1)}, nil); err != nil || without.Source != nil || without.Launches != nil {
		t.Errorf("%+v, %v", without.Source, err)
	}
	p, _ := withSamples(t, model(100, 1))
	if err := with.addSource(Source{Profile: p}, nil); err != nil || len(with.Source.Kernels) != 2 || with.Source.Kernels[0].Code != nil || with.Launches != nil {
		t.Fatalf("%+v, %v", with.Source, err)
	}
	for _, row := range with.Source.Kernels[0].Files[0].Rows {
		if row.Text != "matmul" {
			t.Errorf("line %s is %q, and no file may be read", row.Number, row.Text)
		}
	}
}
