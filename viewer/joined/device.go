package joined

import (
	"errors"
	"strconv"

	"github.com/goproton/goproton/profile"
)

// deviceOf is where launches at a node ran. In merged profiles devices are called otherwise than by the ordinals that launches
// have; there the node says which, or which set of them.
func (w *worker) deviceOf(n *profile.Node, l *profile.LaunchTimes) *profile.Device {
	if w.profile == nil {
		return nil
	}
	if d := w.called(strconv.Itoa(l.Device)); d != nil {
		return d
	}
	if id, has := n.Metric("device_id"); has {
		if d := w.called(id.Str()); d != nil {
			return d
		}
	}
	return w.anyDevice()
}

func (w *worker) called(id string) *profile.Device {
	for i := range w.profile.Devices {
		if d := &w.profile.Devices[i]; d.ID == id {
			return d
		}
	}
	return nil
}

// anyDevice is one of the devices if they are all alike.
func (w *worker) anyDevice() *profile.Device {
	devices := w.profile.Devices
	if len(devices) == 0 {
		return nil
	}
	for i := range devices {
		if !alike(&devices[i], &devices[0]) {
			return nil
		}
	}
	return &devices[0]
}

// alike says whether two devices have the same peaks. An H100 and an H200 differ in their memory only.
func alike(a, b *profile.Device) bool {
	x, y := *a, *b
	x.ID, y.ID = "", ""
	return x == y
}

// ran notes where launches of a group ran.
func (w *worker) ran(g *Group, d *profile.Device) {
	switch work := &g.Work; {
	case d == nil:
	case work.on == nil:
		work.on = d
	case !alike(work.on, d):
		work.mixed = true
	}
}

// noDevice says why there is no roof to hold a rate against.
func noDevice(mixed bool) error {
	if mixed {
		return errors.New("launches of the same arguments ran on GPUs of different kinds")
	}
	return errors.New("the profile does not describe the GPU that they ran on")
}
