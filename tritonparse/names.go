package tritonparse

import (
	"fmt"
	"regexp"
	"strings"
)

// Names are patterns for names of kernels, as in TritonParse's allow-lists: * for anything, ? for one character, [seq] and
// [!seq]. A name is matched if one of them matches all of it.
type Names []*regexp.Regexp

// ParseNames reads patterns with commas between them. Blanks around them do not count, empty ones neither.
func ParseNames(list string) (Names, error) {
	var names Names
	for _, pattern := range strings.Split(list, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		re, err := regexp.Compile(shellPattern(pattern))
		if err != nil {
			return nil, fmt.Errorf("read the pattern %q: %w; write names with *, ? and [seq], with commas between several", pattern, err)
		}
		names = append(names, re)
	}
	return names, nil
}

// Match says whether a name is matched; the empty list matches every name.
func (n Names) Match(name string) bool {
	for _, re := range n {
		if re.MatchString(name) {
			return true
		}
	}
	return len(n) == 0
}

// shellPattern is a pattern as a regular expression, by the rules of Python's fnmatch: a bracket without an end is itself.
func shellPattern(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(".*")
			i++
		case '?':
			b.WriteByte('.')
			i++
		case '[':
			set, length := bracket(pattern[i:])
			b.WriteString(set)
			i += length
		default:
			next := strings.IndexAny(pattern[i+1:], "*?[")
			end := len(pattern)
			if next >= 0 {
				end = i + 1 + next
			}
			b.WriteString(regexp.QuoteMeta(pattern[i:end]))
			i = end
		}
	}
	return b.String() + `\z`
}

// bracket turns the set that a text begins with into one of a regular expression.
func bracket(text string) (set string, length int) {
	from := 1
	if strings.HasPrefix(text[from:], "!") {
		from++
	}
	end := -1
	if from < len(text) {
		end = strings.IndexByte(text[from+1:], ']') // one right at the beginning belongs to the set
	}
	if from < len(text) && text[from] != ']' {
		end = strings.IndexByte(text[from:], ']')
	} else if end >= 0 {
		end++
	}
	if end < 0 {
		return `\[`, 1
	}
	inside := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `]`, `\]`).Replace(text[from : from+end])
	if from == 2 {
		inside = "^" + inside
	}
	return "[" + inside + "]", from + end + 1
}
