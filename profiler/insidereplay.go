package profiler

import (
	"cmp"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profiler/callpath"
)

// showsInside reports whether a session shows scopes inside of kernels: it asked for them, or a replay may bring some.
func (d *drainer) showsInside(s *session) bool { return s.inside != nil || d.options.Replay != "" }

// HearInside has a function get the scopes inside of each launch, to record them. It is called by the drainer; nothing of the
// launch stays valid after it.
func (m *Manager) HearInside(f func(*inside.Launch)) {
	m.drainer.do(func(d *drainer) { d.heard = f })
}

// addInside adds a launch whose scopes have arrived.
func (d *drainer) addInside(l *inside.Launch) {
	if d.heard != nil {
		d.heard(l)
	}
	d.agg.AddInside(l)
}

// ReplayInside adds a launch of a replay: its place is that of the launch with its correlation id.
func (m *Manager) ReplayInside(l *inside.Launch) {
	m.drainer.do(func(d *drainer) {
		at, known := d.inside.launched[l.Correlation]
		if !known {
			launched, _ := d.resolver.Launched(l.Correlation)
			at = launched.Launch
		}
		l.Set, l.Node, l.PyNode, l.IsOp = cmp.Or(at.Set, d.sets.newest), at.Node, at.PyNode, at.Op
		d.addInside(l)
	})
}

// launchedAt keeps where a kernel was launched, while a capture is replayed: the scopes inside of it may come later.
func (d *drainer) launchedAt(k *record.Activity, at *callpath.Attribution) {
	if d.options.Replay == "" || k.Kind != record.Kernel {
		return
	}
	if d.inside.launched == nil {
		d.inside.launched = map[uint64]callpath.Place{}
	}
	if len(d.inside.launched) < replayedLaunches {
		d.inside.launched[k.Correlation] = at.Launch
	}
}

// replayedLaunches bounds what a replay keeps of its launches.
const replayedLaunches = 1 << 20
