package tree

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Keys are those of a node that upstream does not have. Files have them in this order.
type Keys uint8

// The keys, as the package comment describes them.
const (
	Info Keys = 1 << iota
	Inside
	Kinds
	LaunchKinds
	Launches
	Samples
	Sampling
	Times
)

// Count is how many keys are set.
func (k Keys) Count() int { return bits.OnesCount8(uint8(k)) }

// Encoder writes the keys of a profile's nodes that upstream does not have.
type Encoder struct {
	*Seen
	p      *profile.Profile
	w      Writer
	strong []string // the members of "kinds"
}

// NewEncoder begins to write a profile. Before the root's keys are asked for, Seen must have met all metrics.
func NewEncoder(w Writer, p *profile.Profile) Encoder {
	return Encoder{Seen: NewSeen(p.Kinds), p: p, w: w}
}

// Keys says which keys a node has.
func (e *Encoder) Keys(n *profile.Node) (keys Keys) {
	set := func(k Keys, has bool) {
		if has {
			keys |= k
		}
	}
	set(Inside, n.Inside != nil)
	set(Launches, len(n.Launches) > 0)
	set(Samples, e.p.Sampling != nil && len(n.Samples) > 0)
	set(Times, hasTimes(n.Times))
	if n != e.p.Root {
		return keys
	}
	e.strong = e.exceptions(n)
	set(Info, len(e.p.Info) > 0)
	set(Kinds, len(e.strong) > 0)
	set(LaunchKinds, len(e.p.Launches) > 0)
	set(Sampling, e.p.Sampling != nil)
	return keys
}

// Write writes some of the keys that a node has.
func (e *Encoder) Write(n *profile.Node, keys Keys) {
	if keys == 0 {
		return
	}
	if keys&Info != 0 {
		e.strings("info", slices.Sorted(maps.Keys(e.p.Info)), func(key string) string { return e.p.Info[key] })
	}
	if keys&Inside != 0 {
		inside(e.w, n.Inside)
	}
	if keys&Kinds != 0 {
		e.strings("kinds", e.strong, func(metric string) string { return e.p.Kinds[metric].String() })
	}
	if keys&LaunchKinds != 0 {
		e.w.Key("launch_kinds")
		objects(e.w, e.p.Launches, launchKindMembers)
	}
	if keys&Launches != 0 {
		launches(e.w, n.Launches)
	}
	if keys&Samples != 0 {
		samples(e.w, n.Samples)
	}
	if keys&Sampling != 0 {
		sampling(e.w, e.p.Sampling)
	}
	if keys&Times != 0 {
		e.w.Key("times")
		times(e.w, n.Times)
	}
}

// strings writes an object of strings.
func (e *Encoder) strings(key string, names []string, value func(name string) string) {
	e.w.Key(key)
	e.w.Object(len(names))
	for _, name := range names {
		text(e.w, name, value(name))
	}
	e.w.EndObject()
}
