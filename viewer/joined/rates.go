package joined

import "github.com/goproton/goproton/profile"

// Rates are what launches reached, by the time that they took.
type Rates struct {
	BytesPerSecond float64 // 0 without a time
	FlopsPerSecond float64
	Roof           float64 // least time that the work needs at the GPU's peaks, over the time that it took; 0 if not known
	Bound          string  // "memory" or "compute": which roof that is
}

// together are the rates of all launches of some kinds: all work over all time, and the least times of each, added up, over that.
// A rate that one of them does not have, they have none of. all are the launches that there are: of those that no kind
// has, nobody knows the work.
func together(all *profile.Durations, groups []*Group) (r Rates) {
	var known, nanos uint64
	var bytes, flops float64
	least := map[string]float64{} // seconds, by the roof
	without := struct{ bytes, flops, roof bool }{}
	for _, g := range groups {
		if g.Times.Count == 0 {
			continue
		}
		known, nanos = known+g.Times.Count, nanos+g.Times.Nanos
		w, launches := &g.Work, float64(g.Times.Count)
		bytes, flops = bytes+w.Bytes*launches, flops+w.Flops*launches
		least[w.Bound] += w.Roof * float64(g.Times.Nanos) / 1e9
		without.bytes = without.bytes || w.BytesPerSecond == 0
		without.flops = without.flops || w.FlopsPerSecond == 0
		without.roof = without.roof || w.Roof == 0
	}
	if known != all.Count || nanos == 0 {
		return r
	}
	seconds := float64(nanos) / 1e9
	if !without.bytes {
		r.BytesPerSecond = bytes / seconds
	}
	if !without.flops {
		r.FlopsPerSecond = flops / seconds
	}
	if !without.roof {
		r.Roof, r.Bound = (least["memory"]+least["compute"])/seconds, "memory"
		if least["compute"] > least["memory"] {
			r.Bound = "compute"
		}
	}
	return r
}
