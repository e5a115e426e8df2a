package literal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/number"
	"github.com/goproton/goproton/profile/internal/tree"
)

// python reads Python literals of dicts, lists, strings and numbers, and JSON's spelling of them. It is the tree.Reader of
// literals. The first error sticks; after it every method returns a zero value.
type python struct {
	data  []byte
	pos   int
	err   error
	names map[string]string // a tree repeats a few names thousands of times

	inCall  bool // between the brackets of a call
	rounded int  // integers that became floats that do not hold them
	memory  inflate.Memory
}

func (p *python) fail(at int, format string, args ...any) { p.Fail(int64(at), format, args...) }

func (p *python) Fail(at int64, format string, args ...any) {
	if p.err == nil {
		p.err = &profile.FormatError{Offset: at, Reason: fmt.Sprintf(format, args...)}
	}
}

func (p *python) Failed() bool { return p.err != nil }

func (p *python) Here() int64 {
	p.peek()
	return int64(p.pos)
}

// Keep counts memory. All of the file has been read.
func (p *python) Keep(n int) {
	if err := p.memory.Keep(int64(n), int64(len(p.data))); err != nil {
		p.fail(p.pos, "%v", err)
	}
}

// peek skips space and comments and returns the next byte; 0 at the end and after an error.
func (p *python) peek() byte {
	if p.err != nil {
		return 0
	}
	for ; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; c {
		case ' ', '\t', '\r', '\n', '\f':
		case '#':
			for p.pos+1 < len(p.data) && p.data[p.pos+1] != '\n' {
				p.pos++
			}
		default:
			return c
		}
	}
	return 0
}

func (p *python) unexpected(want string) {
	switch c := p.peek(); {
	case p.pos >= len(p.data):
		p.fail(p.pos, "the file ends where %s should be; it is cut off or empty", want)
	case c < ' ' || c >= utf8.RuneSelf:
		p.fail(p.pos, "expected %s, found byte 0x%02x", want, c)
	default:
		p.fail(p.pos, "expected %s, found '%c'", want, c)
	}
}

func (p *python) Object(what string) tree.Cursor { return p.open('{', '}', what) }

// List begins a list or a tuple.
func (p *python) List(what string) tree.Cursor {
	if p.peek() == '(' {
		return p.open('(', ')', what)
	}
	return p.open('[', ']', what)
}

func (p *python) open(bracket, end byte, what string) tree.Cursor {
	if p.peek() != bracket {
		p.unexpected(fmt.Sprintf("'%c' at the start of %s", bracket, what))
		return tree.Cursor{}
	}
	p.pos++
	return p.ahead(tree.Cursor{Close: end})
}

// ahead says whether an item comes, and consumes the closing bracket if none does.
func (p *python) ahead(c tree.Cursor) tree.Cursor {
	ended := p.peek() == c.Close
	if ended {
		p.pos++
	}
	c.More = !ended && p.err == nil
	return c
}

// Next consumes the comma between two items. One may follow the last item.
func (p *python) Next(c tree.Cursor) tree.Cursor {
	switch p.peek() {
	case ',':
		p.pos++
	case c.Close:
	default:
		p.unexpected(fmt.Sprintf("',' or '%c'", c.Close))
	}
	return p.ahead(c)
}

func (p *python) Key() []byte {
	key := p.Text("a key in quotes")
	if p.peek() != ':' {
		p.unexpected("':' after a key")
		return nil
	}
	p.pos++
	return key
}

// Value reads a number or a list of numbers; one float makes all of them floats.
func (p *python) Value() profile.Value {
	if c := p.peek(); c != '[' && c != '(' {
		return p.Number("a value")
	}
	var list number.Vector
	for c := p.List("a vector"); c.More; c = p.Next(c) {
		list.Add(p.Number("a value"))
	}
	p.rounded += list.Rounded
	return list.Value()
}

