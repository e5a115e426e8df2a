package debug

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expression computes a value in a frame.
type expression func(e *environment) (value, error)

// part is an expression, or a part of one. It panics with a problem if there is no such value.
type part func(e *environment) value

// problem is what is wrong with an expression, or with a value that it needs.
type problem struct{ error }

func wrong(format string, args ...any) problem { return problem{fmt.Errorf(format, args...)} }

// catch returns the problem of a panic as an error.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case problem:
		*err = r.error
	default:
		panic(r)
	}
}

// maxExpression and maxNested bound what is parsed.
const (
	maxExpression = 4096
	maxNested     = 64
)

// compileExpression reads Python-like text: names, numbers, arithmetic, comparisons, and/or/not, slices, .shape, .dtype and functions.
func compileExpression(s string) (_ expression, err error) {
	defer catch(&err)
	if len(s) > maxExpression {
		panic(wrong("an expression may have %d bytes, and this one has %d", maxExpression, len(s)))
	}
	p := &parser{text: s}
	if p.next(); p.token == "" {
		panic(wrong("an expression is missing: a variable, or for example offsets[3, :] or any(x > 1)"))
	}
	whole := p.list()
	if p.token != "" {
		panic(wrong("%q is not understood at %q", s, p.token))
	}
	return func(e *environment) (v value, err error) {
		defer catch(&err)
		return whole(e), nil
	}, nil
}

type parser struct {
	text  string
	at    int    // behind the token
	token string // "" at the end
	class byte   // of the token: n a number, a a name, s a text, o an operator
	depth int
}

// operators, the longest first.
var operators = []string{"<<", ">>", "<=", ">=", "==", "!=", "//", "**", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "(", ")", "[", "]", ",", ":", "."}

func (p *parser) next() {
	rest := strings.TrimLeft(p.text[p.at:], " \t")
	p.at = len(p.text) - len(rest)
	p.token, p.class = "", 0
	if rest == "" {
		return
	}
	n := 0
	switch c := rest[0]; {
	case letter(c):
		for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
			n++
		}
		p.class = 'a'
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '.' || (rest[n] == '-' || rest[n] == '+') && (rest[n-1] == 'e' || rest[n-1] == 'E') && !strings.HasPrefix(rest, "0x")) {
			n++
		}
		p.class = 'n'
	case c == '"' || c == '\'':
		n = strings.IndexByte(rest[1:], c) + 2
		if n < 2 {
			panic(wrong("a text has no end: %s", rest))
		}
		p.class = 's'
	default:
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				n, p.class = len(o), 'o'
				break
			}
		}
		if n == 0 {
			r, _ := utf8.DecodeRuneInString(rest)
			panic(wrong("%q has no meaning in an expression", r))
		}
	}
	p.token = rest[:n]
	p.at += n
}

