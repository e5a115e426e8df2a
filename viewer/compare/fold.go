package compare

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// Rename replaces what a pattern matches in the names of frames. It makes frames comparable whose names differ between two
// versions by line numbers, launch parameters, or a module that moved.
type Rename struct {
	Pattern     *regexp.Regexp
	Replacement string // $1 stands for what the first group matched
}

// ParseRename reads "pattern=replacement". It splits at the last =, since a = is more frequent in patterns than in
// replacements.
func ParseRename(text string) (Rename, error) {
	at := strings.LastIndex(text, "=")
	if at <= 0 {
		return Rename{}, fmt.Errorf("read --rename %q: write 'pattern=replacement', such as '_<grid:[^>]*>=' to cut something off", text)
	}
	re, err := regexp.Compile(text[:at])
	if err != nil {
		return Rename{}, fmt.Errorf("read --rename %q: %w; write a regular expression of Go's syntax before the last =", text, err)
	}
	return Rename{re, text[at+1:]}, nil
}

// Renamed returns a function that applies all renames, in order, to a name, and caches the results; nil if there are no renames. A
// rename that would leave an empty name is not applied.
func Renamed(all []Rename) func(string) string {
	if len(all) == 0 {
		return nil
	}
	done := map[string]string{}
	return func(name string) string {
		if to, ok := done[name]; ok {
			return to
		}
		to := name
		for _, r := range all {
			if next := r.Pattern.ReplaceAllString(to, r.Replacement); next != "" {
				to = next
			}
		}
		done[name] = to
		return to
	}
}

// fold returns a renamed and filtered copy of a profile in which siblings have different names.
func fold(p *profile.Profile, renames []Rename, f profile.Filter) (*profile.Profile, error) {
	folded, err := merge.Fold(p, Renamed(renames))
	if err != nil {
		return nil, err
	}
	if !f.All() && !keep(folded.Root, f, false) {
		folded.Root.Metrics, folded.Root.Times, folded.Root.Children = nil, nil, nil
	}
	return folded, nil
}

// keep removes the frames that the filter excludes and reports whether any frame is left. Frames above a match lose their own
// metrics.
func keep(n *profile.Node, f profile.Filter, below bool) bool {
	if f.Exclude != nil && f.Exclude.MatchString(n.Name) {
		return false
	}
	below = below || f.Include == nil || f.Include.MatchString(n.Name)
	n.Children = slices.DeleteFunc(n.Children, func(c *profile.Node) bool { return !keep(c, f, below) })
	if !below {
		n.Metrics, n.Times = nil, nil
	}
	return below || len(n.Children) > 0
}

// shareMetrics gives every profile all numeric metrics of the others, as NaN at its root, and one kind per metric. A metric may
// exist in one profile only, and Triton's main branch does not write which metrics are inclusive.
func shareMetrics(profiles []*profile.Profile) {
	kinds := map[string]profile.Kind{}
	known := make([]map[string]bool, len(profiles))
	for i, p := range profiles {
		known[i] = map[string]bool{}
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			for m := range n.Metrics {
				name := n.Metrics[m].Name
				if known[i][name] {
					continue
				}
				known[i][name] = true
				if _, number := n.Metrics[m].Value.Float(); number {
					kinds[name] = strongest(kinds[name], p.Kinds[name])
				}
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for i, p := range profiles {
			p.Kinds[name] = kinds[name]
			if !known[i][name] {
				p.Root.Set(name, profile.FloatValue(math.NaN()))
			}
		}
	}
}

func strongest(a, b profile.Kind) profile.Kind {
	if a == profile.Inclusive || b == profile.Inclusive {
		return profile.Inclusive
	}
	return max(a, b)
}
