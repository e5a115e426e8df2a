package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// benchmarkCase is a kernel of two outputs; computes stands for what the GPU would do.
const benchmarkCase = `
-- kernel.py --
@triton.jit
def k(x, out, other, size):
    pass
-- launch.json --
{"grid": [2, 3], "extracted_args": {
  "x": {"type": "tensor", "shape": [3], "dtype": "torch.float32", "device": "cuda:0", "stride": [1], "element_size": 4, "data_ptr": "0x1000"},
  "out": {"type": "tensor", "shape": [3], "dtype": "torch.float8_e5m2", "device": "cuda:0", "stride": [1], "element_size": 1, "data_ptr": "0x2000"},
  "other": {"type": "tensor", "shape": [3], "dtype": "torch.float4_e2m1fn_x2", "device": "cuda:0", "stride": [1], "element_size": 1, "data_ptr": "0x3000"},
  "size": {"type": "int", "value": 3}}}
-- compilation.json --
{"payload": {"python_source": {"file_path": "$WORK/kernel_file.py", "start_line": 3}}}
-- flags --
default template=benchmark
-- kernel_file.py --
import torch
import triton

@triton.jit
def k(x, out, other, size):
    pass

def computes(x, out, other, size):
`

// benchmarkScript is a benchmark of that kernel, of which a line of Python says what it computes.
func benchmarkScript(t *testing.T, name, computes string) *Side {
	return benchmarkOf(t, name, benchmarkCase+"    "+computes+"\n")
}

func benchmarkOf(t *testing.T, name, text string) *Side {
	python := findPython(t)
	c := newCase(t, txtar.Parse([]byte(text)))
	result, err := c.generate(t, python)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("testdata/stub")
	if err != nil {
		t.Fatal(err)
	}
	return &Side{Name: name, Script: result.Script, Interpreter: Interpreter{Python: python, Env: append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+stub)}}
}

// TestMeasure: the script of a benchmark checks, times and prints, here with a GPU that takes 1.5 ms for everything.
func TestMeasure(t *testing.T) {
	s := benchmarkScript(t, "", "out.put([1, 2, 3]); other.view(torch.uint8).put([1, 2, 3])")
	m, said, err := Measure(s.Interpreter, s.Script, "--repeat", "20")
	if err != nil {
		t.Fatal(err)
	}
	if m.Median != 1.5 || m.N != 20 || m.Method != "events" || len(m.Outputs) != 2 {
		t.Errorf("it measured %+v", m)
	}
	for _, want := range []string{"k  grid 2x3", "repeated  out equal: ok", "repeated  other equal: ok", "time      1500.00 us median"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says not %q:\n%s", want, said)
		}
	}
}

// TestMeasureTuples: what a launch writes to tensors in tuples is an output like others.
func TestMeasureTuples(t *testing.T) {
	text := strings.Replace(benchmarkCase, `"size": {"type": "int", "value": 3}`,
		`"size": {"type": "tuple", "repr": "(3, (Tensor(shape=(3,), dtype=torch.float32, device='cuda:0'),))"}`, 1)
	s := benchmarkOf(t, "", text+"    size[1][0].put([4, 5, 6])\n")
	m, said, err := Measure(s.Interpreter, s.Script, "--repeat", "20")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Outputs) != 1 || m.Outputs["size[1][0]"] == "" || !strings.Contains(said, "repeated  size[1][0] equal: ok") {
		t.Errorf("the outputs are %v:\n%s", m.Outputs, said)
	}
}

// TestMeasureWithoutTorch: the error says which Python it is, and how another is named.
func TestMeasureWithoutTorch(t *testing.T) {
	s := benchmarkScript(t, "", "pass")
	const absent = "raise ModuleNotFoundError(\"No module named 'torch'\")\n" // also where torch is installed
	if err := os.WriteFile(s.Script, []byte(absent), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := Measure(s.Interpreter, s.Script)
	if want := s.Python + " has no torch: --python names one"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want it to say %q", err, want)
	}
}

// TestCompareOutputs: what only one of two sides writes differs, too.
func TestCompareOutputs(t *testing.T) {
	const both = "out.put([1, 2, 3]); other.view(torch.uint8).put([1, 2, 3])"
	// A launch that finds its results in place, as the last of several with the same tensors does.
	const again = "x.put([1, 2, 3] if any(v != v for v in x.tolist()) else x.tolist())"
	for _, test := range []struct{ a, b, want string }{
		{again, again, "x true"},
		{both, both, "out true, other true"},
		{both, "out.put([1, 2.5, 3])", "out true, other false"}, // 2 and 2.5 are neighbours in this type
		{"pass", both, "out false, other false"},
	} {
		c, err := Compare(benchmarkScript(t, "A", test.a), benchmarkScript(t, "B", test.b), 1, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, check := range c.Against {
			got = append(got, fmt.Sprint(check.Argument, " ", check.OK))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("A %q, B %q: %v, want %s", test.a, test.b, got, test.want)
		}
	}
}
