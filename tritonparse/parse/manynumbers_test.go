package parse

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

const looped = `#loc = loc(\"/k.py\":1:1)\nmodule {\n  tt.func public @k(%a: !tt.ptr<f16> loc(\"a\"(#loc)), %n: i32 loc(\"n\"(#loc)), %seed: i32 loc(\"seed\"(#loc))) {\n` +
	`    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n    scf.for %i = %c0 to %n step %c1  : i32 {\n      %1 = tt.load %a : !tt.ptr<f16> loc(#loc)\n    } loc(#loc)\n    tt.return loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n`

// manyNumbers is a trace in which each launch has two numbers that no other has; its loop depends on one of them. Every third
// launch is one of an autotuned call site.
func manyNumbers(t *testing.T, launches int) string {
	t.Helper()
	lines := []string{strings.Replace(compiledRecord("aa", "k", "cuda", "[]", 4, ""), gemm, looped, 1), compiledRecord("bb", "k", "cuda", timed("/m.py:5:main"), 4, ""),
		compiledRecord("cc", "k", "cuda", timed("/m.py:5:main"), 8, "")}
	for i := range launches {
		hash, stack := "aa", "[]"
		if i%3 == 2 {
			hash, stack = "bb", won("/m.py:5:main")
		}
		arguments := fmt.Sprintf(`"a":%s,"n":{"type":"int","value":%d},"seed":{"type":"int","value":%d}`, tensorArgument(4, 16*i), i, 1000000+i)
		lines = append(lines, launchRecord(hash, "k", stack, 1, arguments))
	}
	return testkit.RawTraces(t, map[string][]string{"u": lines})
}

// TestManyNumbers: what is held does not grow with the launches, and each launch still has its own figures.
func TestManyNumbers(t *testing.T) {
	const launches = 9000
	source := manyNumbers(t, launches)
	small := usualRoom
	small.values, small.groups = 200<<10, 100
	var warned []string
	o := Options{room: small, Warn: func(s string) { warned = append(warned, s) }}
	events := parsedEvents(t, source, "dedicated_log_triton_trace_u__mapped.ndjson.gz", o)
	seen := map[string]int{}
	for _, e := range events {
		switch e := e.(map[string]any); e["event_type"] {
		case "roofline":
			for i, l := range e["roofline"].(map[string]any)["per_launch"].([]any) {
				launch := i/2*3 + i%2 // two of three
				if e["hash"] == "bb" {
					launch = 3*i + 2
				}
				l := l.(map[string]any)
				// Each of four programs loads an f16 as often as n says, of the second kernel once.
				want := fmt.Sprint(launch, 2*4*launch)
				if e["hash"] == "bb" {
					want = fmt.Sprint(launch, 2*4)
				}
				if fmt.Sprintf("%v %v", l["launch_index"], l["bytes_from_ir_x_grid"]) != want {
					t.Fatalf("launch %d of %s: %v", launch, e["hash"], l)
				}
				seen["figures"]++
			}
		case "launch_diff":
			arguments := e["diffs"].(map[string]any)["extracted_args"].(map[string]any)
			for _, name := range []string{"n", "seed"} {
				got := fmt.Sprint(arguments[name].(map[string]any)["diffs"].(map[string]any)["value"])
				if want := fmt.Sprintf("map[diff_type:summary summary_text:Varies across %v unique values]", e["total_launches"]); got != want {
					t.Errorf("%s of %s: %s", name, e["hash"], got)
				}
				seen["counted"]++
			}
		case "autotune_analysis":
			seen["compared"] = len(e["launch_analysis"].(map[string]any)["launch_group_hashes"].([]any))
			seen["winners"] = len(e["launch_occurrence_ids"].(map[string]any)["winner"].([]any))
		case "launch":
			seen["launches"]++
		}
	}
	want := map[string]int{"figures": launches, "counted": 4, "compared": 100, "winners": launches / 3, "launches": launches}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", seen, want)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], fmt.Sprintf("has %d distinct launches: its analysis covers the last 100", launches/3)) {
		t.Errorf("warned %q", warned)
	}
}

// TestManyNumbersCompat: tritonparse lists them all.
func TestManyNumbersCompat(t *testing.T) {
	small := usualRoom
	small.values, small.groups = 10<<10, 10
	events := parsedEvents(t, manyNumbers(t, 300), "dedicated_log_triton_trace_u__mapped.ndjson.gz", Options{Compat: true, room: small})
	lists := 0
	for _, e := range events {
		if e := e.(map[string]any); e["event_type"] == "launch_diff" {
			n := e["diffs"].(map[string]any)["extracted_args"].(map[string]any)["n"].(map[string]any)["diffs"].(map[string]any)["value"].(map[string]any)
			if fmt.Sprint(len(n["values"].([]any))) != fmt.Sprint(e["total_launches"]) {
				t.Errorf("%s: %v", e["hash"], n)
			}
			lists++
		}
	}
	if lists != 2 {
		t.Errorf("%d lists", lists)
	}
}

// TestManyNumbersInLittleRoom: what is counted does not depend on what else is held in memory.
func TestManyNumbersInLittleRoom(t *testing.T) {
	source := manyNumbers(t, 3000)
	var outputs []string
	for _, state := range []int{24 << 20, 100 << 10, 1} {
		r := usualRoom
		r.values, r.groups, r.state, r.waiting = 30<<10, 20, state, state
		var all []string
		for file, text := range parsedBytes(t, source, Options{room: r}) {
			all = append(all, filepath.Base(file)+"\n"+string(text))
		}
		slices.Sort(all)
		outputs = append(outputs, strings.Join(all, ""))
	}
	if outputs[0] != outputs[1] || outputs[0] != outputs[2] {
		t.Error("the outputs differ")
	}
}
