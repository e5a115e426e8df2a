// Package collapsed reads and writes folded stacks, the text that flame graph tools share: one line per call path,
// its frames from the root on with ';' between them, a space, and a whole number.
//
// A file holds one metric and does not say which. Frames are written as they are, except that ';', control
// characters and a '%' that would read as one of them are written as %3B, %0A and so on; docs/formats.md has the rules.
package collapsed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/union"
)

// Metric is what the numbers of a file that was read are called.
const Metric = "samples"

// Write writes the time of the kernels, or if there is none the first metric that adds up.
func Write(w io.Writer, p *profile.Profile) error { return WriteMetric(w, p, "") }

// WriteMetric writes one metric, by its name with or without the unit: "time (ns)" or "time".
func WriteMetric(w io.Writer, p *profile.Profile, metric string) error {
	p, err := union.Writable(p, profile.PathSizes{What: "a file of folded stacks", Frame: 1, Names: true})
	if err != nil {
		return err
	}
	metric, err = choose(p, metric)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	lines := 0
	union.Each(p.Root, func(path []string, n *profile.Node) {
		size, ok := whole(n, metric)
		if !ok {
			return
		}
		lines++
		for i, frame := range path {
			if i > 0 {
				b.WriteByte(';')
			}
			b.WriteString(escape(frame))
		}
		b.WriteByte(' ')
		b.Write(strconv.AppendInt(nil, size, 10))
		b.WriteByte('\n')
	})
	if lines == 0 {
		return fmt.Errorf("no frame has more than 0 of %s, so there is no stack to write", metric)
	}
	return b.Flush() // has the first error of any write
}

// choose finds the metric to write.
func choose(p *profile.Profile, wanted string) (string, error) {
	metrics := union.Additive(p)
	for _, m := range metrics {
		base, _, _ := strings.Cut(m, " (")
		if wanted == "" || m == wanted || strings.EqualFold(base, wanted) {
			return m, nil
		}
	}
	if len(metrics) == 0 {
		return "", errors.New("collapsed stacks need a metric whose numbers add up, and the profile has none")
	}
	return "", fmt.Errorf("the profile has no metric %q whose numbers add up; it has %s", wanted, strings.Join(metrics, ", "))
}

// whole returns the size of a node's stack in whole numbers.
func whole(n *profile.Node, metric string) (size int64, ok bool) {
	v, ok := union.Size(n, metric)
	if !ok || v.Type() == profile.Int {
		return v.Int(), ok
	}
	f, _ := v.Float()
	f = math.Round(f)
	return int64(f), f >= 1 && f < math.MaxInt64
}

// Loses says what a file with one metric loses of p, one clause each: the other metrics, and frames that get no line.
// metric "" stands for the default one. formats.Holds covers what no file of this format can hold, such as text and vectors.
func Loses(p *profile.Profile, metric string) []string {
	metric, err := choose(p, metric)
	if err != nil {
		return nil // it cannot be written at all
	}
	lost := []string{fmt.Sprintf("the name of the metric (%s)", metric)}
	others := slices.DeleteFunc(union.Additive(p), func(m string) bool { return m == metric })
	if len(others) > 0 {
		lost = append(lost, fmt.Sprintf("all metrics but %s (%s)", metric, strings.Join(others, ", ")))
	}
	lost = union.Clause(lost, union.Sizeless(p, []string{metric}), "value", "values", " of "+metric+" below zero or no number")
	lost = union.Clause(lost, union.Duplicates(p.Root), "frame", "frames", " with the name of a sibling, merged into it")
	return union.Clause(lost, union.Bare(p.Root, func(n *profile.Node) bool { _, ok := whole(n, metric); return ok }), "leaf", "leaves", " without a value of "+metric)
}

// escape writes a frame so that it stays one frame of one line.
func escape(frame string) string {
	var b []byte // as far as it differs
	from := 0
	for i := range len(frame) {
		if c := frame[i]; mustEscape(c) || escaped(frame[i:]) {
			b = fmt.Appendf(append(b, frame[from:i]...), "%%%02X", c)
			from = i + 1
		}
	}
	if from == 0 {
		return frame
	}
	return string(append(b, frame[from:]...))
}

func mustEscape(c byte) bool { return c == ';' || c < ' ' || c == 0x7f }

// escaped says whether a text begins with something that unescape would change.
func escaped(text string) bool {
	if len(text) < 3 || text[0] != '%' {
		return false
	}
	c, err := strconv.ParseUint(text[1:3], 16, 8)
	return err == nil && (mustEscape(byte(c)) || c == '%') && text[1:3] == strings.ToUpper(text[1:3])
}

