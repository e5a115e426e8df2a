package reproduce

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// recordedSurroundings reads the functions, classes and constants that a kernel uses from a trace that GoProton wrote.
func (w *work) recordedSurroundings() *surroundings {
	c := &recordedCode{dependencies: w.built.Extra.Dependencies, globals: w.built.Extra.Globals, kernel: w.source.name, exact: w.failed,
		meanings: map[string]string{w.source.name: w.built.Extra.Module}, surroundings: &surroundings{Aliases: map[string][]string{}}}
	if t := w.tuning(); t != nil && w.PreserveAutotune {
		c.dependencies = append(slices.Clone(c.dependencies), t.Dependencies...)
		c.globals = append(slices.Clone(c.globals), t.Globals...)
	}
	c.code = w.source.def
	for _, d := range c.dependencies {
		c.code += d.Code
	}
	for _, g := range c.globals {
		c.addGlobal(g)
	}
	for _, d := range c.dependencies {
		c.addDependency(d)
	}
	for _, module := range c.modules {
		c.Aliases[module] = append([]string{}, c.Aliases[module]...) // also of one that has nothing but modules
	}
	maps.DeleteFunc(c.Aliases, func(module string, _ []string) bool { return !c.spreadOut(module) })
	return c.surroundings
}

// tuning returns what the kernel's autotuner and heuristics use, which one of its compilations has.
func (w *work) tuning() *tritonparse.Tuning {
	for _, c := range w.trace.Compilations() {
		if x := c.Extra; x != nil && x.Tuning != nil && x.Function == w.built.Extra.Function && x.Module == w.built.Extra.Module {
			return x.Tuning
		}
	}
	return nil
}

// spreadOut reports whether the script defines a module's members itself, and those of the packages that it is in. An imported
// module has all of its members.
func (c *recordedCode) spreadOut(module string) bool {
	for i := 0; i <= len(module); i++ {
		if (i == len(module) || module[i] == '.') && !slices.Contains(c.modules, module[:i]) {
			return false
		}
	}
	return true
}

// recordedCode collects surroundings from what a trace has of them.
type recordedCode struct {
	*surroundings
	dependencies []tritonparse.Dependency
	globals      []tritonparse.Global
	kernel       string
	exact        bool              // constants are not wrapped so that kernels can read them
	code         string            // of the kernel and its helpers
	modules      []string          // of the program, as the kernel calls them
	meanings     map[string]string // what each name stands for
	depth        int               // of the value that is written
}

// means notes what a name stands for, and reports whether it is free or stands for the same already. Helpers from several files
// may use one name for different things, of which a script, which is one file, can have only one.
func (c *recordedCode) means(name, what string) bool {
	if other, ok := c.meanings[name]; ok && other != what {
		c.Missing = append(c.Missing, fmt.Sprintf("%s (one is %s, another %s)", name, strings.TrimSpace(other), strings.TrimSpace(what)))
		return false
	}
	c.meanings[name] = what
	return true
}

// addGlobal adds what a name of the kernel, or of a helper, stands for. A name with dots is a member of a module.
func (c *recordedCode) addGlobal(g tritonparse.Global) {
	if root, _, _ := strings.Cut(g.Name, "."); !isDotted(g.Name) || isBuiltin(root) {
		c.refuse(g.Name)
		return
	}
	value := jsontext.Text(g.Value)
	switch g.Type {
	case "module":
		if c.means(g.Name, value) {
			c.addModule(g.Name, value)
		}
	case "import":
		module, name, _ := strings.Cut(value, ":")
		if !isDotted(module) || !isDotted(name) {
			c.refuse(value)
			return
		}
		c.addImport(g.Name, module, name)
	case "alias":
		i := slices.IndexFunc(c.dependencies, func(d tritonparse.Dependency) bool { return d.Name == value })
		if i < 0 || c.dependencies[i].Qualname == "" && preinstalled(c.dependencies[i].Module) || !isIdentifier(value) {
			return // addDependency says why
		}
		what := c.dependencies[i].Module // the meaning of a name that the function itself has
		if g.Name != value {
			what = "another name for " + value
		}
		if c.means(g.Name, what) {
			c.bind(&c.Functions, g.Name, value)
		}
	default:
		c.addConstant(g)
	}
}

// bind gives a value a name: that of a member of a module if it has dots, otherwise one that is defined among others.
func (c *recordedCode) bind(among *[]string, name, value string) {
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		c.Aliases[name[:dot]] = append(c.Aliases[name[:dot]], name[dot+1:]+" = "+value)
		return
	}
	*among = append(*among, name+" = "+value+"\n")
}

// refuse notes a text that is not a name in Python where a name is needed.
func (s *surroundings) refuse(name string) {
	s.Missing = append(s.Missing, fmt.Sprintf("%q (no script can use that name)", name))
}

// addImport imports a function or class, which may be in a class, under a name.
func (c *recordedCode) addImport(name, module, qualname string) {
	root, inner, nested := strings.Cut(qualname, ".")
	local := root
	if !nested && !strings.Contains(name, ".") {
		local = name
	}
	if !c.means(local, module+":"+root) {
		return
	}
	c.Imports = append(c.Imports, importFrom(module, root, local))
	c.needs(module)
	if nested {
		local += "." + inner
	}
	if local != name && c.means(name, module+":"+qualname) {
		c.bind(&c.Functions, name, local)
	}
}

func importFrom(module, name, local string) string {
	if name == local {
		return fmt.Sprintf("from %s import %s\n", module, name)
	}
	return fmt.Sprintf("from %s import %s as %s\n", module, name, local)
}

