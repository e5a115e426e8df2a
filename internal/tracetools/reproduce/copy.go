package reproduce

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
)

// copyKernel puts the source of the kernel, and of all that it uses, into the script. asked says that the user wants this way: then
// a script with unknown helpers is better than none.
func (w *work) copyKernel(asked bool) error {
	if w.source == nil {
		return fmt.Errorf("the trace has no Python source of %s", w.built.Name)
	}
	why, err := "the trace has its source and that of all it uses", error(nil)
	var s *surroundings
	if w.built.Extra != nil && w.built.Extra.Globals != nil && !w.PreserveAutotune && !w.lacksGiven() {
		s, err = w.recordedSurroundings()
	} else {
		why = "its source is in the trace, and what it uses was read from the original files"
		s, err = w.collect()
		if err == nil && len(s.Constants)+len(s.Functions)+len(s.Aliases) == 0 {
			why = "its source is in the trace, and it uses no other"
		}
	}
	if errors.Is(err, errNoPython) && (asked || !w.importable()) {
		why = "its source is in the trace"
		w.note("helpers and constants that the kernel uses were not looked for, because there is no %s; name a Python interpreter with --python", w.python())
		s, err = &surroundings{Imports: guessImports(w.source.def)}, nil
	}
	if err != nil {
		return err
	}
	if len(s.Missing) > 0 {
		problem := fmt.Errorf("%s uses %s: neither the trace nor %s on this machine has the definitions that a script needs", w.source.name, strings.Join(s.Missing, ", "), w.built.Python.File)
		if _, refused := w.sourceFile(); refused != "" {
			return fmt.Errorf("%w; %s", problem, refused)
		}
		return problem
	}
	if clash := w.clash(s); clash != "" {
		return fmt.Errorf("%s uses the name %s, which the script uses for something else; use --kernel-import default or override-ttir", w.source.name, clash)
	}
	if w.result.Why == "" {
		w.result.Why = why
	}
	for _, name := range s.Changed {
		w.note("%s has changed in %s since it was recorded; the script has the helpers and constants of the file as it is now", name, w.built.Python.File)
	}
	if len(s.Packages) > 0 {
		w.note("the kernel's source needs installed packages in addition to torch and triton: %s", strings.Join(s.Packages, ", "))
	}
	w.kernel.code = w.copied(s)
	return nil
}

// copied is the script's part for the kernel: imports, constants, helpers, aliases, and then the kernel.
func (w *work) copied(s *surroundings) string {
	imports := append([]string{"import triton\n", "import triton.language as tl\n"}, s.Imports...)
	decorators := []string{w.source.jitDecorator(func(o string) bool { return !namesLaunches(o) })}
	if w.PreserveAutotune {
		if i := w.source.jit(); i >= 0 {
			tuners := slices.DeleteFunc(slices.Clone(w.source.decorators[:i]), ofClass)
			decorators = append(tuners, decorators...)
		}
	}
	// The last decorator makes the kernel. It gets the name under which the script imports it.
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

// ofClass says whether a decorator has a meaning only within a class. The copied kernel is in none.
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

// aliases is Python for modules of the program through which the kernel uses helpers, as in module.helper.
func aliases(modules map[string][]string) string {
	var b strings.Builder
	for i, name := range sortedKeys(modules) {
		if i == 0 {
			b.WriteString("import types\n\n")
		}
		fmt.Fprintf(&b, "%s = types.ModuleType(%s)\n", name, foreign.Quote(name))
		for _, member := range modules[name] {
			if !strings.Contains(member, " = ") {
				member += " = " + member
			}
			fmt.Fprintf(&b, "%s.%s\n", name, member)
		}
	}
	return b.String()
}

// clash is a name that both the script and the code copied into it bind, "" if there is none.
func (w *work) clash(s *surroundings) string {
	script, own := w.scriptCode(), w.scriptNames()
	taken := func(name string) bool { return own[name] || foreign.IsBuiltin(name) }
	for module := range s.Aliases {
		if root, _, _ := strings.Cut(module, "."); taken(root) {
			return root
		}
	}
	for _, text := range append(append(slices.Clone(s.Constants), s.Functions...), w.source.def) {
		for name := range bindings(text) {
			if taken(name) {
				return name
			}
		}
	}
	for _, text := range s.Imports {
		// The same import twice does not clash.
		for name := range bindings(text) {
			if taken(name) && !strings.Contains(script, strings.TrimSpace(text)) {
				return name
			}
		}
	}
	return ""
}

var binding = regexp.MustCompile(`(?m)^(?:def (\w+)|class (\w+)|(\w+)(?:\.\w+)*(?::[^=\n]*)? = |import (\w+)$|(?:import|from) .*?(\w+)$)`)

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
