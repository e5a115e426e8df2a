package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestCases makes the script of each case and runs it with torch and triton replaced by testdata/stub, whose launches print
// what they were called with. A case has the source of a kernel, what its records have in addition to the usual, and what comes
// out: report (what Generate says), stdout of the script, and, where a section script is, the script around the kernel.
func TestCases(t *testing.T) {
	python := findPython(t)
	paths, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := newCase(t, archive)
			got := map[string]string{}
			result, err := c.generate(t, python)
			if err != nil {
				got["report"] = err.Error() + "\n"
			} else {
				got["report"] = report(result)
				got["stdout"] = runScript(t, python, result.Script, c.work, strings.Fields(c.files["environment"])...)
				if _, ok := c.files["script"]; ok {
					text, err := os.ReadFile(result.Script)
					if err != nil {
						t.Fatal(err)
					}
					_, rest, _ := strings.Cut(string(text), "return json.load(file)\n")
					got["script"] = strings.TrimLeft(rest, "\n")
				}
			}
			for name, text := range got {
				got[name] = randomFolder.ReplaceAllString(strings.ReplaceAll(text, c.work, "$WORK"), "$$WORK/reproduce-RANDOM")
			}
			compare(t, path, archive, got)
		})
	}
}

// randomFolder is where a script puts the IR that the compiler is to take.
var randomFolder = regexp.MustCompile(`\$WORK/reproduce-\w+`)

func findPython(t *testing.T) string {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	return python
}

type testCase struct {
	files     map[string]string
	work      string
	filesFrom []string
}

func newCase(t *testing.T, archive *txtar.Archive) *testCase {
	c := &testCase{files: map[string]string{}, work: t.TempDir()}
	for _, f := range archive.Files {
		c.files[f.Name] = string(f.Data)
		path := filepath.Join(c.work, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// merge puts what a case says into a record.
func (c *testCase) merge(t *testing.T, into map[string]any, file string) {
	text, ok := c.files[file]
	if !ok {
		return
	}
	var more map[string]any
	d := json.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "$WORK", c.work)))
	d.UseNumber()
	if err := d.Decode(&more); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var add func(into, more map[string]any)
	add = func(into, more map[string]any) {
		for k, v := range more {
			if inner, ok := v.(map[string]any); ok {
				if there, ok := into[k].(map[string]any); ok {
					add(there, inner)
					continue
				}
			}
			into[k] = v
		}
	}
	add(into, more)
}

const testHash = "ab5b1de5ab5b1de5ab5b1de5ab5b1de5ab5b1de5ab5b1de5ab5b1de5ab5b1de5"

func (c *testCase) generate(t *testing.T, python string) (*Result, error) {
	content := map[string]any{}
	for _, stage := range []string{"ttir", "ttgir"} {
		if text, ok := c.files["kernel."+stage]; ok {
			content["k."+stage] = text
		}
	}
	payload := map[string]any{
		"metadata":     map[string]any{"hash": testHash, "name": "k", "num_warps": 4, "num_stages": 3, "num_ctas": 1, "backend_name": "cuda"},
		"file_content": content,
	}
	if source, ok := c.files["kernel.py"]; ok {
		payload["python_source"] = map[string]any{"file_path": "/gone.py", "start_line": 1, "code": source}
	}
	compilation := map[string]any{"event_type": "compilation", "pid": 1, "payload": payload}
	c.merge(t, compilation, "compilation.json")
	launch := map[string]any{"event_type": "launch", "pid": 1, "name": "k", "compilation_metadata": map[string]any{"hash": testHash}}
	trace := &bytes.Buffer{}
	encoder := json.NewEncoder(trace)
	if err := encoder.Encode(compilation); err != nil {
		t.Fatal(err)
	}
	// Arguments have an order, which maps have not.
	c.merge(t, launch, "launch.json")
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(c.files["launch.json"]), &raw); err != nil {
		t.Fatal(err)
	}
	for k, v := range raw {
		launch[k] = v
	}
	if err := encoder.Encode(launch); err != nil {
		t.Fatal(err)
	}
	for _, other := range c.otherLaunches(t, launch) {
		if err := encoder.Encode(other); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(c.work, "trace.ndjson")
	if err := os.WriteFile(file, trace.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	opened, err := tritonparse.Open(file, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Pick(opened, Selection{Line: 1})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{OutDir: filepath.Join(c.work, "out"), Python: python, Version: "test", FilesFrom: c.filesFrom}
	flags, template, _ := strings.Cut(c.files["flags"], "template=") // which is the last of its line: a path may have spaces
	name, more, _ := strings.Cut(template, "\n")
	o.Template = name
	for _, flag := range strings.Fields(flags + " " + more) {
		switch flag {
		case "preserve":
			o.PreserveAutotune = true
		case "embed":
			o.Embed = true
		default:
			o.Import = Import(flag)
		}
	}
	return Generate(opened, l, o)
}

// otherLaunches are like the one, but for the members that others.json has of each.
func (c *testCase) otherLaunches(t *testing.T, like map[string]any) []map[string]any {
	text, ok := c.files["others.json"]
	if !ok {
		return nil
	}
	var changes []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &changes); err != nil {
		t.Fatalf("others.json: %v", err)
	}
	var others []map[string]any
	for _, members := range changes {
		other := maps.Clone(like)
		for k, v := range members {
			other[k] = v
		}
		others = append(others, other)
	}
	return others
}

func report(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Import, r.Why)
	for _, a := range r.Arguments {
		fmt.Fprintf(&b, "%s\n", strings.TrimSuffix(a.Name+" "+a.Brief+": "+a.From+"; "+a.Notes, "; "))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// runScript runs a script alone: no site packages, only the stub, and the packages of a case.
func runScript(t *testing.T, python, script, temporary string, env ...string) string {
	stub, err := filepath.Abs("testdata/stub")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-B", "-S", script)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+stub+string(os.PathListSeparator)+temporary, "TMPDIR="+temporary), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1] + "\n"
	}
	return string(out)
}

func compare(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	outputs := []string{"report", "stdout", "script"}
	if testkit.Update() {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return slices.Contains(outputs, f.Name) })
		for _, name := range outputs {
			if text, ok := got[name]; ok {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			}
		}
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		if slices.Contains(outputs, f.Name) {
			want[f.Name] = string(f.Data)
		}
	}
	if !maps.Equal(got, want) {
		for _, name := range outputs {
			if got[name] != want[name] {
				t.Errorf("%s is\n%s\nwant\n%s", name, got[name], want[name])
			}
		}
	}
}
