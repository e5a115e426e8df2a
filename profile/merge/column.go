package merge

import (
	"strings"
)

// Column is the name under which an amount of one source is kept: "time (ns)" of rank3 is "time@rank3 (ns)". The
// unit stays at the end, where every reader looks for it.
func Column(metric, label string) string {
	base, unit, has := strings.Cut(metric, " (")
	if !has {
		return metric + "@" + label
	}
	return base + "@" + label + " (" + unit
}

// SplitColumn takes the name of a column apart; ok is false for any other metric.
func SplitColumn(name string) (metric, label string, ok bool) {
	base, unit, has := strings.Cut(name, " (")
	base, label, ok = strings.Cut(base, "@")
	if !ok || base == "" || !isLabel(label) {
		return "", "", false
	}
	if has {
		base += " (" + unit
	}
	return base, label, true
}

func isLabel(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !labelRune(r) }) < 0
}

// labelRune says which characters labels are made of: those that neither a list of metrics, a unit nor a shell
// would trip over.
func labelRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r)
}

// label makes a label of any text.
func label(s string) string {
	return strings.Map(func(r rune) rune {
		if labelRune(r) {
			return r
		}
		return '_'
	}, s)
}
