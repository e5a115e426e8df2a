package tritonparse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names are patterns for names of kernels, as in TritonParse's allow-lists: * for anything, ? for one character, [seq] and
// [!seq]. A name is matched if one of them matches all of it; nil matches every name.
type Names struct {
	texts       []string
	expressions []*regexp.Regexp
}

// ParseNames reads patterns with commas between them. Blanks around them do not count, empty ones neither; nil if there is
// none.
func ParseNames(list string) (*Names, error) {
	n := &Names{}
	for _, pattern := range strings.Split(list, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		re, err := regexp.Compile(shellPattern(pattern))
		if err != nil {
			return nil, fmt.Errorf("read the pattern %q: %w; write names with *, ? and [seq], with commas between several", pattern, err)
		}
		n.texts, n.expressions = append(n.texts, pattern), append(n.expressions, re)
	}
	if len(n.texts) == 0 {
		return nil, nil
	}
	return n, nil
}

// Match says whether a name is matched.
func (n *Names) Match(name string) bool {
	return n == nil || slices.ContainsFunc(n.expressions, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}

func (n *Names) String() string { return strings.Join(n.texts, ",") }

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

// KernelOfFrame is the name of the kernel that a profile's frame stands for. A launch_metadata function may have put more
// behind it, as matmul_<grid:64x1x1>_<warps:8>, which no name of a Python function can contain.
func KernelOfFrame(frame string) string {
	kernel, _, _ := strings.Cut(frame, "_<")
	return kernel
}
