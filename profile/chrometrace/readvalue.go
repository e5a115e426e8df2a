package chrometrace

import (
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
)

// value reads the value of a metric; ok is false for an object, which is not a value. Upstream writes all of them as text: "3",
// "0.500000", "[1,2,3]".
func (d *reader) value() (v profile.Value, ok bool) {
	switch d.Peek() {
	case '"':
		text := d.Intern(d.Str("a text"))
		if !d.ours {
			return d.parseValue(text), true
		}
		return profile.StringValue(text), true
	case '[':
		return d.vector()
	case '{':
		d.Skip(0)
		return profile.Value{}, false
	}
	return d.Scalar(), true
}

// vector reads a list of numbers; with one float among them, all are floats. A list with other values is skipped.
func (d *reader) vector() (v profile.Value, ok bool) {
	var list jsonscan.Vector
	ok = true
	d.Array("at the start of a list", func() {
		if c := d.Peek(); c == '"' || c == '[' || c == '{' {
			d.Skip(0)
			ok = false
			return
		}
		list.Add(d.Scalar())
	})
	d.Rounded += list.Rounded
	return list.Value(), ok
}

// parseValue reads a metric that upstream wrote as text.
func (d *reader) parseValue(text string) profile.Value {
	if v, ok := d.parseNumber(text); ok {
		return v
	}
	inner, isList := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !isList || !closed {
		return profile.StringValue(text)
	}
	var list jsonscan.Vector
	for part := range strings.SplitSeq(inner, ",") {
		v, ok := d.parseNumber(strings.TrimSpace(part))
		if !ok {
			return profile.StringValue(text)
		}
		list.Add(v)
	}
	d.Rounded += list.Rounded
	return list.Value()
}

func (d *reader) parseNumber(text string) (profile.Value, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return profile.IntValue(i), true
	}
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return profile.Value{}, false // no "inf", "nan", "0x"
	}
	f, err := strconv.ParseFloat(text, 64)
	if jsonscan.Rounded(text, f) {
		d.Rounded++
	}
	return profile.FloatValue(f), err == nil
}

// metricKind removes the kind from the name of a metric, where upstream writes it: "loss (pty)".
func (d *reader) metricKind(name string) string {
	for _, suffix := range []struct {
		text string
		kind profile.Kind
	}{{"(exc)", profile.Exclusive}, {"(pty)", profile.Property}} {
		if short, found := strings.CutSuffix(name, suffix.text); found {
			short = strings.TrimRight(short, " ")
			d.b.Profile.Kinds[short] = suffix.kind
			return short
		}
	}
	return name
}
