package aggregate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// launchKey identifies one of the sums of tagged launches at a node.
type launchKey struct {
	tag    uint16
	device uint32
}

// launchTotal sums the launches of one kind, at one node and on one device. The node's total has them too.
type launchTotal struct {
	count, nanos, least, most uint64 // times are those of the launches that could be timed

	times *profile.Sketch // nil when the session does not want distributions
}

// tagOf returns the tag that counts for an activity: copies that a launch's hooks make are none of its launches.
func tagOf(k *record.Activity, at *callpath.Attribution) uint16 {
	if k.Kind != record.Kernel {
		return 0
	}
	return at.Tag
}

func (l *launchTotal) add(k *record.Activity) {
	l.count++
	if !k.Timed() {
		return
	}
	nanos := k.Duration()
	l.nanos += nanos
	l.least, l.most = min(l.least, nanos), max(l.most, nanos)
	if l.times != nil {
		l.times.Add(nanos)
	}
}

// launch returns the node's sum for a tag on a device. Routes keep the pointer.
func (n *node) launch(tag uint16, device uint32, times bool) *launchTotal {
	key := launchKey{tag, device}
	l := n.launches[key]
	if l == nil {
		l = &launchTotal{least: math.MaxUint64}
		if times {
			l.times = &profile.Sketch{}
		}
		if n.launches == nil {
			n.launches = map[launchKey]*launchTotal{}
		}
		n.launches[key] = l
	}
	return l
}

// launchFreezer copies sums of tagged launches into a profile, whose list of kinds has those that occur in it.
type launchFreezer struct {
	kinds    []profile.LaunchKind
	position map[uint16]int
}

func (f *launchFreezer) node(out *profile.Node, n *node) {
	if len(n.launches) == 0 {
		return
	}
	sorted := slices.SortedFunc(maps.Keys(n.launches), func(a, b launchKey) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.device, b.device))
	})
	for _, key := range sorted {
		l := n.launches[key]
		all := profile.Durations{Count: l.count, Nanos: l.nanos, Times: l.times.Clone()}
		if l.least <= l.most {
			all.Least, all.Most = l.least, l.most
		}
		out.Launches = append(out.Launches, profile.LaunchTimes{Kind: f.kind(key.tag), Device: int(key.device), Durations: all})
	}
}

// kind returns a tag's position in the profile.
func (f *launchFreezer) kind(tag uint16) int {
	at, known := f.position[tag]
	if !known {
		at = len(f.kinds)
		if f.position == nil {
			f.position = map[uint16]int{}
		}
		f.position[tag] = at
		f.kinds = append(f.kinds, LaunchKindOf(tag))
	}
	return at
}
