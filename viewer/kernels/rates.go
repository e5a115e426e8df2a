package kernels

import "github.com/goproton/goproton/profile"

// Rates are what launches reached, by their measured time. What is not known is 0 or "".
type Rates struct {
	BytesPerSecond float64 `json:"bytes_per_s,omitempty"`
	FlopsPerSecond float64 `json:"flops_per_s,omitempty"`
	Roof           float64 `json:"share_of_roof,omitempty"` // least time that the work needs at the GPU's peaks, divided by its measured time
	Bound          string  `json:"bound,omitempty"`         // "memory" or "compute": the peak that sets the least time
}

// together returns the rates of the launches of several kinds: the sum of their work, or of their least times, divided by the sum
// of their times. A rate that one kind lacks is 0, and all are 0 if the kinds are not all launches: the work of the others is
// unknown.
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
