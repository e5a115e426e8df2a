package reproduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goproton/goproton/tritonparse/nearby"
)

// original returns the name of the kernel in the module of its file, such as Ops.kernel for that of a class, and an error if it
// cannot be imported from there.
func (w *work) original() (name string, err error) {
	p := w.built.Python
	if p == nil || p.File == "" || w.source == nil {
		return "", fmt.Errorf("the trace does not say which file %s is in", w.built.Name)
	}
	file, refused := w.sourceFile()
	if refused != "" {
		return "", errors.New(refused)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return w.source.name, fmt.Errorf("its file %s is not on this machine", p.File)
	}
	if name = qualified(string(text), w.source.name, p.FunctionStart); name == "" {
		return w.source.name, fmt.Errorf("%s %w %s", p.File, errInFunction, w.source.name)
	}
	return name, nil
}

var errInFunction = errors.New("has, outside of functions, no")

// sourceFile returns the kernel's original file, "" if it is not on this machine. A file outside of the trace's folder and of the
// folders that the user names is refused, because the script would contain parts of it, or run it.
func (w *work) sourceFile() (file, refused string) {
	p := w.built.Python
	if p == nil {
		return "", ""
	}
	if file = w.sources().Find(w.launch.File, nearby.Python, p.File); file == "" && w.sources().Outside(w.launch.File, nearby.Python, p.File) != "" {
		refused = fmt.Sprintf("its file %s lies outside of the trace's folder: --files-from %s lets scripts use it", p.File, filepath.Dir(p.File))
	}
	return file, refused
}

func (w *work) importable() bool {
	_, err := w.original()
	return err == nil
}

var classLine = regexp.MustCompile(`^class\s+(\w+)`)

// qualified returns the name under which a module has a function, which may be in classes and in branches of an if; "" if it is
// only within other functions. Of several it takes the one at that line, else the first.
func qualified(code, name string, at int) (found string) {
	type block struct {
		margin   int
		name     string // of a class
		function bool
	}
	var around []block
	begin := 0 // where the decorators of what comes next begin
	for _, line := range logicalLines(code) {
		text := code[line.start:line.end]
		bare := strings.TrimSpace(text)
		if bare == "" || bare[0] == '#' {
			continue
		}
		if begin == 0 {
			begin = line.number
		}
		if bare[0] == '@' {
			continue
		}
		margin := indentation(text)
		for len(around) > 0 && around[len(around)-1].margin >= margin {
			around = around[:len(around)-1]
		}
		switch class, def := classLine.FindStringSubmatch(bare), defLine.FindStringSubmatch(bare); {
		case class != nil:
			around = append(around, block{margin, class[1], false})
		case def != nil:
			path, hidden := "", false
			for _, b := range around {
				hidden = hidden || b.function
				path += b.name + "."
			}
			if def[1] == name && !hidden && (found == "" || begin == at) {
				found = path + name
			}
			around = append(around, block{margin, def[1], true})
		}
		begin = 0
	}
	return found
}

// importKernel has the script import the original file.
func (w *work) importKernel() error {
	name, problem := w.original()
	if name == "" {
		return fmt.Errorf("import the kernel: %w; --kernel-import override-ttir needs no source", problem)
	}
	p := w.built.Python
	if problem != nil && !strings.HasSuffix(p.File, ".py") { // <ipython-input-3-…>, <string>
		return fmt.Errorf("import the kernel: %w, and it belongs to no module, as in notebooks and strings; --kernel-import copy or override-ttir needs none", problem)
	}
	if problem != nil {
		w.note("the script imports %s, which works only where the original is: %v", p.File, problem)
	}
	root, module := packageOf(p.File)
	w.kernel.sysPath = fmt.Sprintf("import sys\n\nsys.path.insert(0, %s)\n", pythonQuote(root))
	var b strings.Builder
	b.WriteString(embedded("python/original.py") + "\n\n")
	if strings.Contains(module, ".") {
		fmt.Fprintf(&b, "_module = importlib.import_module(%s)\n", pythonQuote(module))
	} else {
		fmt.Fprintf(&b, "_spec = importlib.util.spec_from_file_location(%s, %s)\n", pythonQuote(module+"_reproduced"), pythonQuote(p.File))
		fmt.Fprintf(&b, "_module = importlib.util.module_from_spec(_spec)\nsys.modules[_spec.name] = _module\n_spec.loader.exec_module(_module)\n")
	}
	var options []string
	if x := w.built.Extra; x != nil {
		options = literalOptions(x.Options)
	}
	fmt.Fprintf(&b, "imported_kernel_function = _compilable(_module.%s%s)\n", name, strings.Join(append([]string{""}, options...), ", "))
	if !w.PreserveAutotune {
		b.WriteString("imported_kernel_function = _unwrapped(imported_kernel_function)\n")
	}
	for _, g := range w.given() {
		if !g.inText && g.importable() {
			fmt.Fprintf(&b, "%s = %s.%s\n", g.bound(), w.moduleOf(g, module), g.name)
		}
	}
	w.kernel.code = b.String()
	return nil
}

// moduleOf is Python for the module of a function or class among the arguments. __main__ is taken for the kernel's file, because no other
// is known.
func (w *work) moduleOf(g givenObject, kernels string) string {
	own := kernels
	if x := w.built.Extra; x != nil && x.Module != "" {
		own = x.Module
	}
	if g.module == "__main__" || g.module == own {
		return "_module"
	}
	return "importlib.import_module(" + pythonQuote(g.module) + ")"
}

// packageOf returns the folder that a file is imported from, and the name of its module, with dots if it is in a package.
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
