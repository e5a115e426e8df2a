package parse

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// upstreamTools has tritonparse's own info and reproduce read a file, and prints what they make of its launches.
const upstreamTools = `
import contextlib, json, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:3]
from tritonparse.info.kernel_query import list_compilations, list_kernels, list_launches_for_kernel
from tritonparse.reproducer.orchestrator import reproduce
from tritonparse.reproducer.types import KernelImportMode
from tritonparse.tools.prettify_ndjson import load_ndjson
file, out = sys.argv[3:]
events = load_ndjson(Path(file))
print(len(list_compilations(events)), "compilations")
for kernel in list_kernels(events):
    launches = list_launches_for_kernel(events, kernel.name)
    print(kernel.name, kernel.total_launches, [l.grid for l in launches][:3])
    with contextlib.redirect_stdout(sys.stderr):
        made = reproduce(file, 0, out, "example", kernel_name=kernel.name, kernel_import=KernelImportMode.COPY)
    script = open(made["repro_script"]).read()
    compile(script, made["repro_script"], "exec")
    context = json.load(open(made["repro_context"]))
    print("script of", made["kernel"], "with its source" if "def " + kernel.name + "(" in script else "without", *context["extracted_args"])
`

// TestUpstreamToolsReadOurFiles: tritonparse 0.6.0 lists what a trace of ours holds that we parsed, and makes scripts of it.
func TestUpstreamToolsReadOurFiles(t *testing.T) {
	python, tritonparse := testkit.Fetched(t, "bin/python"), testkit.Fetched(t, "oracles/tritonparse-0.6.0")
	const stub = "../reproduce/testdata/stub"
	for trace, want := range map[string]string{
		"vector_add": `1 compilations
add_kernel 3 [[97], [97], [4]]
script of add_kernel with its source BLOCK n out_ptr x_ptr y_ptr
`,
		"matmul_autotuned": `2 compilations
matmul_kernel 13 [[12], [12], [12]]
script of matmul_kernel with its source BK BM BN K M N a_ptr b_ptr c_ptr stride_ak stride_am stride_bk stride_bn stride_cm stride_cn
`,
		"softmax_sass": `1 compilations
softmax_kernel 2 [[64], [64]]
script of softmax_kernel with its source BLOCK in_ptr n_cols out_ptr row_stride
`,
		"blobs": `1 compilations
add_kernel 3 [[1], [1], [1]]
script of add_kernel with its source BLOCK n out_ptr x_ptr y_ptr
`,
	} {
		t.Run(trace, func(t *testing.T) {
			parsed := filepath.Join(t.TempDir(), "parsed")
			result, err := Parse("../../testdata/traces/"+trace+"/goproton", parsed, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, file := range result.Files {
				if !strings.Contains(file, "ndjson") {
					continue
				}
				out, err := exec.Command(python, "-B", "-c", upstreamTools, tritonparse, stub, filepath.Join(parsed, file), t.TempDir()).Output()
				if err != nil {
					t.Fatalf("%s: %v\n%s%s", file, err, out, complaints(err))
				}
				got += string(out)
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func complaints(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}
