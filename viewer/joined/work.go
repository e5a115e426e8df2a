package joined

import (
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/specs"
)

// Work is what one launch moves and computes, and what of the GPU's roof its average time reached.
type Work struct {
	Bytes, Flops float64 // per launch; 0 if that is not known
	BytesFrom    string  // "profile": the kernel's own metrics; "trace": counted in its code; "arguments": each tensor once
	FlopsFrom    string
	Bits         int // of the operands that Flops are of; 0 if that is not known

	BytesPerSecond float64 // achieved; 0 without a time
	FlopsPerSecond float64
	Roof           float64 // least time that the work needs at the GPU's peaks, over the average time; 0 if not known
	Bound          string  // "memory" or "compute": which roof that is

	deviceAt int // 1 + ordinal; 0: none was seen
	mixed    bool
}

// worker finds out what launches do.
type worker struct {
	profile *profile.Profile
}

// device notes where a group ran.
func (w *worker) device(g *Group, ordinal int) {
	if g.Work.deviceAt == 0 {
		g.Work.deviceAt = 1 + ordinal
	}
}

// measured takes over what the kernel's hook said of a node's launches, if they are all of one kind.
func (w *worker) measured(g *Group, n *profile.Node, l *profile.LaunchTimes) {
	w.device(g, l.Device)
	if len(n.Launches) != 1 || l.Count == 0 || amount(n, countMetric) != l.Count {
		return
	}
	per := float64(l.Count)
	if bytes := amount(n, "bytes"); bytes > 0 {
		g.Work.Bytes, g.Work.BytesFrom = float64(bytes)/per, "profile"
	}
	for _, width := range []struct {
		name string
		bits int
	}{{"flops", 0}, {"flops64", 64}, {"flops32", 32}, {"flops16", 16}, {"flops8", 8}} {
		if flops := amount(n, width.name); flops > 0 {
			g.Work.Flops, g.Work.FlopsFrom, g.Work.Bits = float64(flops)/per, "profile", width.bits
		}
	}
}

// staticWork is what the trace tells of a launch: its tensors, each moved once.
func staticWork(c *tritonparse.Compilation, l *tritonparse.LaunchRecord) (w Work) {
	for i := range l.Args {
		if t := l.Args[i].Tensor(); t != nil {
			w.Bytes += float64(t.Numel * t.ElementSize)
			w.Bits = max(w.Bits, int(8*t.ElementSize))
		}
	}
	if w.Bytes > 0 {
		w.BytesFrom = "arguments"
	}
	return w
}

// finish computes rates and the share of the roof.
func (w *worker) finish(g *Group) {
	seconds := g.Times.Average() / 1e9
	if seconds <= 0 {
		return
	}
	work := &g.Work
	work.BytesPerSecond, work.FlopsPerSecond = work.Bytes/seconds, work.Flops/seconds
	d := w.deviceOf(work.deviceAt - 1)
	if d == nil {
		return
	}
	var memory, compute float64
	if peak, err := specs.Bandwidth(*d); err == nil {
		memory = work.Bytes / peak
	}
	if bits := work.Bits; work.Flops > 0 {
		if bits == 0 {
			bits = 32
		}
		if peak, err := specs.Flops(*d, bits); err == nil {
			compute = work.Flops / peak
		}
	}
	switch {
	case memory == 0 && compute == 0:
	case memory >= compute:
		work.Roof, work.Bound = memory/seconds, "memory"
	default:
		work.Roof, work.Bound = compute/seconds, "compute"
	}
}

// deviceOf finds a device of the profile. In merged profiles ordinals have more before them; one of several like it will do.
func (w *worker) deviceOf(ordinal int) *profile.Device {
	if w.profile == nil || ordinal < 0 {
		return nil
	}
	for i := range w.profile.Devices {
		if d := &w.profile.Devices[i]; d.ID == strconv.Itoa(ordinal) {
			return d
		}
	}
	devices := w.profile.Devices
	for i := 1; i < len(devices); i++ {
		if devices[i].Arch != devices[0].Arch || devices[i].NumSMs != devices[0].NumSMs {
			return nil
		}
	}
	if len(devices) == 0 {
		return nil
	}
	return &devices[0]
}
