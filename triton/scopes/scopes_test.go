package scopes

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	head      = "module attributes {\"ttg.num-warps\" = 4 : i32} {\n"
	tail      = "\n} loc(#loc)\n"
	locations = "#loc = loc(\"/a/kernel.py\":1:0)\n#loc1 = loc(\"/a/kernel.py\":7:4)\n#loc2 = loc(\"/a/kernel.py\":8:4)\n"
	pointer   = `%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc))`
	loaded    = "tt.load %x_ptr : !tt.ptr<f32> loc(#loc1)"
)

// kernel is a module whose kernel has these lines, and these arguments.
func kernel(arguments string, lines ...string) string {
	return head + "  tt.func public @k(" + arguments + ") attributes {noinline = false} {\n    " +
		strings.Join(append(lines, "tt.return loc(#loc)"), "\n    ") + "\n  } loc(#loc)" + tail + locations
}

func rewritten(t *testing.T, text string, pairs int) *Rewritten {
	t.Helper()
	r, err := Rewrite(text, pairs)
	if err != nil {
		t.Fatal(err)
	}
	if got := without(r); got != text {
		t.Errorf("without its records, the text is another:\n%s", got)
	}
	return r
}

// without is the text without the lines that were added.
func without(r *Rewritten) string {
	lines := strings.Split(r.Text, "\n")
	for _, number := range slices.Backward(r.added) {
		lines = slices.Delete(lines, number, number+1)
	}
	return strings.Join(lines, "\n")
}

func names(r *Rewritten) string {
	var list []string
	for _, p := range r.places {
		list = append(list, p.name)
	}
	return strings.Join(list, " | ")
}

const twoPointers = `%p: !tt.ptr<f32> loc("p"(#loc)), %q: !tt.ptr<f32> loc("q"(#loc))`

