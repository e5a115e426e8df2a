package hatchet

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestTreesOfHatchet reads what llnl-hatchet writes as JSON in its two forms. Every node counts once.
func TestTreesOfHatchet(t *testing.T) {
	var answers []struct {
		Graph, Literal string
		Own, Frames    int
	}
	if err := json.Unmarshal(testkit.Python(t, "", "profile/hatchet/testdata/llnl_json.py", nil), &answers); err != nil {
		t.Fatal(err)
	}
	repeated := 0
	for i, a := range answers {
		for form, text := range map[string]string{"graph": a.Graph, "literal": a.Literal} {
			p, err := Read(strings.NewReader(text))
			if err != nil {
				t.Fatalf("tree %d as %s: %v\n%s", i, form, err, text)
			}
			sum, frames, nameless := 0, 0, 0
			p.Root.Walk(func(n *profile.Node, _ int) bool {
				v, has := n.Metric("time")
				if sum += int(v.Int()); has && (n != p.Root || n.Name != "ROOT") {
					frames++
				}
				if f, _ := v.Float(); v.Type() == profile.Float {
					sum += int(f)
				}
				if n.Name == "" {
					nameless++
				}
				return true
			})
			if sum != a.Own || frames != a.Frames || nameless > 0 {
				t.Errorf("tree %d as %s: a time of %d in %d frames, %d without a name, want %d in %d\n%s", i, form, sum, frames, nameless, a.Own, a.Frames, text)
			}
			if p.Kinds["time"] != profile.Inclusive || len(p.Kinds) != 1 {
				t.Errorf("tree %d as %s: metrics are %v", i, form, p.Kinds)
			}
			if p.Info[profile.InfoNote] != "" {
				repeated++
			}
		}
	}
	if repeated < 10 {
		t.Errorf("%d files have frames with several callers", repeated)
	}
}

func TestGraphs(t *testing.T) {
	for in, want := range map[string]string{
		// Rows of two ranks, a metric that is a sum alone, and columns that are not metrics. The table comes first.
		`{"dataframe":[{"node":0,"rank":0,"name":"main","bytes (inc)":9.5,"time":1},{"rank":1,"time":2,"node":0},{"node":1,"rank":0,"time":5,"line":7,"bytes (inc)":4,"type":"loop"}],
			"dataframe_indices":["node","rank"],"inclusive_metrics":["bytes (inc)"],"exclusive_metrics":["time"],
			"graph":[{"0":{"data":{},"children":[1]},"1":{"data":{"file":"a.c","line":7},"children":[]}}],"x":[{}]}`: `"main" "bytes"=5.5. "time"=3
  "a.c:7" "bytes"=4 "line"="7" "time"=5 "type"="loop"
kind "bytes" 1
kind "line" 2
kind "time" 1
kind "type" 2
[]
`,
		// Caliper's names of sums, and a metric that no list has: it does not add up. The table is a Thicket's, with two profiles.
		`{"graph":[{"0":{"data":{"name":"main"},"children":[1]},"1":{"data":{"name":"work"},"children":[]},"2":{"data":{"name":"init"},"children":[]}}],"profile":[7,-8],
			"dataframe":[{"node":0,"profile":7,"sum#inclusive#t":9.5,"min#t":1.5},{"node":0,"profile":-8,"sum#inclusive#t":1.5,"min#t":1.5},{"node":1,"profile":7,"sum#inclusive#t":4.0,"min#t":0.5},
				{"node":2,"profile":7,"sum#inclusive#t":2.0,"min#t":2.0}],
			"dataframe_indices":["node","profile"],"inclusive_metrics":["sum#inclusive#t"],"exclusive_metrics":[]}`: `"ROOT"
  "main" "min#t"=3. "sum#inclusive#t"=7.
    "work" "min#t"=0.5. "sum#inclusive#t"=4.
  "init" "min#t"=2. "sum#inclusive#t"=2.
kind "min#t" 0
kind "sum#inclusive#t" 1
[]
info "note"="the values of 2 profiles of a Thicket are added up"
`,
		// Two roots with nothing but sums of subtrees.
		`[{"frame":{"name":"a"},"metrics":{"time (inc)":5,"_hatchet_nid":0},"children":[{"frame":{"name":"b"},"metrics":{"time (inc)":2,"_hatchet_nid":1}}]},{"frame":{"name":"c"},"metrics":{"time (inc)":7,"_hatchet_nid":2}}]`: `"ROOT"
  "a" "time"=3
    "b" "time"=2
  "c" "time"=7
kind "time" 1
[]
`,
		// A circle below a root is broken where it closes.
		`{"graph":[{"0":{"data":{"name":"a"},"children":[1]},"1":{"data":{"name":"b"},"children":[2]},"2":{"data":{"name":"c"},"children":[1]}}],"dataframe":[],"exclusive_metrics":["time"]}`: `"a"
  "b"
    "c"
      "b"
[]
info "note"="1 frame stands again below a further caller, without values: these count below the first"
`,
		`{"graph":[]}`: "expected '[' at the start of a .hatchet file, or a graph with nodes",
		`{"graph":[{"0":{"data":{"name":"a"},"children":[7]}}]}`: "node 0 has a child 7, which the file does not have",
		`{"graph":[{"0":{"data":{"name":"a"},"children":[0]}}]}`: "the file holds no node that no other one calls",
		`{"graph":[{"x":{}}]}`:                        `expected the number of a node as a key, found "x"`,
		`{"graph":[{"0":{"data":{},"children":[]}}]}`: "node 0 has no name",
		`{"graph":[],"dataframe":[{"name":"a"}]}`:     "a row without the number of a node",
		`[{"frame":{"name":"a"},"metrics":{"time":1,"_hatchet_nid":0},"children":[{"frame":{"name":"b"},"duplicate":true,"metrics":{"time":5}},{"frame":{"name":"c"},"duplicate":false,"metrics":{"time":2}}]}]`: `"a" "time"=1
  "b"
  "c" "time"=2
kind "time" 1
[]
info "note"="1 frame stands again below a further caller, without values: these count below the first"
`,
	} {
		p, err := Read(strings.NewReader(in))
		got := ""
		if err == nil {
			got = profiletest.Text(p)
		} else if !strings.Contains(want, "\n[]\n") && strings.Contains(err.Error(), want) {
			continue
		}
		if got != want {
			t.Errorf("%s: got\n%s, error %v, want\n%s", in, got, err, want)
		}
	}
}
