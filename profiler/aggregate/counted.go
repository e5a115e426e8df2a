package aggregate

import (
	"slices"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
)

// counterSums sums what hardware counters have measured of a node's launches on one device.
type counterSums struct {
	launches int64
	names    []string
	sums     []float64
}

// with adds a launch. All launches on a kind of GPU have the same metrics in the same order.
func (c *counterSums) with(l *record.Counters) *counterSums {
	if c == nil {
		c = &counterSums{names: l.Names, sums: make([]float64, len(l.Names))}
	}
	c.launches++
	for i, name := range l.Names {
		at := i
		if at >= len(c.names) || c.names[at] != name {
			if at = slices.Index(c.names, name); at < 0 {
				c.names, c.sums = append(slices.Clip(c.names), name), append(c.sums, 0)
				at = len(c.sums) - 1
			}
		}
		c.sums[at] += l.Values[i]
	}
	return c
}

// counted writes the sums to a node, which may have those of another device.
func (f *freezer) counted(out *profile.Node, c *counterSums) {
	if c == nil {
		return
	}
	f.add(out, counters.Launches, profile.IntValue(c.launches))
	for i, name := range c.names {
		f.add(out, name, profile.FloatValue(c.sums[i]))
	}
}

func (f *freezer) add(out *profile.Node, name string, v profile.Value) {
	if old, has := out.Metric(name); has {
		v = sum(old, v, false)
	}
	f.set(out, name, v, profile.Exclusive)
}
