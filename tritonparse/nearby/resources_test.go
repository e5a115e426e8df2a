package nearby

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/vendortest"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
)

// compile writes a trace of one compilation whose cubin lies where it was compiled.
func compile(t *testing.T, name, cubinPath string) *tritonparse.Compilation {
	return compileWith(t, map[string]any{"hash": "aa", "name": name, "num_warps": 8, "shared": 49152, "warp_size": 32, "backend_name": "cuda", "target": map[string]any{"arch": 80}},
		name+".cubin", cubinPath)
}

func compileWith(t *testing.T, metadata map[string]any, binary, path string) *tritonparse.Compilation {
	t.Helper()
	record := map[string]any{"event_type": "compilation", "pid": 1, "timestamp": "t", "payload": map[string]any{
		"metadata": metadata, "file_path": map[string]string{binary: path},
	}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	trace, err := tritonparse.Open(file, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace.Compilation("aa")
}

func TestOf(t *testing.T) {
	const matmul = "../../gpu/cubin/testdata/matmul.sm80.cubin"
	r, err := ResourcesOf(compile(t, "matmul", matmul))
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
	if r, err := ResourcesOf(compile(t, "matmul", "/nowhere.cubin")); err != nil || r.Registers != nil || *r.Shared != 49152 || r.SM != 80 || r.Threads != 256 {
		t.Error(r, err)
	}
	broken := filepath.Join(t.TempDir(), "x.cubin")
	if err := os.WriteFile(broken, []byte("no cubin"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := ResourcesOf(compile(t, "matmul", broken)); err == nil || *r.Shared != 49152 {
		t.Error(r, err)
	}
}

func init() { backend.Register(backend.Backend{Name: "synthetic", Binary: "syn"}) }

// TestOfASecondVendor: the vendor's format reads the binary, and knows the limits of the GPU.
func TestOfASecondVendor(t *testing.T) {
	vendortest.Add(t)
	file := filepath.Join(t.TempDir(), "add.syn")
	if err := os.WriteFile(file, []byte(vendortest.Binary), 0o666); err != nil {
		t.Fatal(err)
	}
	metadata := map[string]any{"hash": "aa", "name": "syn.add", "num_warps": 4, "shared": 64, "warp_size": 64, "backend_name": "synthetic", "target": map[string]any{"arch": "syn0"}}
	for _, c := range []struct{ path, want string }{
		{file, `{"arch":"syn1","threads":256,"shared":64,"registers":12,"scalars":5,"frame":0,"local_loads":0,"local_stores":0,"code_bytes":24,` +
			`"occupancy":{"blocks":1,"warps":4,"max_warps":16,"limits":["warps"]}}`},
		{"/nowhere.syn", `{"arch":"syn0","threads":256,"shared":64}`},
	} {
		r, err := ResourcesOf(compileWith(t, metadata, "add.syn", c.path))
		if err != nil {
			t.Error(err)
		}
		if got, err := json.Marshal(r); string(got) != c.want || err != nil {
			t.Errorf("%s:\ngot  %s (%v)\nwant %s", c.path, got, err, c.want)
		}
	}
}

// TestOfACodeObject: a trace that Triton's compiler wrote for an AMD GPU, and its binary. LLVM's remarks in the assembly have the same
// numbers of registers, and 8 waves of a SIMD, which is a quarter of a compute unit.
func TestOfACodeObject(t *testing.T) {
	trace, err := tritonparse.Open("../../viewer/kernels/testdata/hip", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range trace.Compilations() {
		if c.Name != "inlined" {
			continue
		}
		r, err := ResourcesOf(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		want := `{"arch":"gfx942","threads":256,"shared":0,"registers":7,"scalars":19,"frame":0,"local_loads":0,"local_stores":0,"code_bytes":540,` +
			`"occupancy":{"blocks":8,"warps":32,"max_warps":32,"limits":["warps"]}}`
		if err != nil || string(got) != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
		for _, remark := range []string{"; NumVGPRsForWavesPerEU: 7\n", "; NumSGPRsForWavesPerEU: 19\n", "; Occupancy: 8\n", "; codeLenInByte = 540\n"} {
			if !strings.Contains(c.Texts["amdgcn"], remark) {
				t.Errorf("the assembly does not have %q", remark)
			}
		}
		return
	}
	t.Error("no compilation of inlined")
}