func letter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' || c >= utf8.RuneSelf }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// take skips a token if it is the next one.
func (p *parser) take(token string) bool {
	if p.token != token || p.class == 's' {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(token string) {
	switch {
	case p.take(token):
	case p.token == "":
		panic(wrong("%s is missing at the end of %q", token, p.text))
	default:
		panic(wrong("%s is missing before %q in %q", token, p.token, p.text))
	}
}

// list reads expressions with commas between them, which are a tuple.
func (p *parser) list() part {
	first := p.binary(0)
	if p.token != "," {
		return first
	}
	list := []part{first}
	for p.token == "," {
		if p.next(); p.token == ")" || p.token == "" {
			break
		}
		list = append(list, p.binary(0))
	}
	return func(e *environment) value {
		v := value{kind: tuple}
		for _, x := range list {
			v.items = append(v.items, x(e))
		}
		return v
	}
}

// precedence of operators with two operands, from the weakest.
var precedence = []string{" or ", " and ", " < > <= >= == != ", " | ", " ^ ", " & ", " << >> ", " + - ", " * / // % "}

// deeper counts how deep an expression is nested.
func (p *parser) deeper() {
	if p.depth++; p.depth > maxNested {
		panic(wrong("an expression may be nested %d deep, and this one is deeper", maxNested))
	}
}

func (p *parser) binary(level int) part {
	if level == len(precedence) {
		return p.unary()
	}
	if level == 0 || level == 2 && p.token == "not" {
		p.deeper()
		defer func() { p.depth-- }()
	}
	if level == 2 && p.token == "not" && p.class == 'a' {
		p.next()
		x := p.binary(level)
		return func(e *environment) value {
			v := x(e)
			return truth(!v.true())
		}
	}
	left := p.binary(level + 1)
	for p.class != 's' && p.token != "" && strings.Contains(precedence[level], " "+p.token+" ") {
		operator := p.token
		p.next()
		left = combined(operator, left, p.binary(level+1))
	}
	return left
}

func combined(operator string, a, b part) part {
	return func(e *environment) value {
		x := a(e)
		if operator == "and" || operator == "or" {
			if x.true() == (operator == "or") {
				return x
			}
			return b(e)
		}
		y := b(e)
		v := operate(operator, &x, &y)
		e.spend(v.len())
		return v
	}
}

func (p *parser) unary() part {
	p.deeper()
	defer func() { p.depth-- }()
	operator := p.token
	if p.class == 'o' && (operator == "-" || operator == "+" || operator == "~" || operator == "*") {
		p.next()
		x := p.unary()
		return func(e *environment) value {
			v := x(e)
			if operator == "*" {
				return e.load(&v)
			}
			e.spend(v.len())
			return negate(operator, &v)
		}
	}
	return p.postfix()
}

// postfix reads a value with what follows it: [indices], .attribute, .method(…).
func (p *parser) postfix() part {
	x := p.primary()
	for p.class == 'o' {
		switch p.token {
		case "[":
			x = p.index(x)
		case ".":
			x = p.attribute(x)
		default:
			return x
		}
	}
	return x
}

func (p *parser) primary() part {
	token, class := p.token, p.class
	if token == "" {
		panic(wrong("%q ends where a value is missing", p.text))
	}
	p.next()
	switch class {
	case 'n':
		return constant(literal(token))
	case 's':
		return constant(value{kind: text, text: token[1 : len(token)-1]})
	case 'a':
		switch token {
		case "True", "False":
			return constant(truth(token == "True"))
		case "and", "or", "not", "None":
			panic(wrong("%q is not understood at %s", p.text, token))
		}
		if p.token == "(" {
			return p.call(token, nil)
		}
		return func(e *environment) value { return e.name(token) }
	}
	if token != "(" {
		panic(wrong("%q is not understood at %q", p.text, token))
	}
	if p.take(")") {
		return constant(value{kind: tuple})
	}
	x := p.list()
	p.want(")")
	return x
}

func constant(v value) part { return func(*environment) value { return v } }

func literal(token string) value {
	if n, err := strconv.ParseInt(token, 0, 64); err == nil {
		return integer(n)
	}
	if f, err := strconv.ParseFloat(token, 64); err == nil {
		return real(f)
	}
	panic(wrong("%s is not a number", token))
}

// index reads [i, a:b:c, :, None].
func (p *parser) index(of part) part {
	var list []subscript
	for p.next(); p.token != "]"; {
		list = append(list, p.subscript())
		if !p.take(",") && p.token != "]" {
			p.want("]")
		}
	}
	if len(list) == 0 {
		panic(wrong("[] needs an index, or a slice such as [3, :]"))
	}
	p.next()
	return func(e *environment) value {
		v := of(e)
		return e.index(&v, list)
	}
}

// subscript is one index; with isRange it is a slice. A nil bound is left out.
type subscript struct {
	isNone, isRange bool
	from, to, step  part
}

func (p *parser) subscript() (s subscript) {
	if s.isNone = p.take("None"); s.isNone {
		return s
	}
	for i, bound := range []*part{&s.from, &s.to, &s.step} {
		if p.token != ":" && p.token != "," && p.token != "]" {
			*bound = p.binary(0)
		}
		if i == 2 || !p.take(":") {
			if !s.isRange && s.from == nil {
				panic(wrong("an index is missing in %q", p.text))
			}
			break
		}
		s.isRange = true
	}
	return s
}

func (p *parser) attribute(of part) part {
	p.next()
	name := p.token
	if p.class != 'a' {
		panic(wrong("a name is missing behind the dot in %q", p.text))
	}
	if p.next(); p.token == "(" {
		return p.call(name, of)
	}
	return func(e *environment) value {
		v := of(e)
		return attribute(&v, name)
	}
}

// call reads the arguments of a function: values, and axis=1.
func (p *parser) call(name string, of part) part {
	f := functions[name]
	if f == nil {
		panic(wrong("there is no function %s; there are %s", name, functionNames()))
	}
	var list []part
	if of != nil {
		list = append(list, of)
	}
	for first := true; ; first = false {
		if p.next(); first && p.token == ")" {
			break
		}
		if p.token == "axis" && strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " "), "=") {
			p.at += strings.IndexByte(p.text[p.at:], '=') + 1
			p.next()
		}
		if list = append(list, p.binary(0)); p.token != "," {
			break
		}
	}
	if p.want(")"); len(list) == 0 || len(list) > 2 {
		panic(wrong("%s has a tensor and at most an axis, and %d arguments are given", name, len(list)))
	}
	return func(e *environment) value {
		var values []value
		for _, x := range list {
			values = append(values, x(e))
		}
		e.spend(values[0].len())
		return apply(name, f, values)
	}
}
