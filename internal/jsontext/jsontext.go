// Package jsontext works on JSON as text: it checks it, finds the members of objects, and writes the two canonical forms
// that TritonParse compares and hashes. Traces are large and repeat themselves, so nothing is decoded that need not be.
package jsontext

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting: a record of tritonparse has at most about ten levels.
const maxDepth = 512

// Member is one member of an object: its name, decoded, and its value as it is written.
type Member struct {
	Name  string
	Value []byte
	At    int // where the value begins in the object's text
}

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Offset int
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

func wrong(at int, what string) error { return &SyntaxError{Offset: at, What: what} }

// Members returns the members of an object, in order, and checks all of it. A name that comes twice has its last value,
// in its first place, as Python's dict has it.
func Members(text []byte) ([]Member, error) { return AppendMembers(nil, text) }

// AppendMembers is Members that reuses a slice.
func AppendMembers(members []Member, text []byte) ([]Member, error) {
	at := Space(text, 0)
	if at == len(text) || text[at] != '{' {
		return members, wrong(at, "not an object")
	}
	seen := names{first: len(members)}
	end, err := object(text, at, 0, value, func(name, value []byte, at int) {
		n := Text(name)
		if i := seen.find(members, n); i >= 0 {
			members[i].Value, members[i].At = value, at
			return
		}
		members = append(members, Member{n, value, at})
	})
	return members, ended(text, end, err)
}

// names finds members by name: in small objects, which most are, by looking at each; in maps of thousands of source lines by a
// table, since the time would grow with their square.
type names struct {
	first int // of the object's members
	at    map[string]int
}

const fewMembers = 32

func (n *names) find(members []Member, name string) int {
	if len(members)-n.first < fewMembers {
		for i := n.first; i < len(members); i++ {
			if members[i].Name == name {
				return i
			}
		}
		return -1
	}
	if n.at == nil {
		n.at = map[string]int{}
		for i := n.first; i < len(members); i++ {
			n.at[members[i].Name] = i
		}
	}
	if i, ok := n.at[name]; ok {
		return i
	}
	n.at[name] = len(members) // where it will be
	return -1
}

// Span is where a value stands in a text.
type Span struct{ Start, End int32 }

// AppendLeaves appends the places of all values in an object that are not objects, at any depth, in their order. It checks the
// whole text; the error says what is not JSON.
func AppendLeaves(leaves []Span, text []byte) ([]Span, error) {
	var leaf valueReader
	leaf = func(b []byte, i, depth int) (int, error) {
		if i < len(b) && b[i] == '{' {
			return object(b, i, depth, leaf, nil)
		}
		end, err := value(b, i, depth)
		leaves = append(leaves, Span{int32(i), int32(end)})
		return end, err
	}
	at := Space(text, 0)
	if at == len(text) || text[at] != '{' || len(text) > math.MaxInt32 {
		return leaves, wrong(at, "not an object")
	}
	end, err := leaf(text, at, 0)
	return leaves, ended(text, end, err)
}

// Elements returns the elements of a list that is known to be valid.
func Elements(text []byte) [][]byte {
	at := Space(text, 0)
	if at == len(text) || text[at] != '[' {
		return nil
	}
	var elements [][]byte
	if _, err := list(text, at, 0, func(value []byte) { elements = append(elements, value) }); err != nil {
		return nil
	}
	return elements
}

// Valid says whether text is one JSON value, as strict as orjson is: lone surrogates, numbers beyond a double and invalid
// UTF-8 are not.
func Valid(text []byte) error {
	end, err := value(text, Space(text, 0), 0)
	return ended(text, end, err)
}

// ended returns the error of the value that ends at end, or one for text behind the value.
func ended(text []byte, end int, err error) error {
	if err != nil {
		return err
	}
	if end = Space(text, end); end != len(text) {
		return wrong(end, "something after the value")
	}
	return nil
}

// End checks the value that begins at i and returns where it ends. depth is how many objects and lists it lies in.
func End(text []byte, i, depth int) (int, error) { return value(text, i, depth) }

// Space returns the place behind the white space that begins at i.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// value checks the value that begins at i and returns its end.
func value(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, wrong(i, "the text ends where a value should be")
	}
	switch c := b[i]; {
	case c == '"':
		return str(b, i)
	case c == '{':
		return object(b, i, depth, value, nil)
	case c == '[':
		return list(b, i, depth, nil)
	case c == '-' || c >= '0' && c <= '9':
		return number(b, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word), nil
		}
	}
	return i, wrong(i, "not a value")
}

// valueReader checks the value that begins at i, as value does.
type valueReader func(b []byte, i, depth int) (int, error)

