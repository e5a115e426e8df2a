package kernels

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Split gives the tree of a profile a frame below each kernel for each kind of its launches: matmul_kernel [M=1024 |
// BLOCK_M=128]. Times of launches that were not traced stay at the kernel. Split changes the profile and returns notes. Without a
// trace kinds have numbers instead of arguments.
func Split(p *profile.Profile, t *tritonparse.Trace) (notes []string, err error) {
	if len(p.Launches) == 0 && p.Timeline != nil {
		return []string{timelineAlone}, nil
	}
	if len(p.Launches) == 0 {
		return []string{"the profile does not distinguish launches; record it with a trace: proton run --trace DIR PROGRAM"}, nil
	}
	r := &Run{Files: NoFiles(), options: Options{Profile: p, Trace: t, Kernel: ".", namesOnly: true}}
	if err := r.join(); err != nil {
		return nil, err
	}
	if t != nil {
		notes = TraceNotes(t, p)
	}
	labels := r.labels()
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		splitNode(p, n, labels)
		return true
	})
	p.Launches = nil
	if t == nil {
		notes = append(notes, "launches have numbers instead of arguments: give the folder of the run's trace with --trace DIR")
	}
	return notes, nil
}

// key identifies a kind of launches.
type key struct{ hash, id string }

// labels are the names of kinds, without the kernel's.
func (r *Run) labels() map[key]string {
	labels := map[key]string{}
	for _, k := range r.Kernels {
		for _, s := range k.Specialisations {
			for _, g := range s.Groups {
				label := g.Label
				if len(k.Specialisations) > 1 || s.Label == "" {
					label += " | " + s.Label
				}
				labels[key{s.Hash, g.ID}] = label
			}
		}
	}
	return labels
}

// splitNode moves the times of launches of known kinds to frames of their own.
func splitNode(p *profile.Profile, n *profile.Node, labels map[key]string) {
	var made []*profile.Node
	byName := map[string]*profile.Node{}
	count, nanos := tritonparse.Amount(n, profile.CountMetric), tritonparse.Amount(n, profile.TimeMetric)
	for i := range n.Launches {
		l := &n.Launches[i]
		kind := &p.Launches[l.Kind]
		label := labels[key{kind.Hash, kind.ID}]
		if label == "" {
			label = "others"
		}
		name := cmp.Or(kind.Kernel, n.Name) + " [" + label + "]"
		child := byName[name]
		if child == nil {
			child = &profile.Node{Name: name}
			byName[name] = child
			made = append(made, child)
		}
		child.Set(profile.TimeMetric, profile.IntValue(int64(tritonparse.Amount(child, profile.TimeMetric)+l.Nanos)))
		child.Set(profile.CountMetric, profile.IntValue(int64(tritonparse.Amount(child, profile.CountMetric)+l.Count)))
		if l.Times != nil {
			if child.Times == nil {
				child.Times = &profile.Sketch{}
			}
			child.Times.Merge(l.Times)
		}
		count, nanos = count-min(count, l.Count), nanos-min(nanos, l.Nanos)
	}
	if len(made) == 0 {
		return
	}
	for _, child := range made {
		for _, property := range []string{"device_id", "device_type"} {
			if v, has := n.Metric(property); has {
				child.Set(property, v)
			}
		}
	}
	n.Set(profile.TimeMetric, profile.IntValue(int64(nanos)))
	n.Set(profile.CountMetric, profile.IntValue(int64(count)))
	n.Times, n.Launches = nil, nil
	slices.SortStableFunc(made, func(a, b *profile.Node) int {
		return cmp.Compare(tritonparse.Amount(b, profile.TimeMetric), tritonparse.Amount(a, profile.TimeMetric))
	})
	n.Children = append(made, n.Children...)
}
