package profiletest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Answer is what trace_processor says to one query.
type Answer struct {
	Columns []string
	Rows    [][]any
	Error   string
}

// Query has Perfetto's trace_processor load a trace and answer SQL, one line each. It skips the test where Node or
// trace_processor are not there, and fails it when the trace or a query is refused.
func Query(t *testing.T, root string, trace []byte, queries ...string) []Answer {
	t.Helper()
	loaded, answers := TryQuery(t, root, trace, queries...)
	if loaded != "" {
		t.Fatalf("trace_processor does not take the trace: %s", loaded)
	}
	for i, a := range answers {
		if a.Error != "" {
			t.Fatalf("%s: %s", queries[i], a.Error)
		}
	}
	return answers
}

// TryQuery is Query that returns what trace_processor finds wrong with the trace.
func TryQuery(t *testing.T, root string, trace []byte, queries ...string) (loaded string, answers []Answer) {
	t.Helper()
	if testing.Short() {
		t.Skip("trace_processor takes two seconds to load a trace")
	}
	engine := filepath.Join(root, ".venv/oracles/trace-processor")
	if _, err := os.Stat(engine); err != nil {
		t.Skip("trace_processor is not there: tools/oracles.sh fetches it")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("trace_processor needs Node: install nodejs")
	}
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, trace, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, filepath.Join(root, "tools/traceprocessor.mjs"), engine, path)
	cmd.Stdin = strings.NewReader(strings.Join(queries, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("trace_processor: %v\n%s", err, stderr.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(queries)+1 {
		t.Fatalf("trace_processor gave %d answers to %d queries:\n%s%s", len(lines)-1, len(queries), out, stderr.Bytes())
	}
	answers = make([]Answer, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &answers[i]); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
	return answers[0].Error, answers[1:]
}
