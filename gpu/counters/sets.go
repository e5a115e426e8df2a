package counters

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/lookup"
)

// DefaultSet is the set that a run measures if it names none.
const DefaultSet = "roofline"

// SetNames are the names of the sets.
func SetNames() []string { return slices.Sorted(maps.Keys(sets)) }

// Set returns the vendor's metrics of a set on a chip, each once, with the time of each launch first. The word is a set's name, or figures,
// sets and vendor's metrics joined by +. A set leaves out what a chip has no counters for; a figure that is asked for by name does not.
func Set(word, chip string) ([]string, error) {
	metrics := []string{Time}
	add := func(names ...string) {
		for _, name := range names {
			if !slices.Contains(metrics, name) {
				metrics = append(metrics, name)
			}
		}
	}
	for part := range strings.SplitSeq(word, "+") {
		if part = strings.TrimSpace(part); part == "" {
			return nil, fmt.Errorf("%q has no name at a place where one is due: write names with one + between them, as in roofline+l2_hit; the sets are %s", word, strings.Join(SetNames(), ", "))
		}
		if part == LinesSet { // the range profiler has no part in it
			if word != LinesSet {
				return nil, fmt.Errorf("%s is measured alone: count by line in another run, and merge the profiles", LinesSet)
			}
			return nil, nil
		}
		if members, ok := sets[part]; ok {
			for _, name := range members {
				list, err := of(name, chip)
				if err == nil {
					add(list...)
				}
			}
			continue
		}
		list, err := of(part, chip)
		if err != nil {
			return nil, err
		}
		add(list...)
	}
	return metrics, nil
}

// SetOf is a word for the set of these metrics on a chip: names of sets, else the metrics themselves; "" if there is none.
func SetOf(metrics []string, chip string) string {
	is := func(word string) bool {
		list, err := Set(word, chip)
		return err == nil && len(list) == len(metrics) && !slices.ContainsFunc(list, func(m string) bool { return !slices.Contains(metrics, m) })
	}
	names := slices.DeleteFunc(SetNames(), func(name string) bool { return name == LinesSet })
	words := []string{DefaultSet}
	for chosen := 1; chosen < 1<<len(names); chosen++ {
		var some []string
		for i, name := range names {
			if chosen&(1<<i) != 0 {
				some = append(some, name)
			}
		}
		words = append(words, strings.Join(some, "+"))
	}
	slices.SortStableFunc(words, func(a, b string) int { return strings.Count(a, "+") - strings.Count(b, "+") })
	for _, word := range append(words, strings.Join(metrics, "+")) {
		if is(word) {
			return word
		}
	}
	return ""
}

// of returns the metrics of one figure or vendor's metric on a chip.
func of(name, chip string) ([]string, error) {
	figure := Find(name)
	switch {
	case figure == nil && strings.HasPrefix(name, "launch__"):
		if asked := []string{Registers, Threads, StaticShared, DynamicShared}; !slices.Contains(asked, name) {
			return nil, fmt.Errorf("%s is not a hardware counter but a fact that Nsight Compute adds: leave it out; %s are recorded with any set", name, strings.Join(asked, ", "))
		}
		return nil, nil
	case figure == nil && IsMetric(name):
		return onChip(name, chip)
	case figure == nil:
		return nil, unknown(name)
	case figure.ByLine():
		return nil, fmt.Errorf("%s is counted by source line: use set=%s", name, LinesSet)
	case figure.Name != name: // the vendor's own metric, by its name
		return onChip(name, chip)
	}
	form, ok := figure.Of(chip)
	if !ok {
		return nil, fmt.Errorf("the GPU's chip %s has no counters for %s (%s): leave it out", chip, name, figure.About)
	}
	return form.Metrics(), nil
}

// onChip is a vendor's metric, which a chip of another vendor does not have, nor one of memory a chip without a memory of its own.
func onChip(name, chip string) ([]string, error) {
	dram := Form{Except: withoutDRAM}
	if name != Time && isAMDs(name) != strings.HasPrefix(chip, amdChips) {
		return nil, fmt.Errorf("the GPU's chip %s has no counter %s: leave it out", chip, name)
	}
	if (strings.HasPrefix(name, "dram") || strings.HasPrefix(name, "gpu__dram")) && !dram.on(chip) {
		return nil, fmt.Errorf("the GPU's chip %s has no counter %s: leave it out", chip, name)
	}
	return []string{name}, nil
}

func unknown(name string) error {
	var names []string
	for i := range Figures {
		names = append(names, Figures[i].Name)
	}
	names = append(SetNames(), names...)
	if similar := lookup.Nearest(name, names, 3); len(similar) > 0 {
		return fmt.Errorf("no set or figure of hardware counters is called %q: did you mean %s?", name, lookup.Or(similar))
	}
	return fmt.Errorf("no set or figure of hardware counters is called %q: the sets are %s; the figures are %s; a metric of the vendor has a unit and a sum, as in dram__bytes_read.sum",
		name, strings.Join(SetNames(), ", "), strings.Join(names[len(sets):], ", "))
}
