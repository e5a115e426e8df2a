package debug

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expression computes a value in a frame.
type expression func(e *environment) (value, error)

// maxExpression and maxNested bound what is parsed.
const (
	maxExpression = 4096
	maxNested     = 64
)

// compileExpression reads Python-like text: names, numbers, arithmetic, comparisons, and/or/not, slices, .shape, .dtype and functions.
func compileExpression(s string) (expression, error) {
	if len(s) > maxExpression {
		return nil, fmt.Errorf("an expression may have %d bytes, and this one has %d", maxExpression, len(s))
	}
	p := &parser{text: s}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.token == "" {
		return nil, fmt.Errorf("an expression is missing: a variable, or for example offsets[3, :] or any(x > 1)")
	}
	e, err := p.list()
	if err != nil {
		return nil, err
	}
	if p.token != "" {
		return nil, fmt.Errorf("%q is not understood at %q", s, p.token)
	}
	return e, nil
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

func (p *parser) next() error {
	rest := strings.TrimLeft(p.text[p.at:], " \t")
	p.at = len(p.text) - len(rest)
	p.token, p.class = "", 0
	if rest == "" {
		return nil
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
			return fmt.Errorf("a text has no end: %s", rest)
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
			return fmt.Errorf("%q has no meaning in an expression", r)
		}
	}
	p.token = rest[:n]
	p.at += n
	return nil
}

func letter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' || c >= utf8.RuneSelf }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// take skips a token if it is the next one.
func (p *parser) take(token string) (bool, error) {
	if p.token != token || p.class == 's' {
		return false, nil
	}
	return true, p.next()
}

func (p *parser) want(token string) error {
	if ok, err := p.take(token); ok || err != nil {
		return err
	}
	if p.token == "" {
		return fmt.Errorf("%s is missing at the end of %q", token, p.text)
	}
	return fmt.Errorf("%s is missing before %q in %q", token, p.token, p.text)
}

// list reads expressions with commas between them, which are a tuple.
func (p *parser) list() (expression, error) {
	first, err := p.binary(0)
	if err != nil || p.token != "," {
		return first, err
	}
	list := []expression{first}
	for p.token == "," {
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.token == ")" || p.token == "" {
			break
		}
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return func(e *environment) (value, error) {
		v := value{kind: tuple}
		for _, x := range list {
			item, err := x(e)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
		return v, nil
	}, nil
}

// precedence of operators with two operands, from the weakest.
var precedence = []string{" or ", " and ", " < > <= >= == != ", " | ", " ^ ", " & ", " << >> ", " + - ", " * / // % "}

// deeper counts how deep an expression is nested.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxNested {
		return fmt.Errorf("an expression may be nested %d deep, and this one is deeper", maxNested)
	}
	return nil
}

