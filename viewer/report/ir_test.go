package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/compare"
	"github.com/goproton/goproton/viewer/kernels"
)

const recordedTraces = "../../testdata/traces/"

func openRecorded(t *testing.T, name string) *Texts {
	t.Helper()
	trace, err := tritonparse.Open(recordedTraces+name, tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		t.Fatal(err)
	}
	return &Texts{Files: &kernels.Files{}, Modules: &kernels.Modules{Env: os.LookupEnv}, Trace: trace}
}

// pageOfTraces is a page of one trace, or of two, without a profile.
func pageOfTraces(t *testing.T, names ...string) (*builder, string) {
	t.Helper()
	var sources []Source
	var texts []*Texts
	for _, name := range names {
		sources, texts = append(sources, Source{Name: name}), append(texts, openRecorded(t, name))
	}
	o := Options{Version: "test", Old: texts[0], Texts: texts[len(texts)-1]}
	b, err := build(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := b.write(f, o); err != nil {
		t.Fatal(err)
	}
	return b, path
}

// TestIRTab: texts are the trace's, and each line came from the line of the source that its entry in the source map names.
func TestIRTab(t *testing.T) {
	b, _ := pageOfTraces(t, "matmul_autotuned/goproton")
	trace := openRecorded(t, "matmul_autotuned/goproton").Trace
	if len(b.IR.Kernels) != 1 || len(b.IR.Kernels[0].Compilations) != 2 || b.IR.More != 0 {
		t.Fatalf("%+v", b.IR)
	}
	mapped := 0
	for _, c := range b.IR.Kernels[0].Compilations {
		of := trace.Compilation(c.of.Hash)
		if first := c.Texts[0]; first.Stage != "python" || strings.Join(first.Lines, "\n") != strings.TrimRight(of.Python.Code, "\n") || first.First != of.Python.Start {
			t.Errorf("the source begins at %d: %q", first.First, first.Lines)
		}
		for _, text := range c.Texts[1:] {
			if got, want := strings.Join(text.Lines, "\n"), strings.TrimRight(strings.ReplaceAll(of.Texts[text.Stage], "\t", "    "), "\n"); got != want {
				t.Errorf("%s is\n%s\nnot\n%s", text.Stage, got, want)
			}
			for i, from := range text.From {
				want := 0
				if e := of.Maps().At(text.Stage, i+1); e != nil && e.Inlined && e.Outer.File == of.Python.File {
					want = e.Outer.Line
				} else if e != nil && e.File == of.Python.File {
					want = e.Line
				}
				if from != want {
					t.Errorf("line %d of %s came from %d, and the map says %d", i+1, text.Stage, from, want)
				}
				if from > 0 {
					mapped++
				}
			}
		}
	}
	if mapped < 1000 {
		t.Errorf("only %d lines came from the source", mapped)
	}
}

// TestIRTabCompares: without the lines that only one has, the two have as many lines of code as the comparison found equal.
func TestIRTabCompares(t *testing.T) {
	for _, names := range [][]string{{"matmul_autotuned/goproton"}, {"vector_add/goproton", "many_types/goproton"}, {"vector_add/goproton", "whole_source/goproton"}, {"vector_add/goproton", "zstd/goproton"}} {
		b, _ := pageOfTraces(t, names...)
		pairs := 0
		for _, k := range b.IR.Kernels {
			for _, p := range k.Pairs {
				pairs++
				x, y := k.Compilations[p.A], k.Compilations[p.B]
				d := compare.New(compare.Compilation(openRecorded(t, names[0]).Trace, x.event), compare.Compilation(openRecorded(t, names[len(names)-1]).Trace, y.event))
				if !slices.Equal(p.Changes, d.Highlights()) {
					t.Errorf("%v: %q, not %q", names, p.Changes, d.Highlights())
				}
				for _, s := range append(d.Stages, *d.Python) {
					c := p.Stages[s.Name]
					if s.LinesA-len(c.A) != s.Equal || s.LinesB-len(c.B) != s.Equal {
						t.Errorf("%v: %s has %d and %d lines of which %d are equal; the page says that %d and %d differ", names, s.Name, s.LinesA, s.LinesB, s.Equal, len(c.A), len(c.B))
					}
				}
			}
		}
		if one := !strings.Contains(names[len(names)-1], "many_types"); one && pairs != 1 {
			t.Errorf("%v have %d pairs", names, pairs)
		}
	}
}

// TestIRTabIsUsed opens the page of a trace as a person does: lines of one origin are marked on both sides, and so is what differs.
func TestIRTabIsUsed(t *testing.T) {
	_, path := pageOfTraces(t, "matmul_autotuned/goproton")
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		p := browser(t).open(t, path, s)
		if tabs := p.eval(`[...document.querySelectorAll("[role=tab]")].map((t) => t.textContent).join()`); tabs != "Launches,IR" {
			t.Errorf("tabs of a trace: %v", tabs)
		}
		p.click("#tab-ir")
		p.eval(`[...document.querySelectorAll("#panel-ir .source:first-child .line")].find((l) => l.textContent.includes("tl.dot")).click()`)
		p.painted()
		p.shoot("ir " + shotName(s))
		hot := p.eval(`[...document.querySelectorAll("#panel-ir .source:last-child .hot")].map((l) => l.textContent).join("\n")`).(string)
		if !strings.Contains(hot, "tt.dot") && !strings.Contains(hot, "warp_group_dot") {
			t.Errorf("next to tl.dot is\n%s", hot)
		}
		if said := p.text("#panel-ir .changed"); !strings.Contains(said, "1 line of the source, ") || !strings.Contains(said, " of ttgir") {
			t.Errorf("said %q", said)
		}
		p.pick("#panel-ir", "Right", "1")
		p.painted()
		if marked := p.eval(`document.querySelectorAll("#panel-ir .less").length * document.querySelectorAll("#panel-ir .more").length`).(float64); marked == 0 {
			t.Error("two compilations are shown, and no difference is marked")
		}
		p.click("#panel-ir .bar > button")
		p.painted()
		p.readable(t, s, "ir")
		p.keys("/")
		p.eval(`document.getElementById("search").value = "scf.for"`)
		p.keys("Enter")
		p.wait(`document.querySelector("#panel-ir .found")?.textContent.includes("scf.for")`)
		p.close()
	}
}
