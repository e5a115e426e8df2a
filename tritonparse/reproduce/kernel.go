package reproduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// kernelCode is the part of a script that has the kernel. It binds imported_kernel_function, and needs nothing that a template
// may have behind it: in that of TritonParse's guide it comes before the functions that build arguments.
type kernelCode struct {
	sysPath string // for the modules that the kernel's one imports
	code    string
	options []option // of the launch, beside the kernel's arguments
}

// option is one of the compiler's, by its name for a launch.
type option struct{ name, value string }

// findKernel gets the kernel, with its tuner if that is wanted.
func (w *work) findKernel() error {
	w.kernel.options = w.compileOptions()
	if err := w.getKernel(); err != nil || !w.PreserveAutotune {
		return err
	}
	grids, err := w.tunedGrids()
	w.kernel.code += "\n\n" + embedded("python/autotune.py") + "\n\n" + grids
	return err
}

// getKernel goes the way that was asked for, else the way that works.
func (w *work) getKernel() error {
	w.result.Import = w.Import
	switch w.Import {
	case ImportAuto:
		return w.findWhateverWorks()
	case ImportDefault:
		w.result.Why = "asked for"
		return w.importKernel()
	case ImportCopy:
		w.result.Why = "asked for"
		return w.copyKernel(true)
	case ImportOverride:
		w.result.Why = "asked for"
		return w.overrideKernel()
	}
	return fmt.Errorf("there is no way %q to get a kernel; the ways are %s", w.Import, joinImports())
}

func joinImports() string {
	var names []string
	for _, i := range Imports {
		names = append(names, string(i))
	}
	return strings.Join(names, ", ")
}

// findWhateverWorks prefers a script that stands alone and that can be edited.
func (w *work) findWhateverWorks() error {
	copied := w.copyKernel(false)
	if copied == nil {
		w.result.Import = ImportCopy
		return nil
	}
	w.result.Import, w.result.Why = ImportDefault, copied.Error()
	imported := w.originalFile()
	if imported == nil {
		return w.importKernel()
	}
	if !w.PreserveAutotune {
		w.result.Import, w.result.Why = ImportOverride, fmt.Sprintf("%v; %v", copied, imported)
		overridden := w.overrideKernel()
		if overridden == nil {
			return nil
		}
		return errors.Join(copied, imported, overridden)
	}
	return errors.Join(copied, imported)
}

// copyKernel puts the source of the kernel, and of all that it uses, into the script.
func (w *work) copyKernel(asked bool) error {
	if w.source == nil {
		return fmt.Errorf("the trace has no Python source of %s", w.built.Name)
	}
	why, err := "the trace has its source and that of all it uses", error(nil)
	var s *surroundings
	if w.built.Extra != nil && w.built.Extra.Globals != nil && !w.PreserveAutotune {
		s, err = w.recordedSurroundings()
	} else {
		why = "its source is in the trace, and what it uses was read from the original files"
		s, err = w.collect()
		if err == nil && len(s.Constants)+len(s.Functions)+len(s.Aliases) == 0 {
			why = "its source is in the trace, and it uses no other"
		}
	}
	if errors.Is(err, errNoPython) && (asked || w.originalFile() != nil) {
		why = "its source is in the trace"
		w.note("helpers and constants that the kernel uses were not looked for: there is no %s (--python names another)", w.python())
		s, err = &surroundings{Imports: guessImports(w.source.def)}, nil
	}
	if err != nil {
		return err
	}
	if len(s.Missing) > 0 {
		return fmt.Errorf("%s uses %s: neither the trace nor %s on this machine has what a script needs of that", w.source.name, strings.Join(s.Missing, ", "), w.built.Python.File)
	}
	if clash := w.clash(s); clash != "" {
		return fmt.Errorf("%s uses something called %s, and so does the script around it; --kernel-import default or override-ttir keeps them apart", w.source.name, clash)
	}
	if w.result.Why == "" {
		w.result.Why = why
	}
	for _, name := range s.Changed {
		w.note("%s is no longer in %s as it was recorded; what it uses was taken as it is there now", name, w.built.Python.File)
	}
	if len(s.Packages) > 0 {
		w.note("the kernel's source needs installed packages beside torch and triton: %s", strings.Join(s.Packages, ", "))
	}
	w.kernel.code = w.copied(s)
	return nil
}

