package reproduce

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
)

// copyKernel puts the source of the kernel, and of all that it uses, into the script. asked says that the user wants this way: then
// a script with unknown helpers is better than none.
func (w *work) copyKernel(asked bool) error {
	if w.source == nil {
		return fmt.Errorf("the trace has no Python source of %s", w.built.Name)
	}
	s, why, err := w.findSurroundings()
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

// findSurroundings takes what the kernel uses from the trace, or from the original files if these are there and the trace lacks some
// of it, as those of tritonparse and GoProton's older ones do.
func (w *work) findSurroundings() (s *surroundings, why string, err error) {
	if w.traceHasAll() {
		s = w.recordedSurroundings()
		inText := slices.ContainsFunc(w.given(), func(g givenObject) bool { return g.inText })
		if why = "the trace has its source and that of all it uses"; len(s.Missing)+len(s.Packages) == 0 && !inText || !w.importable() {
			return s, why, nil
		}
	}
	collected, err := w.collect()
	if s != nil && (err != nil || len(collected.Missing) > 0) {
		return s, why, nil
	}
	if why = "its source is in the trace, and what it uses was read from the original files"; err == nil &&
		len(collected.Constants)+len(collected.Functions)+len(collected.Aliases) == 0 {
		why = "its source is in the trace, and it uses no other"
	}
	return collected, why, err
}

// traceHasAll reports whether the trace has all that the kernel uses. GoProton's older traces lack what autotuners use.
func (w *work) traceHasAll() bool {
	x := w.built.Extra
	if x == nil || x.Globals == nil || w.lacksGiven() {
		return false
	}
	return !w.PreserveAutotune || x.Qualname != "" || len(w.tuners()) == 0
}

// tuners are the kernel's decorators that choose configurations.
func (w *work) tuners() []string {
	i := w.source.jit()
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.source.decorators[:i]), ofClass)
}

// copied is the script's part for the kernel: imports, constants, helpers, aliases, and then the kernel.
func (w *work) copied(s *surroundings) string {
	s.Imports = append([]string{"import triton\n", "import triton.language as tl\n"}, s.Imports...)
	kind, given := "", tritonparse.Options(nil)
	if x := w.built.Extra; x != nil {
		kind, given = x.Kind, x.Options
	}
	decorators := []string{s.jitDecorator(w.source, kind, given)}
	if w.PreserveAutotune {
		decorators = append(w.tuners(), decorators...)
	}
	if len(s.Aliases) > 0 {
		s.Imports = append(s.Imports, "import types\n")
	}
	definitions := inOrder(unique(slices.Concat(s.Constants, s.Functions, aliases(s.Aliases))))
	var b strings.Builder
	b.WriteString(strings.Join(unique(s.Imports), ""))
	for i, d := range definitions {
		d = strings.TrimRight(d, "\n") + "\n"
		switch {
		case isBlock(d):
			b.WriteString("\n\n")
		case i == 0 || isBlock(definitions[i-1]):
			b.WriteString("\n")
		}
		b.WriteString(d)
	}
	fmt.Fprintf(&b, "\n\n%s\n%s\n\n\n", strings.Join(decorators, "\n"), strings.TrimRight(w.source.def, "\n"))
	fmt.Fprintf(&b, "imported_kernel_function = %s\n", w.source.name)
	return b.String()
}

// isBlock reports whether a definition takes several lines.
func isBlock(definition string) bool {
	return strings.Contains(strings.TrimRight(definition, "\n"), "\n")
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

// aliases is Python for modules of the program through which the kernel uses helpers, as in module.helper: a definition for each
// module that is not in another.
func aliases(modules map[string][]string) (definitions []string) {
	var b strings.Builder
	names := sortedKeys(modules)
	for i, name := range names {
		fmt.Fprintf(&b, "%s = types.ModuleType(%s)\n", name, pythonQuote(name))
		for _, member := range unique(modules[name]) {
			if !strings.Contains(member, " = ") {
				member += " = " + member
			}
			fmt.Fprintf(&b, "%s.%s\n", name, member)
		}
		root, _, _ := strings.Cut(name, ".")
		if i+1 == len(names) || !strings.HasPrefix(names[i+1], root+".") {
			definitions = append(definitions, b.String())
			b.Reset()
		}
	}
	return definitions
}

// clash is a name that both the script and the code copied into it bind, "" if there is none.
func (w *work) clash(s *surroundings) string {
	script, own := w.scriptCode(), w.scriptNames()
	taken := func(name string) bool { return own[name] || isBuiltin(name) }
	for module := range s.Aliases {
		if root, _, _ := strings.Cut(module, "."); taken(root) {
			return root
		}
	}
	for _, text := range append(append(slices.Clone(s.Constants), s.Functions...), w.source.def) {
		for name := range bindings(text) {
			if taken(name) && text != filled {
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

var bindingLine = regexp.MustCompile(`(?m)^(?:def (\w+)|class (\w+)|(\w+)(?:\.\w+)*(?::[^=\n]*)? = |import (\w+)$|(?:import|from) .*?(\w+)$)`)

func bindings(code string) map[string]bool {
	names := map[string]bool{}
	for _, m := range bindingLine.FindAllStringSubmatch(code, -1) {
		for _, name := range m[1:] {
			if name != "" {
				names[name] = true
			}
		}
	}
	return names
}
