package reproduce

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
)

// givenObject is a function or class of the program among the arguments of the kernel: an activation, an enumeration.
type givenObject struct {
	module, name string // of Python; a name in a class or a function has dots
	replaceable  bool   // the fields of a named tuple are known without its class
	inText       bool   // only a text names it, which may mean something else
}

// bound is what the script calls it.
func (g givenObject) bound() string { return g.name[strings.LastIndexByte(g.name, '.')+1:] }

// importable reports whether it can be reached from its module: what is defined within a function cannot.
func (g givenObject) importable() bool { return !strings.Contains(g.name, "<") }

var (
	jitFunction = regexp.MustCompile(`\bJITFunction\(([\w.]+):([\w.<>]+)\)`)
	classInText = regexp.MustCompile(`(?:^|[^\w.'"])([A-Za-z_]\w*)(?:\.\w+|\(\w+=)`)
)

// given are the functions and classes among the launch's arguments.
func (w *work) given() (objects []givenObject) {
	for _, a := range w.arguments() {
		for _, g := range givenIn(a.Raw) {
			if !slices.Contains(objects, g) {
				objects = append(objects, g)
			}
		}
	}
	return objects
}

// givenIn are those that the description of an argument names.
func givenIn(raw []byte) (objects []givenObject) {
	members, _ := jsontext.Members(raw)
	text, structured := "", false
	named := jsontext.Get(raw, "names") != nil
	for _, m := range members {
		switch m.Name {
		case "object", "class":
			module, name, _ := strings.Cut(jsontext.Text(m.Value), ":")
			if structured = true; module != "torch" {
				objects = append(objects, givenObject{module: module, name: name, replaceable: named})
			}
		case "items", "entries", "fields":
			structured = true
			objects = append(objects, givenAmong(m.Value)...)
		case "repr":
			text = jsontext.Text(m.Value)
		}
	}
	if structured {
		return objects
	}
	for _, m := range jitFunction.FindAllStringSubmatch(text, -1) {
		objects = append(objects, givenObject{module: m[1], name: m[2]})
	}
	for _, m := range classInText.FindAllStringSubmatch(jitFunction.ReplaceAllString(text, ""), -1) {
		objects = append(objects, givenObject{name: m[1], inText: true})
	}
	return objects
}

// givenAmong are those of the parts of an argument: a list, a list of pairs, or an object of its fields.
func givenAmong(raw []byte) (objects []givenObject) {
	members, _ := jsontext.Members(raw)
	for _, m := range members {
		objects = append(objects, givenIn(m.Value)...)
	}
	for _, each := range jsontext.Elements(raw) {
		if len(each) > 0 && each[0] == '[' {
			objects = append(objects, givenAmong(each)...)
		} else {
			objects = append(objects, givenIn(each)...)
		}
	}
	return objects
}

// lacksGiven reports whether the trace lacks the source of a function or class among the arguments, as traces of tritonparse do.
func (w *work) lacksGiven() bool {
	for _, g := range w.given() {
		known := g.replaceable || g.inText || preinstalled(g.module)
		for _, d := range w.built.Extra.Dependencies {
			known = known || d.Name == g.bound() && d.Module == g.module
		}
		if !known {
			return true
		}
	}
	return false
}