func (p *parser) binary(level int) (expression, error) {
	if level == len(precedence) {
		return p.unary()
	}
	if level == 0 || level == 2 && p.token == "not" {
		if err := p.deeper(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
	}
	if level == 2 && p.token == "not" && p.class == 'a' {
		if err := p.next(); err != nil {
			return nil, err
		}
		x, err := p.binary(level)
		return inverted(x), err
	}
	left, err := p.binary(level + 1)
	for err == nil && p.class != 's' && p.token != "" && strings.Contains(precedence[level], " "+p.token+" ") {
		operator := p.token
		if err = p.next(); err != nil {
			break
		}
		var right expression
		if right, err = p.binary(level + 1); err == nil {
			left = combined(operator, left, right)
		}
	}
	return left, err
}

func inverted(x expression) expression {
	return func(e *environment) (value, error) {
		v, err := x(e)
		if err != nil {
			return v, err
		}
		is, err := v.true()
		return truth(!is), err
	}
}

func combined(operator string, a, b expression) expression {
	return func(e *environment) (value, error) {
		x, err := a(e)
		if err != nil {
			return x, err
		}
		if operator == "and" || operator == "or" {
			is, err := x.true()
			if err != nil || is == (operator == "or") {
				return x, err
			}
			return b(e)
		}
		y, err := b(e)
		if err != nil {
			return y, err
		}
		v, err := operate(operator, &x, &y)
		if err == nil {
			err = e.spend(v.len())
		}
		return v, err
	}
}

func (p *parser) unary() (expression, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	operator := p.token
	if p.class == 'o' && (operator == "-" || operator == "+" || operator == "~" || operator == "*") {
		if err := p.next(); err != nil {
			return nil, err
		}
		x, err := p.unary()
		return func(e *environment) (value, error) {
			v, err := x(e)
			if err != nil {
				return v, err
			}
			if operator == "*" {
				return e.load(&v)
			}
			if err := e.spend(v.len()); err != nil {
				return v, err
			}
			return negate(operator, &v)
		}, err
	}
	return p.postfix()
}

// postfix reads a value with what follows it: [indices], .attribute, .method(…).
func (p *parser) postfix() (expression, error) {
	x, err := p.primary()
	for err == nil && p.class == 'o' {
		switch p.token {
		case "[":
			x, err = p.index(x)
		case ".":
			x, err = p.attribute(x)
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *parser) primary() (expression, error) {
	token, class := p.token, p.class
	if token == "" {
		return nil, fmt.Errorf("%q ends where a value is missing", p.text)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	switch class {
	case 'n':
		v, err := literal(token)
		return constant(v), err
	case 's':
		return constant(value{kind: text, text: token[1 : len(token)-1]}), nil
	case 'a':
		switch token {
		case "True", "False":
			return constant(truth(token == "True")), nil
		case "and", "or", "not", "None":
			return nil, fmt.Errorf("%q is not understood at %s", p.text, token)
		}
		if p.token == "(" {
			return p.call(token, nil)
		}
		return func(e *environment) (value, error) { return e.name(token) }, nil
	}
	if token == "(" {
		if ok, err := p.take(")"); ok || err != nil {
			return constant(value{kind: tuple}), err
		}
		x, err := p.list()
		if err != nil {
			return nil, err
		}
		return x, p.want(")")
	}
	return nil, fmt.Errorf("%q is not understood at %q", p.text, token)
}

func constant(v value) expression { return func(*environment) (value, error) { return v, nil } }

func literal(token string) (value, error) {
	if n, err := strconv.ParseInt(token, 0, 64); err == nil {
		return integer(n), nil
	}
	if f, err := strconv.ParseFloat(token, 64); err == nil {
		return real(f), nil
	}
	return value{}, fmt.Errorf("%s is not a number", token)
}

// index reads [i, a:b:c, :, None].
func (p *parser) index(of expression) (expression, error) {
	var list []subscript
	if err := p.next(); err != nil {
		return nil, err
	}
	for p.token != "]" {
		s, err := p.subscript()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		if ok, err := p.take(","); err != nil {
			return nil, err
		} else if !ok && p.token != "]" {
			return nil, p.want("]")
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("[] needs an index, or a slice such as [3, :]")
	}
	return func(e *environment) (value, error) {
		v, err := of(e)
		if err != nil {
			return v, err
		}
		return e.index(&v, list)
	}, p.next()
}

// subscript is one index; with isRange it is a slice. A nil bound is left out.
type subscript struct {
	isNone, isRange bool
	from, to, step  expression
}

func (p *parser) subscript() (s subscript, err error) {
	if s.isNone, err = p.take("None"); s.isNone || err != nil {
		return s, err
	}
	for i, bound := range []*expression{&s.from, &s.to, &s.step} {
		if p.token != ":" && p.token != "," && p.token != "]" {
			if *bound, err = p.binary(0); err != nil {
				return s, err
			}
		}
		colon, err := false, error(nil)
		if i < 2 {
			colon, err = p.take(":")
		}
		if err != nil || !colon {
			if err == nil && !s.isRange && s.from == nil {
				err = fmt.Errorf("an index is missing in %q", p.text)
			}
			return s, err
		}
		s.isRange = true
	}
	return s, nil
}

func (p *parser) attribute(of expression) (expression, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	name := p.token
	if p.class != 'a' {
		return nil, fmt.Errorf("a name is missing behind the dot in %q", p.text)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.token == "(" {
		return p.call(name, of)
	}
	return func(e *environment) (value, error) {
		v, err := of(e)
		if err != nil {
			return v, err
		}
		return attribute(&v, name)
	}, nil
}

// call reads the arguments of a function: values, and axis=1.
func (p *parser) call(name string, of expression) (expression, error) {
	f := functions[name]
	if f == nil {
		return nil, fmt.Errorf("there is no function %s; there are %s", name, functionNames())
	}
	var list []expression
	if of != nil {
		list = append(list, of)
	}
	for first := true; ; first = false {
		if err := p.next(); err != nil {
			return nil, err
		}
		if first && p.token == ")" {
			break
		}
		if p.token == "axis" && strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " "), "=") {
			p.at += strings.IndexByte(p.text[p.at:], '=') + 1
			if err := p.next(); err != nil {
				return nil, err
			}
		}
		x, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if p.token != "," {
			break
		}
	}
	if err := p.want(")"); err != nil {
		return nil, err
	}
	if len(list) == 0 || len(list) > 2 {
		return nil, fmt.Errorf("%s has a tensor and at most an axis, and %d arguments are given", name, len(list))
	}
	return func(e *environment) (value, error) {
		var values []value
		for _, x := range list {
			v, err := x(e)
			if err != nil {
				return v, err
			}
			values = append(values, v)
		}
		if err := e.spend(values[0].len()); err != nil {
			return value{}, err
		}
		return apply(name, f, values)
	}, nil
}
