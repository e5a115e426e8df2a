package term

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Output is the way of all text to the terminal. Commands get their standard output and error as one, so that no name from a
// file reaches the terminal as a control sequence, whatever the code between has forgotten: control characters, and all that
// has no shape of its own, are spelled out as \u001b. What passes is text, line ends, tabs, and the colours that our views
// write. What is spelled out stays valid within a JSON text.
//
// Names are to go through Printable before that, where columns are aligned: it knows their width then.
//
// Data for programs (profiles, traces) are not for an Output: see Raw.
type Output struct {
	out   io.Writer
	width int // of lines, 0 for any

	mu      sync.Mutex // guards what follows
	pending []byte     // the beginning of a character or of a colour, whose rest comes with the next Write
	buffer  []byte
}

// NewOutput returns an Output in front of a writer.
func NewOutput(out io.Writer) *Output { return &Output{out: out} }

// NewMessages returns an Output for messages: on a terminal their lines are broken between words.
func NewMessages(out io.Writer) *Output { return &Output{out: out, width: Width(out)} }

// Raw returns the writer behind an Output, for data, for other programs and for what our own code draws; others as they are.
func Raw(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.out
	}
	return w
}

// Write writes what may be seen.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := p
	if len(o.pending) > 0 {
		text = append(o.pending, p...)
		o.pending = nil
	}
	text, rest := o.clean(text)
	o.pending = append(o.pending, rest...)
	if o.width > 0 {
		text = broken(text, o.width)
	}
	if _, err := o.out.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// broken breaks the long lines of messages.
func broken(text []byte, width int) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		out = append(out, strings.Join(Break(string(body), 2, width), "\n")...)
		if ended {
			out = append(out, '\n')
		}
	}
	return out
}

// clean returns a text as it may be seen, and its end that cannot be decided yet. A text that needs no change is not copied.
func (o *Output) clean(p []byte) (seen, rest []byte) {
	o.buffer = o.buffer[:0]
	from, i := 0, 0 // what is between is yet to be copied
	for i < len(p) {
		b := p[i]
		switch {
		case b >= ' ' && b < 0x7f || b == '\n' || b == '\t':
			i++
			continue
		case b == 0xe2 && i+2 < len(p) && p[i+1]-0x94 < 3 && p[i+2]-0x80 < 0x40: // lines and blocks are most of a tree
			i += 3
			continue
		case b == 0x1b:
			length, whole := color(p[i:])
			if length > 0 && !whole {
				return o.upTo(p[from:i]), p[i:]
			}
			if i += length; length > 0 {
				continue
			}
		case b >= utf8.RuneSelf:
			if !utf8.FullRune(p[i:]) {
				return o.upTo(p[from:i]), p[i:]
			}
			if r, size := utf8.DecodeRune(p[i:]); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		o.buffer = append(o.buffer, p[from:i]...)
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size == 1 {
			o.buffer = fmt.Appendf(o.buffer, `\x%02x`, p[i])
		} else {
			o.spell(r)
		}
		i += size
		from = i
	}
	return o.upTo(p[from:]), nil
}

// upTo is what was copied and what follows it.
func (o *Output) upTo(last []byte) []byte {
	if len(o.buffer) == 0 {
		return last
	}
	o.buffer = append(o.buffer, last...)
	return o.buffer
}

func (o *Output) spell(r rune) {
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		o.buffer = fmt.Appendf(o.buffer, `\u%04x\u%04x`, a, b)
		return
	}
	o.buffer = fmt.Appendf(o.buffer, `\u%04x`, r)
}

// longestColor is more than any colour has, in bytes.
const longestColor = 32

// color is the length of the sequence for a colour that a text begins with, 0 if it is something else; whole is false if the
// text ends within it. Colours, bold, faint and underlined pass. Others could hide what is written: blinking, reversed,
// concealed, backgrounds, and black.
func color(p []byte) (length int, whole bool) {
	number, skip, digits := 0, 0, 0
	for i, b := range p[:min(len(p), longestColor)] {
		switch {
		case i == 0:
		case i == 1:
			if b != '[' {
				return 0, false
			}
		case b >= '0' && b <= '9' && digits < 3:
			number = 10*number + int(b-'0')
			digits++
		case b == ';' || b == 'm':
			switch {
			case skip == 2 && number != 5, skip == 1 && (number == 0 || number == 16 || number >= 232): // the parts of 38;5;196
				return 0, false
			case skip > 0:
				skip--
			case number == 38:
				skip = 2
			case number > 4 && number < 31, number > 39 && (number < 91 || number > 97):
				return 0, false
			}
			if b == 'm' {
				return i + 1, true
			}
			number, digits = 0, 0
		default:
			return 0, false
		}
	}
	if len(p) >= longestColor {
		return 0, false
	}
	return len(p), false
}
