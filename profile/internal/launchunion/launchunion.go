// Package launchunion adds up the traced launches of several profiles: each names their kinds by the place in a list
// of its own.
package launchunion

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Union is the kinds that the profiles have together.
type Union struct {
	kinds []profile.LaunchKind
	at    map[identity]int
}

// identity tells kinds apart.
type identity struct {
	id, hash string
	pid      int
	function uint64
}

// Source is one profile: it has the numbers of the union for its own.
type Source []int

// Add takes in a profile's list.
func (u *Union) Add(kinds []profile.LaunchKind) Source {
	if u.at == nil {
		u.at = map[identity]int{}
	}
	source := make(Source, len(kinds))
	for i, k := range kinds {
		key := identity{k.ID, k.Hash, k.PID, k.Function}
		at, known := u.at[key]
		if !known {
			// Not to hold on to the text of a whole file.
			k.ID, k.Hash, k.Kernel = strings.Clone(k.ID), strings.Clone(k.Hash), strings.Clone(k.Kernel)
			at = len(u.kinds)
			u.at[identity{k.ID, k.Hash, k.PID, k.Function}] = at
			u.kinds = append(u.kinds, k)
		}
		source[i] = at
	}
	return source
}

// Result returns the list of the union, nil if no profile had any.
func (u *Union) Result() []profile.LaunchKind { return u.kinds }

// Join adds launches of the source to some that are in the union's numbers. The result shares nothing with the source.
func (s Source) Join(sum, more []profile.LaunchTimes) []profile.LaunchTimes {
	if len(more) == 0 {
		return sum
	}
	own := make([]profile.LaunchTimes, len(more))
	for i, l := range more {
		l.Kind, l.Times = s[l.Kind], l.Times.Clone()
		own[i] = l
	}
	slices.SortStableFunc(own, compare)
	return Join(sum, own)
}

// Join adds up launches that are in the same numbers and in order.
func Join(a, b []profile.LaunchTimes) []profile.LaunchTimes {
	if len(b) == 0 {
		return a
	}
	out := make([]profile.LaunchTimes, 0, max(len(a), len(b)))
	for len(a) > 0 || len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && compare(b[0], a[0]) < 0 {
			from = &b
		}
		l := (*from)[0]
		*from = (*from)[1:]
		if n := len(out); n > 0 && compare(out[n-1], l) == 0 {
			out[n-1].Add(&l.Durations)
			continue
		}
		out = append(out, l)
	}
	return out
}

func compare(a, b profile.LaunchTimes) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Device, b.Device))
}
