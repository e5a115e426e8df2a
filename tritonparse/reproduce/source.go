package reproduce

import (
	"regexp"
	"slices"
	"strings"
)

// function is a Python function: what is needed to call it, and its source.
type function struct {
	name       string
	decorators []string // each whole, with its @, outermost first
	params     []param
	def        string // from def to the end, dedented
}

type param struct {
	name, annotation, defaults string // as they are written; "" for none
	constexpr                  bool
	binds                      passing
}

// passing is how a parameter gets its argument.
type passing int

const (
	anyway passing = iota // by position or name
	byPosition
	byName
	theRest // all further positions: *args
)

// jit is the index of the decorator triton.jit, -1 if there is none.
func (f *function) jit() int {
	for i := len(f.decorators) - 1; i >= 0; i-- {
		callee, _, _ := strings.Cut(strings.TrimPrefix(withoutComments(f.decorators[i]), "@"), "(")
		callee = strings.TrimSpace(callee)
		if callee == "jit" || strings.HasSuffix(callee, ".jit") {
			return i
		}
	}
	return -1
}

var defLine = regexp.MustCompile(`^(?:async\s+)?def\s+(\w+)\s*[(\[]`)

// findFunction returns the function of that name in a source; of several, the one that begins, with its decorators, at line at,
// counted from 1. A kernel may have another name than its function: without a function of that name it returns the one at that
// line, else the first, else nil.
func findFunction(code, name string, at int) *function {
	var byName, byLine, first *function
	var decorators []string
	begin := 0
	for _, line := range logicalLines(code) {
		text := strings.TrimLeft(code[line.start:line.end], " \t\f")
		switch {
		case strings.TrimSpace(text) == "" || text[0] == '#':
		case text[0] == '@':
			if len(decorators) == 0 {
				begin = line.number
			}
			decorators = append(decorators, dedent(strings.TrimRight(code[line.start:line.end], " \t\r\n")))
		default:
			if m := defLine.FindStringSubmatch(text); m != nil {
				if len(decorators) == 0 {
					begin = line.number
				}
				f := &function{name: m[1], decorators: decorators}
				f.readDef(code, line)
				if first == nil {
					first = f
				}
				if begin == at && byLine == nil {
					byLine = f
				}
				if f.name == name && (byName == nil || begin == at) {
					byName = f
				}
			}
			decorators = nil
		}
	}
	for _, f := range []*function{byName, byLine, first} {
		if f != nil {
			return f
		}
	}
	return nil
}

// logicalLine is a logical line of Python: it continues within brackets and texts, and after a backslash.
type logicalLine struct{ start, end, number int }

func logicalLines(code string) []logicalLine {
	var lines []logicalLine
	depth, number := 0, 1
	current := logicalLine{0, 0, 1}
	for i := 0; i < len(code); {
		switch c := code[i]; {
		case c == '\n':
			number++
			i++
			if depth == 0 {
				current.end = i
				lines = append(lines, current)
				current = logicalLine{i, 0, number}
			}
		case c == '\\':
			if i+1 < len(code) && code[i+1] == '\n' {
				number++
			}
			i += 2
		default:
			next := skip(code, i)
			number += strings.Count(code[i:next], "\n")
			switch {
			case strings.IndexByte("([{", c) >= 0:
				depth++
			case strings.IndexByte(")]}", c) >= 0 && depth > 0:
				depth--
			}
			i = next
		}
	}
	if current.start < len(code) {
		current.end = len(code)
		lines = append(lines, current)
	}
	return lines
}