func object(b []byte, i, depth int, read valueReader, member func(name, value []byte, at int)) (int, error) {
	if depth > maxDepth {
		return i, wrong(i, "nested too deep")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return i, wrong(i, "no name of a member")
		}
		end, err := str(b, i)
		if err != nil {
			return end, err
		}
		name := b[i:end]
		if i = Space(b, end); i >= len(b) || b[i] != ':' {
			return i, wrong(i, "no colon after a name")
		}
		i = Space(b, i+1)
		if end, err = read(b, i, depth+1); err != nil {
			return end, err
		}
		if member != nil {
			member(name, b[i:end], i)
		}
		i = Space(b, end)
		if i >= len(b) {
			return i, wrong(i, "an object without an end")
		}
		if b[i] == '}' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, wrong(i, "no comma between members")
		}
		i = Space(b, i+1)
	}
}

func list(b []byte, i, depth int, element func(value []byte)) (int, error) {
	if depth > maxDepth {
		return i, wrong(i, "nested too deep")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := value(b, i, depth+1)
		if err != nil {
			return end, err
		}
		if element != nil {
			element(b[i:end])
		}
		i = Space(b, end)
		if i >= len(b) {
			return i, wrong(i, "a list without an end")
		}
		if b[i] == ']' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, wrong(i, "no comma between elements")
		}
		i = Space(b, i+1)
	}
}

func str(b []byte, i int) (int, error) {
	start := i
	high := false
	for i++; ; {
		i += PlainASCII(b[i:])
		if i >= len(b) {
			return i, wrong(start, "a string without an end")
		}
		switch c := b[i]; {
		case c == '"':
			if high && !utf8.Valid(b[start:i]) {
				return start, wrong(start, "a string that is not UTF-8")
			}
			return i + 1, nil
		case c == '\\':
			n, err := escape(b, i)
			if err != nil {
				return i, err
			}
			i += n
		case c >= utf8.RuneSelf:
			high = true
			i++
		default:
			return i, wrong(i, "a control character in a string")
		}
	}
}

// escape checks the escape at i and returns its length; two halves of a pair are one.
func escape(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return 0, wrong(i, "a string without an end")
	}
	if b[i+1] != 'u' {
		if Escapes[b[i+1]] == 0 {
			return 0, wrong(i, "an unknown escape")
		}
		return 2, nil
	}
	r, ok := unicode(b, i)
	if !ok {
		return 0, wrong(i, "an unknown escape")
	}
	if !utf16.IsSurrogate(r) {
		return 6, nil
	}
	low, ok := unicode(b, i+6)
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0, wrong(i, "half a surrogate pair")
	}
	return 12, nil
}

// unicode reads \uXXXX at i.
func unicode(b []byte, i int) (rune, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	r, n := Hex(b[i+2 : i+6])
	return r, n == 4
}

// Escapes are the letters behind a backslash, without u, and what they stand for.
var Escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Hex reads the digits of \uXXXX, and returns how many of text are digits.
func Hex(text []byte) (r rune, n int) {
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return r, n
		}
		r = r<<4 | rune(c)
		n++
	}
	return r, n
}

func number(b []byte, i int) (int, error) {
	n, digits := Number(b[i:])
	if n == 0 {
		return i, wrong(i, "not a number")
	}
	if digits == 0 || digits > 300 {
		if _, err := strconv.ParseFloat(string(b[i:i+n]), 64); err != nil {
			return i, wrong(i, "a number beyond a double")
		}
	}
	return i + n, nil
}

// Number returns the length of the number that text begins with, 0 for none, and how many digits it has if it is a whole number without a
// point or an exponent.
func Number(text []byte) (length, whole int) {
	i := 0
	digits := func() int {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i - from
	}
	if len(text) > 0 && text[0] == '-' {
		i++
	}
	first := i
	if whole = digits(); whole == 0 || whole > 1 && text[first] == '0' {
		return 0, 0
	}
	if i < len(text) && text[i] == '.' {
		whole = 0
		if i++; digits() == 0 {
			return 0, 0
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		whole = 0
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if digits() == 0 {
			return 0, 0
		}
	}
	return i, whole
}

// Text is the text of a valid string, without quotes and escapes; "" for any other value.
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			b.Write(raw)
			return b.String()
		}
		b.Write(raw[:n])
		raw = raw[n+writeEscape(&b, raw[n:]):]
	}
}

// writeEscape writes what the escape means that text begins with, and returns its length.
func writeEscape(b *strings.Builder, text []byte) int {
	if c := text[1]; c != 'u' {
		b.WriteByte(Escapes[c])
		return 2
	}
	r, _ := unicode(text, 0)
	if !utf16.IsSurrogate(r) {
		b.WriteRune(r)
		return 6
	}
	low, _ := unicode(text, 6)
	b.WriteRune(utf16.DecodeRune(r, low))
	return 12
}

// Get returns the value of a member of a valid object, nil if there is none.
func Get(text []byte, path ...string) []byte {
	for _, name := range path {
		if len(text) == 0 || text[0] != '{' {
			return nil
		}
		var found []byte
		if _, err := object(text, 0, 0, value, func(n, v []byte, _ int) {
			if string(n[1:len(n)-1]) == name || bytes.IndexByte(n, '\\') >= 0 && Text(n) == name {
				found = v
			}
		}); err != nil || found == nil {
			return nil
		}
		text = found
	}
	return text
}
