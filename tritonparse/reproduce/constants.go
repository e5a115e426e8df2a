package reproduce

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// addConstant adds a constant in a form that its readers can use: Triton lets kernels read constexprs alone.
func (c *recordedCode) addConstant(g tritonparse.Global) {
	value, ok := c.constant(g)
	if !ok {
		shown := jsontext.Text(g.Value)
		if shown == "" {
			shown = string(g.Value)
		}
		c.Missing = append(c.Missing, fmt.Sprintf("%s (a %s, %s)", g.Name, g.Type, strings.TrimSpace(shown)))
		return
	}
	if c.means(g.Name, value) {
		c.bind(&c.Constants, g.Name, value)
	}
}

// constant is Python for a constant.
func (c *recordedCode) constant(g tritonparse.Global) (value string, ok bool) {
	wrapped := g.Constexpr || !c.isPython(g.Owner) && !c.exact
	switch {
	case g.Described != nil:
		value, ok = c.expression(g.Described)
		wrapped = g.Constexpr
	case g.Type == "typing": // an annotation
		c.Imports = append(c.Imports, "import typing\n")
		return "typing.Any", true
	case g.Type == "list":
		return pythonLiteral(g.Value)
	default:
		value, ok = simpleConstant(g)
	}
	if !ok || !wrapped || strings.HasPrefix(value, "torch.") {
		return value, ok
	}
	return "tl.constexpr(" + value + ")", true
}

// isPython reports whether a function of this name is run by Python, and not compiled.
func (c *recordedCode) isPython(name string) bool {
	return name != c.kernel && slices.ContainsFunc(c.dependencies, func(d tritonparse.Dependency) bool {
		return d.Name == name && slices.Contains([]string{"python", "class", "constexpr_function"}, d.Kind)
	})
}

// dtypeName is what is within triton.language.core.dtype('fp32').
var dtypeName = regexp.MustCompile(`^.*dtype\('(.*)'\)$`)

// simpleConstant is Python for a constant of which the value says all; false if the trace has only a text of it.
func simpleConstant(g tritonparse.Global) (string, bool) {
	switch g.Type {
	case "str": // also one that reads nan
		return pythonQuote(jsontext.Text(g.Value)), true
	case "constexpr", "int", "float", "bool", "NoneType":
		return pythonLiteral(g.Value)
	case "tuple":
		return pythonTuple(g.Value)
	case "dtype":
		return elementType(jsontext.Text(g.Value))
	}
	return numericValue(g.Value) // a number of numpy's, or a member of an enumeration of numbers
}

