package idle

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// ofTree is the report of a tree that was recorded with idle times.
func ofTree(p *profile.Profile) (*Report, error) {
	r, paths := &Report{Devices: []Device{{}}}, &profile.Paths{}
	d, found := &r.Devices[0], false
	path := []int32{0} // of the node and those above it
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if depth > 0 {
			path = append(path[:depth], paths.Below(path[depth-1], n.Name))
		}
		idle, ok := number(n, profile.IdleMetric)
		if !ok {
			return true
		}
		found = true
		busy, _ := number(n, profile.BusyMetric)
		gaps, _ := number(n, profile.IdleGapsMetric)
		d.Idle, d.Busy, d.Gaps = d.Idle+idle, d.Busy+busy, d.Gaps+int(gaps)
		if idle > 0 {
			r.Causes = append(r.Causes, Cause{Doing: Before, Path: Path{paths, path[depth]}, Nanos: idle, Gaps: int(gaps)})
		}
		return true
	})
	if !found {
		return nil, ErrNoTimeline
	}
	d.Wall = d.Idle + d.Busy
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Nanos, a.Nanos) })
	return r, nil
}

func number(n *profile.Node, metric string) (int64, bool) {
	v, found := n.Metric(metric)
	f, isNumber := v.Float()
	return int64(f), found && isNumber
}
