// Package jsontext works on JSON as text: it checks it, finds the members of objects, and writes the two canonical forms
// that TritonParse compares and hashes. Traces are large and repeat themselves, so nothing is decoded that need not be.
package jsontext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
	at := space(text, 0)
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
	if err != nil {
		return members, err
	}
	if end = space(text, end); end != len(text) {
		return members, wrong(end, "something after the object")
	}
	return members, nil
}

// names finds members by name: objects of a few, which most are, by looking at each; maps of thousands of source lines by a
// table, or they would take the square of the time.
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

// AppendLeaves appends the places of all values in an object that are not objects, including those of objects within it, in
// order. It checks the whole text; the error says what is not JSON.
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
	at := space(text, 0)
	if at == len(text) || text[at] != '{' || len(text) > math.MaxInt32 {
		return leaves, wrong(at, "not an object")
	}
	end, err := leaf(text, at, 0)
	if err != nil {
		return leaves, err
	}
	if end = space(text, end); end != len(text) {
		return leaves, wrong(end, "something after the object")
	}
	return leaves, nil
}

// Elements returns the elements of a list that is known to be valid.
func Elements(text []byte) [][]byte {
	at := space(text, 0)
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
	end, err := value(text, space(text, 0), 0)
	if err != nil {
		return err
	}
	if end = space(text, end); end != len(text) {
		return wrong(end, "something after the value")
	}
	return nil
}

// End checks the value that begins at i, below so many objects and lists, and returns where it ends.
func End(text []byte, i, depth int) (int, error) { return value(text, i, depth) }

func space(b []byte, i int) int {
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
	i = space(b, i+1)
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
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return i, wrong(i, "no colon after a name")
		}
		i = space(b, i+1)
		if end, err = read(b, i, depth+1); err != nil {
			return end, err
		}
		if member != nil {
			member(name, b[i:end], i)
		}
		i = space(b, end)
		if i >= len(b) {
			return i, wrong(i, "an object without an end")
		}
		if b[i] == '}' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, wrong(i, "no comma between members")
		}
		i = space(b, i+1)
	}
}

func list(b []byte, i, depth int, element func(value []byte)) (int, error) {
	if depth > maxDepth {
		return i, wrong(i, "nested too deep")
	}
	i = space(b, i+1)
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
		i = space(b, end)
		if i >= len(b) {
			return i, wrong(i, "a list without an end")
		}
		if b[i] == ']' {
			return i + 1, nil
		}
		if b[i] != ',' {
			return i, wrong(i, "no comma between elements")
		}
		i = space(b, i+1)
	}
}

// plain are the bytes that a string may hold as they are and that need no second look.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// skipPlain returns where the first byte that is not plain may be, eight bytes at a time.
func skipPlain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, escape := w^('"'*ones), w^('\\'*ones)
		// Taking 1 from a byte that is 0 sets its high bit, and that of bytes behind it at most.
		if odd := (w | (w - ' '*ones) | (quote - ones) | (escape - ones)) & highs; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	return i
}

func str(b []byte, i int) (int, error) {
	start := i
	high := false
	for i = skipPlain(b, i+1); i < len(b); i++ {
		c := b[i]
		if plain[c] {
			continue
		}
		switch {
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
			i = skipPlain(b, i+n) - 1
		case c >= utf8.RuneSelf:
			high = true
		default:
			return i, wrong(i, "a control character in a string")
		}
	}
	return i, wrong(start, "a string without an end")
}

// escape checks the escape at i and returns its length; two halves of a pair are one.
func escape(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return 0, wrong(i, "a string without an end")
	}
	if b[i+1] != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) < 0 {
			return 0, wrong(i, "an unknown escape")
		}
		return 2, nil
	}
	r, ok := hex4(b, i)
	if !ok {
		return 0, wrong(i, "an unknown escape")
	}
	if !utf16.IsSurrogate(r) {
		return 6, nil
	}
	low, ok := hex4(b, i+6)
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0, wrong(i, "half a surrogate pair")
	}
	return 12, nil
}

// hex4 reads \uXXXX at i.
func hex4(b []byte, i int) (rune, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func number(b []byte, i int) (int, error) {
	start := i
	if b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	zero := i < len(b) && b[i] == '0'
	from := i
	if !digits() || zero && i > from+1 {
		return i, wrong(start, "not a number")
	}
	whole := i - from
	float := false
	if i < len(b) && b[i] == '.' {
		float = true
		if i++; !digits() {
			return i, wrong(start, "not a number")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		float = true
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, wrong(start, "not a number")
		}
	}
	if float || whole > 300 {
		if _, err := strconv.ParseFloat(string(b[start:i]), 64); err != nil {
			return i, wrong(start, "a number beyond a double")
		}
	}
	return i, nil
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
	switch c := text[1]; c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'u':
		r, _ := hex4(text, 0)
		if !utf16.IsSurrogate(r) {
			b.WriteRune(r)
			return 6
		}
		low, _ := hex4(text, 6)
		b.WriteRune(utf16.DecodeRune(r, low))
		return 12
	default:
		b.WriteByte(c)
	}
	return 2
}

