package kernels

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// readProfile adds what was measured. Launches that were traced are known by their kind; of others only the kernel is.
func (j *joiner) readProfile() error {
	p := j.options.Profile
	if p == nil {
		return nil
	}
	filter, err := profile.NewFilter(j.options.Include, j.options.Exclude)
	if err != nil {
		return err
	}
	all := profile.Durations{}
	filter.Walk(p.Root, func(n *profile.Node, _ []string) {
		all.Add(&profile.Durations{Nanos: tritonparse.Amount(n, profile.TimeMetric)})
	})
	j.Nanos = all.Nanos
	byName := map[*Kernel]*profile.Durations{}
	tritonparse.EachMeasured(p, filter, func(m tritonparse.Measured) {
		k := j.kernels[m.Kernel]
		switch {
		case m.Launch != nil:
			j.launches(&m)
		case k == nil: // such as a copy at a frame that a hook named
		case len(m.Node.Launches) > 0 && m.Count > 0: // from before the trace
			k.Times.Add(&m.Durations)
		case len(m.Node.Launches) == 0 && m.Nanos > 0:
			if byName[k] == nil {
				byName[k] = &profile.Durations{}
			}
			byName[k].Add(&m.Durations)
		}
	})
	for k, t := range byName {
		j.unattributed(k, t)
	}
	return nil
}

// launches adds traced launches of a node.
func (j *joiner) launches(m *tritonparse.Measured) {
	j.kernel(m.Kernel).Times.Add(&m.Durations)
	if m.Hash == "" {
		return // launches that share the very last number: only the node is known
	}
	s := j.spec(m.Hash, m.Kernel)
	s.Times.Add(&m.Durations)
	if m.Kind == "" {
		return // launches that share the last number of their kernel: only the specialisation is known
	}
	g := j.group(s, m.Kind)
	g.Times.Add(&m.Durations)
	j.work.measured(g, m.Node, m.Launch)
}

// unattributed adds launches of which only the name of the kernel is known. If it has one specialisation, they are launches of
// that, and if that has one kind of launch, they are of that kind.
func (j *joiner) unattributed(k *Kernel, t *profile.Durations) {
	k.Times.Add(t)
	if len(k.Specialisations) != 1 {
		return
	}
	s := k.Specialisations[0]
	s.Times.Add(t)
	if len(s.Groups) == 1 {
		s.Groups[0].Times.Add(t)
		j.work.ran(s.Groups[0], j.work.anyDevice())
	}
}

// knowsKinds reports whether the profile distinguishes launches.
func (j *joiner) knowsKinds() bool {
	return j.options.Profile != nil && len(j.options.Profile.Launches) > 0
}
