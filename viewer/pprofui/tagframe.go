package pprofui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// nameTagFrames makes readable frames of the numbers that -tagroot and -tagleaf are to show: "device 1" instead of a
// frame that is called 1, and "no device" instead of one without a name. Labels that are filtered by their numbers
// as well stay numbers.
func (r *run) nameTagFrames(profiles []*pprof.Profile) {
	filters := r.flags.given("tagfocus") + r.flags.given("tagignore")
	for _, key := range strings.Split(r.flags.given("tagroot")+","+r.flags.given("tagleaf"), ",") {
		if key != "" && !strings.Contains(filters, key) && slices.ContainsFunc(profiles, func(p *pprof.Profile) bool { return hasLabel(p, key) }) {
			for _, p := range profiles {
				nameNumbers(p, key)
			}
		}
	}
}

func hasLabel(p *pprof.Profile, key string) bool {
	return slices.ContainsFunc(p.Sample, func(s *pprof.Sample) bool { return s.Label[key] != nil || s.NumLabel[key] != nil })
}

func nameNumbers(p *pprof.Profile, key string) {
	for _, s := range p.Sample {
		numbers := s.NumLabel[key]
		if len(numbers) == 0 && s.Label[key] != nil {
			continue
		}
		text := "no " + key
		if len(numbers) > 0 {
			text = fmt.Sprintf("%s %d", key, numbers[0])
		}
		s.Label, s.NumLabel = with(s.Label, key, []string{text}), without(s.NumLabel, key)
		s.NumUnit = without(s.NumUnit, key)
	}
}

// with and without copy a map: samples with equal labels share theirs.
func with[V any](m map[string]V, key string, v V) map[string]V {
	c := make(map[string]V, len(m)+1)
	maps.Copy(c, m)
	c[key] = v
	return c
}

func without[V any](m map[string]V, key string) map[string]V {
	c := maps.Clone(m)
	delete(c, key)
	return c
}
