package report

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goproton/goproton/viewer"
)

// names numbers strings in order of first use.
type names struct {
	all         []string
	labels      []string // as short as the viewer has them; "" where that is the string itself
	index       map[string]uint64
	full, short func(name string) string
}

func newNames() (*names, error) {
	full, err := viewer.Labels(viewer.FullName)
	if err != nil {
		return nil, err
	}
	short, err := viewer.Labels(viewer.ShortName)
	return &names{all: []string{}, labels: []string{}, index: map[string]uint64{}, full: full, short: short}, err
}

// of numbers the name of a frame, as it was recorded.
func (n *names) of(name string) uint64 {
	if at, ok := n.index[name]; ok {
		return at
	}
	at := uint64(len(n.all))
	n.index[name] = at
	full, short := clean(n.full(name)), clean(n.short(name))
	if strings.TrimSpace(full) == "" {
		full, short = nameless, nameless
	}
	if short == full {
		short = ""
	}
	n.all, n.labels = append(n.all, full), append(n.labels, short)
	return at
}

// mark puts the viewer's marks for flops and bytes of a scope, or measured ones, before the label of a kernel.
func (n *names) mark(name uint64, mark string) {
	n.labels[name] = mark + cmp.Or(n.labels[name], n.all[name])
}

// words numbers the values of a column of text.
type words struct {
	all   []string
	index map[string]float64
}

func (w *words) of(text string) float64 {
	if text == "" {
		return missing
	}
	at, known := w.index[text]
	if !known {
		at = float64(len(w.all))
		w.index[text] = at
		w.all = append(w.all, clean(text))
	}
	return at
}

// longest is the number of bytes of a name that a page keeps. Names of C++ templates can be much longer.
const longest = 4000

// nameless replaces names without a visible character, which could neither be read nor clicked.
const nameless = "(no name)"

// clean makes a name safe to display. Markup needs no escaping, since the page never parses a name. Control characters and
// characters that change the direction of text could disguise a name or reverse the line around it, so they are written as
// escape sequences. Invalid UTF-8 is replaced.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > longest {
		cut := longest
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + fmt.Sprintf("… (%d bytes more)", len(name)-cut)
	}
	if strings.IndexFunc(name, unseen) < 0 {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if unseen(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cleaned are texts that are safe to display; none is an empty list.
func cleaned(texts []string) []string {
	safe := make([]string, len(texts))
	for i, text := range texts {
		safe[i] = clean(text)
	}
	return safe
}

// unseen reports whether a character has no shape of its own but changes how others look.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
