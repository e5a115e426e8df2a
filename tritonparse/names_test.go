package tritonparse

import (
	"os/exec"
	"strings"
	"testing"
)

var nameCases = []struct {
	list, name string
	want       bool
}{
	{"", "k", true}, {" , ", "k", true}, {"k", "k", true}, {"k", "kk", false}, {"a, k*", "kernel", true}, {"*add*", "fused_add_0", true},
	{"k?", "k1", true}, {"k?", "k", false}, {"k[12]", "k2", true}, {"k[!12]", "k2", false}, {"k[!12]", "k3", true}, {"k[", "k[", true},
	{"a.b", "axb", false}, {"k[a-c]", "kb", true}, {"k[]]", "k]", true}, {"k[!]]", "k]", false}, {"K", "k", false}, {`k[\d]`, `k\`, true}, {"k[^a]", "k^", true}, {"k[!", "k[!", true}, {"k[]", "k[]", true},
	{"matmul*", "my_matmul", false}, {"[ab]x", "cx", false}, {"[!ab]x", "cx", true}, {"[x", "x", false}, {"*[0-9]", "k1", true}, {"*[0-9]", "k", false}, {"k\\d", `k\d`, true}, {"k\\d", "k1", false},
}

func TestNames(t *testing.T) {
	for _, c := range nameCases {
		names, err := ParseNames(c.list)
		if err != nil {
			t.Error(err)
		}
		if got := names.Match(c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.list, c.name, got)
		}
	}
	if _, err := ParseNames("k[c-a]"); err == nil || !strings.Contains(err.Error(), "k[c-a]") {
		t.Error(err)
	}
}

// TestNamesAgainstPython asks fnmatch about the same cases.
func TestNamesAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	for _, c := range nameCases {
		if strings.Trim(c.list, " ,") == "" {
			continue
		}
		out, err := exec.Command(python, "-c", "import fnmatch,sys;print(any(fnmatch.fnmatchcase(sys.argv[2],p.strip()) for p in sys.argv[1].split(',')))", c.list, c.name).Output()
		if err != nil || strings.TrimSpace(string(out)) == "True" != c.want {
			t.Errorf("%q, %q: Python says %s %v", c.list, c.name, out, err)
		}
	}
}
