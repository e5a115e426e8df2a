package resources

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// compile writes a trace of one compilation whose cubin lies where it was compiled.
func compile(t *testing.T, name, cubinPath string) *tritonparse.Compilation {
	t.Helper()
	record := map[string]any{"event_type": "compilation", "pid": 1, "timestamp": "t", "payload": map[string]any{
		"metadata":  map[string]any{"hash": "aa", "name": name, "num_warps": 8, "shared": 49152, "warp_size": 32, "backend_name": "cuda", "target": map[string]any{"arch": 80}},
		"file_path": map[string]string{name + ".cubin": cubinPath},
	}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	trace, err := tritonparse.Open(path, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace.Compilation("aa")
}

func TestOf(t *testing.T) {
	const matmul = "../../../internal/cubin/testdata/matmul.sm80.cubin"
	r, err := Of(compile(t, "matmul", matmul))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sm":80,"threads":256,"shared":49152,"registers":%d,"frame":0,"local_loads":0,"local_stores":0,"code_bytes":%d,"occupancy":{"blocks":%d,"warps":%d,"max_warps":64,"limits":[%q]}}`
	want = fmt.Sprintf(want, *r.Registers, *r.CodeBytes, r.Occupancy.Blocks, 8*r.Occupancy.Blocks, r.Occupancy.Limits[0])
	if string(got) != want || *r.Registers < 16 || *r.CodeBytes == 0 || r.Occupancy.Blocks == 0 {
		t.Errorf("got %s, want %s", got, want)
	}
	if r, err := Of(compile(t, "matmul", "/nowhere.cubin")); err != nil || r.Registers != nil || *r.Shared != 49152 || r.SM != 80 || r.Threads != 256 {
		t.Error(r, err)
	}
	broken := filepath.Join(t.TempDir(), "x.cubin")
	if err := os.WriteFile(broken, []byte("no cubin"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Of(compile(t, "matmul", broken)); err == nil || *r.Shared != 49152 {
		t.Error(r, err)
	}
}
