package lookup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kernels reads patterns with commas between them, and says which names they match: 'matmul_*' matches whole names, and a word without *, ? and
// [seq] matches the names that contain it. What only a regular expression can mean is one, as in 'matmul.*' or '^add$'.
func Kernels(text string) (func(name string) bool, error) {
	parts := strings.Split(text, ",")
	if onlyRegexp.MatchString(text) {
		parts = []string{text}
	}
	var all []*regexp.Regexp
	for _, part := range parts {
		if part = strings.TrimSpace(part); part == "" && len(parts) > 1 {
			continue
		}
		if strings.ContainsAny(part, "*?[") && !onlyRegexp.MatchString(part) {
			part = Regexp(part)
		}
		re, err := regexp.Compile(part)
		if err != nil {
			return nil, fmt.Errorf("read the pattern %q: %w; write names with *, ? and [seq], with commas between several", text, err)
		}
		all = append(all, re)
	}
	return func(name string) bool {
		return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(name) })
	}, nil
}

// onlyRegexp finds what means nothing in a pattern of a shell, and much in a regular expression.
var onlyRegexp = regexp.MustCompile(`[.\])][*+?]|[\^$|+(){}\\]`)

// Regexp is a pattern with *, ? and [seq] for whole names as a regular expression, by the rules of Python's fnmatch: a bracket without an end is itself.
func Regexp(pattern string) string {
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