// copied puts the pieces in an order in which they can be executed.
func (w *work) copied(s *surroundings) string {
	imports := append([]string{"import triton\n", "import triton.language as tl\n"}, s.Imports...)
	decorators := []string{w.source.jitDecorator(func(o string) bool { return !namesLaunches(o) })}
	if w.PreserveAutotune {
		if i := w.source.jit(); i >= 0 {
			tuners := slices.DeleteFunc(slices.Clone(w.source.decorators[:i]), ofClass)
			decorators = append(tuners, decorators...)
		}
	}
	// The last makes the kernel; it is called as the script has it, however the original file imported it.
	last := &decorators[len(decorators)-1]
	callee := "@triton.jit"
	if strings.Contains(*last, "gluon") {
		callee = "@gluon.jit"
		imports = append(imports, "from triton.experimental import gluon\n")
	}
	if _, options, called := strings.Cut(*last, "("); called {
		callee += "(" + options
	}
	*last = callee
	var b strings.Builder
	b.WriteString(strings.Join(unique(imports), ""))
	piece := func(text string) {
		b.WriteString("\n")
		b.WriteString(strings.TrimRight(text, "\n") + "\n")
	}
	if len(s.Constants) > 0 {
		piece(strings.Join(unique(s.Constants), ""))
	}
	for _, f := range unique(s.Functions) {
		b.WriteString("\n")
		piece(f)
	}
	if text := aliases(s.Aliases); text != "" {
		b.WriteString("\n")
		piece(text)
	}
	b.WriteString("\n")
	piece(strings.Join(decorators, "\n") + "\n" + w.source.def)
	b.WriteString("\n")
	piece("imported_kernel_function = " + w.source.name)
	return b.String()
}

// ofClass says whether a decorator has a meaning only within a class, which the copied kernel is not in.
func ofClass(decorator string) bool { return strings.HasPrefix(decorator, "@staticmethod") }

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// aliases are modules of the program that the kernel reads its helpers through: module.helper.
func aliases(modules map[string][]string) string {
	var b strings.Builder
	for i, name := range sortedKeys(modules) {
		if i == 0 {
			b.WriteString("import types\n\n")
		}
		fmt.Fprintf(&b, "%s = types.ModuleType(%s)\n", name, quote(name))
		for _, member := range modules[name] {
			if !strings.Contains(member, " = ") {
				member += " = " + member
			}
			fmt.Fprintf(&b, "%s.%s\n", name, member)
		}
	}
	return b.String()
}

// clash is a name that both the script and what was copied into it bind.
func (w *work) clash(s *surroundings) string {
	script := strings.Join(w.utilities(), "\n") + "\n" + w.loader()
	for _, name := range []string{"blobs", "descriptors", "tritonkernels", "autotune"} { // which arguments need is not known yet
		script += embedded("python/" + name + ".py")
	}
	if slices.Contains(Templates, w.Template) {
		script += "\n" + embedded("templates/"+w.Template+".py")
	}
	if w.Template == "benchmark" {
		script += "\n" + embedded("python/benchmark.py")
	}
	own := bindings(script)
	for _, text := range append(append(slices.Clone(s.Constants), s.Functions...), w.source.def) {
		for name := range bindings(text) {
			if own[name] {
				return name
			}
		}
	}
	for _, text := range s.Imports {
		// The same import twice is no clash.
		for name := range bindings(text) {
			if own[name] && !strings.Contains(script, strings.TrimSpace(text)) {
				return name
			}
		}
	}
	return ""
}

var binding = regexp.MustCompile(`(?m)^(?:def (\w+)|class (\w+)|(\w+)(?::[^=\n]*)? = |import (\w+)$|(?:import|from) .*?(\w+)$)`)

func bindings(code string) map[string]bool {
	names := map[string]bool{}
	for _, m := range binding.FindAllStringSubmatch(code, -1) {
		for _, name := range m[1:] {
			if name != "" {
				names[name] = true
			}
		}
	}
	return names
}

// originalFile says why the kernel cannot be imported from where it was.
func (w *work) originalFile() error {
	p := w.built.Python
	if p == nil || p.File == "" || w.source == nil {
		return fmt.Errorf("the trace does not say which file %s is in", w.built.Name)
	}
	text, err := os.ReadFile(p.File)
	if err != nil {
		return fmt.Errorf("its file %s is not on this machine", p.File)
	}
	if !regexp.MustCompile(`(?m)^def ` + w.source.name + `\b`).Match(text) {
		return fmt.Errorf("%s has no function %s outside of others", p.File, w.source.name)
	}
	return nil
}

