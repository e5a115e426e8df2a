package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// TestTensors: what was recorded of arguments is compared, of the first launch of each side that says something.
func TestTensors(t *testing.T) {
	record := func(hash string, tensors string) string {
		return fmt.Sprintf(`{"event_type":"compilation","pid":1,"payload":{"metadata":{"hash":%q,"name":"k"}}}`+"\n"+
			`{"event_type":"launch","pid":1,"name":"k","compilation_metadata":{"hash":%[1]q},"extracted_args":{"x":{"type":"int","value":1}}}`+"\n"+
			`{"event_type":"launch","pid":1,"name":"k","compilation_metadata":{"hash":%[1]q},"extracted_args":{%[2]s}}`+"\n", hash, tensors)
	}
	const tensor = `{"type":"tensor","shape":[%d],"dtype":"torch.float32",%s}`
	statistics := func(mean string) string { return `"min":0,"max":1,"mean":` + mean + `,"std":0.1` }
	all := func(shape int, mean, hash string) string {
		return `"s":` + fmt.Sprintf(tensor, 4, statistics(mean)) + `,"b":` + fmt.Sprintf(tensor, shape, `"tensor_hash":"`+hash+`","blob_path":"/x"`) + `,"same":` + fmt.Sprintf(tensor, 4, statistics("0.5")) +
			`,"blob":` + fmt.Sprintf(tensor, 4, `"tensor_hash":"cc","blob_path":"/x"`) + `,"n":{"type":"int","value":2}`
	}
	path := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(path, []byte(record("aa", all(4, "0.5", "aa"))+record("bb", all(4, "0.75", "bb"))+record("cc", all(5, "0.5", "aa"))+record("dd", "")), 0o644); err != nil {
		t.Fatal(err)
	}
	trace := open(t, path)
	var b strings.Builder
	for j := 1; j < 4; j++ {
		d := diffOf(t, trace, trace, 0, j)
		if err := d.FindTensors(trace, trace, &Comparer{}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, d.A.Hash, d.B.Hash)
		for _, x := range d.Tensors {
			fmt.Fprintln(&b, x.Name, x.A, x.B, x.brief())
		}
	}
	testkit.Golden(t, "testdata/tensors.txt", b.String())
}

var usual = tensor.Tolerance{Absolute: 1e-5, Relative: 1e-3}

