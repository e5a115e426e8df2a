package sourcemap

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// artifacts are those of the handmade trace, which has every form of location.
func artifacts(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../testdata/dedicated_log_triton_trace_handmade_.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(jsontext.Get(text, "payload", "file_content"), &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

// show writes an entry as callee and, if it was inlined, outermost caller.
func show(e Entry) string {
	s := fmt.Sprintf("%s:%d:%d", base(e.File), e.Line, e.Column)
	if e.Inlined {
		s += fmt.Sprintf(" @ %s:%d", base(e.Outer.File), e.Outer.Line)
	}
	return s
}

func byLine(entries []Entry) map[int]string {
	m := map[int]string{}
	for _, e := range entries {
		m[e.Own] = show(e)
	}
	return m
}

// TestCorrect has, for each mistake of tritonparse's maps, a line that shows what we make of it, and what it does. "" is
// no entry.
func TestCorrect(t *testing.T) {
	texts := artifacts(t)
	for _, c := range []struct {
		stage, why   string
		line         int
		ours, theirs string
	}{
		{"ttir", "a definition is not code", 1, "", "k.py:10:0"},
		{"ttir", "a definition is not code", 32, "", "k.py:12:7"},
		{"ttir", "the module's place is behind its brace", 4, "k.py:10:0", ""},
		{"ttir", "the function's place is behind its brace", 5, "k.py:10:0", ""},
		{"ttir", "a call site", 7, "h.py:4:7 @ k.py:13", "h.py:4:7 @ k.py:13"},
		{"ttir", "a name around a call site", 8, "h.py:4:7 @ k.py:13", ""},
		{"ttir", "an unknown callee is its caller's", 9, "k.py:13:7", ""},
		{"ttir", "the loop's place is behind its brace", 11, "k.py:14:1", ""},
		{"ttir", "a brace is not code", 15, "", "k.py:14:1"},
		{"ttir", "the bare #loc", 13, "k.py:10:0", ""},
		{"ttir", "a call site in a call site", 14, "g.py:2:7 @ k.py:13", "g.py:2:7 @ k.py:13"},
		{"ttir", "the first of fused places", 16, "k.py:15:3", ""},
		{"ttir", "a range begins somewhere", 17, "k.py:17:3", ""},
		{"ttir", "a name around a place", 18, "k.py:19:3", ""},
		{"ttir", "a call site spelt out", 19, "h.py:4:3 @ k.py:20", ""},
		{"ttir", "the bare #loc as caller", 20, "h.py:4:7 @ k.py:10", "h.py:4:7 @ k.py:10"},
		{"ttir", "a callee that is defined later", 21, "g.py:2:7 @ k.py:13", ""},
		{"llir", "a distinct place", 4, "h.py:4:7 @ k.py:13", "h.py:4:7 @ h.py:4"},
		{"llir", "a distinct place", 5, "k.py:13:7", ""},
		{"llir", "no line", 7, "", "k.py:0:7"},
		{"llir", "a debug record", 8, "k.py:12:7", ""},
		{"ptx", "a directive is not code", 8, "", "k.py:10:0"},
		{"ptx", "a label is not code", 12, "", "k.py:10:0"},
		{"ptx", "the caller in a comment", 14, "h.py:4:7 @ k.py:13", "h.py:4:7"},
		{"ptx", "no line", 16, "", ""},
		{"ptx", "the caller in the directive", 18, "h.py:4:7 @ k.py:13", "h.py:4:7 @ k.py:13"},
		{"ptx", "two callers", 20, "g.py:2:7 @ k.py:13", "g.py:2:7 @ k.py:13"},
		{"ptx", "a directive without a comment", 22, "k.py:30:1", "g.py:2:7 @ k.py:13"},
		{"ptx", "inline assembly is from where it was asked for", 27, "k.py:30:1", "k.py:31:1"},
		{"ptx", "and so is what follows", 30, "k.py:30:1", "k.py:31:1"},
		{"sass", "a comment is not code", 3, "", "k.py:10:0"},
		{"sass", "callers in comments", 7, "h.py:4:0 @ k.py:13", "h.py:4:0 @ k.py:13"},
		{"sass", "the caller in the comment itself", 11, "h.py:4:0 @ k.py:13", "h.py:4:0"},
	} {
		parser := map[string]string{"ttir": "mlir", "llir": "llvm_dbg", "ptx": "ptx", "sass": "sass"}[c.stage]
		files := &Files{}
		for _, f := range []string{"/a/k.py", "/a/h.py", "/a/g.py"} {
			files.Add(f)
		}
		for q, want := range map[quirks.Set]string{quirks.None: c.ours, quirks.TritonParse: c.theirs} {
			if got := byLine(builtin[parser](texts["k."+c.stage], files, q))[c.line]; got != want {
				t.Errorf("%s, line %d, %s, quirks %b: got %q, want %q", c.stage, c.line, c.why, q, got, want)
			}
		}
	}
}

// TestPathWithColon is a file that ends tritonparse's whole run.
func TestPathWithColon(t *testing.T) {
	entries := readMLIR("#loc1 = loc(\"/a:b/k.py\":3:1)\n  x loc(#loc1)\n  y loc(\"C:\\\\k.py\":4:2)\n", nil, quirks.None)
	if got := fmt.Sprint(byLine(entries)); got != `map[2:k.py:3:1 3:C:\k.py:4:2]` {
		t.Error(got)
	}
}

// TestSecondFunction: tritonparse maps the first function of an assembly only.
func TestSecondFunction(t *testing.T) {
	text := ".file 1 \"/k.py\"\n// -- Begin function a\n{\n.loc 1 3 1 // k.py:3:1\n add;\n}\n// -- End function\n mov;\n// -- Begin function b\n mul;\n.loc 1 4 1\n sub;\n// -- End function\n"
	if got := fmt.Sprint(byLine(readPTX(text, &Files{}, quirks.None))); got != "map[5:k.py:3:1 12:k.py:4:1]" {
		t.Error(got)
	}
}

// TestTwoCallers: a helper that is inlined into another at the same place, but for two lines of the kernel.
func TestTwoCallers(t *testing.T) {
	text := `.file 1 "/k.py"
.file 2 "/h.py"
// -- Begin function k
{
.loc 2 20 1, function_name $a, inlined_at 1 90 1 // h.py:20:1
.loc 2 10 1, function_name $b, inlined_at 2 20 1 // h.py:10:1
 add;
.loc 2 20 1, function_name $a, inlined_at 1 95 1 // h.py:20:1
.loc 2 10 1, function_name $b, inlined_at 2 20 1 // h.py:10:1
 mul;
}
// -- End function
`
	if got := fmt.Sprint(byLine(readPTX(text, &Files{}, quirks.None))); got != "map[7:h.py:10:1 @ k.py:90 10:h.py:10:1 @ k.py:95]" {
		t.Error(got)
	}
	if got := byLine(readPTX(text, &Files{}, quirks.TritonParse)); got[7] != "h.py:10:1 @ k.py:95" {
		t.Error("tritonparse takes the last:", got[7])
	}
}

// TestPythonMap: a helper's line is the kernel's that called it, and lines of other files are none of the kernel's.
func TestPythonMap(t *testing.T) {
	texts := artifacts(t)
	stages := []Stage{{Name: "ttir", Parser: "mlir", Text: texts["k.ttir"]}, {Name: "llir", Parser: "llvm_dbg", Text: texts["k.llir"]},
		{Name: "ptx", Parser: "ptx", Text: texts["k.ptx"]}, {Name: "sass", Parser: "sass", Text: texts["k.sass"]}}
	m := New(stages, Python{File: "/a/k.py", Has: true})
	text := m.AppendJSON(nil)
	if err := jsontext.Valid(text); err != nil {
		t.Fatal(err)
	}
	if got := string(jsontext.Get(text, "python", "13")); got != `{"ttir_lines":["7","8","9","14","21"],"llir_lines":["4","5"],"ptx_lines":["14","18","20"],"sass_lines":["7","9","11","13"]}` {
		t.Error(got)
	}
	if jsontext.Get(text, "python", "4") != nil || jsontext.Get(text, "python", "0") != nil {
		t.Error("lines of another file")
	}
	// An instruction of inline assembly is where that was asked for; the next says the same line, and was made of another.
	if got := string(jsontext.Get(text, "python", "30", "sass_lines")) + string(jsontext.Get(text, "python", "31")); got != `["16"]{"sass_lines":["18"]}` {
		t.Error(got)
	}
	// The same helper line, called from line 10, is other code.
	if got := string(jsontext.Get(text, "ttir", "7", "ptx_lines")) + string(jsontext.Get(text, "ttir", "20", "ptx_lines")); got != "[14,18]" {
		t.Error(got)
	}
}

// fuzz checks that a parser neither panics nor invents lines.
func fuzz(f *testing.F, parse func(string, *Files, quirks.Set) []Entry, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, q := range []quirks.Set{quirks.None, quirks.TritonParse} {
			entries := parse(text, &Files{}, q)
			for _, e := range entries {
				if e.Own < 1 || e.Own > lines {
					t.Fatalf("line %d of %d", e.Own, lines)
				}
			}
			if q == quirks.None && !slices.IsSortedFunc(entries, func(a, b Entry) int { return a.Own - b.Own }) {
				t.Fatal("entries are not in order")
			}
		}
	})
}

