package reproduce

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/jsontext"
)

// recordedSurroundings are what a trace of GoProton's tells of the functions and constants that a kernel uses.
func (w *work) recordedSurroundings() (*surroundings, error) {
	extra := w.built.Extra
	s := &surroundings{Aliases: map[string][]string{}}
	var modules []string // of the program, as the kernel calls them
	for _, g := range extra.Globals {
		value := jsontext.Text(g.Value)
		switch g.Type {
		case "module":
			w.addModule(s, g.Name, value, &modules)
		case "import":
			module, name, _ := strings.Cut(value, ":")
			s.Imports = append(s.Imports, fmt.Sprintf("from %s import %s as %s\n", module, name, g.Name))
			s.needs(module)
		case "alias": // below, behind the functions
		default:
			s.addConstant(g)
		}
	}
	code := w.allCode()
	named := map[string]string{}
	for _, d := range extra.Dependencies {
		if atHand(d.Module) {
			if regexp.MustCompile(`(?m)(^|[^.\w])` + d.Name + `\b`).MatchString(code) {
				s.Imports = append(s.Imports, fmt.Sprintf("from %s import %s\n", d.Module, d.Name))
			}
			continue
		}
		if other, ok := named[d.Name]; ok && other != d.Module {
			s.Missing = append(s.Missing, fmt.Sprintf("%s (one of %s, another of %s)", d.Name, other, d.Module))
		}
		named[d.Name] = d.Module
		s.Functions = append(s.Functions, dependencyCode(d))
		for _, module := range modules {
			if strings.Contains(code, module+"."+d.Name) {
				s.Aliases[module] = append(s.Aliases[module], d.Name)
			}
		}
	}
	for _, g := range extra.Globals {
		if name := jsontext.Text(g.Value); g.Type == "alias" && named[name] != "" {
			s.Functions = append(s.Functions, fmt.Sprintf("%s = %s\n", g.Name, name))
		}
	}
	return s, nil
}

// addModule imports a module that comes with torch or triton. What is used of others is put into the script, if it is known.
func (w *work) addModule(s *surroundings, name, module string, modules *[]string) {
	extra := w.built.Extra
	uses := regexp.MustCompile(`\b`+name+`\.(\w+)`).FindAllStringSubmatch(w.allCode(), -1)
	known := len(uses) > 0
	for _, use := range uses {
		known = known && (slices.ContainsFunc(extra.Dependencies, func(d tritonparse.Dependency) bool { return d.Name == use[1] }) ||
			slices.ContainsFunc(extra.Globals, func(g tritonparse.Global) bool { return g.Name == name+"."+use[1] }))
	}
	if known && !atHand(module) {
		*modules = append(*modules, name)
		return
	}
	s.Imports = append(s.Imports, importOf(name, module))
	s.needs(module)
}

// needs notes that a module has to be installed.
func (s *surroundings) needs(module string) {
	if root, _, _ := strings.Cut(module, "."); !atHand(module) && !slices.Contains(s.Packages, root) {
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
	if name == module {
		return "import " + module + "\n"
	}
	return fmt.Sprintf("import %s as %s\n", module, name)
}

// atHand says whether a module comes with torch, triton or Python.
func atHand(module string) bool {
	root, _, _ := strings.Cut(module, ".")
	return slices.Contains([]string{"torch", "triton", "math", "builtins", "typing", "functools", "operator", "itertools", "copy", "enum", "dataclasses"}, root)
}

// dtypeName is what is within triton.language.core.dtype('fp32').
var dtypeName = regexp.MustCompile(`^.*dtype\('(.*)'\)$`)

// addConstant writes a constant as Triton lets kernels read it.
func (s *surroundings) addConstant(g tritonparse.Global) {
	value := pyLiteral(g.Value)
	switch g.Type {
	case "constexpr", "int", "float", "bool", "str", "NoneType":
		value = "tl.constexpr(" + value + ")"
	case "tuple":
		value = "tl.constexpr(" + pyTuple(g.Value) + ")"
	case "list":
	case "dtype":
		name := dtypeName.ReplaceAllString(jsontext.Text(g.Value), "$1")
		if strings.HasPrefix(name, "torch.") {
			value = name
		} else {
			value = "tl.dtype(" + quote(name) + ")"
		}
	default:
		s.Missing = append(s.Missing, fmt.Sprintf("%s (a %s, %s)", g.Name, g.Type, strings.TrimSpace(value)))
		return
	}
	if module, name, ok := strings.Cut(g.Name, "."); ok {
		s.Aliases[module] = append(s.Aliases[module], name+" = "+value)
		return
	}
	s.Constants = append(s.Constants, fmt.Sprintf("%s = %s\n", g.Name, value))
}

// dependencyCode is a helper with a decorator that needs no import but triton.
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