func unescape(frame string) string {
	if !strings.Contains(frame, "%") {
		return frame
	}
	var b strings.Builder
	for i := 0; i < len(frame); i++ {
		if frame[i] == '%' && escaped(frame[i:]) {
			c, _ := strconv.ParseUint(frame[i+1:i+3], 16, 8)
			b.WriteByte(byte(c))
			i += 2
		} else {
			b.WriteByte(frame[i])
		}
	}
	return b.String()
}

// Read reads folded stacks of any tool. Their numbers are read as the metric "samples". As flamegraph.pl, it leaves out what is not a stack;
// a note counts such lines. A file without stacks is a *profile.FormatError.
func Read(r io.Reader) (*profile.Profile, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	t, names := union.NewTree(), map[string]string{}
	var offset int64
	var left leftOut
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if text := strings.TrimRight(line, "\r\n"); text != "" && !comment(text) {
			if reason := add(t, names, text); reason != "" {
				left.line(number, offset, reason)
			}
			if err := t.Check(offset + int64(len(line))); err != nil {
				return nil, &profile.FormatError{Offset: offset, Reason: err.Error()}
			}
		}
		offset += int64(len(line))
		if err != nil {
			break
		}
	}
	if len(t.Root.Children) == 0 && left.lines > 0 {
		return nil, &profile.FormatError{Offset: left.offset, Reason: left.reason}
	}
	if len(t.Root.Children) == 0 {
		return nil, &profile.FormatError{Offset: 0, Reason: "the file holds no stacks; it is cut off or empty"}
	}
	p := t.Profile(false)
	if left.lines > 0 {
		p.Note(fmt.Sprintf("%s left out: line %d: %s", figures.Plural(left.lines, "line is not a stack and is", "lines are not stacks and are"), left.first, left.reason))
	}
	return p, nil
}

// comment says whether a line is a comment, as austin and people write them, and not a stack.
func comment(line string) bool {
	return (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "// ")) && !strings.Contains(line, ";")
}

// leftOut counts lines that are not stacks.
type leftOut struct {
	lines, first int
	offset       int64  // of the first
	reason       string // why it is none
}

func (l *leftOut) line(number int, offset int64, reason string) {
	if l.lines++; l.lines == 1 {
		l.first, l.offset, l.reason = number, offset, reason
	}
}

// add takes one line in; what is wrong with it comes back.
func add(t *union.Tree, names map[string]string, line string) (reason string) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return fmt.Sprintf("expected frames, a space and a number, found %.60q", line)
	}
	size, ok := parseSize(line[at+1:])
	if f, _ := size.Float(); size.Type() == profile.Float && jsonscan.Rounded(line[at+1:], f) {
		t.Rounded++
	}
	if !ok {
		return fmt.Sprintf("expected a number at the end of the line, found %.60q", line[at+1:])
	}
	frames := line[:at]
	if n := strings.Count(frames, ";") + 1; n > profile.MaxDepth {
		return fmt.Sprintf("a call path of %d frames; %d are the most", n, profile.MaxDepth)
	}
	n := t.Root
	for frame := range strings.SplitSeq(frames, ";") {
		name, known := names[frame]
		if !known {
			name = unescape(strings.Clone(frame))
			names[strings.Clone(frame)] = name
		}
		n = t.Child(n, name)
	}
	union.Add(n, Metric, size)
	return ""
}

func parseSize(text string) (profile.Value, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return profile.Value{}, false
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return profile.IntValue(i), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return profile.FloatValue(f), err == nil
}

// Sniff says by its first bytes whether a file holds folded stacks: text, nearly every line of it but comments ends in a number, and
// there is a ';' somewhere. So a file of nothing but single frames is not known, nor is a log taken for one.
func Sniff(head []byte) bool {
	for _, c := range head {
		if c < '\t' || c > '\r' && c < ' ' {
			return false
		}
	}
	text := bytes.TrimLeft(head, "\r\n")
	if len(text) == 0 || looksLikeJSON(text) || bytes.IndexByte(text, ';') < 0 {
		return false
	}
	stacks, others := 0, 0
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !ended && len(head) >= 4096 {
			break // the last line goes on behind the head
		}
		if line = bytes.TrimRight(line, "\r"); len(line) > 0 && !comment(string(line)) {
			at := bytes.LastIndexByte(line, ' ')
			if _, ok := parseSize(string(line[at+1:])); at >= 0 && ok {
				stacks++
			} else if others++; stacks == 0 {
				return false
			}
		}
		text = rest
	}
	return others*mostOthers <= stacks
}

// mostOthers is how many stacks there must be for each line that is none.
const mostOthers = 4

// looksLikeJSON tells "[{", "{\"" and the like from a frame called "[unknown]".
func looksLikeJSON(text []byte) bool {
	if text[0] != '[' && text[0] != '{' {
		return false
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || bytes.IndexByte([]byte(`[{]}"'0123456789-`), rest[0]) >= 0
}
