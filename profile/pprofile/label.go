package pprofile

import (
	"maps"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// zeroLabel names the metrics that a node has a zero of, where pprof cannot tell a zero from nothing.
const zeroLabel = "zero"

// zeroSeparator separates these names within one text. No name contains it.
const zeroSeparator = "\x00"

// labelNames are the labels whose names differ from their metrics'. Users type them after -tagroot.
var labelNames = map[string]string{profile.DeviceIDMetric: "device", "stream_id": "stream"}

// idUnit is the unit of labels that number something. pprof shows no unit that it does not know, but it drops a
// 0 that has none.
const idUnit = "id"

// labelKind says what a label was before it became text.
type labelKind string

const (
	textLabel   labelKind = "string"
	intLabel    labelKind = "int"
	floatLabel  labelKind = "float"
	intsLabel   labelKind = "ints"
	floatsLabel labelKind = "floats"

	// mixedLabel is a metric that has values of several types. Texts are quoted and floats have a point, so that each
	// value comes back with its type.
	mixedLabel labelKind = "mixed"

	// exactLabel is an integer whose value in the sample is rounded: one of a metric whose sum pprof could not hold, or
	// one beyond 2^53 of a metric that also has fractions.
	exactLabel labelKind = "exact"
)

// exactPrefix stands before the name of a sample type in the key of an exactLabel.
const exactPrefix = "exact "

// typeSet is a set of types of values.
type typeSet uint8

func (s typeSet) with(t profile.Type) typeSet    { return s | 1<<t }
func (s typeSet) without(t profile.Type) typeSet { return s &^ (1 << t) }

// label is the kind of a label that holds values of these types.
func (s typeSet) label() labelKind {
	for t, kind := range kindOfType {
		if s == typeSet(0).with(t) {
			return kind
		}
	}
	return mixedLabel
}

var kindOfType = map[profile.Type]labelKind{
	profile.Int: intLabel, profile.Float: floatLabel, profile.String: textLabel, profile.Ints: intsLabel, profile.Floats: floatsLabel,
}

// labelName returns the name of a metric's label.
func labelName(metric string, kinds profile.Kinds) string {
	short, renamed := labelNames[metric]
	if _, taken := kinds[short]; renamed && !taken {
		return short
	}
	return metric
}

// labelSet are the labels of a sample.
type labelSet struct {
	text    map[string][]string
	numbers map[string][]int64
	units   map[string][]string
}

// add attaches a value. Whole numbers, also those in text such as device_id's, are written as numbers: pprof's
// -tagfocus=device=0 compares with numbers only.
func (l *labelSet) add(key string, v profile.Value, kind labelKind) {
	n, whole := wholeNumber(v)
	if !whole || kind == mixedLabel && v.Type() != profile.Int {
		if l.text == nil {
			l.text = map[string][]string{}
		}
		l.text[key] = []string{labelTextAs(v, kind)}
		return
	}
	if l.numbers == nil {
		l.numbers, l.units = map[string][]int64{}, map[string][]string{}
	}
	l.numbers[key], l.units[key] = []int64{n}, []string{idUnit}
}

func (l *labelSet) clone() *labelSet {
	return &labelSet{maps.Clone(l.text), maps.Clone(l.numbers), maps.Clone(l.units)}
}

// wholeNumber accepts a text only if the number, written again, is the same text.
func wholeNumber(v profile.Value) (n int64, ok bool) {
	switch v.Type() {
	case profile.Int:
		return v.Int(), true
	case profile.String:
		n, err := strconv.ParseInt(v.Str(), 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == v.Str()
	}
	return 0, false
}

func labelText(v profile.Value) string {
	switch v.Type() {
	case profile.Int:
		return strconv.FormatInt(v.Int(), 10)
	case profile.Float:
		f, _ := v.Float()
		return floatText(f)
	case profile.Ints:
		return listText(v.Ints(), func(n int64) string { return strconv.FormatInt(n, 10) })
	case profile.Floats:
		return listText(v.Floats(), floatText)
	}
	return v.Str()
}

// labelTextAs is labelText where the kind does not say the type.
func labelTextAs(v profile.Value, kind labelKind) string {
	if kind != mixedLabel {
		return labelText(v)
	}
	switch v.Type() {
	case profile.String:
		return strconv.Quote(v.Str())
	case profile.Float:
		f, _ := v.Float()
		return pointedText(f)
	case profile.Floats:
		return listText(v.Floats(), pointedText)
	}
	return labelText(v)
}

// pointedText writes a float with a point or an exponent, so that readers do not take it for an integer.
func pointedText(f float64) string {
	text := floatText(f)
	if strings.Trim(text, "-0123456789") == "" {
		text += ".0"
	}
	return text
}

func floatText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func listText[T any](list []T, text func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = text(v)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// labelValue reads the text of a label. A text that does not fit the kind stays a text.
func labelValue(text string, kind labelKind) profile.Value {
	switch kind {
	case mixedLabel:
		return mixedValue(text)
	case intLabel, exactLabel:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return profile.IntValue(n)
		}
	case floatLabel:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return profile.FloatValue(f)
		}
	case intsLabel:
		if list, ok := parseList(text, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }); ok {
			return profile.IntsValue(list)
		}
	case floatsLabel:
		if list, ok := parseList(text, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }); ok {
			return profile.FloatsValue(list)
		}
	}
	return profile.StringValue(text)
}

// mixedValue reads the text that labelTextAs writes for a mixedLabel.
func mixedValue(text string) profile.Value {
	if quoted, err := strconv.Unquote(text); err == nil {
		return profile.StringValue(quoted)
	}
	for _, kind := range []labelKind{intLabel, floatLabel, intsLabel, floatsLabel} {
		if v := labelValue(text, kind); v.Type() != profile.String {
			return v
		}
	}
	return profile.StringValue(text)
}

func parseList[T any](text string, parse func(string) (T, error)) (list []T, ok bool) {
	text, open := strings.CutPrefix(text, "[")
	text, closed := strings.CutSuffix(text, "]")
	if !open || !closed {
		return nil, false
	}
	list = []T{}
	for _, word := range strings.Fields(text) {
		v, err := parse(word)
		if err != nil {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}
