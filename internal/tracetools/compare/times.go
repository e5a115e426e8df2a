package compare

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Time is how long a kernel ran, in a profile.
type Time struct {
	Launches uint64  `json:"launches"`
	Nanos    float64 `json:"ns"`                // of all launches
	ByName   bool    `json:"by_name,omitempty"` // of all kernels of that name: the profile does not tell them apart by hash
	Least    uint64  `json:"least_ns,omitempty"`
	Most     uint64  `json:"most_ns,omitempty"`
}

// Mean is the time of one launch in ns.
func (t *Time) Mean() float64 {
	if t == nil || t.Launches == 0 {
		return 0
	}
	return t.Nanos / float64(t.Launches)
}

// TimeOf finds a compilation in a profile: by its hash if the run was traced, else by the kernel's name. nil if it is not there.
func TimeOf(p *profile.Profile, c *tritonparse.Compilation) *Time {
	if p == nil {
		return nil
	}
	var byHash profile.Durations
	byName := &Time{ByName: true}
	eachNode(p.Root, func(n *profile.Node) {
		for i := range n.Launches {
			l := &n.Launches[i]
			if l.Kind >= 0 && l.Kind < len(p.Launches) && p.Launches[l.Kind].Hash == c.Hash {
				byHash.Add(&l.Durations)
			}
		}
		if n.Name != c.Name {
			return
		}
		for _, m := range n.Metrics {
			switch v, _ := m.Value.Float(); m.Name {
			case profile.TimeMetric:
				byName.Nanos += v
			case profile.CountMetric:
				byName.Launches += uint64(v)
			}
		}
	})
	switch {
	case byHash.Count > 0:
		return &Time{Launches: byHash.Count, Nanos: float64(byHash.Nanos), Least: byHash.Least, Most: byHash.Most}
	case byName.Launches > 0 && len(p.Launches) == 0:
		return byName
	}
	return nil
}

func eachNode(n *profile.Node, do func(*profile.Node)) {
	if n == nil {
		return
	}
	do(n)
	for _, c := range n.Children {
		eachNode(c, do)
	}
}
