package viewer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errNotHere is the error where a caller only tries whether a metric can be computed, and does not print why not.
var errNotHere = errors.New("not in this profile")

// ErrUnknownMetric is wrapped by the error for a name that is neither a metric of the profile nor computed from its metrics.
var ErrUnknownMetric = errors.New("there is no metric")

// unknown is the error for an unknown name: it suggests similar names and lists the profile's metrics.
func (b *builder) unknown(name string) error {
	if b.trying {
		return errNotHere
	}
	base, unit, divided := strings.Cut(name, "/")
	if _, ok := b.find(base); ok && divided {
		return fmt.Errorf("%s: unknown unit %q of %s; write s, ms, us or ns for times, a prefix for amounts (flops16/gflop, bytes/mb), %% for metrics that add up", name, unit, base)
	}
	var recorded, computed, near []string
	for _, m := range b.metrics() {
		if m.Derived {
			computed = append(computed, m.Name)
		} else {
			recorded = append(recorded, m.Name)
		}
		if similar(name, m.Name) || divided && similar(base, m.Name) {
			near = append(near, m.Name)
		}
	}
	if prefix, ok := strings.CutSuffix(name, "b/s"); ok && slices.Contains(computed, "byte/s") {
		near = append(near, prefix+"byte/s") // GB/s is what people write
	}
	if prefix, ok := strings.CutSuffix(name, "flops"); ok && len(prefix) == 1 && slices.Contains(computed, "flop/s") {
		near = []string{prefix + "flop/s"} // TFLOPS is what people write
	}
	meant := ":"
	if len(near) > 0 {
		meant = "; did you mean " + or(near) + "?"
	}
	has := "recorded are " + strings.Join(recorded, ", ")
	if len(computed) > 0 {
		has += "; computed are " + strings.Join(computed, ", ")
	}
	return fmt.Errorf("%w %s in this profile%s %s (proton viewer --list shows them all)", ErrUnknownMetric, name, meant, has)
}

// noAmount is the error for a rate of something that was not recorded.
func (b *builder) noAmount(name, label string) error {
	of := strings.TrimSuffix(label, "/s")
	var have []string
	for _, f := range b.flops() {
		have = append(have, baseName(f.metric.name))
	}
	switch {
	case of == "byte":
		return fmt.Errorf("%s: the profile has no bytes; give kernels a launch_metadata function that returns bytes, and profile with the triton hook", name)
	case len(have) > 0:
		return fmt.Errorf("%s: the profile has no flops%s, it has %s; flop/s takes all of them", name, strings.TrimPrefix(of, "flop"), strings.Join(have, ", "))
	}
	return fmt.Errorf("%s: the profile has no flops; give kernels a launch_metadata function that returns flops16 or the like, and profile with the triton hook", name)
}

// similar reports whether one name may have been meant by the other: few letters differ, or one begins the other.
func similar(typed, name string) bool {
	if len(typed) >= 3 && (strings.HasPrefix(name, typed) || strings.HasPrefix(typed, name) || strings.HasSuffix(name, typed)) {
		return true
	}
	return distance(typed, name) <= max(1, max(len(typed), len(name))/3) || swapped(typed, name)
}

// swapped reports whether two neighbouring letters of one name change places in the other: tmie.
func swapped(a, b string) bool {
	for i := 1; len(a) == len(b) && i < len(a); i++ {
		if a[:i-1] == b[:i-1] && a[i-1] == b[i] && a[i] == b[i-1] {
			return a[i+1:] == b[i+1:]
		}
	}
	return false
}

// distance is Levenshtein's: the letters to insert, delete or replace. Names longer than maxCompared are unlike.
func distance(a, b string) int {
	const maxCompared = 64
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, diagonal := i+1, i
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			here := min(row[j+1]+1, left+1, diagonal+cost)
			diagonal, row[j], left = row[j+1], left, here
		}
		row[len(b)] = left
	}
	return row[len(b)]
}

// or joins names with commas and a last "or".
func or(names []string) string {
	names = slices.Compact(names)
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
