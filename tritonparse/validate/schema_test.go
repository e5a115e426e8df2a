package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/parse"
)

const complexTrace = "../testdata/" + tritonparse.Prefix + "complex_.ndjson.gz"

func validate(t *testing.T, source string) ([]string, *Result) {
	t.Helper()
	var lines []string
	result, err := Validate(source, Options{Report: func(f Finding) {
		f.File = filepath.Base(f.File)
		lines = append(lines, f.Rule+" "+f.String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	return lines, result
}

// TestWhatWeWriteIsRight: the samples, and what is parsed of them, in both readings.
func TestWhatWeWriteIsRight(t *testing.T) {
	sources := []string{"../testdata"}
	for _, compat := range []bool{false, true} {
		out := t.TempDir()
		if _, err := parse.Parse("../testdata", out, parse.Options{Compat: compat}); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, out)
	}
	for _, s := range sources {
		if lines, result := validate(t, s); len(lines) > 0 || result.Records["launch"] < 1557 {
			t.Errorf("%s: %v\n%s", s, result, strings.Join(lines, "\n"))
		}
	}
}

const (
	aCompilation = `{"event_type":"compilation","pid":1,"timestamp":"t","payload":{"metadata":{"hash":"aaaa","name":"k"},"file_content":{"k.ttir":"a\nb"},` +
		`"source_mappings":{"ttir":{"2":{"file":"f","line":1,"column":1,"ttir_line":2},"3":{"ptx_lines":[1]}},"python":{"7":{"ttir_lines":["2","x"]}},"sass":{"1":{}}}},"occurrence_id":0}`
	aLaunch = `{"event_type":"launch","pid":1,"timestamp":"t","name":"k","function":5,"grid":[1],"compilation_metadata":{"hash":"%s"},"extracted_args":{},"launch_group_hash":"%s","occurrence_id":%d}`
)

// TestFindings: one of each.
func TestFindings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { testkit.Write(t, filepath.Join(dir, name), text) }
	// Of the six bytes below, as b2sum has it.
	const tensorHash = "c48d1e9d5503852149e1d3899e297cc50e8c41e33f08be3ce45ffb0dd26fd95c9466e49b803d045c944b57a565508984fe0d8d1fbe99fbbad76bc386d381870e"
	lines := []string{
		aCompilation,
		fmt.Sprintf(aLaunch, "aaaa", "0123456789abcdef", 1),
		strings.Replace(fmt.Sprintf(aLaunch, "bbbb", "x", 1), `,"launch_group_hash":"x"`, "", 1),
		"",
		`{"event_type":"launch_diff","hash":"aaaa","name":"k","total_launches":3,"occurrence_id":2}`,
		`{"event_type":"launch","pid":-1,"name":"k","grid":[1.5],"stack":[{"line":1,"name":"f","filename":"x","loc":null,"id":3}],"extracted_args":{"x":{"type":"tensor","tensor_hash":"` + tensorHash + `","blob_path":"/gone/t.bin","blob_size":6},"y":{"type":"tensor","tensor_hash":"ffff","blob_path":"/gone/u.bin"}},"goproton":{"launch":"00"}}`,
		`{"event_type":"compilation","pid":1,"timestamp":"t","payload":{"metadata":{"hash":"cccc","name":"k"}},"goproton":{"cubin":"cubins/1.cubin","image":"0000000000000000"}}`,
		`{"event_type":"compilation","pid":1,"timestamp":"t","payload":{"metadata":{"hash":"dddd","name":"k"}},"goproton":{"cubin":"../1.cubin"}}`,
		`{"event_type":7}`, `{}`, `[]`, `{"event_type":"from the future","x":[]}`,
	}
	write(tritonparse.Prefix+"u_.ndjson", strings.Join(lines, "\n")+"\n")
	write("saved_tensors/c4/t.bin", "tensor")
	write("cubins/1.cubin", "machine code")
	write("log_file_list.json", `{"tritonparse_url_prefix":"","rank_none":{"regular_files":["f0.ndjson.gz"],"rank_suffix":""}}`)
	got, _ := validate(t, dir)
	text := strings.Join(got, "\n") + "\n"
	const golden = "testdata/findings.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != text {
		t.Errorf("got\n%swant\n%s%v", text, want, err)
	}
}

// oneOfEach are records of a parsed trace, the first of each type, and of an autotune record.
func oneOfEach(t *testing.T) [][]byte {
	t.Helper()
	out := t.TempDir()
	if _, err := parse.Parse(complexTrace, out, parse.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := ndjson.Open(filepath.Join(out, tritonparse.Prefix+"complex__mapped.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	records := [][]byte{[]byte(`{"event_type":"autotune","pid":1,"timestamp":"t","stack":[],"kernel_name":"k","cache_key":"c","best_config":"b","configs_timings":{"b":[1.5]},"duration":0.5,"cache_hit":false,"autotune_key":"a"}`)}
	seen := map[string]bool{}
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		kind := jsontext.Text(jsontext.Get(rec.Text, "event_type"))
		if !seen[kind] && len(rec.Text) < 4<<20 {
			seen[kind] = true
			records = append(records, bytes.Clone(rec.Text))
		}
	}
	if len(records) < 8 {
		t.Fatalf("only %d types of records", len(records))
	}
	return records
}

// mutations of a value: each member away, or something else, at any depth; a member too much.
func mutations(v any, emit func()) {
	others := []any{nil, "text", -1.0, 1.5, true, []any{}, map[string]any{}, []any{"x"}}
	switch v := v.(type) {
	case map[string]any:
		names := []string{}
		for k := range v {
			names = append(names, k)
		}
		slices.Sort(names)
		if len(names) > 40 {
			names = names[:3] // of a map by line, a few
		}
		for _, k := range names {
			was := v[k]
			delete(v, k)
			emit()
			for _, o := range others {
				v[k] = o
				emit()
			}
			v[k] = was
			mutations(was, emit)
		}
		v["one too many"] = 1.0
		emit()
		delete(v, "one too many")
	case []any:
		for i := range v {
			if i > 1 {
				break
			}
			was := v[i]
			for _, o := range others {
				v[i] = o
				emit()
			}
			v[i] = was
			mutations(was, emit)
		}
	}
}

const oracleScript = `
import sys
sys.path.insert(0, sys.argv[1])
from tritonparse.validation.json_validator import validate_record
from tritonparse._json_compat import loads
for line in sys.stdin.buffer:
    print(int(validate_record(loads(line))[0]))
`

// TestAsTritonparse changes records in thousands of ways: the two must agree about each.
func TestAsTritonparse(t *testing.T) {
	python, oracle := testkit.Fetched(t, "bin/python"), testkit.Fetched(t, "oracles/tritonparse-0.6.0")
	var lines [][]byte
	stride, n := 5, 0 // all 17,000 take a minute; they agreed
	if testing.Short() {
		stride = 41
	}
	for _, raw := range oneOfEach(t) {
		var record map[string]any
		if err := json.Unmarshal(raw, &record); err != nil {
			t.Fatal(err)
		}
		if p, ok := record["payload"].(map[string]any); ok {
			delete(p, "source_mappings") // large, and no shape is said of them
			p["file_content"] = map[string]any{"k.ttir": "x"}
		}
		mutations(record, func() {
			if n++; n%stride != 0 {
				return
			}
			text, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			if kind, ok := record["event_type"].(string); ok && kind != "text" {
				lines = append(lines, text)
			}
		})
	}
	cmd := exec.Command(python, "-c", oracleScript, oracle)
	cmd.Stdin = bytes.NewReader(bytes.Join(lines, []byte("\n")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	theirs := strings.Fields(string(out))
	if len(theirs) != len(lines) {
		t.Fatalf("%d answers to %d records", len(theirs), len(lines))
	}
	valid := 0
	for i, l := range lines {
		members, err := jsontext.Members(l)
		if err != nil {
			t.Fatal(err)
		}
		var wrong []string
		shapes[jsontext.Text(ndjson.Get(members, "event_type"))].check(l, "", func(path, what string) { wrong = append(wrong, path+" "+what) })
		if ours := len(wrong) == 0; ours != (theirs[i] == "1") {
			t.Fatalf("tritonparse says %s, we say %v:\n%.1000s", theirs[i], wrong, l)
		}
		if len(wrong) == 0 {
			valid++
		}
	}
	t.Logf("%d records, %d of them right", len(lines), valid)
	if valid == 0 || valid == len(lines) {
		t.Errorf("%d of %d records are right", valid, len(lines))
	}
}

// FuzzValidate looks for panics.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(aCompilation))
	f.Add([]byte(fmt.Sprintf(aLaunch, "a", "b", 9007199254740993)))
	f.Add([]byte(`{"event_type":"launch","extracted_args":{"x":{"type":"tensor","blob_path":"x","tensor_hash":"a"}},"occurrence_id":1e3,"goproton":{"cubin":"."}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x.ndjson")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		n := 0
		result, err := Validate(path, Options{Report: func(Finding) { n++ }})
		if err != nil || result.Errors+result.Warnings != n {
			t.Fatal(result, n, err)
		}
	})
}
