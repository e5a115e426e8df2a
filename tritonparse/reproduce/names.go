package reproduce

import (
	"fmt"
	"strings"
)

// checkNames refuses a launch with names that cannot be code of a script. The names of parameters, of the kernel's function and
// of functions among its arguments are code there; all other text of a trace is in quotes. recorded.go checks the names of
// globals and helpers.
func (w *work) checkNames() error {
	wrong := func(what, name, why string) error {
		return fmt.Errorf("%s of %q %s: no script can be written for record %d of %s; take another launch: %s",
			what, name, why, w.launch.Line, w.launch.File, w.others())
	}
	if w.source != nil && !isIdentifier(w.source.name) {
		return wrong("the kernel's function has the name", w.source.name, "which is not a name in Python")
	}
	seen := map[string]bool{"ir_override": true}
	for _, p := range w.params {
		switch {
		case !isIdentifier(p.name):
			return wrong("the kernel has a parameter", p.name, "which is not a name in Python")
		case seen[p.name]:
			return wrong("the kernel has a parameter", p.name, "which something else is called already")
		}
		seen[p.name] = true
	}
	own := w.scriptNames()
	for _, g := range w.given() {
		switch {
		case g.inText || !g.importable(): // it is never written down
		case !isDotted(g.name) || !isDotted(g.module):
			return wrong("an argument names", g.module+":"+g.name, "which is not a name in Python")
		case own[g.bound()] || isBuiltin(g.bound()):
			return wrong("an argument names", g.bound(), "which the script calls something else")
		}
	}
	for _, a := range w.arguments() {
		if t := a.Tensor(); t != nil && t.Device != "" {
			if _, ok := kindOfDevice(t.Device); !ok {
				return wrong("the argument "+a.Name+" lies on the device", t.Device, "which is not one of torch's")
			}
		}
	}
	return nil
}

// functionName is the name of the kernel's function in its source, or one for a script without source.
func (w *work) functionName() string {
	if w.source != nil {
		return w.source.name
	}
	if name := w.built.Name; isIdentifier(name) && !isBuiltin(name) && !w.scriptNames()[name] {
		return name
	}
	return "kernel"
}

// scriptNames are the names that a script binds for itself.
func (w *work) scriptNames() map[string]bool {
	if w.own == nil {
		w.own = bindings(w.scriptCode())
	}
	return w.own
}

// scriptCode is all code that a script may have around its kernel. Which parts the arguments need is not known yet.
func (w *work) scriptCode() string {
	parts := []string{w.loader(), embedded("python/override.py")}
	for _, name := range []string{"arguments", "autotune", "blobs", "descriptors", "original", "tritonkernels"} {
		parts = append(parts, embedded("python/"+name+".py"))
	}
	if w.hasOwnTemplate() {
		parts = append(parts, embedded("templates/"+w.Template+".py"))
	}
	if w.Template == "benchmark" {
		parts = append(parts, embedded("python/benchmark.py"))
	}
	return strings.Join(parts, "\n")
}