// The scopes of texts that compilers print, rarely or never.
func TestNames(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"neighbours of one line share a scope",
			kernel(pointer, "%0 = "+loaded, "%5 = arith.addf %0, %1 : f32 loc(#loc1)", "%1 = "+loaded), "kernel | load x_ptr:7"},
		{"what lies between them divides them",
			kernel(pointer, "%0 = "+loaded, "gpu.barrier loc(#loc2)", "%1 = "+loaded), "kernel | load x_ptr:7 | barrier:8 | load x_ptr:7"},
		{"a location in another file names it",
			kernel(pointer, "%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc9)") + "#loc9 = loc(\"/a/b/helper.py\":3:1)\n", "kernel | load x_ptr:helper.py:3"},
		{"Triton's own library is not the place",
			kernel(pointer, "%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc9)") +
				"#loc9 = loc(callsite(\"s\"(\"/p/triton/language/standard.py\":4:1) at callsite(\"/a/kernel.py\":7:4 at \"/a/outer.py\":2:2)))\n", "kernel | load x_ptr:7"},
		{"no location has no line", strings.ReplaceAll(kernel("%x_ptr: !tt.ptr<f32>", "%0 = tt.load %x_ptr : !tt.ptr<f32>", "tt.store %x_ptr, %0 : !tt.ptr<f32>"),
			" loc(#loc)", ""), "kernel | load x_ptr | store x_ptr"},
		{"a location that names itself ends",
			kernel(pointer, "%0 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc9)") + "#loc9 = loc(#loc9)\n", "kernel | load x_ptr"},
		{"braces and quotes in strings begin no region",
			kernel(pointer, `%0 = tt.elementwise_inline_asm "{ mov.b32 $0, \22}\22; }({" {constraints = "=r,r", pure = true} %x_ptr : f32 -> f32 loc(#loc1)`, "%1 = "+loaded),
			"kernel | load x_ptr:7"},
		{"combine functions get no records",
			kernel(pointer, `%0 = "tt.reduce"(%x_ptr) <{axis = 0 : i32}> ({`, "^bb0(%a: f32 loc(unknown), %b: f32 loc(unknown)):",
				"  %1 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc2)", "  tt.reduce.return %1 : f32 loc(#loc1)", "}) : (tensor<8xf32>) -> f32 loc(#loc1)"),
			"kernel | reduce:7"},
		{"code per element gets no records",
			kernel(pointer, "%0 = tt.map_elementwise(%x_ptr) {", "  %1 = tt.load %x_ptr : !tt.ptr<f32> loc(#loc2)",
				"  tt.map_elementwise.return %1 : f32 loc(#loc1)", "} loc(#loc1)"), "kernel"},
		{"a name of the program is not taken",
			kernel(pointer, `proton.record start "kernel" loc(#loc1)`, "%0 = "+loaded, `proton.record end "kernel" loc(#loc1)`), "kernel' | load x_ptr:7"},
		{"pointers are followed through loops",
			kernel(twoPointers, "%0:2 = scf.for %i = %a to %b step %c iter_args(%x = %q, %y = %p) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {",
				"  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)", "  %2 = tt.addptr %x, %c : !tt.ptr<f32>, i32 loc(#loc2)",
				"  scf.yield %2, %y : !tt.ptr<f32>, !tt.ptr<f32> loc(#loc1)", "} loc(#loc1)", "tt.store %0#1, %1 : !tt.ptr<f32> loc(#loc2)"),
			"kernel | loop:7 | load q:8 | store p:8"},
		{"pointers that change places have no name",
			kernel(twoPointers, "%0:2 = scf.for %i = %a to %b step %c iter_args(%x = %q, %y = %p) -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {",
				"  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)", "  scf.yield %y, %x : !tt.ptr<f32>, !tt.ptr<f32> loc(#loc1)", "} loc(#loc1)",
				"tt.store %0#1, %1 : !tt.ptr<f32> loc(#loc2)"), "kernel | loop:7 | load:8 | store:8"},
		{"pointers are followed through conditions and while",
			kernel(twoPointers, "%0 = scf.while (%x = %q) : (!tt.ptr<f32>) -> !tt.ptr<f32> {", "  scf.condition(%c) %x : !tt.ptr<f32> loc(#loc1)", "} do {",
				"^bb0(%y: !tt.ptr<f32> loc(#loc1)):", "  %1 = tt.load %y : !tt.ptr<f32> loc(#loc2)", "  scf.yield %y : !tt.ptr<f32> loc(#loc1)", "} loc(#loc1)",
				"%2 = scf.if %c -> (!tt.ptr<f32>) {", "  scf.yield %0 : !tt.ptr<f32> loc(#loc1)", "} else {", "  scf.yield %q : !tt.ptr<f32> loc(#loc1)", "} loc(#loc1)",
				"tt.store %2, %0 : !tt.ptr<f32> loc(#loc2)"), "kernel | loop:7 | load q:8 | store q:8"},
		{"partitions", warpSpecialised, "kernel | loop:7 | load x_ptr:8 | default | barrier:7 | partition0 | store x_ptr:7"},
		{"an early return has no scope around all", head + "  tt.func public @k(%x_ptr: !tt.ptr<f32>) {\n    cf.cond_br %c, ^bb1, ^bb2 loc(#loc)\n  ^bb1:  // pred: ^bb0\n" +
			"    tt.return loc(#loc)\n  ^bb2:  // pred: ^bb0\n    %0 = " + loaded + "\n    tt.return loc(#loc)\n  } loc(#loc)" + tail + locations, "load x_ptr:7"},
	} {
		if got := names(rewritten(t, c.text, 200)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

var warpSpecialised = kernel(pointer, "scf.for %i = %a to %b step %c iter_args(%x = %x_ptr) -> (i32) : i32 {",
	"  %1 = tt.load %x : !tt.ptr<f32> loc(#loc2)",
	"  ttg.warp_specialize(%x_ptr)",
	"  default {",
	"    gpu.barrier loc(#loc1)",
	"    ttg.warp_yield loc(#loc1)",
	"  }",
	"  partition0(%arg1: !tt.ptr<f32> loc(unknown)) num_warps(2) {",
	"    tt.store %arg1, %x_ptr : !tt.ptr<f32> loc(#loc1)",
	"    ttg.warp_return loc(#loc1)",
	"  } : (!tt.ptr<f32>) -> () loc(#loc1)",
	"  scf.yield %x : i32 loc(#loc1)",
	"} loc(#loc1)")

func TestRecords(t *testing.T) {
	r := rewritten(t, kernel(pointer, "%0 = "+loaded), 200)
	var got []string
	for _, number := range r.added {
		got = append(got, strings.Split(r.Text, "\n")[number])
	}
	want := []string{`    proton.record start "kernel" loc(#loc1)`, `    proton.record start "load x_ptr:7" loc(#loc1)`,
		`    proton.record end "load x_ptr:7" loc(#loc1)`, `    proton.record end "kernel" loc(#loc1)`}
	if !slices.Equal(got, want) || r.Records != 4 || !r.Alone || !slices.Equal(r.Warps, []int{0}) {
		t.Errorf("%+v: %q", r, got)
	}
	if r := rewritten(t, warpSpecialised, 200); r.Records != 0 || !slices.Equal(r.Warps, []int{0, 4, 5, 6, 7}) {
		t.Errorf("a loop has records without bound, and warps of a small partition all record: %+v", r)
	}
}

func TestScopesByHandStay(t *testing.T) {
	text := kernel(pointer, "%0 = "+loaded, `proton.record start "mine" loc(#loc1)`, "%1 = "+loaded, `proton.record end "mine" loc(#loc1)`, "%2 = "+loaded)
	r := rewritten(t, text, 200)
	var got []string
	for _, found := range regexp.MustCompile(`proton\.record (start|end) "([^"]*)"`).FindAllStringSubmatch(r.Text, -1) {
		got = append(got, found[1]+" "+found[2])
	}
	want := "start kernel, start load x_ptr:7, end load x_ptr:7, start mine, start load x_ptr:7, end load x_ptr:7, end mine, start load x_ptr:7, end load x_ptr:7, end kernel"
	if strings.Join(got, ", ") != want || r.Alone {
		t.Error(got)
	}
}

func TestLeftOut(t *testing.T) {
	var own, loads []string
	for i := range 250 {
		name := strings.Repeat("s", i+1)
		own = append(own, `proton.record start "`+name+`" loc(#loc1)`, `proton.record end "`+name+`" loc(#loc1)`)
	}
	for range 10 {
		loads = append(loads, "%0 = "+loaded, "gpu.barrier loc(#loc2)")
	}
	r := rewritten(t, kernel(pointer, append(own, loads...)...), 200)
	if names(r) != "kernel" || r.LeftOut["load x_ptr:7"] != 10 || r.LeftOut["barrier:8"] != 10 {
		t.Error("ids of the program count:", names(r), r.LeftOut)
	}
	body := kernel(pointer, "scf.for %i = %a to %b step %c {", "  tt.store %x_ptr, %i : !tt.ptr<f32> loc(#loc2)", "} loc(#loc1)")
	if r := rewritten(t, body, 2); names(r) != "kernel | loop:7" || r.LeftOut["store x_ptr:8"] != 1 {
		t.Error("the most important kinds are kept:", names(r), r.LeftOut)
	}
	if r := rewritten(t, body, 0); r.Text != body {
		t.Error("no pairs, no records")
	}
}

func TestAnyNameIsQuoted(t *testing.T) {
	for name, quoted := range map[string]string{"größe": `gr\C3\B6\C3\9Fe`, `a"b\c`: `a\22b\\c`, "tab\there": `tab\09here`, "日本語": `\E6\97\A5\E6\9C\AC\E8\AA\9E`} {
		r := rewritten(t, kernel(pointer, "%0 = ttg.local_alloc : () -> !ttg.memdesc<1xi64> loc(#loc9)", "ttng.wait_barrier %0, %x_ptr : i1 loc(#loc1)")+
			`#loc9 = loc("`+quoted+"\"(#loc1))\n", 200)
		if names(r) != "kernel | wait "+name+":7" || !strings.Contains(r.Text, `record start "wait `+quoted+`:7"`) {
			t.Errorf("%s:\n%s", names(r), r.Text)
		}
	}
}

func TestOtherTextsAreRefused(t *testing.T) {
	for _, text := range []string{"", "module {", "not MLIR at all", head, head + "  tt.func public @k() {\n", kernel(pointer, "%0 ="),
		head + "  tt.func private @k() {\n    tt.return loc(#loc)\n  } loc(#loc)" + tail,
		kernel(pointer, "scf.if %c { %0 = "+loaded, "} loc(#loc1)"),
		head + "  tt.func public @k() {\n    }}}\n"} {
		if r, err := Rewrite(text, 200); err == nil {
			t.Errorf("%q became %q", text, r.Text)
		}
	}
	called := strings.Replace(kernel(pointer), tail, "\n  tt.func private @f() {\n    tt.return loc(#loc)\n  } loc(#loc)"+tail, 1)
	if _, err := Rewrite(called, 200); err == nil || !strings.HasPrefix(err.Error(), "it calls functions that are not inlined") {
		t.Error(err)
	}
}

// Whatever is cut from a text or put into it: an error, or a text that is the same without its records, of which each start has its end.
func TestDamagedTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	refused := 0
	put := []string{"", "{", "}", `"`, "(", ")", "%", "\n", "= ", "loc(", `\`, "^bb0:"}
	for range 3000 {
		at := r.IntN(len(warpSpecialised))
		end := min(at+[]int{1, 1, 2, 40}[r.IntN(4)], len(warpSpecialised))
		if !whole(t, warpSpecialised[:at]+put[r.IntN(len(put))]+warpSpecialised[end:]) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no text was refused")
	}
}

// whole reports whether a text got scopes, and checks them.
func whole(t *testing.T, text string) bool {
	r, err := Rewrite(text, 200)
	if err != nil {
		return false
	}
	if without(r) != text {
		t.Errorf("without its records, the text is another: %q", text)
	}
	open := map[string]int{}
	for _, number := range r.added {
		line := strings.TrimSpace(strings.Split(r.Text, "\n")[number])
		if name, ok := strings.CutPrefix(line, "proton.record start "); ok {
			open[withoutLocation(name)]++
		} else if name := withoutLocation(strings.TrimPrefix(line, "proton.record end ")); open[name] == 0 {
			t.Errorf("%s ends before it begins: %q", name, text)
		} else {
			open[name]--
		}
	}
	return true
}

func withoutLocation(record string) string {
	name, _, _ := strings.Cut(record[1:], `"`)
	return name
}

func FuzzRewrite(f *testing.F) {
	f.Add(warpSpecialised)
	f.Add(kernel(pointer, "%0 = "+loaded))
	f.Fuzz(func(t *testing.T, text string) { whole(t, text) })
}
