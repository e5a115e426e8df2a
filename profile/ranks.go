package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ranks names the devices of a timeline in which several processes have GPUs: each numbers its own from 0, and a tree says "rank3:0", as that
// of merged profiles does. Of a frame that ran on several, it names all.
type ranks struct {
	p      *Profile
	listed map[string]int // places of the profile's devices
	names  map[int]string // of the devices of lanes
	ran    map[*Node]map[string]bool
}

// newRanks returns nil of a timeline in which one process has all GPUs.
func newRanks(p *Profile) *ranks {
	r := &ranks{p, map[string]int{}, map[int]string{}, map[*Node]map[string]bool{}}
	processes := map[string]bool{}
	for _, l := range p.Timeline.Lanes {
		if l.Device != "" {
			processes[l.Process] = true
			r.names[l.ID] = strings.TrimPrefix(l.Process+":"+l.Device, ":")
		}
	}
	if len(processes) < 2 {
		return nil
	}
	p.Devices = slices.Clip(p.Devices) // the list may be another profile's too
	for i := range p.Devices {
		if _, known := r.listed[p.Devices[i].ID]; !known {
			r.listed[p.Devices[i].ID] = i
		}
	}
	for _, l := range p.Timeline.Lanes {
		if l.Device != "" {
			r.list(r.names[l.ID], l.Device)
		}
	}
	return r
}

// device returns the name of a lane's device.
func (r *ranks) device(n *Node, l *Lane) string {
	name := r.names[l.ID]
	if r.ran[n] == nil {
		r.ran[n] = map[string]bool{}
	}
	r.ran[n][name] = true
	return name
}

// list adds a device to the profile's with the facts of others, if they share them.
func (r *ranks) list(name string, others ...string) {
	var facts Device
	for i, other := range others {
		at, known := r.listed[other]
		if !known {
			return
		}
		d := r.p.Devices[at]
		if d.ID = name; i > 0 && d != facts {
			return
		}
		facts = d
	}
	if _, known := r.listed[name]; !known {
		r.listed[name] = len(r.p.Devices)
		r.p.Devices = append(r.p.Devices, facts)
	}
}

// finish names the devices of frames that ran on several.
func (r *ranks) finish() {
	const most = 4 // that are named one by one
	r.p.Root.Walk(func(n *Node, _ int) bool {
		ran := r.ran[n]
		if len(ran) < 2 {
			return true
		}
		devices := slices.Sorted(maps.Keys(ran))
		name := strings.Join(devices[:min(len(devices), most)], ",")
		if len(devices) > most {
			name = fmt.Sprintf("%s…%s (%d)", devices[0], devices[len(devices)-1], len(devices))
		}
		r.list(name, devices...)
		n.Set(DeviceIDMetric, StringValue(name))
		return true
	})
}
