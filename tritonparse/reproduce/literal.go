package reproduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/goproton/goproton/internal/jsontext"
)

// quote writes a text as Python does it in one line.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inQuotes is quote without its quotes, for texts that stand between either kind.
func inQuotes(s string) string {
	s = quote(s)
	return strings.ReplaceAll(s[1:len(s)-1], "'", `\'`)
}

// pyLiteral writes a JSON value as Python does.
func pyLiteral(raw []byte) string {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "None"
	case string(raw) == "true":
		return "True"
	case string(raw) == "false":
		return "False"
	case raw[0] == '"':
		switch text := jsontext.Text(raw); text {
		case "nan", "inf", "-inf":
			return `float("` + text + `")`
		default:
			return quote(text)
		}
	case raw[0] == '[':
		return "[" + strings.Join(literals(raw), ", ") + "]"
	case raw[0] == '{':
		members, _ := jsontext.Members(raw)
		var parts []string
		for _, m := range members {
			parts = append(parts, quote(m.Name)+": "+pyLiteral(m.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(raw)
}

func pyTuple(raw []byte) string {
	if len(raw) == 0 || raw[0] != '[' {
		return pyLiteral(raw)
	}
	parts := literals(raw)
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func literals(list []byte) []string {
	var parts []string
	for _, e := range jsontext.Elements(list) {
		parts = append(parts, pyLiteral(e))
	}
	return parts
}

// rawText writes JSON as a text over several lines. No JSON has three quotes in a row, and it ends in a brace; what is
// behind a backslash is no end of a raw text either.
func rawText(json []byte) string { return `r"""` + string(json) + `"""` }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
