package reproduce

import (
	"regexp"
	"strings"
)

// givenFunction is a JIT function that is an argument of the kernel, such as an activation or a combine function.
type givenFunction struct {
	module, name string // of Python; a name in a class or a function has dots
}

// bound is what the script calls it.
func (g givenFunction) bound() string { return g.name[strings.LastIndexByte(g.name, '.')+1:] }

var jitFunction = regexp.MustCompile(`^JITFunction\(([\w.]+):([\w.<>]+)\)$`)

// given are the functions among the launch's arguments.
func (w *work) given() (functions []givenFunction) {
	for _, a := range w.arguments() {
		if m := jitFunction.FindStringSubmatch(a.Repr); m != nil {
			functions = append(functions, givenFunction{m[1], m[2]})
		}
	}
	return functions
}

// lacksGiven reports whether the trace lacks the source of a function that is an argument, as traces of tritonparse do.
func (w *work) lacksGiven() bool {
	for _, g := range w.given() {
		known := false
		for _, d := range w.built.Extra.Dependencies {
			known = known || d.Name == g.bound() && d.Module == g.module
		}
		if !known && !preinstalled(g.module) {
			return true
		}
	}
	return false
}
