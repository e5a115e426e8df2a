package parse

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// TestAnalyses shows what is made of real kernels in both readings: testdata/analyses.txt.
func TestAnalyses(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{"gfx942", "sm90", "complex"} {
		for _, compat := range []bool{true, false} {
			reading := map[bool]string{true: "as tritonparse has it", false: "correct"}[compat]
			fmt.Fprintf(&out, "=== %s, %s\n", name, reading)
			folder := t.TempDir()
			source := fmt.Sprintf("../testdata/%s%s_.ndjson.gz", tritonparse.Prefix, name)
			if _, err := Parse(source, folder, Options{Compat: compat, Analyses: []string{"roofline", "loop_schedules", "amd_buffer_ops"}}); err != nil {
				t.Fatal(err)
			}
			names := map[any]any{}
			for _, e := range readEvents(t, filepath.Join(folder, tritonparse.Prefix+name+"__mapped.ndjson.gz")) {
				if at(e, "event_type") == "compilation" {
					names[at(e, "payload", "metadata", "hash")] = at(e, "payload", "metadata", "name")
				}
				showAnalysis(&out, e, names)
			}
			fmt.Fprintln(&out)
		}
	}
	testkit.Golden(t, "../testdata/analyses.txt", out.String())
}

func showAnalysis(out *strings.Builder, e any, names map[any]any) {
	number := func(v any) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprint(v)
	}
	switch at(e, "event_type") {
	case "ir_analysis":
		for _, loop := range list(at(e, "ir_analysis", "loop_schedules")) {
			fmt.Fprintf(out, "%v: a loop\n", names[at(e, "hash")])
			for _, part := range []string{"prologue", "loop_body", "epilogue"} {
				for _, line := range list(at(loop, part)) {
					fmt.Fprintf(out, "  %-9s  %v\n", part, line)
				}
			}
		}
		if s := at(e, "ir_analysis", "amd_buffer_ops"); s != nil {
			fmt.Fprintf(out, "%v: %v\n", names[at(e, "hash")], at(s, "reason"))
		}
	case "roofline":
		r := at(e, "roofline")
		fmt.Fprintf(out, "%v: one program moves %s bytes and computes %s flop\n", at(e, "name"), number(at(r, "bytes_moved_per_cta")), number(at(r, "flops_per_cta")))
		last := ""
		for _, l := range list(at(r, "per_launch")) {
			line := fmt.Sprintf("grid %v: %s bytes by the code, %s by the arguments; %s flop\n", at(l, "grid"), number(at(l, "bytes_from_ir_x_grid")), number(at(l, "bytes_from_args")), number(at(l, "flops")))
			if line != last {
				fmt.Fprintf(out, "  launch %v, %s", at(l, "launch_index"), line)
			}
			last = line
		}
		for _, n := range list(at(r, "notes")) {
			fmt.Fprintf(out, "  note: %v\n", n)
		}
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// TestOneAnalysis: only what is asked for is made; ids have no gaps.
func TestOneAnalysis(t *testing.T) {
	events := parsedEvents(t, "../testdata/"+tritonparse.Prefix+"gfx942_.ndjson.gz", tritonparse.Prefix+"gfx942__mapped.ndjson.gz", Options{Analyses: []string{}})
	for _, e := range events {
		if kind := at(e, "event_type"); kind == "ir_analysis" || kind == "roofline" {
			t.Error(kind)
		}
	}
	if id := at(events[len(events)-1], "occurrence_id"); id != json.Number("9") {
		t.Error(id)
	}
}

// TestOwnProcedures looks for a procedure that the user defines, also in NVIDIA's kernels.
func TestOwnProcedures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checks.json")
	text := `{"version":"1.0","procedures":[{"name":"Async","pattern_checks":"CHECK: async_tma_copy_global_to_local","message":"TMA is used",
		"display_attributes":[{"key":"copies","type":"number","source":"ir_content","extract_rule":"count","extract_pattern":"async_tma_copy_global_to_local"}]}]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	checks, err := backend.ReadProcedures(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[bool]int{}
	o := Options{Procedures: checks, OwnProcedures: true, Analyses: []string{"procedure_checks"}}
	for _, e := range parsedEvents(t, "../testdata/"+tritonparse.Prefix+"sm90_.ndjson.gz", tritonparse.Prefix+"sm90__mapped.ndjson.gz", o) {
		if c := at(e, "ir_analysis", "procedure_checks", "Async"); c != nil {
			detected := at(c, "detected").(bool)
			found[detected]++
			if detected != (at(c, "attributes", "copies") != json.Number("0")) || detected != (at(c, "error_message") == nil) {
				t.Error(c)
			}
		}
	}
	if found[true] != 1 || found[false] != 3 {
		t.Error(found)
	}
	for _, bad := range []string{`{"procedures":[{"name":"x"}]}`, `{}`, `[`, `{"procedures":[{"name":"x","pattern_checks":"CHECK: y","display_attributes":[{"key":"k","extract_rule":"regex","extract_pattern":"("}]}]}`,
		`{"procedures":[{"name":"x","pattern_checks":"CHECK: y","display_attributes":[{"key":"k","extract_rule":"regex","extract_pattern":"(a)","extract_group":-1}]}]}`} {
		if _, err := backend.ParseProcedures([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// TestInductorIsTuned: what torch.compile's tuner timed is a session, and not the launches of kernels that it never tuned.
func TestInductorIsTuned(t *testing.T) {
	plain := frames("/m.py:1:main")
	lines := []string{compiledRecord("aa", "fused", "cuda", plain, 4, ""), compiledRecord("bb", "fused", "cuda", plain, 8, "")}
	for _, hash := range []string{"aa", "bb", "aa", "bb"} {
		lines = append(lines, launchRecord(hash, "fused", timedByInductor("/t.py:7:call"), 1, `"x":`+tensorArgument(4, 1)))
	}
	for range 2 {
		lines = append(lines, launchRecord("bb", "fused", launchedByInductor("/t.py:7:call"), 1, `"x":`+tensorArgument(4, 1)))
		lines = append(lines, launchRecord("aa", "fused", launchedByInductor("/t.py:9:call"), 1, `"x":`+tensorArgument(4, 1)))
	}
	kinds := func(compat bool) (string, []any) {
		var launches []string
		var sessions []any
		for _, e := range parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": lines}), tritonparse.Prefix+"u__mapped.ndjson.gz", Options{Compat: compat}) {
			switch at(e, "event_type") {
			case "launch":
				launches = append(launches, fmt.Sprint(at(e, "autotune_launch_type")))
			case "autotune_analysis":
				sessions = append(sessions, e)
			}
		}
		slices.Sort(launches)
		return strings.Join(slices.Compact(launches), " "), sessions
	}
	if got, sessions := kinds(true); got != "<nil>" || len(sessions) > 0 {
		t.Error("tritonparse does not know it:", got, sessions)
	}
	got, sessions := kinds(false)
	if got != "<nil> benchmark winner" || len(sessions) != 1 {
		t.Fatal(got, sessions)
	}
	s := sessions[0]
	if at(s, "winner_compilation_hash") != "bb" || len(list(at(s, "compilation_analysis", "configs"))) != 2 || at(s, "autotune_args_summary", "autotune_configs", "varies", "num_warps", "aa") != json.Number("4") {
		t.Error(s)
	}
}

// TestCLP reads a trace out of an archive.
func TestCLP(t *testing.T) {
	if fetched, err := filepath.Abs("../../.venv/oracles/clp-0.12.1/yscope_clp_core/bin"); err == nil {
		t.Setenv("PATH", fetched+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	if ndjson.FindCLP() == "" {
		t.Skip("no clp-s: run tools/oracles.sh, or pip install yscope-clp-core")
	}
	dir := t.TempDir()
	testkit.TraceSample(t, "findhao", filepath.Join(dir, "in"))
	archive := filepath.Join(dir, tritonparse.Prefix+"findhao_.clp")
	if out, err := exec.Command(ndjson.FindCLP(), "c", "--single-file-archive", archive, filepath.Join(dir, "in")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, source := range []string{archive, dir} {
		out := t.TempDir()
		result, err := Parse(source, out, Options{})
		if err != nil || result.Compilations != 2 {
			t.Fatal(result, err)
		}
		if left, _ := filepath.Glob(filepath.Join(out, ".*")); len(left) > 0 {
			t.Error(left)
		}
	}
}
