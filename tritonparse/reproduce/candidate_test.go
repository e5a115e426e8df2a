package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCandidate: a function of another file takes the kernel's place. It is a kernel, with a tuner around it or not, or a function of Python.
func TestCandidate(t *testing.T) {
	const both = "out.put([1, 2, 3]); other.view(torch.uint8).put([1, 2, 3])"
	const kernel = "import torch, triton\ndef computes(x, out, other, size):\n    %s\n@triton.jit\ndef k(x, out, other, size):\n    pass\n"
	for _, test := range []struct{ name, file, function, flags, want, fails string }{
		{name: "kernel", file: fmt.Sprintf(kernel, both), want: "out true, other true"},
		{name: "near", file: fmt.Sprintf(kernel, "out.put([1, 2, -3]); other.view(torch.uint8).put([1, 2, 3])"), want: "out false, other true"},
		{name: "within", file: fmt.Sprintf(kernel, "out.put([1, 2, -3]); other.view(torch.uint8).put([1, 2, 3])"), flags: "--tolerance 3", want: "out true, other true"},
		{name: "python", file: "import torch\ndef mine(out, other, **rest):\n    assert set(rest) == {'x', 'size'}\n    " + both + "\n", function: ":mine", want: "out true, other true"},
		{name: "some", file: "import torch\ndef k(other, out):\n    " + both + "\n", want: "out true, other true"},
		{name: "less", file: "def k(out):\n    out.put([1, 2, 3])\n", want: "out true, other false"},
		{name: "absent", file: "def here(): pass\nfrom os.path import join\n", fails: "absent.py has no k: name one of its functions, as in absent.py:NAME (here)"},
		{name: "broken", file: "def k(out):\n    raise ValueError('not today')\n", fails: "ValueError: not today"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := benchmarkScript(t, "A", both)
			file := filepath.Join(t.TempDir(), test.name+".py")
			if err := os.WriteFile(file, []byte(test.file), 0o666); err != nil {
				t.Fatal(err)
			}
			b := *a
			b.Flags = append(strings.Fields(test.flags), "--candidate", file+test.function)
			p, err := Start(a, &b)
			if test.fails != "" {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", ""), test.fails) {
					t.Errorf("the error is %v, want %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.End()
			var got []string
			for _, check := range p.Against {
				got = append(got, fmt.Sprint(check.Argument, " ", check.OK))
			}
			if strings.Join(got, ", ") != test.want || p.Method != "events" {
				t.Errorf("%v, timed by %q, want %s", got, p.Method, test.want)
			}
		})
	}
}

// TestTunedCandidate: what an autotuner or heuristics around the candidate set is not passed, nor are the recorded options that its configurations have.
func TestTunedCandidate(t *testing.T) {
	const file = `
import triton

class Config:
    def all_kwargs(self):
        return {"x": 1, "num_warps": 8}

class Tuner:
    def __init__(self, fn, **more):
        self.fn, self.arg_names = fn, ["x", "out", "other", "size"]
        vars(self).update(more)
    def __getitem__(self, grid):
        def launch(**given):
            open(__file__ + ".given", "w").write(f"{grid} {sorted(given)}")
        return launch

class Kernel:
    arg_names = ["x", "out", "other", "size"]

k = Tuner(Tuner(Kernel(), values={"size": None}), configs=[Config()])
`
	a := benchmarkScript(t, "A", "out.put([1, 2, 3])")
	path := filepath.Join(t.TempDir(), "tuned.py")
	if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	b := *a
	b.Flags = []string{"--candidate", path}
	p, err := Start(a, &b)
	if err != nil {
		t.Fatal(err)
	}
	p.End()
	given, err := os.ReadFile(path + ".given")
	if err != nil || string(given) != "(2, 3) ['num_ctas', 'num_stages', 'other', 'out']" {
		t.Errorf("the kernel is given %s, %v", given, err)
	}
}
