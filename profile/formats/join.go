package formats

import (
	"fmt"

	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
)

// join adds a later part of a session to the earlier ones: numbers add up, of properties the last value
// stands, frames meet by name. It takes over what it needs of the part.
func join(sum, part *profile.Profile) error {
	if sum.Root.Name != part.Root.Name {
		return fmt.Errorf("its root is %q, that of the parts before %q", part.Root.Name, sum.Root.Name)
	}
	if sum.Kinds == nil {
		sum.Kinds = profile.Kinds{}
	}
	for name, kind := range part.Kinds {
		// A part that has no zero at the root, because nothing was recorded in it, must not hide that another has.
		sum.Kinds[name] = max(sum.Kinds[name], kind)
	}
	for _, d := range part.Devices {
		if sum.Device(d.Type, d.ID) == nil {
			sum.Devices = append(sum.Devices, d)
		}
	}
	sum.Rounded += part.Rounded
	joinInfo(sum, part)
	joinSampling(sum, part)
	joinLaunches(sum, part)
	joinTimelines(sum, part.Timeline)
	return joinNodes(sum.Root, part.Root, sum.Kinds)
}

// joinInfo keeps the facts of the first part, and that any part is incomplete.
func joinInfo(sum, part *profile.Profile) {
	if sum.Info == nil {
		sum.Info = part.Info
	} else if why := part.Info[profile.InfoIncomplete]; why != "" {
		sum.Info[profile.InfoIncomplete] = why
	}
}

// joinSampling has both use the same numbers for functions and reasons: each names them by the place in a table of its own.
func joinSampling(sum, part *profile.Profile) {
	var all union.Samples
	for _, p := range []*profile.Profile{sum, part} {
		source, _ := all.Add(p.Sampling)
		if source.Same() {
			continue
		}
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			n.Samples = source.Join(nil, n.Samples)
			return true
		})
	}
	sum.Sampling = all.Result()
}

// joinLaunches has both use the same numbers for kinds of launches.
func joinLaunches(sum, part *profile.Profile) {
	if len(part.Launches) == 0 {
		return
	}
	var all union.Launches
	all.Add(sum.Launches)
	source := all.Add(part.Launches)
	part.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Launches = source.Join(nil, n.Launches)
		return true
	})
	sum.Launches = all.Result()
}

// joiner adds the tree of a part to that of the parts before.
type joiner struct {
	kinds profile.Kinds
	nodes map[*profile.Node]*joined // of the sum
}

// joined is a node of the sum that parts were added to.
type joined struct {
	children, metrics lookup.Index[string]
	samples           union.Pile[profile.FunctionSamples]
	launches          union.Pile[profile.LaunchTimes]
}

func (j *joiner) of(n *profile.Node) *joined {
	known := j.nodes[n]
	if known == nil {
		known = &joined{}
		known.samples.Add(n.Samples, union.JoinSamples)
		known.launches.Add(n.Launches, union.JoinLaunches)
		j.nodes[n] = known
	}
	return known
}

// joinNodes adds a tree to another one, without recursion: a tree may be as deep as its file was. A part may have many
// siblings of one name; what they have in common with the sum is looked up, not searched for each.
func joinNodes(into, from *profile.Node, kinds profile.Kinds) error {
	j := joiner{kinds: kinds, nodes: map[*profile.Node]*joined{}}
	type pair struct{ into, from *profile.Node }
	pending := []pair{{into, from}}
	for len(pending) > 0 {
		p := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		known := j.of(p.into)
		if err := j.node(p.into, known, p.from); err != nil {
			return err
		}
		before := len(p.into.Children) // siblings of one name that only the part has stay apart
		for _, c := range p.from.Children {
			if at := known.children.Find(before, c.Name, func(i int) string { return p.into.Children[i].Name }); at >= 0 {
				pending = append(pending, pair{p.into.Children[at], c})
				continue
			}
			p.into.Children = append(p.into.Children, c)
		}
	}
	for n, known := range j.nodes {
		n.Samples, n.Launches = known.samples.All(union.JoinSamples), known.launches.All(union.JoinLaunches)
	}
	return nil
}

// node adds what a node of the part has at exactly its call path.
func (j *joiner) node(into *profile.Node, known *joined, from *profile.Node) error {
	for _, m := range from.Metrics {
		at := known.metrics.Find(len(into.Metrics), m.Name, func(i int) string { return into.Metrics[i].Name })
		if at < 0 {
			into.Metrics = append(into.Metrics, m)
			continue
		}
		if j.kinds[m.Name] == profile.Property {
			into.Metrics[at].Value = m.Value
			continue
		}
		v, err := add(into.Metrics[at].Value, m.Value)
		if err != nil {
			return fmt.Errorf("metric %q of %s: %w", m.Name, into.Name, err)
		}
		into.Metrics[at].Value = v
	}
	if into.Times == nil {
		into.Times = from.Times
	} else {
		into.Times.Merge(from.Times)
	}
	into.Inside = profile.MergeInside(into.Inside, from.Inside)
	known.samples.Add(from.Samples, union.JoinSamples)
	known.launches.Add(from.Launches, union.JoinLaunches)
	return nil
}

// add sums two values of one metric. A vector that changed its length counts other things than before.
func add(a, b profile.Value) (profile.Value, error) {
	v, w := len(a.Ints())+len(a.Floats()), len(b.Ints())+len(b.Floats())
	if v != 0 && w != 0 && v != w {
		return a, fmt.Errorf("a vector of %d numbers, and of %d in an earlier part", w, v)
	}
	return profile.Sum(a, b), nil
}

// joinTimelines appends a timeline. Lanes that show the same stream, thread or device are merged into one, whatever
// number each part gave them.
func joinTimelines(sum *profile.Profile, part *profile.Timeline) {
	if part == nil || sum.Timeline == nil {
		if sum.Timeline == nil {
			sum.Timeline = part
		}
		return
	}
	t := sum.Timeline
	known := map[profile.Lane]int{}
	next := 0
	for _, l := range t.Lanes {
		next = max(next, l.ID+1)
		id := l.ID
		l.ID = 0
		known[l] = id
	}
	ids := map[int]int{}
	for _, l := range part.Lanes {
		was := l.ID
		l.ID = 0
		id, found := known[l]
		if !found {
			id = next
			next++
			known[l] = id
			l.ID = id
			t.Lanes = append(t.Lanes, l)
		}
		ids[was] = id
	}
	for _, s := range part.Slices {
		s.Lane = ids[s.Lane]
		t.Slices = append(t.Slices, s)
	}
	for _, f := range part.Flows {
		f.From, f.To = ids[f.From], ids[f.To]
		t.Flows = append(t.Flows, f)
	}
}