// skip returns the end of the text or comment that begins at i, or of the one byte there.
func skip(code string, i int) int {
	switch c := code[i]; c {
	case '#':
		if n := strings.IndexByte(code[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(code)
	case '"', '\'':
		quote := string(c)
		if strings.HasPrefix(code[i:], quote+quote+quote) {
			quote = code[i : i+3]
		}
		for j := i + len(quote); j < len(code); j++ {
			switch {
			case code[j] == '\\':
				j++
			case strings.HasPrefix(code[j:], quote):
				return j + len(quote)
			case code[j] == '\n' && len(quote) == 1:
				return j
			}
		}
		return len(code)
	}
	return i + 1
}

// readDef reads the parameters and the source of the function.
func (f *function) readDef(code string, line logicalLine) {
	text := code[line.start:line.end]
	open := strings.IndexByte(text, '(')
	if open >= 0 {
		inner := bracketed(text, open)
		way := anyway
		for _, p := range splitTop(inner, ',') {
			way = f.addParam(p, way)
		}
	}
	f.def = dedent(cutBlock(code[line.start:]))
}

// addParam adds a parameter whose argument is bound that way, and returns the way of the next one.
func (f *function) addParam(text string, way passing) passing {
	text = strings.TrimSpace(withoutComments(text))
	switch {
	case text == "/":
		for i := range f.params {
			f.params[i].binds = byPosition
		}
		return way
	case text == "*":
		return byName
	case text == "" || strings.HasPrefix(text, "**"):
		return way
	}
	p := param{binds: way}
	if text[0] == '*' {
		text, p.binds, way = text[1:], theRest, byName
	}
	if parts := splitTop(text, '='); len(parts) > 1 && parts[0] != "" {
		text, p.defaults = strings.TrimSpace(parts[0]), strings.TrimSpace(strings.Join(parts[1:], "="))
	}
	p.name, p.annotation, _ = strings.Cut(text, ":")
	p.name, p.annotation = strings.TrimSpace(p.name), strings.TrimSpace(p.annotation)
	p.constexpr = strings.Contains(p.annotation, "constexpr")
	f.params = append(f.params, p)
	return way
}

// bracketed returns the text between the bracket at open and the one that closes it.
func bracketed(text string, open int) string {
	depth := 0
	for i := open; i < len(text); i = skip(text, i) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return text[open+1 : i]
			}
		}
	}
	return text[open+1:]
}

// splitTop splits a text at each sep outside of brackets, texts and comments.
func splitTop(text string, sep byte) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i < len(text); i = skip(text, i) {
		switch c := text[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == sep && depth == 0:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

func withoutComments(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		next := skip(text, i)
		if text[i] != '#' {
			b.WriteString(text[i:next])
		}
		i = next
	}
	return b.String()
}

// cutBlock returns the first statement of some code with its block, which ends before the next line that is indented no deeper.
func cutBlock(code string) string {
	lines := logicalLines(code)
	margin := indentation(code)
	end := len(code)
	for _, l := range lines[min(1, len(lines)):] {
		text := code[l.start:l.end]
		bare := strings.TrimSpace(text)
		if bare == "" || bare[0] == '#' {
			continue
		}
		if indentation(text) <= margin {
			end = l.start
			break
		}
	}
	// Comments at the end belong to what follows.
	block := strings.Split(strings.TrimRight(code[:end], " \t\r\n"), "\n")
	for len(block) > 1 {
		last := block[len(block)-1]
		if bare := strings.TrimSpace(last); bare != "" && (bare[0] != '#' || indentation(last) > margin) {
			break
		}
		block = block[:len(block)-1]
	}
	return strings.Join(block, "\n") + "\n"
}

func indentation(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n = (n/8 + 1) * 8
		default:
			return n
		}
	}
	return n
}

// dedent removes the indentation of the first line from all lines, except within texts of several lines.
func dedent(code string) string {
	margin := code[:len(code)-len(strings.TrimLeft(code, " \t"))]
	if margin == "" {
		return code
	}
	var b strings.Builder
	for i := 0; i < len(code); {
		if i == 0 || code[i-1] == '\n' {
			if rest, ok := strings.CutPrefix(code[i:], margin); ok {
				i = len(code) - len(rest)
				if i >= len(code) {
					break
				}
			}
		}
		next := skip(code, i)
		b.WriteString(code[i:next])
		i = next
	}
	return b.String()
}

// jitDecorator is the decorator triton.jit of the kernel, with the options that keep selects: others may need functions that the
// script lacks.
func (f *function) jitDecorator(keep func(option string) bool) string {
	i := f.jit()
	if i < 0 {
		return "@triton.jit"
	}
	text := strings.TrimSpace(withoutComments(f.decorators[i]))
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return text
	}
	inner := bracketed(text, open)
	var kept []string
	for _, option := range options(inner) {
		name, _, _ := strings.Cut(option, "=")
		if keep(strings.TrimSpace(name)) {
			kept = append(kept, option)
		}
	}
	if len(kept) == 0 {
		return text[:open]
	}
	return text[:open] + "(" + strings.Join(kept, ", ") + ")"
}

var optionName = regexp.MustCompile(`^\w+\s*=`)

// options splits the arguments of a call, which all have names. A comma between a lambda's parameters ends none.
func options(inner string) []string {
	var list []string
	for _, part := range splitTop(inner, ',') {
		part = strings.TrimSpace(withoutComments(part))
		switch {
		case optionName.MatchString(part):
			list = append(list, part)
		case part != "" && len(list) > 0:
			list[len(list)-1] += ", " + part
		}
	}
	return list
}

func namesLaunches(option string) bool { return option == "repr" || option == "launch_metadata" }

func shapesArguments(option string) bool {
	return slices.Contains([]string{"do_not_specialize", "do_not_specialize_on_alignment", "noinline"}, option)
}
