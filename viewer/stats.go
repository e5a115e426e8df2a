package viewer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// statistic reads the name of a statistic of kernel times: min, max, mean, median, stddev, p95, p99.9.
func statistic(name string) (func(s *profile.Sketch) float64, bool) {
	switch name {
	case "min":
		return func(s *profile.Sketch) float64 { return float64(s.Min) }, true
	case "max":
		return func(s *profile.Sketch) float64 { return float64(s.Max) }, true
	case "mean":
		return func(s *profile.Sketch) float64 { return s.Mean }, true
	case "median":
		return func(s *profile.Sketch) float64 { return s.Quantile(0.5) }, true
	case "stddev":
		return (*profile.Sketch).StdDev, true
	}
	digits, ok := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) || strings.ContainsAny(digits, "+-einx_") {
		return nil, false
	}
	return func(s *profile.Sketch) float64 { return s.Quantile(percent / 100) }, true
}

// statColumn reads min_time, p95_time and so on, with or without a unit.
func (b *builder) statColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	which, ok := strings.CutSuffix(base, "_time")
	of, known := statistic(which)
	u, unitKnown := figures.Times.Unit(wanted)
	if !ok || !known || fixed && !unitKnown {
		return column{}, false, nil
	}
	if !slices.ContainsFunc(b.frames, func(f frame) bool { return f.node.Times != nil }) {
		return column{}, true, fmt.Errorf("%s: the profile holds sums of kernel times and not their distribution; %s", base, howToGetTimes)
	}
	b.sums.wantTimes = true
	ofBuckets := which == "median" || which[0] == 'p' // not all digits are known
	c := column{Column: Column{Label: base, Inclusive: true, Percentile: ofBuckets}}
	c.stat = func(s *profile.Sketch) float64 { return of(s) * 1e-9 }
	c.in(&figures.Times, u, fixed)
	return c, true, nil
}

// howToGetTimes is the way out for profiles without distributions.
const howToGetTimes = "profile again with proton run and without --no-stats, or, if proton convert made this file, read the .hatchet file that it was made of: most formats hold only the sums; avg_time needs only the sums"
