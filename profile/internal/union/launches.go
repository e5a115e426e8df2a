package union

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Launches is the kinds that the profiles have together.
type Launches struct {
	kinds []profile.LaunchKind
	at    map[launchIdentity]int
}

// launchIdentity tells kinds apart.
type launchIdentity struct {
	id, hash string
	pid      int
	function uint64
}

// LaunchSource is one profile: it has the numbers of the union for its own.
type LaunchSource []int

// Add takes in a profile's list.
func (u *Launches) Add(kinds []profile.LaunchKind) LaunchSource {
	if u.at == nil {
		u.at = map[launchIdentity]int{}
	}
	source := make(LaunchSource, len(kinds))
	for i, k := range kinds {
		key := launchIdentity{k.ID, k.Hash, k.PID, k.Function}
		at, known := u.at[key]
		if !known {
			// Not to hold on to the text of a whole file.
			k.ID, k.Hash, k.Kernel = strings.Clone(k.ID), strings.Clone(k.Hash), strings.Clone(k.Kernel)
			at = len(u.kinds)
			u.at[launchIdentity{k.ID, k.Hash, k.PID, k.Function}] = at
			u.kinds = append(u.kinds, k)
		}
		source[i] = at
	}
	return source
}

// Result returns the list of the union, nil if no profile had any.
func (u *Launches) Result() []profile.LaunchKind { return u.kinds }

// JoinLaunches adds launches of the source to some that are in the union's numbers. The result shares nothing with the source.
func (s LaunchSource) Join(sum, more []profile.LaunchTimes) []profile.LaunchTimes {
	if len(more) == 0 {
		return sum
	}
	own := make([]profile.LaunchTimes, len(more))
	for i, l := range more {
		l.Kind, l.Times = s[l.Kind], l.Times.Clone()
		own[i] = l
	}
	slices.SortStableFunc(own, compare)
	return JoinLaunches(sum, own)
}

// JoinLaunches adds up launches that are in the same numbers and in order.
func JoinLaunches(a, b []profile.LaunchTimes) []profile.LaunchTimes {
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
