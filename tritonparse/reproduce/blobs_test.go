package reproduce

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// recordBlobs writes a trace with the contents of tensors, of two launches on the same tensors: the second finds what the
// first one wrote.
const recordBlobs = `
import gzip, hashlib, io, json, os, sys, torch
folder = sys.argv[1]
def blob(values, packed, stride=(1,)):
    data = io.BytesIO()
    torch.save(torch.empty([len(values)], torch.float32).put(values), data)
    data = data.getvalue()
    name = hashlib.blake2b(data).hexdigest()
    path = f"{folder}/saved_tensors/{name[:2]}/{name}.bin" + (".gz" if packed else "")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").write(gzip.compress(data, mtime=0) if packed else data)
    return {"tensor_hash": name, "blob_path": path.replace(folder, "/recorded/elsewhere"), "blob_size": os.path.getsize(path), "compression": "gzip" if packed else "none"}
def tensor(address, values, packed=False, **more):
    return {"type": "tensor", "shape": [3], "dtype": "torch.float32", "device": "cuda:0", "stride": [1], "element_size": 4, "data_ptr": address, **blob(values, packed), **more}
hash = "cd" * 32
source = {"file_path": "/gone.py", "start_line": 1, "code": "@triton.jit\ndef k(x, out):\n    pass\n"}
records = [{"event_type": "compilation", "pid": 1, "payload": {"metadata": {"hash": hash, "name": "k", "num_warps": 4}, "file_content": {}, "python_source": source}}]
for values in ([7, 8, 9], [1.5, 3, 4.5]):
    records.append({"event_type": "launch", "pid": 1, "name": "k", "grid": [1], "compilation_metadata": {"hash": hash},
        "extracted_args": {"x": tensor("0x1000", [1, 2, 3]), "out": tensor("0x2000", values, True)}})
with open(folder + "/trace.ndjson", "w") as f:
    f.writelines(json.dumps(r) + "\n" for r in records)
`

func blobTrace(t *testing.T) (python string, trace *tritonparse.Trace) {
	python = findPython(t)
	folder := t.TempDir()
	cmd := exec.Command(python, "-B", "-c", recordBlobs, folder)
	stub, _ := filepath.Abs("testdata/stub")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stub)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trace, err := tritonparse.Open(filepath.Join(folder, "trace.ndjson"), tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return python, trace
}

// TestBlobs: contents are found next to a trace that was moved, are copied along or put into the script, and are checked.
func TestBlobs(t *testing.T) {
	python, trace := blobTrace(t)
	l, err := Pick(trace, Selection{Line: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, embed := range []bool{false, true} {
		folder := t.TempDir()
		r, err := Generate(trace, l, Options{OutDir: folder, Embed: embed, Python: python})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Expected) != 1 || r.Expected[0].Argument != "out" || r.Expected[0].From != "as k, record 2, found it" {
			t.Errorf("what the launch wrote is in %+v", r.Expected)
		}
		moved := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(filepath.Join(folder, "k"), moved); err != nil {
			t.Fatal(err)
		}
		entries, _ := filepath.Glob(filepath.Join(moved, "*"))
		if embed && len(entries) != 1 {
			t.Errorf("one file is %v", entries)
		}
		script := filepath.Join(moved, filepath.Base(r.Script))
		out := runScript(t, python, script, t.TempDir())
		if !strings.Contains(out, "offset 0: 1, 2, 3") || !strings.Contains(out, "offset 0: 7, 8, 9") {
			t.Errorf("embed %v: the script launches with\n%s", embed, out)
		}
		if embed {
			continue
		}
		blobs, _ := filepath.Glob(filepath.Join(moved, "saved_tensors", "*.bin"))
		if len(blobs) != 1 {
			t.Fatalf("contents are in %v", blobs)
		}
		data, err := os.ReadFile(blobs[0])
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(blobs[0], data, 0o666); err != nil {
			t.Fatal(err)
		}
		if out := runScript(t, python, script, t.TempDir()); !strings.Contains(out, "is damaged: its contents do not have the hash") {
			t.Errorf("with damaged contents the script says\n%s", out)
		}
		if err := os.Remove(blobs[0]); err != nil {
			t.Fatal(err)
		}
		if out := runScript(t, python, script, t.TempDir()); !strings.Contains(out, "the recorded tensors belong next to this script") {
			t.Errorf("without contents the script says\n%s", out)
		}
	}
}

// TestGoneBlobs: without their files, values are made up, and the result says so.
func TestGoneBlobs(t *testing.T) {
	python, trace := blobTrace(t)
	if err := os.RemoveAll(filepath.Join(filepath.Dir(trace.Source), "saved_tensors")); err != nil {
		t.Fatal(err)
	}
	l, err := Pick(trace, Selection{Line: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Generate(trace, l, Options{OutDir: t.TempDir(), Python: python})
	if err != nil {
		t.Fatal(err)
	}
	if r.Arguments[0].From != "random normal" || len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "the contents of x are gone") {
		t.Errorf("the result is %+v", r)
	}
	if out := runScript(t, python, r.Script, t.TempDir()); !strings.Contains(out, "k ran.") {
		t.Errorf("the script says\n%s", out)
	}
}
