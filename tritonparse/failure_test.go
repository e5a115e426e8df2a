package tritonparse_test

import (
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

func TestFailureBrief(t *testing.T) {
	for _, c := range []struct {
		kind, message string
		causes        []string
		want          string
	}{
		{"CompilationError", "at 2:34:\ndef k(x):\n    f(x)\n    ^", []string{"NameError: g is not defined", "CompilationError: at 1:2:\ng(x)\n^\nNameError('g')"}, "NameError: g is not defined"},
		{"CompileTimeAssertionFailure", "at 2:4:\n    tl.static_assert(B > 100)\n    ^\ntoo small", nil, "CompileTimeAssertionFailure: too small"},
		{"PTXASError", "PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas /tmp/x.ptx, line 4; error   : Unknown modifier\nptxas fatal   : aborted\n\nRepro command: ptxas x\n",
			[]string{"CalledProcessError: Command returned 255"}, "PTXASError: ptxas /tmp/x.ptx, line 4; error   : Unknown modifier"},
		{"RuntimeError", "PassManager::run failed", nil, "RuntimeError: PassManager::run failed"},
		{"KeyError", "", nil, "KeyError"},
	} {
		f := tritonparse.Failure{Type: c.kind, Message: c.message, Causes: c.causes}
		if got := f.Brief(); got != c.want {
			t.Errorf("%s: %q, not %q", c.kind, got, c.want)
		}
	}
}
