package reproduce

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
)

// overrideKernel has the compiler use the recorded TTIR instead of any source.
func (w *work) overrideKernel() error {
	if w.PreserveAutotune {
		return errors.New("--preserve-autotune and --kernel-import override-ttir exclude each other: the recorded TTIR is of one configuration")
	}
	stage := w.overrideStage()
	if stage != "ttir" {
		w.note("the recorded %s is compiled, because the trace has no TTIR of the kernel, as of all that Gluon compiles", strings.ToUpper(stage))
	}
	name, text := w.built.TextNames[stage], w.built.Texts[stage]
	if text == "" {
		if why := w.built.Placeholders["ttir"]; why != "" {
			return fmt.Errorf("the trace has no TTIR of %s: it says %s", w.built.Name, why)
		}
		return fmt.Errorf("the trace has no TTIR of %s", w.built.Name)
	}
	w.kernel.options = append(w.kernel.options, option{"ir_override", "IR_OVERRIDE"})
	var b strings.Builder
	b.WriteString("import atexit\nimport inspect\nimport json\nimport os\nimport shutil\nimport tempfile\n\nimport triton\nimport triton.language as tl\n\n")
	decorator := w.literalDecorator()
	if w.isGluon() {
		b.WriteString("from triton.experimental import gluon\n\n")
		decorator = strings.Replace(decorator, "@triton.", "@gluon.", 1)
	}
	fmt.Fprintf(&b, "\n%s\ndef %s(%s):\n    # The compiler reads IR_OVERRIDE in place of this.\n    pass\n\n\n", decorator, w.functionName(), w.literalSignature())
	b.WriteString(embedded("python/override.py") + "\n\n")
	if w.Embed {
		fmt.Fprintf(&b, "IR_OVERRIDE = _ir_override(%s, json.loads(COMPILATION_JSON)[\"file_content\"][%s])\n", pythonQuote(foreign.FileName(name)), pythonQuote(name))
	} else {
		file := pythonQuote(w.irFolder() + "/" + foreign.FileName(name))
		fmt.Fprintf(&b, "# Any that the compiler makes would do: .ttir, .ttgir, .llir, .ptx. They may be edited.\nIR_FILE = %s\n", file)
		b.WriteString("with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), IR_FILE), encoding=\"utf-8\") as _file:\n" +
			"    IR_OVERRIDE = _ir_override(os.path.basename(IR_FILE), _file.read())\n")
	}
	fmt.Fprintf(&b, "imported_kernel_function = %s\n", w.functionName())
	w.kernel.code = b.String()
	return nil
}

// overrideStage is the first representation that the trace has and that a compiler can begin with.
func (w *work) overrideStage() string {
	if w.built.Texts["ttir"] == "" && w.built.Texts["ttgir"] != "" {
		return "ttgir"
	}
	return "ttir"
}

// isGluon reports whether Gluon compiles the kernel, and not Triton.
func (w *work) isGluon() bool {
	if x := w.built.Extra; x != nil && x.Kind != "" {
		return x.Kind == "gluon"
	}
	return w.source != nil && strings.HasPrefix(w.source.jitDecorator(func(string) bool { return false }), "@gluon.")
}

// literalSignature are the kernel's parameters, with those annotations that shape the arguments.
func (w *work) literalSignature() string {
	constants := constantsOf(w.built)
	var params []string
	named := false
	for i, p := range w.params {
		text := p.name
		switch _, constant := constants[i]; {
		case constant || p.constexpr:
			text += ": tl.constexpr"
		case typeName.MatchString(p.annotation):
			text += ": " + p.annotation
		}
		if p.binds == byName && !named {
			params = append(params, "*")
		}
		named = named || p.binds == byName || p.binds == theRest
		if p.binds == theRest {
			text = "*" + text
		}
		params = append(params, text)
		if p.binds == byPosition && (i+1 == len(w.params) || w.params[i+1].binds != byPosition) {
			params = append(params, "/")
		}
	}
	return strings.Join(params, ", ")
}

// typeName is an annotation that Triton takes as an argument's type, and that needs nothing of the original file.
var typeName = regexp.MustCompile(`^("\*?\w+"|'\*?\w+'|tl\.(u?int|float|bfloat)\d\w*)$`)

// literalDecorator is the kernel's decorator with those of its options that shape the arguments. What is not a literal stays
// behind: recorded TTIR is run in place of the source, so nothing of the source may run.
func (w *work) literalDecorator() string {
	if w.source == nil {
		return "@triton.jit"
	}
	if x := w.built.Extra; x != nil && x.Options != nil {
		if kept := slices.DeleteFunc(literalOptions(x.Options), func(o string) bool { return strings.HasPrefix(o, "debug") }); len(kept) > 0 {
			return "@triton.jit(" + strings.Join(kept, ", ") + ")"
		}
		return "@triton.jit"
	}
	_, inner, _ := strings.Cut(w.source.jitDecorator(shapesArguments), "(")
	var kept []string
	for _, o := range options(strings.TrimSuffix(inner, ")")) {
		name, value, _ := strings.Cut(o, "=")
		if value = strings.TrimSpace(value); literalOption.MatchString(value) {
			kept = append(kept, strings.TrimSpace(name)+"="+value)
		} else {
			w.note("the kernel's option %s is left out: its value is code", strings.TrimSpace(name))
		}
	}
	if len(kept) == 0 {
		return "@triton.jit"
	}
	return "@triton.jit(" + strings.Join(kept, ", ") + ")"
}

// literalOption is True, False, or a list of numbers and names in quotes.
var literalOption = regexp.MustCompile(`^(True|False|\[((0|[1-9]\d{0,3}|"\w*"|'\w*')(, *(0|[1-9]\d{0,3}|"\w*"|'\w*'))*,? *)?\]|\((0|[1-9]\d{0,3}|"\w*"|'\w*')(, *(0|[1-9]\d{0,3}|"\w*"|'\w*'))*,? *\))$`)