// elementType is Python for an element type of torch's or Triton's.
func elementType(text string) (string, bool) {
	if text = dtypeName.ReplaceAllString(text, "$1"); strings.HasPrefix(text, "torch.") {
		return text, isTorchType(text)
	}
	return "tl.dtype(" + pythonQuote(text) + ")", true
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
		return pythonLiteral(raw)
	}
	if value, ok := pythonLiteral([]byte(text)); ok { // whole numbers stay exact
		return value, true
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// filled is Python that makes an object as it was, without calling its class.
var filled = embedded("python/filled.py")

// deepestValue is how deep values lie in each other. Each takes several of the brackets that Python reads, which are 200.
const deepestValue = 40

// unwritable is the panic of what writes Python, where a trace does not say all of a value.
type unwritable struct{}

// asPython is what write returns, and false if it has met something unwritable.
func asPython(write func() string) (text string, ok bool) {
	defer func() {
		if r := recover(); r == (unwritable{}) {
			text, ok = "", false
		} else if r != nil {
			panic(r)
		}
	}()
	return write(), true
}

// written is the text of a value, unless it is unwritable.
func written(text string, ok bool) string {
	if !ok {
		panic(unwritable{})
	}
	return text
}

// expression is Python for a value that is described as arguments are; false if the description does not say all.
func (c *recordedCode) expression(raw []byte) (string, bool) {
	c.depth = 0
	return asPython(func() string { return c.write(raw) })
}

func (c *recordedCode) write(raw []byte) string {
	d := map[string][]byte{}
	members, err := jsontext.Members(raw)
	if err != nil || c.depth == deepestValue {
		panic(unwritable{})
	}
	c.depth++
	for _, m := range members {
		d[m.Name] = m.Value
	}
	text := c.unwrapped(d)
	if c.depth--; string(d["constexpr"]) == "true" {
		return "tl.constexpr(" + text + ")"
	}
	return text
}

func (c *recordedCode) unwrapped(d map[string][]byte) string {
	kind, class := jsontext.Text(d["type"]), ""
	if d["class"] != nil {
		class = c.named(jsontext.Text(d["class"]))
	}
	switch {
	case d["object"] != nil:
		return c.named(jsontext.Text(d["object"]))
	case d["member"] != nil:
		return enumerated(class, jsontext.Text(d["member"]))
	case d["items"] != nil:
		return c.collected(kind, class, d["items"])
	case d["entries"] != nil:
		return c.dictionary(d["entries"])
	case d["fields"] != nil:
		c.Constants = append(c.Constants, filled)
		return "_filled(" + class + ", " + c.fields(d["fields"]) + ")"
	case kind == "str":
		return pythonQuote(jsontext.Text(d["value"]))
	case d["value"] != nil:
		if text, ok := numericValue(d["value"]); ok {
			return text
		}
		return written(pythonLiteral(d["value"]))
	case kind == "NoneType":
		return "None"
	case kind == "dtype":
		return written(elementType(jsontext.Text(d["repr"])))
	}
	panic(unwritable{})
}

// named is Python for a function or class of the program, or of an installed module, by its path such as pkg.kernels:Outer.relu.
func (c *recordedCode) named(path string) string {
	module, name, _ := strings.Cut(path, ":")
	for _, d := range c.dependencies {
		if d.Module == module && d.Qualname == name {
			return written(d.Name, isIdentifier(d.Name))
		}
	}
	root, _, _ := strings.Cut(name, ".")
	if !isDotted(module) || !isDotted(name) || !preinstalled(module) || !c.means(root, path) {
		panic(unwritable{})
	}
	c.Imports = append(c.Imports, importFrom(module, root, root))
	return name
}

// enumerated is Python for a member of an enumeration, or for several flags of one.
func enumerated(class, member string) string {
	if member == "" {
		return class + "(0)"
	}
	parts := strings.Split(member, "|")
	for i, name := range parts {
		parts[i] = class + "." + written(name, isIdentifier(name))
	}
	return strings.Join(parts, " | ")
}

// collected is Python for a list, set or tuple.
func (c *recordedCode) collected(kind, class string, items []byte) string {
	parts := c.all(items)
	list := strings.Join(parts, ", ")
	switch {
	case kind == "list":
		return "[" + list + "]"
	case kind == "set" || kind == "frozenset":
		return kind + "([" + list + "])"
	}
	if len(parts) == 1 {
		list += ","
	}
	if class == "" {
		return "(" + list + ")"
	}
	return "tuple.__new__(" + class + ", (" + list + "))"
}

func (c *recordedCode) all(list []byte) (parts []string) {
	for _, each := range jsontext.Elements(list) {
		parts = append(parts, c.write(each))
	}
	return parts
}

func (c *recordedCode) dictionary(entries []byte) string {
	var parts []string
	for _, pair := range jsontext.Elements(entries) {
		both := c.all(pair)
		if len(both) != 2 {
			panic(unwritable{})
		}
		parts = append(parts, both[0]+": "+both[1])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (c *recordedCode) fields(raw []byte) string {
	members, err := jsontext.Members(raw)
	var parts []string
	for _, m := range members {
		parts = append(parts, pythonQuote(m.Name)+": "+c.write(m.Value))
	}
	return written("{"+strings.Join(parts, ", ")+"}", err == nil)
}

// rawText writes a JSON object as a Python text over several lines. Valid JSON has no three quotes in a row, ends in a brace,
// and has a backslash only within texts, where it makes a pair with what follows: so it does in Python's raw texts.
func rawText(json []byte) string { return `r"""` + string(json) + `"""` }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
