package collectives

import (
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// clock turns the time of one rank into that of another: t + offset + drift·(t - from).
type clock struct {
	from   int64
	offset float64 // ns
	drift  float64 // ns per ns
}

func (c clock) at(t int64) int64 {
	return t + int64(math.Round(c.offset+c.drift*float64(t-c.from)))
}

// after returns the clock that is c and then next.
func (c clock) after(next clock) clock {
	return clock{c.from, c.offset + next.offset + next.drift*float64(c.at(c.from)-next.from), c.drift + next.drift}
}

// pair is when two ranks ended a collective, each on its own clock.
type pair struct{ theirs, ours int64 }

// mostPairs limits the cost of a fit, which grows with the square.
const mostPairs = 301

// fit finds the clock that turns theirs into ours, and the typical distance that is left: the median of its size. The line is that
// of Theil and Sen: the median of all slopes, which a quarter of wrong pairs does not move. The drift is used only where
// it is more than noise, which over a short time it is not.
func fit(pairs []pair, within bounds) (c clock, left float64) {
	pairs = thinned(pairs, mostPairs)
	if len(pairs) == 0 {
		return clock{}, math.Inf(1)
	}
	c.from = pairs[len(pairs)/2].theirs
	x, y := c.offsets(pairs)
	level := figures.Median(y)
	c.offset, left = level, spread(x, y, level, 0)
	if len(pairs) < 8 || within.drift == 0 {
		return c, left
	}
	var slopes []float64
	for i := range x {
		for j := range i {
			if dx := x[i] - x[j]; math.Abs(dx) > 1e6 {
				slopes = append(slopes, (y[i]-y[j])/dx)
			}
		}
	}
	if len(slopes) == 0 {
		return c, left
	}
	slope := figures.Median(slopes)
	level = figures.Median(without(slope, x, y))
	sloped := spread(x, y, level, slope)
	noise := 5 * sloped * math.Sqrt(12/float64(len(x))) // that a slope through noise alone seldom exceeds, from the first pair to the last
	if over := slices.Max(x) - slices.Min(x); math.Abs(slope)*over > noise && math.Abs(slope) < within.drift {
		c.offset, c.drift, left = level, slope, sloped
	}
	return c, left
}

// offsets are how far our clock is ahead in each pair, by the time since c.from.
func (c *clock) offsets(pairs []pair) (since, ahead []float64) {
	for _, p := range pairs {
		since, ahead = append(since, float64(p.theirs-c.from)), append(ahead, float64(p.ours-p.theirs))
	}
	return since, ahead
}

// guess is a quick fit, for the choice between many ways to match: the line through the medians of the first and the last third.
func guess(pairs []pair, within bounds) (c clock, left float64) {
	pairs = thinned(pairs, 63)
	c.from = pairs[len(pairs)/2].theirs
	x, y := c.offsets(pairs)
	if third := len(x) / 3; third > 2 {
		if dx := figures.Median(x[2*third:]) - figures.Median(x[:third]); dx > 1e6 {
			slope := (figures.Median(y[2*third:]) - figures.Median(y[:third])) / dx
			c.drift = max(-within.drift, min(within.drift, slope))
		}
	}
	c.offset = figures.Median(without(c.drift, x, y))
	return c, spread(x, y, c.offset, c.drift)
}

// without is what is left of y without a slope.
func without(slope float64, x, y []float64) []float64 {
	rest := make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - slope*x[i]
	}
	return rest
}

// spread is the median distance from a line.
func spread(x, y []float64, offset, slope float64) float64 {
	distance := make([]float64, len(y))
	for i := range y {
		distance[i] = math.Abs(y[i] - offset - slope*x[i])
	}
	return figures.Median(distance)
}

// thinned keeps at most n, evenly.
func thinned[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	kept := make([]T, n)
	for i := range kept {
		kept[i] = list[i*(len(list)-1)/(n-1)]
	}
	return kept
}

// OneClock moves the timelines of ranks to the clock of the first one. It returns nil if they have no collective in common.
func OneClock(all []merge.Member, note func(string)) *Report {
	var ranks []Rank
	for _, s := range all {
		if t := s.Profile.Timeline; t != nil {
			info := s.Profile.Info
			ranks = append(ranks, Rank{Label: s.Name(), Host: info[profile.InfoHost], Run: info[profile.InfoJob] + " " + info.Attempt(), Timeline: t})
		}
	}
	switch {
	case len(ranks) == 0:
		note("no file has a timeline; record them with proton run --data timeline")
		return nil
	case len(ranks) < 2:
		return nil
	}
	report := Compare(ranks)
	if report.Collectives == 0 {
		note("the clocks of the hosts are not aligned: no collective of NCCL was found that two of the timelines have in common")
		return nil
	}
	for i, rank := range ranks {
		report.Align(i, rank.Timeline)
	}
	for _, label := range report.Unaligned {
		note(fmt.Sprintf("%s has its own clock: it has no collective in common with %s", label, ranks[0].Label))
	}
	return report
}