// Get returns the value of a member of a valid object, nil if there is none.
func Get(text []byte, path ...string) []byte {
	for _, name := range path {
		if len(text) == 0 || text[0] != '{' {
			return nil
		}
		var found []byte
		if _, err := object(text, 0, 0, value, func(n, v []byte, _ int) {
			if Text(n) == name {
				found = v
			}
		}); err != nil || found == nil {
			return nil
		}
		text = found
	}
	return text
}

// Form is a way to write a value so that equal values have equal text.
type Form struct {
	ASCII bool                   // \uXXXX for what is not ASCII, as Python's json writes it; else as it is, as orjson does
	Drop  func(name string) bool // members that are left out, at any depth
}

// Canonical says of a valid value whether it is a scalar that every Form writes as it stands.
func Canonical(raw []byte) bool {
	switch c := raw[0]; c {
	case '"':
		for _, c := range raw[1 : len(raw)-1] {
			if !plain[c] || c == 0x7f {
				return false
			}
		}
		return true
	case 't', 'f', 'n':
		return true
	case '{', '[':
		return false
	}
	return len(raw) < 19 && !bytes.ContainsAny(raw, ".eE") && string(raw) != "-0"
}

// Append writes a valid value: members sorted by their names, no blanks, numbers as Python writes them.
func (f Form) Append(out, text []byte) []byte {
	text = bytes.TrimSpace(text)
	switch text[0] {
	case '"':
		return f.appendString(out, text)
	case '{':
		return f.appendObject(out, text)
	case '[':
		out = append(out, '[')
		first := true
		_, _ = list(text, 0, 0, func(v []byte) {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = f.Append(out, v)
		})
		return append(out, ']')
	case 't', 'f', 'n':
		return append(out, text...)
	}
	return appendNumber(out, text)
}

func (f Form) appendObject(out, text []byte) []byte {
	var room [24]Member
	members, err := AppendMembers(room[:0], text)
	if err != nil {
		return out
	}
	// The order of UTF-8's bytes is the order of code points, which is Python's.
	slices.SortFunc(members, func(a, b Member) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	out = append(out, '{')
	first := true
	for _, m := range members {
		if f.Drop != nil && f.Drop(m.Name) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = f.AppendText(out, m.Name)
		out = append(out, ':')
		out = f.Append(out, m.Value)
	}
	return append(out, '}')
}

func (f Form) appendString(out, raw []byte) []byte {
	for _, c := range raw[1 : len(raw)-1] {
		if !plain[c] || c == 0x7f {
			return f.AppendText(out, Text(raw))
		}
	}
	return append(out, raw...)
}

const hexDigits = "0123456789abcdef"

// AppendText writes a string.
func (f Form) AppendText(out []byte, s string) []byte {
	out = append(out, '"')
	asIs := 0
	for asIs < len(s) && plain[s[asIs]] && s[asIs] != 0x7f {
		asIs++
	}
	out = append(out, s[:asIs]...)
	for _, r := range s[asIs:] {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\r':
			out = append(out, '\\', 'r')
		case r == '\t':
			out = append(out, '\\', 't')
		case r == '\b':
			out = append(out, '\\', 'b')
		case r == '\f':
			out = append(out, '\\', 'f')
		case r < ' ' || r == 0x7f && f.ASCII || r > 0x7f && r < 0x10000 && f.ASCII:
			out = append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		case r >= 0x10000 && f.ASCII:
			high, low := utf16.EncodeRune(r)
			for _, half := range []rune{high, low} {
				out = append(out, '\\', 'u', hexDigits[half>>12&15], hexDigits[half>>8&15], hexDigits[half>>4&15], hexDigits[half&15])
			}
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// Quote is a string as JSON.
func Quote(s string) []byte { return Form{}.AppendText(nil, s) }

// appendNumber writes a number as Python does after it has read it: whole numbers of 64 bits as they are, all others as
// the shortest decimal of a double.
func appendNumber(out, text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") {
		if len(text) < 19 || fits(text) {
			if string(text) == "-0" {
				text = text[1:]
			}
			return append(out, text...)
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return append(out, text...)
	}
	return AppendFloat(out, v)
}

func fits(text []byte) bool {
	if _, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(string(text), 10, 64)
	return err == nil
}

// AppendFloat writes a double as Python's repr does: digits from 1e-4 to below 1e16, an exponent of two digits elsewhere.
func AppendFloat(out []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(out, v, 'e', -1, 64)
	}
	before := len(out)
	out = strconv.AppendFloat(out, v, 'f', -1, 64)
	if bytes.IndexByte(out[before:], '.') < 0 {
		out = append(out, '.', '0')
	}
	return out
}