// Number reads a number or a word for one, also as numpy prints it: np.float64(1.5).
func (p *python) Number(what string) profile.Value {
	p.peek()
	start := p.pos
	word := p.word()
	switch word {
	case "":
		p.unexpected(what)
		return profile.Value{}
	case "None", "null", "nan", "NaN", "+nan", "-nan":
		return profile.FloatValue(math.NaN())
	case "inf", "+inf", "Infinity":
		return profile.FloatValue(math.Inf(1))
	case "-inf", "-Infinity":
		return profile.FloatValue(math.Inf(-1))
	case "True", "true":
		return profile.IntValue(1)
	case "False", "false":
		return profile.IntValue(0)
	}
	if p.peek() == '(' && !strings.ContainsAny(word[:1], "0123456789+-.") {
		return p.call()
	}
	if i, err := strconv.ParseInt(word, 0, 64); err == nil && !octal(word) {
		return profile.IntValue(i)
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil && !math.IsInf(f, 0) || strings.ContainsAny(word, "pPxXnN") {
		p.fail(start, "expected a value, found %.40q", word)
	}
	if number.Rounded(word, f) {
		p.rounded++
	}
	return profile.FloatValue(f)
}

// octal says whether ParseInt would take a number with leading zeros for an octal one. Python refuses those.
func octal(word string) bool {
	digits := strings.TrimLeft(word, "+-")
	return len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789_") == ""
}

// call reads the one number in the brackets of np.float64(1.5) or float("nan").
func (p *python) call() (v profile.Value) {
	if p.inCall {
		p.unexpected("a number")
		return v
	}
	p.inCall = true
	defer func() { p.inCall = false }()
	p.pos++
	if p.AtText() {
		start := p.pos
		inner := python{data: p.Text("a number"), inCall: true}
		if v = inner.Number("a value"); inner.err != nil {
			p.fail(start, "expected a number in quotes")
		}
	} else {
		v = p.Number("a value")
	}
	if p.peek() != ')' {
		p.unexpected("')'")
		return v
	}
	p.pos++
	return v
}

// word consumes letters, digits, signs and points.
func (p *python) word() string {
	start := p.pos
	for ; p.pos < len(p.data); p.pos++ {
		c := p.data[p.pos]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '+' && c != '.' && c != '_' {
			break
		}
	}
	return string(p.data[start:p.pos])
}

// AtText says whether a string comes next, with or without a prefix.
func (p *python) AtText() bool {
	c := p.peek()
	if (c|0x20 == 'u' || c|0x20 == 'r') && p.pos+1 < len(p.data) {
		c = p.data[p.pos+1]
	}
	return c == '\'' || c == '"'
}

// Text reads a string; strings side by side are one, as in Python.
func (p *python) Text(want string) []byte {
	if !p.AtText() {
		p.unexpected(want)
		return nil
	}
	text := p.quoted()
	for p.err == nil && p.AtText() {
		text = append(text, p.quoted()...)
	}
	return text
}

// Intern returns one copy of each text.
func (p *python) Intern(text []byte) string {
	if s, known := p.names[string(text)]; known {
		return s
	}
	if p.names == nil {
		p.names = map[string]string{}
	}
	p.Keep(tree.TextSize + 2*len(text))
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	p.names[string(text)] = s
	return s
}

// quoted reads one string between its quotes, one or three on each side.
func (p *python) quoted() []byte {
	start := p.pos
	raw := p.data[p.pos]|0x20 == 'r'
	if raw || p.data[p.pos]|0x20 == 'u' {
		p.pos++
	}
	quote := string(p.data[p.pos : p.pos+1])
	if rest := p.data[p.pos:]; len(rest) >= 3 && string(rest[:3]) == strings.Repeat(quote, 3) {
		quote = string(rest[:3])
	}
	p.pos += len(quote)
	var text []byte
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		switch {
		case c == quote[0] && strings.HasPrefix(string(p.data[p.pos:min(p.pos+3, len(p.data))]), quote):
			p.pos += len(quote)
			return text
		case c == '\n' && len(quote) == 1:
			p.fail(start, "the string that starts here does not end on its line")
			return nil
		case c == '\\' && p.pos+1 < len(p.data) && raw:
			text = append(text, c, p.data[p.pos+1])
			p.pos += 2
		case c == '\\' && p.pos+1 < len(p.data):
			text = p.escape(text)
		default:
			text = append(text, c)
			p.pos++
		}
	}
	p.fail(start, "the string that starts here never ends; the file is cut off")
	return nil
}

// escape reads what a backslash begins. One that Python does not know stands for itself, as there.
func (p *python) escape(text []byte) []byte {
	at := p.pos
	c := p.data[p.pos+1]
	p.pos += 2
	switch c {
	case '\n':
		return text
	case '\\', '\'', '"', '/':
		return append(text, c)
	case 'a', 'b', 'f', 'n', 'r', 't', 'v':
		return append(text, "\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)])
	case 'x':
		return utf8.AppendRune(text, p.hex(at, 2))
	case 'u':
		return utf8.AppendRune(text, p.pair(at))
	case 'U':
		return utf8.AppendRune(text, p.hex(at, 8))
	}
	if c < '0' || c > '7' {
		return append(text, '\\', c)
	}
	r := rune(c - '0')
	for range 2 {
		if p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '7' {
			r = r<<3 | rune(p.data[p.pos]-'0')
			p.pos++
		}
	}
	return utf8.AppendRune(text, r)
}

// pair reads four digits, and four more if they are the first half of a character as JSON writes it.
func (p *python) pair(at int) rune {
	r := p.hex(at, 4)
	if !utf16.IsSurrogate(r) || p.pos+6 > len(p.data) || string(p.data[p.pos:p.pos+2]) != `\u` {
		return r
	}
	back := p.pos
	p.pos += 2
	if both := utf16.DecodeRune(r, p.hex(back, 4)); both != utf8.RuneError {
		return both
	}
	p.pos = back
	return r
}

func (p *python) hex(at, digits int) rune {
	if p.pos+digits > len(p.data) {
		p.fail(at, "the file ends inside a string; it is cut off")
		p.pos = len(p.data)
		return 0
	}
	v, err := strconv.ParseUint(string(p.data[p.pos:p.pos+digits]), 16, 32)
	if err != nil {
		p.fail(at, "expected %d hexadecimal digits after \\%c", digits, p.data[at+1])
	}
	p.pos += digits
	return rune(v)
}

// Skip consumes a value of any shape.
func (p *python) Skip() { p.skip(0) }

func (p *python) skip(depth int) {
	if depth > profile.MaxDepth {
		p.fail(p.pos, "nested more than %d levels deep", profile.MaxDepth)
		return
	}
	switch c := p.peek(); {
	case c == '{':
		for c := p.Object("a value"); c.More; c = p.Next(c) {
			p.Key()
			p.skip(depth + 1)
		}
	case c == '[' || c == '(':
		for c := p.List("a value"); c.More; c = p.Next(c) {
			p.skip(depth + 1)
		}
	case p.AtText():
		p.Text("a value")
	default:
		p.Number("a value")
	}
}
