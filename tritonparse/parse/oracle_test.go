package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

const oracleScript = `
import json, sys
sys.path.insert(0, sys.argv[1])
from tritonparse.parse.utils import unified_parse
unified_parse(sys.argv[2], out=sys.argv[3], overwrite=True, **json.loads(sys.argv[4]))
`

// samples are the traces in testdata.
var samples = []string{"complex", "findhao", "handmade", "gfx942", "sm90"}

// oracle is what the tests compare with: the newest tritonparse.
type oracle struct{ python, tritonparse, fileCheck string }

func needOracle(t *testing.T) oracle {
	t.Helper()
	t.Setenv("PYTHONPATH", testkit.Fetched(t, "oracles/tritonparse-0.6.0")) // the dependencies
	return oracle{testkit.Fetched(t, "bin/python"), testkit.Fetched(t, "oracles/tritonparse-0.6.1.dev20261021"), testkit.Fetched(t, "oracles/triton-3.9.0/triton/FileCheck")}
}

// TestAsTritonparse parses each sample, and traces that tritonparse and we recorded on a GPU, with tritonparse and with us: the events must be
// the same, in the same order.
func TestAsTritonparse(t *testing.T) {
	o := needOracle(t)
	sources := map[string]string{}
	for _, name := range samples {
		sources[name] = t.TempDir()
		testkit.TraceSample(t, name, filepath.Join(sources[name], tritonparse.Prefix+name+"_.ndjson"))
	}
	recorded := "matmul_autotuned"
	if testkit.All() {
		recorded = "*"
	}
	folders, err := filepath.Glob("../../testdata/traces/" + recorded + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if raw, err := tritonparse.RawFiles(f); err == nil && len(raw) > 0 {
			sources[f] = f
		}
	}
	for name, raw := range sources {
		t.Run(name, func(t *testing.T) { o.compare(t, raw, `{}`, Options{}) })
	}
}

// compare parses a folder with tritonparse, given options in its words, and with us.
func (o oracle) compare(t *testing.T, raw, theirs string, ours Options) {
	t.Helper()
	ours.Compat, ours.FileCheck = true, o.fileCheck
	out, their := t.TempDir(), filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(o.python, "-c", oracleScript, o.tritonparse, raw, their, theirs)
	cmd.Env = append(os.Environ(), "FILECHECK_PATH="+o.fileCheck)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tritonparse: %v\n%s", err, out)
	}
	if _, err := Parse(raw, out, ours); err != nil {
		t.Fatal(err)
	}
	compareFolders(t, out, their)
}

const schemaScript = `
import json, sys
sys.path.insert(0, sys.argv[1])
from tritonparse.validation.json_validator import validate_trace_file
for path in sys.argv[2:]:
    result = validate_trace_file(path)
    if not result["valid"]:
        print(path, json.dumps(result["errors"])[:2000])
`

// breakSchema are what records say that TritonParse's own schemas do not know.
var breakSchema = []string{`"_note"`, `"backend_name":null`, `"frame_compile_id":null`}

// TestSchemas: tritonparse's validator has nothing against what we write, in either reading.
func TestSchemas(t *testing.T) {
	o := needOracle(t)
	sources := map[string]string{"everything": everything(t, breakSchema...)}
	for _, name := range samples {
		sources[name] = t.TempDir()
		testkit.TraceSample(t, name, filepath.Join(sources[name], tritonparse.Prefix+name+"_.ndjson"))
	}
	arguments := []string{"-c", schemaScript, o.tritonparse}
	for name, source := range sources {
		for _, compat := range []bool{false, true} {
			if compat && name == "everything" {
				continue // tritonparse's own inferred compilations have nulls that its schema does not
			}
			out := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(out, 0o755); err != nil {
				t.Fatal(err)
			}
			result, err := Parse(source, out, Options{Compat: compat, FileCheck: o.fileCheck})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range result.Files {
				if strings.HasSuffix(f, ".gz") {
					arguments = append(arguments, filepath.Join(out, f))
				}
			}
		}
	}
	if said, err := exec.Command(o.python, arguments...).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
}

func compareFolders(t *testing.T, ours, theirs string) {
	t.Helper()
	list := func(folder string) []string {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	a, b := list(ours), list(theirs)
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("files: ours %q, theirs %q", a, b)
	}
	for _, name := range a {
		if info, err := os.Stat(filepath.Join(ours, name)); err == nil && info.IsDir() { // of a rank
			compareFolders(t, filepath.Join(ours, name), filepath.Join(theirs, name))
			continue
		}
		x, y := readEvents(t, filepath.Join(ours, name)), readEvents(t, filepath.Join(theirs, name))
		if len(x) != len(y) {
			t.Fatalf("%s: %d events, theirs %d", name, len(x), len(y))
		}
		for i := range x {
			if d := firstDifference(fmt.Sprintf("%s event %d", name, i), x[i], y[i]); d != "" {
				t.Fatal(d)
			}
		}
	}
}

// readEvents reads a file of events, or of one JSON value.
func readEvents(t *testing.T, path string) []any {
	t.Helper()
	var r io.Reader
	if strings.HasSuffix(path, ".gz") {
		text, err := testkit.Unpacked(path)
		if err != nil {
			t.Fatal(path, err)
		}
		r = strings.NewReader(string(text))
	} else {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r = f
	}
	var events []any
	decoder := json.NewDecoder(r)
	decoder.UseNumber()
	for {
		var v any
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(path, err)
		}
		if strings.HasSuffix(path, "log_file_list.json") { // tritonparse's order of files is a set's
			for _, rank := range v.(map[string]any) {
				if files, ok := at(rank, "regular_files").([]any); ok {
					slices.SortFunc(files, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
				}
			}
		}
		events = append(events, v)
	}
}

// temporary is the folder that FileCheck's messages name. Messages are cut at a number of characters, which can be within its name.
var temporary = regexp.MustCompile(regexp.QuoteMeta(filepath.Clean(os.TempDir())) + `/tmp[a-z0-9_]{0,8}(/|\.\.\. \[truncated)`)

// firstDifference says where two values differ; members have no order.
func firstDifference(path string, a, b any) string {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if okX && okY {
		names := map[string]bool{}
		for k := range x {
			names[k] = true
		}
		for k := range y {
			names[k] = true
		}
		var sorted []string
		for k := range names {
			sorted = append(sorted, k)
		}
		sort.Strings(sorted)
		for _, k := range sorted {
			if d := firstDifference(path+"."+k, x[k], y[k]); d != "" {
				return d
			}
		}
		return ""
	}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	if n, ok := a.(json.Number); ok { // 1e-05 is 0.00001
		if m, ok := b.(json.Number); ok && strings.ContainsAny(n.String()+m.String(), ".e") {
			x, errX := n.Float64()
			y, errY := m.Float64()
			if errX == nil && errY == nil && x == y {
				return ""
			}
		}
	}
	if s, ok := a.(string); ok {
		if u, ok := b.(string); ok && temporary.ReplaceAllString(s, "") == temporary.ReplaceAllString(u, "") {
			return ""
		}
	}
	if l, ok := a.([]any); ok {
		if m, ok := b.([]any); ok && len(l) == len(m) {
			for i := range l {
				if d := firstDifference(fmt.Sprintf("%s[%d]", path, i), l[i], m[i]); d != "" {
					return d
				}
			}
			return ""
		}
	}
	return fmt.Sprintf("%s: ours %.400v, theirs %.400v", path, a, b)
}
