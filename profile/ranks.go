package profile

import (
	"fmt"
	"slices"
	"strings"
)

// ranks names the devices of a timeline in which several processes have GPUs: each numbers its own from 0, and a tree says "rank 3:0", as that
// of merged profiles does. Of a frame that ran on several, it names all.
type ranks struct {
	p   *Profile
	ran map[*Node][]string // devices in order of first use
}

// newRanks returns nil of a timeline in which one process has all GPUs.
func newRanks(p *Profile) *ranks {
	processes := map[string]bool{}
	for _, l := range p.Timeline.Lanes {
		if l.Device != "" {
			processes[l.Process] = true
		}
	}
	if len(processes) < 2 {
		return nil
	}
	return &ranks{p, map[*Node][]string{}}
}

// device returns the name of a lane's device, which it lists among those of the profile with the facts of its ordinal.
func (r *ranks) device(n *Node, l *Lane) string {
	name := l.Device
	if l.Process != "" {
		name = l.Process + ":" + l.Device
	}
	if !slices.Contains(r.ran[n], name) {
		r.ran[n] = append(r.ran[n], name)
	}
	r.list(name, l.Device)
	return name
}

// list adds a device with the facts of others, if they share them.
func (r *ranks) list(name string, others ...string) {
	byID := func(id string) int { return slices.IndexFunc(r.p.Devices, func(d Device) bool { return d.ID == id }) }
	if byID(name) >= 0 {
		return
	}
	var facts Device
	for i, other := range others {
		at := byID(other)
		if at < 0 {
			return
		}
		d := r.p.Devices[at]
		d.ID = name
		if i > 0 && d != facts {
			return
		}
		facts = d
	}
	r.p.Devices = append(slices.Clip(r.p.Devices), facts)
}

// longestList is how many devices a frame names one by one.
const longestList = 4

// finish names the devices of frames that ran on several.
func (r *ranks) finish() {
	for n, devices := range r.ran {
		if len(devices) < 2 {
			continue
		}
		slices.Sort(devices)
		name := strings.Join(devices, ",")
		if len(devices) > longestList {
			name = fmt.Sprintf("%s…%s (%d)", devices[0], devices[len(devices)-1], len(devices))
		}
		r.list(name, devices...)
		n.Set(DeviceIDMetric, StringValue(name))
	}
}
