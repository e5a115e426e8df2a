package lookup

import (
	"cmp"
	"slices"
	"strings"
)

// Similar reports whether one name may have been meant by the other: few letters differ, or one begins the other.
func Similar(typed, name string) bool {
	if len(typed) >= 3 && (strings.HasPrefix(name, typed) || strings.HasPrefix(typed, name) || strings.HasSuffix(name, typed)) {
		return true
	}
	return distance(typed, name) <= max(1, max(len(typed), len(name))/3) || swapped(typed, name)
}

// Nearest returns the names that are similar to a typed one, the nearest first, at most so many.
func Nearest(typed string, names []string, most int) []string {
	type found struct {
		name string
		far  int
	}
	var all []found
	for _, name := range names {
		if Similar(typed, name) {
			all = append(all, found{name, distance(typed, name)})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.far, b.far) })
	var best []string
	for _, f := range all[:min(most, len(all))] {
		best = append(best, f.name)
	}
	return best
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
	const maxCompared = 128
	if len(a) > maxCompared || len(b) > maxCompared {
		return max(len(a), len(b))
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

// Or joins names with commas and a last "or".
func Or(names []string) string {
	names = slices.Compact(names)
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
