package testkit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const prefix = "dedicated_log_triton_trace_"

// TraceSamples is the folder with the recorded samples, from wherever in the module a test runs.
func TraceSamples(t testing.TB) string {
	t.Helper()
	return filepath.Join(Root(t), "tritonparse", "testdata")
}

// RawTraces writes raw traces into a folder.
func RawTraces(t testing.TB, files map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range files {
		if err := os.WriteFile(filepath.Join(dir, prefix+name+"_.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// CompilationRecord is the record of a compilation of a kernel k.
func CompilationRecord(hash, backend string) string {
	return fmt.Sprintf(`{"event_type":"compilation","pid":1,"stack":[],"timestamp":"t","payload":{"metadata":{"hash":%q,"name":"k","num_warps":8,"backend_name":%q},`+
		`"file_content":{"a.b.ttir":"#loc1 = loc(\"/k.py\":3:1)\n%%0 = x loc(#loc1)\n","a.b.toy":"3 add\n4 mul\n","a.b.ttgir":"\"ttg.num-warps\" = 4","a.b.llir":"<file too large: 9 bytes>"},`+
		`"python_source":{"file_path":"/k.py"}}}`, hash, backend)
}

// LaunchRecord is the record of the i-th launch of a compilation.
func LaunchRecord(hash string, i int) string {
	return fmt.Sprintf(`{"event_type":"launch","pid":%d,"name":"k","function":%d,"grid":[1],"compilation_metadata":{"hash":%q,"num_warps":4},"extracted_args":{"n":{"type":"int","value":%d}},"stack":[],"timestamp":"t%d"}`,
		i, i, hash, i%2, i)
}

// TraceSample unpacks a sample: tritonparse names the output of packed ones differently.
func TraceSample(t testing.TB, name, to string) {
	t.Helper()
	in := TraceSamples(t) + "/" + prefix + name + "_.ndjson"
	text, err := os.ReadFile(in)
	if errors.Is(err, os.ErrNotExist) {
		text, err = Unpacked(in + ".gz")
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Unpacked reads a gzip file of one member.
func Unpacked(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	z.Multistream(false) // browsers read one member only, so all must be in it
	return io.ReadAll(z)
}

// TraceRecords are the records of a sample.
func TraceRecords(t testing.TB, name string) [][]byte {
	t.Helper()
	path := t.TempDir() + "/sample"
	TraceSample(t, strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), "_.ndjson"), path)
	return bytes.Split(bytes.TrimSpace([]byte(Read(t, path))), []byte("\n"))
}
