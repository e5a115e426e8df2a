package viewer

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// asked is what the launches of a frame asked for; 0 where it is not known. Launches of different sizes have their means.
type asked struct{ registers, threads, shared float64 }

// askedBy reads it from what was recorded with counters, else from samples and the settings in the kernel's name.
func (b *builder) askedBy(n *profile.Node) (a asked) {
	if measured := n.Number(counters.Launches); measured > 0 {
		mean := func(metric string) float64 { return add(0, n.Number(metric)) / measured }
		a = asked{mean(counters.Registers), mean(counters.Threads), mean(counters.StaticShared) + mean(counters.DynamicShared)}
	}
	if s := b.profile.Sampling; a.registers == 0 && s != nil && len(n.Samples) == 1 && n.Samples[0].Function >= 0 && n.Samples[0].Function < len(s.Functions) {
		f := &s.Functions[n.Samples[0].Function]
		a.registers, a.shared = float64(f.Registers), float64(f.Shared)
		settings := Settings(n.Name)
		for _, name := range []string{"warps", "num_warps"} {
			if warps, err := strconv.Atoi(settings[name]); err == nil {
				a.threads = float64(warps * vendors.WarpSize)
			}
		}
		if shared, err := strconv.Atoi(settings["shared"]); err == nil {
			a.shared = max(a.shared, float64(shared))
		}
	}
	return a
}

// occupancyOf is how many warps of a frame's kernel can be resident.
func (b *builder) occupancyOf(n *profile.Node) (o gpu.Occupancy, ok bool) {
	a := b.askedBy(n)
	id, _ := n.Metric(profile.DeviceIDMetric)
	typ, _ := n.Metric(profile.DeviceTypeMetric)
	device := peaks.Device(b.profile, typ.Str(), id.Str())
	if a.registers == 0 || a.threads == 0 || a.threads != math.Trunc(a.threads) || device == nil {
		return o, false
	}
	return vendors.Occupancy(device.Type, device.Arch, int(a.registers), int(a.threads), int(a.shared))
}

// occupancyColumn reads registers, occupancy_limit and limited_by: means of a launch, and what limits most launches.
func (b *builder) occupancyColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	if !slices.Contains([]string{"registers", "occupancy_limit", "limited_by"}, base) || fixed && !(base == "occupancy_limit" && wanted == "%") {
		return column{}, false, nil
	}
	value := func(n *profile.Node) float64 {
		if base == "registers" {
			return positiveOr(b.askedBy(n).registers, missing)
		}
		if o, ok := b.occupancyOf(n); ok {
			return o.Share()
		}
		return missing
	}
	launches := func(f *frame) float64 { return value(f.node)*0 + positiveOr(f.node.Number(profile.CountMetric), 1) }
	above := b.computed(ours+base+" above", true, func(f *frame) float64 { return value(f.node) * launches(f) })
	below := b.computed(ours+base+" below", true, launches)
	c := column{Column: Column{Label: base, Inclusive: true, Ratio: base == "occupancy_limit"}, unit: figures.Unit{Factor: 1}, value: func(a []float64) float64 { return a[above] / a[below] }}
	if fixed {
		c.in(nil, figures.Percent, true)
	}
	known := slices.ContainsFunc(b.frames, func(f frame) bool { return !math.IsNaN(value(f.node)) })
	if base == "limited_by" {
		c.value, c.Text, c.Ratio, c.word = nil, true, false, b.limitWords(launches)
	}
	if !known {
		return column{}, true, b.unknown(name)
	}
	return c, true, nil
}

func positiveOr(v, otherwise float64) float64 {
	if v > 0 {
		return v
	}
	return otherwise
}

// limitWords is the text of what limits the occupancy of most launches of a row.
func (b *builder) limitWords(launches func(f *frame) float64) func(a []float64) string {
	var limits []string
	var at []int
	for i := range b.frames {
		o, ok := b.occupancyOf(b.frames[i].node)
		limit := strings.Join(o.Limits, " and ")
		if !ok || slices.Contains(limits, limit) {
			continue
		}
		limits = append(limits, limit)
		at = append(at, b.computed(ours+"limited by "+limit, true, func(f *frame) float64 {
			if o, ok := b.occupancyOf(f.node); !ok || strings.Join(o.Limits, " and ") != limit {
				return missing
			}
			return launches(f)
		}))
	}
	return func(a []float64) string {
		most, word := 0.0, ""
		for i := range limits {
			if v := a[at[i]]; v > most {
				most, word = v, limits[i]
			}
		}
		return word
	}
}
