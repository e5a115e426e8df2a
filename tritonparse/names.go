package tritonparse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/lookup"
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
		re, err := regexp.Compile(lookup.Regexp(pattern))
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

// KernelOfFrame is the name of the kernel that a profile's frame stands for. A launch_metadata function may have put more
// behind it, as matmul_<grid:64x1x1>_<warps:8>, which no name of a Python function can contain.
func KernelOfFrame(frame string) string {
	kernel, _, _ := strings.Cut(frame, "_<")
	return kernel
}
