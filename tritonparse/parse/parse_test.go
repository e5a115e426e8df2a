package parse

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// parsedEvents parses and reads one output.
func parsedEvents(t *testing.T, dir, file string, o Options) []any {
	t.Helper()
	out := t.TempDir()
	if _, err := Parse(dir, out, o); err != nil {
		t.Fatal(err)
	}
	return readEvents(t, filepath.Join(out, file))
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// TestCompiledElsewhereBefore: an analysis shows the stack and source of its own session's first compilation, also where that
// kernel was compiled elsewhere before.
func TestCompiledElsewhereBefore(t *testing.T) {
	for _, first := range []string{frames("/m.py:1:main"), timed("/m.py:2:main")} {
		dir := testkit.RawTraces(t, map[string][]string{"u": {
			compiledRecord("k1", "k", "cuda", first, 4, ""),
			compiledRecord("k1", "k", "cuda", timed("/m.py:3:main"), 4, ""),
			launchRecord("k1", "k", timed("/m.py:3:main"), 1, ""),
			launchRecord("k1", "k", timed("/m.py:3:main"), 1, ""),
		}})
		for _, compat := range []bool{false, true} {
			shown := 0
			for _, e := range parsedEvents(t, dir, tritonparse.Prefix+"u__mapped.ndjson.gz", Options{Compat: compat}) {
				if at(e, "event_type") != "autotune_analysis" {
					continue
				}
				stack, _ := at(e, "compilation_analysis", "common_info", "stack").([]any)
				if len(stack) == 0 || fmt.Sprint(at(stack[0], "line")) != "3" || at(e, "compilation_analysis", "common_info", "python_source") == nil {
					t.Errorf("compat %v: compiled at %v", compat, stack)
				}
				shown++
			}
			if shown != 1 {
				t.Errorf("compat %v: %d analyses", compat, shown)
			}
		}
	}
}

// TestProcessesOfOneRank: a kernel that two processes compiled is one; ids go on over all files of a rank.
func TestProcessesOfOneRank(t *testing.T) {
	dir := testkit.RawTraces(t, map[string][]string{
		"u_rank_none_pid_1_host_h": {testkit.CompilationRecord("aa", "cuda")},
		"u_rank_0_pid_1_host_h":    {testkit.LaunchRecord("aa", 0), testkit.LaunchRecord("aa", 1)},
		"u_rank_0_pid_2_host_h":    {testkit.CompilationRecord("aa", "cuda"), testkit.LaunchRecord("aa", 2), testkit.LaunchRecord("bb", 3)},
	})
	events := parsedEvents(t, dir, "rank_0/"+tritonparse.Prefix+"u_rank_0_pid_1_host_h__mapped.ndjson.gz", Options{})
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(at(e, "event_type"), " ", at(e, "is_fake"), " ", at(e, "occurrence_id")))
	}
	// The file without a rank comes behind the one with it, by name; the compilation of bb was not traced.
	want := "compilation true 5\nlaunch <nil> 4\nlaunch_diff <nil> 6\ncompilation <nil> 2\nlaunch <nil> 0\nlaunch <nil> 1\nlaunch <nil> 3\nroofline <nil> 7\nlaunch_diff <nil> 8"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
	diff := events[len(events)-1]
	if s := fmt.Sprint(at(diff, "launch_index_map"), at(diff, "diffs", "extracted_args", "n", "diffs", "value")); s !=
		"[map[end:2 start:0]] map[diff_type:distribution values:[map[count:2 launches:[map[end:0 start:0] map[end:2 start:2]] value:0] map[count:1 launches:[map[end:1 start:1]] value:1]]]" {
		t.Error(s)
	}
}