func FuzzMLIR(f *testing.F) {
	fuzz(f, readMLIR, artifacts(f)["k.ttir"], "#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)\nx loc(#loc1)", "#loc1 = loc(callsite(#loc1 at #loc1))\nx loc(#loc1)", "} else {\n}", strings.Repeat("x loc(callsite(", 400))
}

func FuzzLLVM(f *testing.F) {
	fuzz(f, readLLVM, artifacts(f)["k.llir"], "x, !dbg !1\n!1 = !DILocation(line: 1, scope: !2, inlinedAt: !1)\n!2 = !DILexicalBlock(scope: !2)")
}

func FuzzPTX(f *testing.F) {
	fuzz(f, readPTX, artifacts(f)["k.ptx"], "// -- Begin function\n.loc 1 2 3, inlined_at 1 2 3 // a:1:2 @[ b:1:2 @[ c\n add\n// -- End function")
}

func FuzzSASS(f *testing.F) {
	listing, err := os.ReadFile("../testdata/test_kernel.sass")
	if err != nil {
		f.Fatal(err)
	}
	fuzz(f, readSASS, artifacts(f)["k.sass"], string(listing))
}

// TestEveryLineNamesTheLinesOfItsPlace compares each line with each line of the other stages, as the format is defined.
func TestEveryLineNamesTheLinesOfItsPlace(t *testing.T) {
	texts := artifacts(t)
	handmade := []Stage{{Name: "ttir", Parser: "mlir"}, {Name: "llir", Parser: "llvm_dbg"}, {Name: "ptx", Parser: "ptx"}, {Name: "sass", Parser: "sass"}}
	for i := range handmade {
		handmade[i].Text = texts["k."+handmade[i].Name]
	}
	named := 0
	for _, stages := range [][]Stage{handmade, unrolled(300)} {
		for _, q := range []quirks.Set{quirks.None, quirks.TritonParse, quirks.MapByLine} {
			m := NewQuirky(stages, Python{}, q)
			for i, stage := range m.stages {
				for j, other := range m.stages {
					columns := stage.Parser != "sass" && other.Parser != "sass"
					callers := !q.Has(quirks.MapByLine) && hasCallers(m.entries[i]) && hasCallers(m.entries[j])
					same := func(a, b *Entry) bool {
						return a.File == b.File && a.Line == b.Line && (!columns || a.Column == b.Column) &&
							(!callers || a.Inlined == b.Inlined && (!a.Inlined || a.Outer.File == b.Outer.File && a.Outer.Line == b.Outer.Line))
					}
					for k := range m.entries[i] {
						e := &m.entries[i][k]
						var want, got []int
						for l := range m.entries[j] {
							if i != j && same(e, &m.entries[j][l]) {
								want = append(want, m.entries[j][l].Own)
							}
						}
						slices.Sort(want)
						for _, o := range e.others {
							if o.stage == other.Name {
								got = append(got, o.lines...)
							}
						}
						if named += len(got); !slices.Equal(got, want) {
							t.Fatalf("quirks %b: line %d of %s names %v of %s, want %v", q, e.Own, stage.Name, got, other.Name, want)
						}
					}
				}
			}
		}
	}
	if named < 1_000_000 {
		t.Errorf("%d lines were named", named)
	}
}
