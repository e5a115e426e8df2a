package runinfo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
)

// Counters say what hardware counters measured: in a process, or in several.
type Counters struct {
	Set       string                       `json:"set"`
	Metrics   int                          `json:"metrics"`
	Passes    int                          `json:"passes"`    // 0: of a replay
	Measured  uint64                       `json:"measured"`  // launches
	Kernels   uint64                       `json:"kernels"`   // of which one was measured; of several processes the most
	Left      map[string]map[string]uint64 `json:"left"`      // launches that were left out, by reason and kernel
	Unmatched string                       `json:"unmatched"` // what kernels= says, if it matches no kernel that ran; else ""
	Ran       map[string]uint64            `json:"ran"`       // then these ran, so often
	Copies    bool                         `json:"copies"`    // see CopiesCount
	Processes int                          `json:"processes"`
}

// Add adds what another process measured of the same set.
func (c *Counters) Add(o Counters) {
	first := c.Processes == 0
	c.Set, c.Metrics, c.Passes, c.Kernels = o.Set, max(c.Metrics, o.Metrics), max(c.Passes, o.Passes), max(c.Kernels, o.Kernels)
	c.Measured += o.Measured
	c.Processes += o.Processes
	c.Copies = c.Copies || o.Copies
	c.Left = addLeft(c.Left, o.Left)
	if first || o.Unmatched == "" { // what matches in one process matches
		c.Unmatched = o.Unmatched
	}
	c.Ran = addCounts(c.Ran, o.Ran)
}

func addLeft(to, from map[string]map[string]uint64) map[string]map[string]uint64 {
	for why, kernels := range from {
		if to == nil {
			to = map[string]map[string]uint64{}
		}
		to[why] = addCounts(to[why], kernels)
	}
	return to
}

func addCounts(to, from map[string]uint64) map[string]uint64 {
	for name, n := range from {
		if to == nil {
			to = map[string]uint64{}
		}
		to[name] += n
	}
	return to
}

// CopiesCount is a part of the sentence where a set took several passes, and CUPTI did not reset the cache between them.
const CopiesCount = "dram_write can be too high by what CUPTI's copies between passes left in the L2 cache, which CUPTI 13.4 or newer resets; " +
	"set=dram_read+dram_write takes one pass, without copies"

// Sentence says what was measured and what was left out; "" if nothing was to be measured.
func (c *Counters) Sentence(took string) string {
	if c.Set == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "set %s, ", c.Set)
	if c.Measured == 0 {
		b.WriteString("no launch was measured")
	} else {
		b.WriteString(figures.Count(c.Metrics, "metric"))
		if c.Passes > 0 {
			b.WriteString(" in " + figures.Count(c.Passes, "pass"))
		}
		b.WriteString(": " + figures.Count(c.Measured, "launch"))
		if c.Processes < 2 {
			fmt.Fprintf(&b, " of %s", figures.Count(c.Kernels, "kernel"))
		}
		b.WriteString(" measured" + took)
		if c.Processes > 1 {
			fmt.Fprintf(&b, " in %s", figures.Count(c.Processes, "process"))
		}
	}
	if c.Unmatched != "" && len(c.Ran) > 0 {
		fmt.Fprintf(&b, "; kernels=%s matches none of those that ran: %s", c.Unmatched, mostLaunched(c.Ran))
		if similar := lookup.Nearest(strings.Trim(c.Unmatched, "*^$"), slices.Sorted(maps.Keys(c.Ran)), 3); len(similar) > 0 {
			b.WriteString("; did you mean " + lookup.Or(similar) + "?")
		}
	}
	if c.Copies {
		b.WriteString("; " + CopiesCount)
	}
	if left := c.leftOut(); len(left) > 0 {
		b.WriteString("; left out: " + strings.Join(left, "; "))
	}
	return b.String()
}

// leftOut says why kernels were left out: reason by reason, with the names of those with most launches.
func (c *Counters) leftOut() (texts []string) {
	for _, why := range slices.Sorted(maps.Keys(c.Left)) {
		total := uint64(0)
		for _, n := range c.Left[why] {
			total += n
		}
		texts = append(texts, fmt.Sprintf("%s, %s: %s", figures.Count(total, "launch"), why, mostLaunched(c.Left[why])))
	}
	return texts
}

// mostLaunched names kernels, those with most launches first.
func mostLaunched(launches map[string]uint64) string {
	const shown, longest = 3, 6 // of a name, as the exponent of a power of two
	names := slices.SortedFunc(maps.Keys(launches), func(a, b string) int {
		return cmp.Or(cmp.Compare(launches[b], launches[a]), cmp.Compare(a, b))
	})
	if len(names) > shown {
		names = append(names[:shown], figures.Count(len(launches)-shown, "more kernel"))
	}
	for i, name := range names {
		if names[i] = demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(longest)); len(names[i]) > 1<<longest {
			names[i] = strings.ToValidUTF8(names[i][:1<<longest], "") + "…"
		}
	}
	return strings.Join(slices.Compact(names), ", ")
}
