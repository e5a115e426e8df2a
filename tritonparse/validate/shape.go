package validate

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

//go:embed shapes.txt
var shapesText string

// shapes has the shape of each event type, and each shared shape by its name with @ before it.
var shapes = readShapes(shapesText)

// shape describes the values that are allowed at one place of a record.
type shape struct {
	name     string
	required bool
	refers   string   // to another shape; nothing else is set then
	kinds    []string // text, integer, number, bool, list, object, null; none for anything
	closed   bool
	least    *float64
	texts    []string
	members  []*shape
	rest     *shape // of other members
	element  *shape
}

// readShapes panics on a line that is none: the text is part of the program.
func readShapes(text string) map[string]*shape {
	all := map[string]*shape{}
	var open []*shape // by depth
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		s := readShape(words)
		open = append(open[:depth], s)
		if depth == 0 {
			all[s.name] = s
			continue
		}
		switch parent := open[depth-1]; s.name {
		case "*":
			parent.rest = s
		case "[]":
			parent.element = s
		default:
			parent.members = append(parent.members, s)
		}
	}
	return all
}

func readShape(words []string) *shape {
	s := &shape{}
	s.name, s.required = strings.CutSuffix(words[0], "!")
	if strings.HasPrefix(words[1], "@") {
		s.refers = words[1]
		return s
	}
	if words[1] != "any" {
		s.kinds = strings.Split(words[1], "|")
	}
	for i := 2; i < len(words); i++ {
		least, isLeast := strings.CutPrefix(words[i], ">=")
		switch {
		case words[i] == "closed":
			s.closed = true
		case isLeast:
			n, err := strconv.ParseFloat(least, 64)
			if err != nil {
				panic("BUG: shapes.txt: " + err.Error())
			}
			s.least = &n
		case words[i] == "=":
			s.texts = words[i+1:]
			return s
		default:
			panic("BUG: shapes.txt has the word " + words[i])
		}
	}
	return s
}

// report gets the path of a member and what is wrong with it.
type report func(path, what string)

// check compares a value, which is valid JSON, with a shape.
func (s *shape) check(value []byte, path string, wrong report) {
	if s.refers != "" {
		shapes[s.refers].check(value, path, wrong)
		return
	}
	kind := kindOf(value)
	if !s.allows(kind) {
		wrong(path, fmt.Sprintf("is %s, not %s", withArticle(kind), strings.Join(articles(s.kinds), " or ")))
		return
	}
	switch {
	case kind == "object" && (s.members != nil || s.closed || s.rest != nil):
		s.checkMembers(value, path, wrong)
	case kind == "list" && s.element != nil:
		for i, e := range jsontext.Elements(value) {
			s.element.check(e, fmt.Sprintf("%s[%d]", path, i), wrong)
		}
	case kind == "text" && s.texts != nil && !slices.Contains(s.texts, jsontext.Text(value)):
		wrong(path, fmt.Sprintf("is %q; there are %s", brief(jsontext.Text(value)), strings.Join(s.texts, ", ")))
	}
	if s.least != nil && (kind == "integer" || kind == "number") {
		if n, err := strconv.ParseFloat(string(value), 64); err == nil && n < *s.least {
			wrong(path, fmt.Sprintf("is %s, less than %g", value, *s.least))
		}
	}
}

func (s *shape) checkMembers(value []byte, path string, wrong report) {
	members, err := jsontext.Members(value)
	if err != nil {
		return
	}
	for _, m := range s.members {
		if m.required && ndjson.Get(members, m.name) == nil {
			wrong(join(path, m.name), "is missing")
		}
	}
	for _, m := range members {
		known := s.member(m.Name)
		switch {
		case known != nil:
			known.check(m.Value, join(path, m.Name), wrong)
		case s.rest != nil:
			s.rest.check(m.Value, join(path, m.Name), wrong)
		case s.closed:
			wrong(join(path, m.Name), "is not allowed: readers of tritonparse know no such member")
		}
	}
}

func (s *shape) member(name string) *shape {
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (s *shape) allows(kind string) bool {
	return len(s.kinds) == 0 || slices.Contains(s.kinds, kind) || kind == "integer" && slices.Contains(s.kinds, "number")
}

func kindOf(value []byte) string {
	switch value[0] {
	case '"':
		return "text"
	case '{':
		return "object"
	case '[':
		return "list"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(string(value), ".eE") {
		return "number"
	}
	return "integer"
}

func withArticle(kind string) string {
	switch kind {
	case "null":
		return "null"
	case "integer", "object":
		return "an " + kind
	}
	return "a " + kind
}

func articles(kinds []string) []string {
	var list []string
	for _, k := range kinds {
		list = append(list, withArticle(k))
	}
	return list
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func brief(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
