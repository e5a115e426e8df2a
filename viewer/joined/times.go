package joined

import (
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

const (
	timeMetric  = "time (ns)"
	countMetric = "count"
)

// readProfile adds what was measured. Launches that were traced are known by their kind; of others only the kernel is.
func (b *builder) readProfile() error {
	p := b.options.Profile
	if p == nil {
		return nil
	}
	filter, err := profile.NewFilter(b.options.Include, b.options.Exclude)
	if err != nil {
		return err
	}
	filter.Walk(p.Root, func(n *profile.Node, _ []string) {
		b.Nanos += amount(n, timeMetric)
		if len(n.Launches) > 0 {
			b.launches(n)
			return
		}
		// Without kinds a node is known by the kernel's name only.
		if name := tritonparse.KernelOfFrame(n.Name); b.kernels[name] != nil && amount(n, timeMetric) > 0 {
			if b.byName[name] == nil {
				b.byName[name] = &profile.Durations{}
			}
			b.byName[name].Add(durations(n))
		}
	})
	for name, t := range b.byName {
		b.unattributed(b.kernel(name), t)
	}
	return nil
}

// launches adds the traced launches of a node.
func (b *builder) launches(n *profile.Node) {
	p, rest := b.options.Profile, durations(n)
	for i := range n.Launches {
		l := &n.Launches[i]
		kind := &p.Launches[l.Kind]
		name := kind.Kernel
		if name == "" {
			name = n.Name
		}
		rest.Count, rest.Nanos = rest.Count-min(rest.Count, l.Count), rest.Nanos-min(rest.Nanos, l.Nanos)
		k := b.kernel(name)
		k.Times.Add(&l.Durations)
		if kind.Hash == "" {
			continue // of those that share the very last number only the node is known
		}
		s := b.spec(kind.Hash, name)
		s.Times.Add(&l.Durations)
		if kind.ID == "" {
			continue // of those that share their kernel's last number only the specialisation is
		}
		g := b.group(s, kind.ID)
		g.Times.Add(&l.Durations)
		b.work.measured(g, n, l)
	}
	// The others of the kernel's are those from before the trace. At a frame that a hook named they may be copies.
	if k := b.kernels[tritonparse.KernelOfFrame(n.Name)]; k != nil && rest.Count > 0 {
		k.Times.Add(&profile.Durations{Count: rest.Count, Nanos: rest.Nanos})
	}
}

// unattributed adds launches that are known by the kernel's name only. With one specialisation they are that one's, and with one
// kind of launch that kind's.
func (b *builder) unattributed(k *Kernel, t *profile.Durations) {
	k.Times.Add(t)
	if len(k.Specialisations) != 1 {
		return
	}
	s := k.Specialisations[0]
	s.Times.Add(t)
	if len(s.Groups) == 1 {
		s.Groups[0].Times.Add(t)
		b.work.ran(s.Groups[0], b.work.anyDevice())
	}
}

// told reports whether the profile tells launches apart.
func (b *builder) told() bool { return b.options.Profile != nil && len(b.options.Profile.Launches) > 0 }

// durations are those of all launches at a node.
func durations(n *profile.Node) *profile.Durations {
	d := &profile.Durations{Count: amount(n, countMetric), Nanos: amount(n, timeMetric), Times: n.Times}
	if n.Times != nil {
		d.Least, d.Most = n.Times.Min, n.Times.Max
	}
	return d
}

func amount(n *profile.Node, metric string) uint64 {
	v, _ := n.Metric(metric)
	f, number := v.Float()
	if !number || !(f > 0) {
		return 0
	}
	return uint64(f)
}

func briefInt(n int) string { return strconv.Itoa(n) }