// TestSameBytesTwice: output depends on the trace alone, however many cores work on it.
func TestSameBytesTwice(t *testing.T) {
	var first []byte
	for range 3 {
		out := t.TempDir()
		if _, err := Parse("../testdata/"+tritonparse.Prefix+"complex_.ndjson.gz", out, Options{}); err != nil {
			t.Fatal(err)
		}
		text, err := testkit.Unpacked(filepath.Join(out, tritonparse.Prefix+"complex__mapped.ndjson.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if !bytes.Equal(first, text) {
			t.Fatal("two runs differ")
		}
	}
}

// TestBackendFromOutside registers a backend with a representation of its own, as a package of another module would.
func TestBackendFromOutside(t *testing.T) {
	name := tritonparse.Prefix + "u__mapped.ndjson.gz"
	stages := at(parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": {testkit.CompilationRecord("aa", "hip")}}), name, Options{})[0], "payload")
	if at(stages, "source_mappings", "toy") != nil || at(stages, "metadata", "num_warps_base") == nil || at(stages, "source_mappings", "ttir", "2") == nil {
		t.Errorf("as hip: %v", stages)
	}
	events := parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": {testkit.CompilationRecord("aa", "toychip")}}), name, Options{})
	payload := at(events[0], "payload")
	toy := at(payload, "source_mappings", "toy", "1")
	if fmt.Sprint(at(toy, "line"), at(toy, "ttir_lines")) != "3[2]" || fmt.Sprint(at(payload, "source_mappings", "python", "3", "toy_lines")) != "[1]" {
		t.Errorf("as toychip: %v", payload)
	}
	if got := fmt.Sprint(events[1]); got != "map[event_type:ir_analysis hash:aa ir_analysis:map[toy_operations:map[count:2 lines:2]]]" {
		t.Error(got)
	}
	if !slices.Contains(backend.AnalysisNames(), "toy_operations") {
		t.Error("toy_operations is not among the analyses")
	}
}

// TestDamagedRecords: a line that is not a record is left out and reported with its number; all others are parsed.
func TestDamagedRecords(t *testing.T) {
	dir := testkit.RawTraces(t, map[string][]string{"u": {testkit.CompilationRecord("aa", "cuda"), testkit.LaunchRecord("aa", 0)[:80], testkit.LaunchRecord("aa", 1), `{"event_type":"launch","x":"\ud800"}`, "[]"}})
	result, err := Parse(dir, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Launches != 1 || result.Damaged != 3 || result.Damages[0].Line != 2 || result.Damages[2].Line != 5 {
		t.Errorf("%+v", result)
	}
}

// TestLongTexts: they are counted in code points, and the hash is that of the whole record.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", launchtext.MaxText+1)
	line := strings.Replace(testkit.LaunchRecord("aa", 0), `"num_warps":4`, `"num_warps":4,"asm":{"x":"`+long+`","y":"`+long[:2*launchtext.MaxText]+`"}`, 1)
	launch := parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": {line}}), tritonparse.Prefix+"u__mapped.ndjson.gz", Options{})[1]
	if got := at(launch, "compilation_metadata", "asm", "x"); got != "<4097 chars omitted>" {
		t.Errorf("%.40v", got)
	}
	if got, _ := at(launch, "compilation_metadata", "asm", "y").(string); got != long[:2*launchtext.MaxText] {
		t.Errorf("%.40v", got)
	}
}

func TestRankThatIsNotThere(t *testing.T) {
	seven := 7
	_, err := Parse(testkit.RawTraces(t, map[string][]string{"u_rank_1": {testkit.LaunchRecord("aa", 0)}}), t.TempDir(), Options{Rank: &seven})
	if err == nil || !strings.Contains(err.Error(), "rank_1") {
		t.Error(err)
	}
}

func TestCombineCRC(t *testing.T) {
	text := []byte("the quick brown fox")
	for i := range text {
		got := store.CombineCRC(crc32.ChecksumIEEE(text[:i]), crc32.ChecksumIEEE(text[i:]), int64(len(text)-i))
		if got != crc32.ChecksumIEEE(text) {
			t.Fatalf("cut at %d: %08x", i, got)
		}
	}
}

// FuzzParse looks for panics: whatever a record says, it is parsed or named.
func FuzzParse(f *testing.F) {
	f.Add([]byte(testkit.CompilationRecord("aa", "cuda") + "\n" + testkit.LaunchRecord("aa", 0)))
	f.Add([]byte(`{"event_type":"launch","extracted_args":{},"stack":null,"compilation_metadata":{"hash":"x"}}`))
	f.Add([]byte(`{"event_type":"compilation","payload":{"metadata":[],"file_content":3,"python_source":"","pt_info":{"frame_id":null,"attempt":"../x"}}}`))
	site := "/m.py:5:main"
	f.Add([]byte(launchRecord("c", "tuned", timed(site), 1, `"x":`+descriptorArgument(4, 1)) + "\n" + launchRecord("c", "tuned", timedByInductor(site), 1, `"x":`+tensorArgument(4, 1))))
	f.Add([]byte(compiledRecord("c", "tuned", "hip", won(site), 4, "") + "\n" + `{"event_type":"autotune","kernel_name":"tuned","stack":` + won(site) + "}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tritonparse.Prefix+"u_.ndjson"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Compat: true}, {Kernels: mustNames("[kt]*")}} {
			out := t.TempDir()
			result, err := Parse(dir, out, o)
			if err != nil {
				continue
			}
			for _, name := range result.Files {
				readEvents(t, filepath.Join(out, name))
			}
		}
	})
}
