package mlir

import "strings"

// TokenKind is what a token is.
type TokenKind uint8

const (
	TokenEnd    TokenKind = iota // of the text
	TokenWord                    // tt.load, i32, axis
	TokenValue                   // %x, %x#1
	TokenBlock                   // ^bb1
	TokenHash                    // #blocked, #ttg.blocked
	TokenBang                    // !tt.ptr
	TokenSymbol                  // @f, @"f"
	TokenNumber                  // -1, 0x7F, 1.0e+00
	TokenString                  // "…" with its quotation marks
	TokenMark                    // anything else: one byte, or ->
)

// Token is a part of a text.
type Token struct {
	Kind TokenKind
	Text string
	At   int // where it begins
}

// Lexer takes the text of an operation apart. The zero value reads nothing; comments count as spaces.
type Lexer struct {
	text string
	at   int
}

// NewLexer returns a lexer at the beginning of a text.
func NewLexer(text string) *Lexer { return &Lexer{text: text} }

// Offset is where the next token begins, or the spaces before it.
func (l *Lexer) Offset() int { return l.at }

// Seek goes to an offset.
func (l *Lexer) Seek(at int) { l.at = at }

// Rest is the text that is left.
func (l *Lexer) Rest() string { return l.text[l.at:] }

// Text is the text from one offset to another.
func (l *Lexer) Text(from, to int) string { return strings.TrimSpace(l.text[from:to]) }

// Peek returns the next token and stays before it.
func (l *Lexer) Peek() Token {
	at := l.at
	t := l.Next()
	l.at = at
	return t
}

// Take skips the next token if that is its text.
func (l *Lexer) Take(text string) bool {
	at := l.at
	if l.space(); strings.HasPrefix(l.text[l.at:], text) && l.Next().Text == text {
		return true
	}
	l.at = at
	return false
}

func (l *Lexer) space() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			l.at++
		case c == '/' && strings.HasPrefix(l.text[l.at:], "//"):
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				end = len(l.text) - l.at
			}
			l.at += end
		default:
			return
		}
	}
}

func (l *Lexer) words(at int) int {
	for at < len(l.text) && wordByte[l.text[at]] && !strings.HasPrefix(l.text[at:], "->") {
		at++
	}
	return at
}

// Next returns the next token and goes behind it.
func (l *Lexer) Next() Token {
	l.space()
	from := l.at
	if from >= len(l.text) {
		return Token{TokenEnd, "", from}
	}
	kind, end := TokenMark, from+1
	switch c := l.text[from]; {
	case c == '%':
		kind, end = TokenValue, l.words(from+1)
		if end < len(l.text) && l.text[end] == '#' {
			end = l.words(end + 1)
		}
	case c == '^':
		kind, end = TokenBlock, l.words(from+1)
	case c == '#':
		kind, end = TokenHash, l.words(from+1)
	case c == '!':
		kind, end = TokenBang, l.words(from+1)
	case c == '@':
		kind = TokenSymbol
		if end < len(l.text) && l.text[end] == '"' {
			end = l.quoted(end)
		} else {
			end = l.words(end)
		}
	case c == '"':
		kind, end = TokenString, l.quoted(from)
	case c >= '0' && c <= '9' || c == '-' && end < len(l.text) && l.text[end] >= '0' && l.text[end] <= '9':
		kind, end = TokenNumber, l.number(from)
	case c == '-' && strings.HasPrefix(l.text[from:], "->"):
		end++
	case c != '-' && wordByte[c]:
		kind, end = TokenWord, l.words(from)
	}
	l.at = end
	return Token{kind, l.text[from:end], from}
}

// quoted returns the end of the string that begins at an offset.
func (l *Lexer) quoted(at int) int {
	for at++; at < len(l.text); at++ {
		switch l.text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(l.text)
}

// number returns the end of a number; the x of 4x8 is none of its digits.
func (l *Lexer) number(at int) int {
	digits := func(set string) {
		for at < len(l.text) && strings.IndexByte(set, l.text[at]) >= 0 {
			at++
		}
	}
	if l.text[at] == '-' {
		at++
	}
	if strings.HasPrefix(l.text[at:], "0x") && at+2 < len(l.text) && strings.IndexByte("0123456789abcdefABCDEF", l.text[at+2]) >= 0 {
		at += 2
		digits("0123456789abcdefABCDEF")
		return at
	}
	digits("0123456789")
	if at < len(l.text) && l.text[at] == '.' {
		at++
		digits("0123456789")
		if at < len(l.text) && (l.text[at] == 'e' || l.text[at] == 'E') {
			exponent := at
			at++
			if at < len(l.text) && (l.text[at] == '-' || l.text[at] == '+') {
				at++
			}
			first := at
			if digits("0123456789"); at == first {
				at = exponent
			}
		}
	}
	return at
}

// Brackets skips the bracket that comes next, what stands in it and its end, and returns all of it; "" if no bracket comes next.
func (l *Lexer) Brackets() string {
	l.space()
	from, open := l.at, 0
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case '(', '[', '{', '<':
			open++
		case ')', ']', '}', '>':
			open--
		case '"':
			l.at = l.quoted(l.at)
			continue
		case '-':
			if strings.HasPrefix(l.text[l.at:], "->") {
				l.at++
			}
		}
		if open <= 0 && l.at == from {
			return ""
		}
		l.at++
		if open <= 0 {
			break
		}
	}
	return l.text[from:l.at]
}

// Type skips a type and returns its text: i32, tensor<4xf32, #blocked>, !tt.ptr<f32>, (i32, f32) -> f32, <f32>.
func (l *Lexer) Type() string {
	from := -1
	for {
		at := l.at
		t := l.Next()
		if from < 0 {
			from = t.At
		}
		switch {
		case t.Kind == TokenWord || t.Kind == TokenBang:
			if l.at < len(l.text) && l.text[l.at] == '<' {
				l.Brackets()
			}
			return l.text[from:l.at]
		case t.Text == "<":
			l.at = at
			l.Brackets()
			return l.text[from:l.at]
		case t.Text == "(":
			l.at = at
			l.Brackets()
			if !l.Take("->") {
				return l.text[from:l.at]
			}
		default:
			l.at = at
			return l.text[min(from, at):at]
		}
	}
}

// Code is a line of a text without locations and without a comment at its end.
func Code(line string) string {
	var b strings.Builder
	from := 0
	for at := 0; at < len(line); at++ {
		switch line[at] {
		case '"':
			l := Lexer{line, at}
			at = l.quoted(at) - 1
		case '/':
			if strings.HasPrefix(line[at:], "//") {
				b.WriteString(line[from:at])
				return strings.TrimSpace(b.String())
			}
		case 'l':
			if at == 0 || line[at-1] != ' ' && line[at-1] != ')' || !strings.HasPrefix(line[at:], "loc(") {
				continue
			}
			b.WriteString(strings.TrimRight(line[from:at], " "))
			l := Lexer{line, at + len("loc")}
			l.Brackets()
			from, at = l.at, l.at-1
		}
	}
	b.WriteString(line[from:])
	return strings.TrimSpace(b.String())
}
