package kernels

import (
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/profile"
)

// deviceOf is the device that launches at a node ran on. In merged profiles the names of devices are not the ordinals that
// launches have; the node then names the device, or a set of devices.
func (w *worker) deviceOf(n *profile.Node, l *profile.LaunchTimes) *profile.Device {
	if w.profile == nil {
		return nil
	}
	if d := peaks.Device(w.profile, "", strconv.Itoa(l.Device)); d != nil {
		return d
	}
	if id, has := n.Metric("device_id"); has {
		if d := peaks.Device(w.profile, "", id.Str()); d != nil {
			return d
		}
	}
	return w.anyDevice()
}

// anyDevice is one of the devices if all have the same peaks.
func (w *worker) anyDevice() *profile.Device {
	devices := w.profile.Devices
	if len(devices) == 0 || slices.ContainsFunc(devices, func(d profile.Device) bool { return !samePeaks(&d, &devices[0]) }) {
		return nil
	}
	return &devices[0]
}

// samePeaks reports whether two devices have the same peaks. An H100 and an H200 differ in their memory only.
func samePeaks(a, b *profile.Device) bool {
	x, y := *a, *b
	x.ID, y.ID = "", ""
	return x == y
}

// ran records the device that launches of a group ran on.
func (w *worker) ran(g *Group, d *profile.Device) {
	switch work := &g.Work; {
	case d == nil:
	case work.on == nil:
		work.on = d
	case !samePeaks(work.on, d):
		work.mixed = true
	}
}