// TestContents: contents are found next to traces that were moved and compared element by element. Why others are not is said.
func TestContents(t *testing.T) {
	a, b := open(t, "testdata/tensors/a.ndjson"), open(t, "testdata/tensors/b.ndjson")
	var out strings.Builder
	for place := range 2 {
		d := diffOf(t, a, b, place, place)
		if err := d.FindTensors(a, b, &Comparer{Tolerance: usual}); err != nil {
			t.Fatal(err)
		}
		out.WriteString(text(t, d, TextOptions{}))
	}
	d, err := Traces(a, b, nil, nil, &Comparer{Tolerance: tensor.Tolerance{Absolute: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/contents.txt", out.String())
}

// TestOneSided: where only one trace has facts on tensors, a note says so.
func TestOneSided(t *testing.T) {
	trace := open(t, "testdata/tensors/a.ndjson")
	silent := open(t, complexTrace)
	for _, d := range []*Diff{diffOf(t, trace, silent, 0, 0), diffOf(t, silent, trace, 0, 0)} {
		x, y, want := trace, silent, "A says what is in them, B does not; record them with proton run --trace DIR:tensors"
		if d.A.Trace == complexTrace {
			x, y, want = y, x, "B says what is in them, A does not"
		}
		if err := d.FindTensors(x, y, &Comparer{}); err != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], want) {
			t.Errorf("%v, notes %q lack %q", err, d.Notes, want)
		}
	}
}

// TestLaunches: launches are paired by kernel and rank, in their order; benchmarks of an autotuner, of which each run has
// another number, are left out.
func TestLaunches(t *testing.T) {
	const mean = `{"type":"tensor","shape":[4],"dtype":"torch.float32","min":0,"max":1,"mean":%g,"std":0.1}`
	launch := func(kernel, stack string, value float64) string {
		return fmt.Sprintf(`{"event_type":"launch","pid":1,"name":%q,"compilation_metadata":{"hash":%[1]q},"extracted_args":{"n":{"type":"int","value":1},"x":`+mean+`},"stack":[%s]}`+"\n", kernel, value, stack)
	}
	const bench = `{"line":1,"name":"_bench","filename":"/x/triton/runtime/autotuner.py","loc":""}`
	silent := `{"event_type":"launch","pid":1,"name":"a","extracted_args":{}}` + "\n"
	sides := []map[string]string{{
		"0": launch("a", "", 1) + launch("b", bench, 9) + launch("b", "", 2) + silent + launch("a", "", 3) + launch("only_a", "", 1),
		"1": launch("a", "", 5) + launch("a", "", 6),
	}, {
		"0": launch("b", bench, 7) + launch("b", bench, 8) + silent + launch("a", "", 1) + launch("b", "", 2.0001) + launch("a", "", 3.5) + launch("a", "", 4),
		"1": launch("a", "", 5) + launch("a", "", 7),
	}}
	var traces []*tritonparse.Trace
	for _, files := range sides {
		folder := t.TempDir()
		for rank, text := range files {
			if err := os.WriteFile(filepath.Join(folder, tritonparse.Prefix+"me_rank_"+rank+"_pid_1_host_h_.ndjson"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		traces = append(traces, open(t, folder))
	}
	d, err := Launches(traces[0], traces[1], nil, &Comparer{Tolerance: usual})
	if err != nil {
		t.Fatal(err)
	}
	d.TraceA, d.TraceB = "a", "b"
	var out strings.Builder
	for _, most := range []int{0, 1} {
		if err := d.WriteText(&out, most); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Golden(t, "testdata/launches.txt", out.String())
	_, err = Launches(traces[0], traces[1], func(kernel string) bool { return kernel == "only_a" }, &Comparer{})
	if err == nil || !strings.Contains(err.Error(), "both say what is in their tensors; record them with") {
		t.Error(err)
	}
}

// TestTensorsAsTritonParse: our record says of the same tensors what that of tritonparse 0.6.0 says, which it wrote when the
// traces were made, and more where it could not find files, or NaN made everything NaN.
func TestTensorsAsTritonParse(t *testing.T) {
	type record struct {
		Args                 map[string]map[string]any `json:"per_arg"`
		TypesA               map[string]string         `json:"dtype_inventory_a"`
		TypesB               map[string]string         `json:"dtype_inventory_b"`
		Status               string
		Atol, Rtol           float64
		Identical, Divergent int
	}
	read := func(text []byte) (r record) {
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	text, err := os.ReadFile("testdata/tensors/tritonparse.json")
	if err != nil {
		t.Fatal(err)
	}
	theirs := read(text)
	a, b := open(t, "testdata/tensors/a.ndjson"), open(t, "testdata/tensors/b.ndjson")
	d := diffOf(t, a, b, 0, 0)
	if err := d.FindTensors(a, b, &Comparer{Tolerance: usual}); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(d.TensorDiff.record()); err != nil {
		t.Fatal(err)
	}
	ours := read(text)
	if ours.Status != theirs.Status || ours.Atol != theirs.Atol || ours.Rtol != theirs.Rtol || fmt.Sprint(ours.TypesA, ours.TypesB) != fmt.Sprint(theirs.TypesA, theirs.TypesB) {
		t.Errorf("the record is %+v, theirs %+v", ours, theirs)
	}
	otherwise := map[string]bool{"lost status": true, "lost_but_statistics status": true, "packed max_rel_error": true} // the last: of 0
	for name, want := range theirs.Args {
		got := ours.Args[name]
		for _, key := range []string{"arg_name", "status", "shape_a", "shape_b", "dtype_a", "dtype_b"} {
			if same := fmt.Sprint(got[key]) == fmt.Sprint(want[key]); same == otherwise[name+" "+key] {
				t.Errorf("%s: %s is %v, theirs %v", name, key, got[key], want[key])
			}
		}
		metrics, _ := got["metrics"].(map[string]any)
		for key, w := range want["metrics"].(map[string]any) {
			g, known := metrics[key]
			if w == nil || !known && got["status"] == "identical" {
				continue // NaN, or of contents that did not have to be read
			}
			if same := closeTo(g, w); same == otherwise[name+" "+key] {
				t.Errorf("%s: %s is %v, theirs %v", name, key, g, w)
			}
		}
	}
	if len(theirs.Args) != len(ours.Args) || len(ours.Args) < 15 {
		t.Errorf("%d tensors, theirs %d", len(ours.Args), len(theirs.Args))
	}
}

// closeTo: they compute in float32.
func closeTo(got, want any) bool {
	g, ok := got.(float64)
	w, too := want.(float64)
	if ok && too {
		return math.Abs(g-w) <= 1e-6+1e-5*math.Abs(w)
	}
	return got == want
}
