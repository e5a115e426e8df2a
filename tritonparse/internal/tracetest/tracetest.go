// Package tracetest is what tests of traces share: records, traces made of them, and the recorded samples.
package tracetest

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

	"github.com/goproton/goproton/internal/testkit"
)

const prefix = "dedicated_log_triton_trace_"

// Testdata is the folder with the recorded samples, from wherever in the module a test runs.
func Testdata(t testing.TB) string {
	t.Helper()
	return filepath.Join(testkit.Root(t), "tritonparse", "testdata")
}

// Traces writes raw traces into a folder.
func Traces(t testing.TB, files map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range files {
		if err := os.WriteFile(filepath.Join(dir, prefix+name+"_.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Compiled is the record of a compilation of a kernel k.
func Compiled(hash, backend string) string {
	return fmt.Sprintf(`{"event_type":"compilation","pid":1,"stack":[],"timestamp":"t","payload":{"metadata":{"hash":%q,"name":"k","num_warps":8,"backend_name":%q},`+
		`"file_content":{"a.b.ttir":"#loc1 = loc(\"/k.py\":3:1)\n%%0 = x loc(#loc1)\n","a.b.toy":"3 add\n4 mul\n","a.b.ttgir":"\"ttg.num-warps\" = 4","a.b.llir":"<file too large: 9 bytes>"},`+
		`"python_source":{"file_path":"/k.py"}}}`, hash, backend)
}

// Launched is the record of the i-th launch of a compilation.
func Launched(hash string, i int) string {
	return fmt.Sprintf(`{"event_type":"launch","pid":%d,"name":"k","function":%d,"grid":[1],"compilation_metadata":{"hash":%q,"num_warps":4},"extracted_args":{"n":{"type":"int","value":%d}},"stack":[],"timestamp":"t%d"}`,
		i, i, hash, i%2, i)
}

// Sample unpacks a sample: tritonparse names the output of packed ones differently.
func Sample(t testing.TB, name, to string) {
	t.Helper()
	in := Testdata(t) + "/" + prefix + name + "_.ndjson"
	text, err := os.ReadFile(in)
	if errors.Is(err, os.ErrNotExist) {
		text, err = Unpack(in + ".gz")
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Unpack reads a gzip file of one member.
func Unpack(path string) ([]byte, error) {
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

// SampleLines are the records of a sample.
func SampleLines(t testing.TB, name string) [][]byte {
	t.Helper()
	path := t.TempDir() + "/sample"
	Sample(t, strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), "_.ndjson"), path)
	return bytes.Split(bytes.TrimSpace([]byte(testkit.Read(t, path))), []byte("\n"))
}
