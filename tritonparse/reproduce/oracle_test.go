package reproduce

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// argumentsOfBoth builds the arguments of one launch twice: as our script does, and as tritonparse's reproducer does.
const argumentsOfBoth = `
import importlib.util, json, sys
script, context = sys.argv[1:]
spec = importlib.util.spec_from_file_location("ours", script)
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)
from tritonparse.reproducer.utils import create_args_from_json_file as theirs
def facts(v):
    if hasattr(v, "storage_offset"):
        return ["tensor", str(v.dtype), list(v.shape), list(v.stride()), str(v.device)]
    return [type(v).__name__, v]
for build in (ours.create_args_from_json_file, theirs):
    grid, args = build(context)
    print(json.dumps([grid, {k: facts(v) for k, v in args.items()}], sort_keys=True))
`

// TestArgumentsAsTritonparse: from the same context, tritonparse 0.6.0 makes the same arguments, but for what is in the
// tensors and where they lie.
func TestArgumentsAsTritonparse(t *testing.T) {
	python, upstream := testkit.Fetched(t, "bin/python"), testkit.Fetched(t, "oracles/tritonparse-0.6.0")
	trace, err := tritonparse.Open("../testdata/dedicated_log_triton_trace_complex_.ndjson.gz", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []int{502, 1558, 1561} {
		l, err := Pick(trace, Selection{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Generate(trace, l, Options{OutDir: t.TempDir(), Import: ImportOverride})
		if err != nil {
			t.Fatal(err)
		}
		stub, _ := filepath.Abs("testdata/stub")
		cmd := exec.Command(python, "-B", "-c", argumentsOfBoth, r.Script, r.Context)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+stub+":"+upstream)
		out, err := cmd.Output()
		both := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(both) != 2 {
			t.Fatalf("%v\n%s", err, out)
		}
		if both[0] != both[1] {
			t.Errorf("record %d: ours are\n%s\ntritonparse's\n%s", line, both[0], both[1])
		}
	}
}
