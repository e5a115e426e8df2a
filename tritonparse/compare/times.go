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

// TimeOf finds the time of a compilation in a profile: by its hash if the run was traced, otherwise by the kernel's name. It is nil
// if the profile has none.
func TimeOf(p *profile.Profile, c *tritonparse.Compilation) *Time {
	if p == nil {
		return nil
	}
	var byHash, byName profile.Durations
	tritonparse.EachMeasured(p, profile.Filter{}, func(m tritonparse.Measured) {
		switch {
		case m.Launch != nil && m.Hash == c.Hash:
			byHash.Add(&m.Durations)
		case m.Launch == nil && m.Kernel == c.Name:
			byName.Add(&m.Durations)
		}
	})
	switch {
	case byHash.Count > 0:
		return &Time{Launches: byHash.Count, Nanos: float64(byHash.Nanos), Least: byHash.Least, Most: byHash.Most}
	case byName.Count > 0 && len(p.Launches) == 0:
		return &Time{Launches: byName.Count, Nanos: float64(byName.Nanos), ByName: true}
	}
	return nil
}
