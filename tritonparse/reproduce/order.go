package reproduce

import (
	"regexp"
	"strings"
)

// inOrder sorts definitions so that each comes after those that it needs when it is executed. A function needs what its decorators,
// defaults and annotations name; a constant or a class also what the functions that it names use, because it may call them.
// Otherwise the order stays.
func inOrder(definitions []string) []string {
	o := order{definitions: definitions, binds: map[string]int{}, placed: map[int]bool{}, whole: map[int]bool{}}
	for i, text := range definitions {
		for name := range bindings(text) {
			o.binds[name] = i
		}
	}
	for i := range definitions {
		o.place(i)
	}
	return o.out
}

type order struct {
	definitions   []string
	binds         map[string]int // by name, the definition that binds it
	placed, whole map[int]bool
	out           []string
}

// place adds a definition, after what it needs.
func (o *order) place(i int) {
	if o.placed[i] {
		return
	}
	o.placed[i] = true
	head, _ := head(o.definitions[i])
	o.placeWhole(head)
	o.out = append(o.out, o.definitions[i])
}

// placeWhole adds the definitions that a code names, with all that these name in turn.
func (o *order) placeWhole(code string) {
	for _, name := range namesIn(code) {
		if i, ok := o.binds[name]; ok && !o.whole[i] {
			o.whole[i] = true
			o.place(i)
			_, body := head(o.definitions[i])
			o.placeWhole(body)
		}
	}
}

// head divides a definition into what is executed at once, and the body of a function.
func head(definition string) (head, body string) {
	for _, line := range logicalLines(definition) {
		switch text := definition[line.start:line.end]; {
		case defLine.MatchString(text):
			return definition[:line.end], definition[line.end:]
		case strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "@") && !strings.HasPrefix(text, "#"):
			return definition, ""
		}
	}
	return definition, ""
}

var nameInCode = regexp.MustCompile(`[\p{L}_][\p{L}\p{N}_]*`)

// namesIn are the names in a code, outside of texts and comments.
func namesIn(code string) []string {
	var b strings.Builder
	for i := 0; i < len(code); {
		next := skip(code, i)
		if next == i+1 {
			b.WriteByte(code[i])
		} else {
			b.WriteByte(' ')
		}
		i = next
	}
	return nameInCode.FindAllString(b.String(), -1)
}