// addDependency adds a helper to the script, or an import if it comes with torch or triton, as in older traces.
func (c *recordedCode) addDependency(d tritonparse.Dependency) {
	switch {
	case !isDotted(d.Module):
		c.refuse(d.Module)
		return
	case !isIdentifier(d.Name): // a lambda
		c.Missing = append(c.Missing, fmt.Sprintf("%s of %s, a function without a name", d.Name, d.Module))
		return
	case d.Qualname == "" && preinstalled(d.Module):
		if regexp.MustCompile(`(?m)(^|[^.\w])` + d.Name + `\b`).MatchString(c.code) {
			c.Imports = append(c.Imports, fmt.Sprintf("from %s import %s\n", d.Module, d.Name))
		}
		return
	case !c.means(d.Name, d.Module):
		return
	}
	code, ok := c.dependencyCode(d)
	if !ok {
		c.Missing = append(c.Missing, fmt.Sprintf("%s of %s, which has no source", d.Name, d.Module))
		return
	}
	c.Functions = append(c.Functions, code)
	if d.Qualname != "" {
		return // aliases say which modules it is used through
	}
	for _, g := range c.globals {
		if g.Type == "module" && strings.Contains(c.code, g.Name+"."+d.Name) {
			c.bind(&c.Functions, g.Name+"."+d.Name, d.Name)
		}
	}
}

// addModule imports a module, unless it is the program's own and the trace has all that the kernel uses of it.
func (c *recordedCode) addModule(name, module string) {
	if !isDotted(module) {
		c.refuse(module)
		return
	}
	uses := regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\.(\w+)`).FindAllStringSubmatch(c.code, -1)
	known := len(uses) > 0
	for _, use := range uses {
		known = known && (slices.ContainsFunc(c.dependencies, func(d tritonparse.Dependency) bool { return d.Qualname == "" && d.Name == use[1] }) ||
			slices.ContainsFunc(c.globals, func(g tritonparse.Global) bool { return g.Name == name+"."+use[1] }))
	}
	if known && !preinstalled(module) {
		c.modules = append(c.modules, name)
		return
	}
	c.Imports = append(c.Imports, importOf(name, module))
	if strings.Contains(name, ".") && name != module {
		c.bind(&c.Functions, name, module)
	}
	c.needs(module)
}

// needs notes that a module has to be installed.
func (s *surroundings) needs(module string) {
	if root, _, _ := strings.Cut(module, "."); !preinstalled(module) && !slices.Contains(s.Packages, root) {
		s.Packages = append(s.Packages, root)
	}
}

func importOf(name, module string) string {
	if name == module || strings.Contains(name, ".") {
		return "import " + module + "\n"
	}
	return fmt.Sprintf("import %s as %s\n", module, name)
}

// preinstalled reports whether a module comes with torch, triton or Python.
func preinstalled(module string) bool {
	root, _, _ := strings.Cut(module, ".")
	return slices.Contains([]string{"torch", "triton", "math", "builtins", "typing", "functools", "operator", "itertools", "copy", "enum", "dataclasses",
		"abc", "collections", "decimal", "fractions", "numbers", "os", "sys", "types", "typing_extensions", "warnings"}, root)
}

// dependencyCode is the source of a helper, with decorators that need triton alone; false if the trace does not have it.
func (c *recordedCode) dependencyCode(d tritonparse.Dependency) (string, bool) {
	if d.Code == "" {
		return c.classWithoutSource(d)
	}
	f := findFunction(d.Code, d.Name, 1)
	if f == nil || d.Kind == "class" || d.Kind == "python" {
		return dedent(strings.TrimRight(d.Code, " \t\n") + "\n"), true
	}
	if d.Kind == "constexpr_function" {
		return "@triton.constexpr_function\n" + f.def, true
	}
	return c.jitDecorator(f, d.Kind, d.Options) + "\n" + f.def, true
}

// jitDecorator is a decorator that makes a function of Triton or Gluon with the options that the trace has, by value, or, of older
// traces, with those that stand in the source.
func (s *surroundings) jitDecorator(f *function, kind string, given tritonparse.Options) string {
	name := "@triton.jit"
	text := f.jitDecorator(func(o string) bool { return !namesLaunches(o) })
	callee, options, _ := strings.Cut(text, "(")
	if kind == "gluon" || kind == "" && strings.Contains(callee, "gluon") {
		name = "@gluon.jit"
		s.Imports = append(s.Imports, "from triton.experimental import gluon\n")
	}
	if given != nil {
		if options = strings.Join(literalOptions(given), ", "); options != "" {
			options += ")"
		}
	}
	if options == "" {
		return name
	}
	return name + "(" + options
}

// literalOptions are recorded options as arguments of triton.jit.
func literalOptions(given tritonparse.Options) (list []string) {
	for _, option := range sortedKeys(given) {
		if value, ok := pythonLiteral(given[option]); ok && slices.Contains([]string{"do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug"}, option) {
			list = append(list, option+"="+value)
		}
	}
	return list
}

// classWithoutSource makes a class that was made by a call: a named tuple or an enumeration.
func (c *recordedCode) classWithoutSource(d tritonparse.Dependency) (string, bool) {
	members, ok := pythonLiteral(d.Members)
	module, callee := "collections", "namedtuple"
	switch {
	case len(d.Members) == 0 || !ok:
		return "", false
	case slices.Contains([]string{"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}, d.Base):
		module, callee = "enum", d.Base
	case d.Base != "tuple":
		return "", false
	}
	c.Imports = append(c.Imports, importFrom(module, callee, callee))
	return fmt.Sprintf("%s = %s(%s, %s)\n", d.Name, callee, pythonQuote(d.Name), members), true
}
