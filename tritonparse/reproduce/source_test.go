package reproduce

import (
	"strings"
	"testing"
)

// FuzzFindFunction: whatever stands in a trace as source, reading it ends, and what it finds is in there.
func FuzzFindFunction(f *testing.F) {
	f.Add("@triton.jit(do_not_specialize=[\"n\"], repr=lambda a, b: 1)\ndef k(x, n=(1, 2), *, B: tl.constexpr = \"a,b\"):\n    '''\n  text\n'''\n    pass\n\nother()\n")
	f.Add("    @jit\n    def k(\n  x, # a, (comment\n  y): pass\n")
	f.Add("def k(\\")
	f.Add("'''")
	f.Add("@a\n@")
	f.Fuzz(func(t *testing.T, code string) {
		fn := findFunction(code, "k", 1)
		if fn == nil {
			return
		}
		fn.jit()
		fn.jitDecorator(func(string) bool { return true })
		if !strings.Contains(code, fn.name) {
			t.Errorf("found %q, which is not in the source", fn.name)
		}
		for _, line := range strings.Split(strings.TrimRight(fn.def, "\n"), "\n") {
			if !strings.Contains(code, line) {
				t.Errorf("the line %q is not in the source", line)
			}
		}
	})
}
