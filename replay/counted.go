package replay

import (
	"slices"

	"github.com/goproton/goproton/gpu/counters"
)

// mostMeasured is how many metrics a set has at most; a capture with more is not from a GPU.
const mostMeasured = 256

// measuredSet is the set= of -m counters that shows what a capture holds, "" where it does not say. The events of AMD's library say which counters were
// read, and not of which kind of GPU.
func (c *Capture) measuredSet() string {
	if c.has(Lines) {
		return counters.LinesSet
	}
	if c.Machine.Backend != noBackend {
		return ""
	}
	var metrics []string
	chip := ""
	for _, e := range c.Events {
		if e.Type != Counters {
			continue
		}
		in := cursor{rest: e.Payload}
		in.number() // of the launch
		chip = c.text(in.number())
		in.number() // passes
		for n := in.number(); n > 0 && !in.short && len(metrics) <= mostMeasured; n-- {
			if name := c.text(in.number()); !slices.Contains(metrics, name) {
				metrics = append(metrics, name)
			}
			in.number() // the value
		}
	}
	if metrics == nil || len(metrics) > mostMeasured {
		return ""
	}
	return counters.SetOf(metrics, chip)
}