// importKernel has the script import the original file.
func (w *work) importKernel() error {
	p := w.built.Python
	if p == nil || p.File == "" || w.source == nil {
		return fmt.Errorf("import the kernel: %w; --kernel-import override-ttir needs no source", w.originalFile())
	}
	if err := w.originalFile(); err != nil {
		w.note("the script imports %s, which works only where the original is: %v", p.File, err)
	}
	root, module := packageOf(p.File)
	w.kernel.sysPath = fmt.Sprintf("import sys\n\nsys.path.insert(0, %s)\n", quote(root))
	var b strings.Builder
	b.WriteString(embedded("python/original.py") + "\n\n")
	if strings.Contains(module, ".") {
		fmt.Fprintf(&b, "from %s import %s as imported_kernel_function\n", module, w.source.name)
	} else {
		fmt.Fprintf(&b, "_spec = importlib.util.spec_from_file_location(%s, %s)\n", quote(module+"_reproduced"), quote(p.File))
		fmt.Fprintf(&b, "_module = importlib.util.module_from_spec(_spec)\nsys.modules[_spec.name] = _module\n_spec.loader.exec_module(_module)\n")
		fmt.Fprintf(&b, "imported_kernel_function = _module.%s\n", w.source.name)
	}
	if !w.PreserveAutotune {
		b.WriteString("imported_kernel_function = _unwrapped(imported_kernel_function)\n")
	}
	w.kernel.code = b.String()
	return nil
}

// packageOf is the folder that a file is imported from and its name there, with dots if it is in a package.
func packageOf(file string) (root, module string) {
	root, module = filepath.Dir(file), strings.TrimSuffix(filepath.Base(file), ".py")
	if !isIdentifier(module) {
		return root, "kernel_file"
	}
	for isIdentifier(filepath.Base(root)) {
		if _, err := os.Stat(filepath.Join(root, "__init__.py")); err != nil {
			break
		}
		root, module = filepath.Dir(root), filepath.Base(root)+"."+module
	}
	return root, module
}

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

var ttgirWarps = regexp.MustCompile(`"ttg\.num-warps"\s*=\s*(\d+)`)

// compileOptions are those that the compilation had and that a launch must ask for again.
func (w *work) compileOptions() []option {
	if w.PreserveAutotune {
		return nil
	}
	value := func(name string) string { return string(jsontext.Get(w.built.Metadata, name)) }
	var options []option
	add := func(name, v string) {
		if v != "" && v != "null" && !slices.ContainsFunc(w.params, func(p param) bool { return p.name == name }) {
			options = append(options, option{name, pyLiteral([]byte(v))})
		}
	}
	warps := value("num_warps")
	if base := value("num_warps_base"); base != "" && base != "null" {
		warps = base
	} else if m := ttgirWarps.FindStringSubmatch(w.built.Texts["ttgir"]); m != nil {
		warps = m[1] // of the groups that the user asked for; the compiler may have added others
	}
	add("num_warps", warps)
	add("num_stages", value("num_stages"))
	for _, name := range []string{"maxnreg", "num_ctas", "num_buffers_warp_spec", "num_consumer_groups", "reg_dec_producer", "reg_inc_consumer", "waves_per_eu", "matrix_instr_nonkdim"} {
		if v := value(name); v != "0" && (v != "1" || name == "maxnreg") {
			add(name, v)
		}
	}
	for _, name := range []string{"launch_cooperative_grid", "launch_pdl", "debug"} {
		if value(name) == "true" {
			add(name, "true")
		}
	}
	if value("enable_fp_fusion") == "false" {
		add("enable_fp_fusion", "false")
	}
	return options
}

// invocation is the launch: arguments by position up to the first that is a constant, then by name.
func (w *work) invocation() string {
	var b strings.Builder
	if n, err := strconv.Atoi(string(jsontext.Get(w.built.Metadata, "global_scratch_size"))); err == nil && n > 0 {
		fmt.Fprintf(&b, "_set_allocator(%s)\n", quote(w.device()+":0"))
	}
	if w.PreserveAutotune {
		b.WriteString("compiled = imported_kernel_function[_grid](\n    **{name: value for name, value in args_dict.items() if name not in _told_by_tuner(imported_kernel_function)}\n)\n")
		return b.String()
	}
	b.WriteString("compiled = imported_kernel_function[tuple(grid)](\n")
	byName := false
	positional := slices.ContainsFunc(w.params, func(p param) bool { return p.name == "grid" || p.name == "warmup" || p.name == "self" })
	for _, p := range w.params {
		if !w.has(p.name) { // its default serves; what comes later must be given by name
			byName = true
			continue
		}
		byName = byName || !positional && (p.constexpr || p.defaults != "")
		if byName {
			fmt.Fprintf(&b, "    %s=args_dict[%s],\n", p.name, quote(p.name))
		} else {
			fmt.Fprintf(&b, "    args_dict[%s],\n", quote(p.name))
		}
	}
	for _, o := range w.kernel.options {
		fmt.Fprintf(&b, "    %s=%s,\n", o.name, o.value)
	}
	b.WriteString(")\n")
	return b.String()
}
