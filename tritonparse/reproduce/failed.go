package reproduce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// PickFailed returns the compilation that failed and that a selection means, nil if it means none.
func PickFailed(t *tritonparse.Trace, s Selection) *tritonparse.Compilation {
	for _, c := range t.Failures() {
		switch {
		case s.Line >= 0 && (c.Line != s.Line || !strings.HasSuffix(c.File, s.File)):
		case s.Kernel != "" && c.Name != s.Kernel, !strings.HasPrefix(c.Hash, s.Hash):
		default:
			return c
		}
	}
	return nil
}

// GenerateFailed writes a script that compiles a kernel again whose compilation failed. It launches nothing and needs no GPU.
func GenerateFailed(t *tritonparse.Trace, c *tritonparse.Compilation, o Options) (*Result, error) {
	if c.Extra == nil || c.Extra.Failure == nil || c.Extra.Inputs == nil {
		return nil, fmt.Errorf("record %d of %s does not say what the compiler was called with: the error came before it", c.Line, c.File)
	}
	if o.Import == ImportOverride || o.PreserveAutotune || o.Template == "benchmark" {
		return nil, errors.New("the compilation failed: its source is compiled, without an autotuner, and nothing can be timed; leave out --kernel-import override-ttir, --preserve-autotune, --benchmark and --compare")
	}
	if o.Template == "" {
		o.Template = "compile"
	}
	l := &tritonparse.LaunchRecord{Name: c.Name, Hash: c.Hash, File: c.File, Line: c.Line, PID: c.PID, Args: constantArguments(c)}
	w := &work{Options: o, trace: t, launch: l, built: c, failed: true,
		result: &Result{Kernel: c.Name, Launch: l.Place(), Hash: c.Hash, Template: o.Template, Error: c.Extra.Failure.Brief()}}
	for _, step := range []func() error{w.readSource, w.checkNames, w.compileAgain, w.write} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return w.result, nil
}

// constantArguments are the constants of the compilation, as a launch has its arguments.
func constantArguments(c *tritonparse.Compilation) []tritonparse.Argument {
	var args []byte
	for i, pair := range jsontext.Elements(c.Extra.Inputs.Constants) {
		if both := jsontext.Elements(pair); len(both) == 2 {
			args = ndjson.AppendMember(args, fmt.Sprintf("constant%d", i), both[1])
		}
	}
	if args == nil {
		return nil
	}
	return tritonparse.ReadArguments(append(args, '}'))
}

// compileAgain finds the kernel, and makes the call of the compiler.
func (w *work) compileAgain() error {
	c := &recordedCode{dependencies: w.built.Extra.Dependencies, meanings: map[string]string{}, surroundings: &surroundings{Aliases: map[string][]string{}}}
	call, err := w.compilerCall(c)
	if err != nil {
		return err
	}
	if err := w.getKernel(); err != nil {
		return err
	}
	source := "from triton.compiler import ASTSource\n"
	if w.isGluon() {
		source = "from triton.experimental.gluon._runtime import GluonASTSource as ASTSource\n"
	}
	w.kernel.code = "import triton\nfrom triton.backends.compiler import GPUTarget\n" + source + strings.Join(unique(c.Imports), "") + "\n" +
		strings.Join(unique(c.Constants), "\n") + "\n" + w.kernel.code
	w.kernel.compilation = call
	return nil
}

// compilerCall is Python that compiles imported_kernel_function as it was compiled.
func (w *work) compilerCall(c *recordedCode) (string, error) {
	in := w.built.Extra.Inputs
	call, ok := asPython(func() string {
		signature := pairs(in.Signature, func(name, kind []byte) string { return pythonQuote(jsontext.Text(name)) + ": " + nestedTuple(kind) })
		constants := pairs(in.Constants, func(at, value []byte) string {
			text, made := c.expression(value)
			if !made {
				a := readArgument("", value)
				w.note("a constant is None in place of %s, of which the trace has only the text", a.Brief())
				text = "None"
			}
			return nestedTuple(at) + ": " + text
		})
		attrs := pairs(in.Attrs, func(at, value []byte) string { return nestedTuple(at) + ": " + written(pythonLiteral(value)) })
		target := func(name string) string {
			return written(pythonLiteral(jsontext.Get(w.built.Metadata, "target", name)))
		}
		return fmt.Sprintf(`source = ASTSource(
    fn=imported_kernel_function,
    signature={%s},
    constexprs={%s},
    attrs={%s},
)
compiled = triton.compile(source, target=GPUTarget(%s, %s, %s), options=%s)
`, signature, constants, attrs, target("backend"), target("arch"), target("warp_size"), written(pythonLiteral(in.Options)))
	})
	if !ok {
		return "", fmt.Errorf("record %d of %s: what the compiler was called with cannot be written as Python", w.built.Line, w.built.File)
	}
	return call, nil
}

// pairs writes pairs as the entries of a Python dict.
func pairs(raw []byte, entry func(key, value []byte) string) string {
	var entries []string
	for _, pair := range jsontext.Elements(raw) {
		both := jsontext.Elements(pair)
		if len(both) != 2 {
			panic(unwritable{})
		}
		entries = append(entries, entry(both[0], both[1]))
	}
	return strings.Join(entries, ", ")
}

// nestedTuple is a literal with tuples in place of lists.
func nestedTuple(raw []byte) string {
	text := written(pythonLiteral(raw)) // which is not too deep
	if len(raw) == 0 || raw[0] != '[' {
		return text
	}
	var parts []string
	for _, each := range jsontext.Elements(raw) {
		parts = append(parts, nestedTuple(each)+",")
	}
	return "(" + strings.TrimSuffix(strings.Join(parts, " "), ",") + map[bool]string{true: ",)", false: ")"}[len(parts) == 1]
}
