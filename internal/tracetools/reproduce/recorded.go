package reproduce

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// recordedSurroundings reads the functions and constants that a kernel uses from a trace that GoProton wrote.
func (w *work) recordedSurroundings() (*surroundings, error) {
	extra := w.built.Extra
	c := &recordedCode{extra: extra, code: w.allCode(), meanings: map[string]string{w.source.name: extra.Module},
		surroundings: &surroundings{Aliases: map[string][]string{}}}
	for _, g := range extra.Globals {
		c.addGlobal(g)
	}
	for _, d := range extra.Dependencies {
		c.addDependency(d)
	}
	for _, g := range extra.Globals {
		if name := jsontext.Text(g.Value); g.Type == "alias" && slices.ContainsFunc(extra.Dependencies, func(d tritonparse.Dependency) bool {
			return d.Name == name && !preinstalled(d.Module)
		}) {
			c.Functions = append(c.Functions, fmt.Sprintf("%s = %s\n", g.Name, name))
		}
	}
	for _, module := range c.modules {
		c.Aliases[module] = append([]string{}, c.Aliases[module]...) // also of one that has nothing but modules
	}
	maps.DeleteFunc(c.Aliases, func(module string, _ []string) bool { return !c.spreadOut(module) })
	return c.surroundings, nil
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
	extra    *tritonparse.Extension
	code     string            // of the kernel and its helpers
	modules  []string          // of the program, as the kernel calls them
	meanings map[string]string // what each name stands for
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

func (c *recordedCode) addGlobal(g tritonparse.Global) {
	if root, _, _ := strings.Cut(g.Name, "."); !foreign.IsDotted(g.Name) || foreign.IsBuiltin(root) {
		c.refuse(g.Name)
		return
	}
	value := jsontext.Text(g.Value)
	what := value
	if what == "" {
		what = string(g.Value)
	}
	if !c.means(g.Name, what) {
		return
	}
	switch g.Type {
	case "module":
		c.addModule(g.Name, value)
	case "import":
		module, name, _ := strings.Cut(value, ":")
		if !foreign.IsDotted(module) || !foreign.IsIdentifier(name) || !foreign.IsIdentifier(g.Name) {
			c.refuse(value)
			return
		}
		c.Imports = append(c.Imports, fmt.Sprintf("from %s import %s as %s\n", module, name, g.Name))
		c.needs(module)
	case "alias": // below, behind the functions
	default:
		c.addConstant(g)
	}
}

// refuse notes a text that is not a name in Python where a name is needed.
func (s *surroundings) refuse(name string) {
	s.Missing = append(s.Missing, fmt.Sprintf("%q (no script can use that name)", name))
}

// addDependency adds a helper to the script, or an import if it comes with torch or triton.
func (c *recordedCode) addDependency(d tritonparse.Dependency) {
	switch {
	case !foreign.IsDotted(d.Module):
		c.refuse(d.Module)
		return
	case !foreign.IsIdentifier(d.Name): // a lambda
		c.Missing = append(c.Missing, fmt.Sprintf("%s of %s, a function without a name", d.Name, d.Module))
		return
	case preinstalled(d.Module):
		if regexp.MustCompile(`(?m)(^|[^.\w])` + d.Name + `\b`).MatchString(c.code) {
			c.Imports = append(c.Imports, fmt.Sprintf("from %s import %s\n", d.Module, d.Name))
		}
		return
	case !c.means(d.Name, d.Module):
		return
	}
	c.Functions = append(c.Functions, dependencyCode(d))
	for _, module := range c.modules {
		if strings.Contains(c.code, module+"."+d.Name) {
			c.Aliases[module] = append(c.Aliases[module], d.Name)
		}
	}
}

// addModule imports a module, unless it is the program's own and the trace has all that the kernel uses of it.
func (c *recordedCode) addModule(name, module string) {
	if !foreign.IsDotted(module) {
		c.refuse(module)
		return
	}
	uses := regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\.(\w+)`).FindAllStringSubmatch(c.code, -1)
	known := len(uses) > 0
	for _, use := range uses {
		known = known && (slices.ContainsFunc(c.extra.Dependencies, func(d tritonparse.Dependency) bool { return d.Name == use[1] }) ||
			slices.ContainsFunc(c.extra.Globals, func(g tritonparse.Global) bool { return g.Name == name+"."+use[1] }))
	}
	if known && !preinstalled(module) {
		c.modules = append(c.modules, name)
		return
	}
	c.Imports = append(c.Imports, importOf(name, module))
	c.needs(module)
}

// needs notes that a module has to be installed.
func (s *surroundings) needs(module string) {
	if root, _, _ := strings.Cut(module, "."); !preinstalled(module) && !slices.Contains(s.Packages, root) {
		s.Packages = append(s.Packages, root)
	}
}

// allCode is the source of the kernel and its helpers.
func (w *work) allCode() string {
	code := w.source.def
	for _, d := range w.built.Extra.Dependencies {
		code += d.Code
	}
	return code
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
	return slices.Contains([]string{"torch", "triton", "math", "builtins", "typing", "functools", "operator", "itertools", "copy", "enum", "dataclasses"}, root)
}

// dtypeName is what is within triton.language.core.dtype('fp32').
var dtypeName = regexp.MustCompile(`^.*dtype\('(.*)'\)$`)

// addConstant adds a constant in a form that Triton lets kernels read.
func (s *surroundings) addConstant(g tritonparse.Global) {
	value, ok := constantValue(g)
	if !ok {
		shown := jsontext.Text(g.Value)
		if shown == "" {
			shown = string(g.Value)
		}
		s.Missing = append(s.Missing, fmt.Sprintf("%s (a %s, %s)", g.Name, g.Type, strings.TrimSpace(shown)))
		return
	}
	if dot := strings.LastIndexByte(g.Name, '.'); dot >= 0 {
		s.Aliases[g.Name[:dot]] = append(s.Aliases[g.Name[:dot]], g.Name[dot+1:]+" = "+value)
		return
	}
	s.Constants = append(s.Constants, fmt.Sprintf("%s = %s\n", g.Name, value))
}

// constantValue is the Python expression of a constant; false if the trace has only a text of it.
func constantValue(g tritonparse.Global) (value string, ok bool) {
	switch g.Type {
	case "str": // also one that reads nan
		value, ok = foreign.Quote(jsontext.Text(g.Value)), true
	case "constexpr", "int", "float", "bool", "NoneType":
		value, ok = foreign.Literal(g.Value)
	case "tuple":
		value, ok = foreign.Tuple(g.Value)
	case "list":
		return foreign.Literal(g.Value)
	case "dtype":
		name := dtypeName.ReplaceAllString(jsontext.Text(g.Value), "$1")
		if strings.HasPrefix(name, "torch.") {
			return name, foreign.IsTorchType(name)
		}
		return "tl.dtype(" + foreign.Quote(name) + ")", true
	default: // a number of numpy's, or a member of an enumeration of numbers
		value, ok = numericValue(g.Value)
	}
	return "tl.constexpr(" + value + ")", ok
}

// numericValue returns a number as Python, recorded as a number or as text.
func numericValue(raw []byte) (string, bool) {
	text := jsontext.Text(raw)
	if text == "" {
		text = string(raw)
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return "", false
	case !finite(f):
		return foreign.Literal(raw)
	}
	if value, ok := foreign.Literal([]byte(text)); ok { // whole numbers stay exact
		return value, true
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// dependencyCode is a helper's source with a decorator that needs triton alone.
func dependencyCode(d tritonparse.Dependency) string {
	f := findFunction(d.Code, d.Name, 1)
	if f == nil {
		return d.Code
	}
	switch d.Kind {
	case "jit":
		decorator := f.jitDecorator(func(o string) bool { return !namesLaunches(o) })
		if _, options, ok := strings.Cut(decorator, "("); ok {
			return "@triton.jit(" + options + "\n" + f.def
		}
		return "@triton.jit\n" + f.def
	case "constexpr_function":
		return "@triton.constexpr_function\n" + f.def
	}
	return f.def
}
