package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/jsontext"
)

// recordedSurroundings are what a trace of GoProton's tells of the functions and constants that a kernel uses.
func (w *work) recordedSurroundings() (*surroundings, error) {
	extra := w.built.Extra
	s := &surroundings{Aliases: map[string][]string{}}
	modules := map[string]string{} // of the program -> what the kernel calls it
	for _, g := range extra.Globals {
		value := jsontext.Text(g.Value)
		switch g.Type {
		case "module":
			if statement := importOf(g.Name, value); atHand(value) {
				s.Imports = append(s.Imports, statement)
			} else if slices.ContainsFunc(extra.Dependencies, func(d tritonparse.Dependency) bool { return d.Module == value }) || hasMembers(extra.Globals, g.Name) {
				modules[value] = g.Name
			} else {
				s.Imports = append(s.Imports, statement)
				s.Packages = append(s.Packages, value)
			}
		case "import":
			module, name, _ := strings.Cut(value, ":")
			s.Imports = append(s.Imports, fmt.Sprintf("from %s import %s as %s\n", module, name, g.Name))
			if !atHand(module) {
				s.Packages = append(s.Packages, module)
			}
		case "alias":
			s.Constants = append(s.Constants, "") // below, behind the functions
		default:
			s.addConstant(g)
		}
	}
	s.Constants = slices.DeleteFunc(s.Constants, func(c string) bool { return c == "" })
	named := map[string]string{}
	for _, d := range extra.Dependencies {
		if other, ok := named[d.Name]; ok && other != d.Module {
			s.Missing = append(s.Missing, fmt.Sprintf("%s (one of %s, another of %s)", d.Name, other, d.Module))
		}
		named[d.Name] = d.Module
		s.Functions = append(s.Functions, dependencyCode(d))
		if alias := modules[d.Module]; alias != "" && strings.Contains(w.allCode(), alias+"."+d.Name) {
			s.Aliases[alias] = append(s.Aliases[alias], d.Name)
		}
	}
	for _, g := range extra.Globals {
		if g.Type == "alias" {
			s.Functions = append(s.Functions, fmt.Sprintf("%s = %s\n", g.Name, jsontext.Text(g.Value)))
		}
	}
	return s, nil
}

// allCode is the source of the kernel and its helpers.
func (w *work) allCode() string {
	code := w.source.def
	for _, d := range w.built.Extra.Dependencies {
		code += d.Code
	}
	return code
}

func hasMembers(globals []tritonparse.Global, module string) bool {
	return slices.ContainsFunc(globals, func(g tritonparse.Global) bool { return strings.HasPrefix(g.Name, module+".") })
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
		value = "tl.dtype(" + quote(strings.TrimPrefix(jsontext.Text(g.Value), "tl.")) + ")"
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
