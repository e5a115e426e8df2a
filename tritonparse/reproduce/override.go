package reproduce

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// overrideKernel has the compiler take the recorded TTIR in place of any source.
func (w *work) overrideKernel() error {
	if w.PreserveAutotune {
		return errors.New("--preserve-autotune and --kernel-import override-ttir exclude each other: the recorded TTIR is of one configuration")
	}
	name, text := w.built.TextNames["ttir"], w.built.Texts["ttir"]
	if text == "" {
		return fmt.Errorf("the trace has no TTIR of %s%s", w.built.Name, w.built.Excuses["ttir"])
	}
	w.kernel.options = append(w.kernel.options, option{"ir_override", "IR_OVERRIDE"})
	var b strings.Builder
	b.WriteString("import hashlib\nimport inspect\nimport json\nimport os\nimport tempfile\n\nimport triton\nimport triton.language as tl\n\n")
	decorator := "@triton.jit"
	if w.source != nil {
		decorator = w.source.jitDecorator(shapesArguments)
	}
	constants := constantsOf(w.built)
	var params []string
	for i, p := range w.params {
		_, constant := constants[i]
		switch {
		case constant || p.constexpr:
			p.name += ": tl.constexpr"
		case typeName.MatchString(p.annotation):
			p.name += ": " + p.annotation
		}
		params = append(params, p.name)
	}
	fmt.Fprintf(&b, "\n%s\ndef %s(%s):\n    # The compiler reads IR_OVERRIDE in place of this.\n    pass\n\n\n", decorator, w.functionName(), strings.Join(params, ", "))
	b.WriteString(overrideSetup)
	if w.Embed {
		fmt.Fprintf(&b, "IR_OVERRIDE = _ir_override(%s, json.loads(COMPILATION_JSON)[\"file_content\"][%s])\n", quote(fileSafe(name)), quote(name))
	} else {
		file := quote(w.irFolder() + "/" + fileSafe(name))
		fmt.Fprintf(&b, "# Any that the compiler makes would do: .ttir, .ttgir, .llir, .ptx. They may be edited.\nIR_FILE = %s\n", file)
		b.WriteString("with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), IR_FILE), encoding=\"utf-8\") as _file:\n" +
			"    IR_OVERRIDE = _ir_override(os.path.basename(IR_FILE), _file.read())\n")
	}
	fmt.Fprintf(&b, "imported_kernel_function = %s\n", w.functionName())
	w.kernel.code = b.String()
	return nil
}

// typeName is an annotation that Triton takes as an argument's type, and that needs nothing of the original file.
var typeName = regexp.MustCompile(`^(["'][*\w]+["']|tl\.[a-z]+\d\w*)$`)

const overrideSetup = `def _ir_override(name, text):
    """Puts the IR into a file whose path tells its contents: Triton's cache goes by the path."""
    if "ir_override" not in inspect.signature(triton.Config.__init__).parameters:
        raise RuntimeError(f"Triton {triton.__version__} cannot compile recorded IR; 3.4 or newer can")
    folder = os.path.join(tempfile.gettempdir(), "reproduce-" + hashlib.sha256(text.encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


`
