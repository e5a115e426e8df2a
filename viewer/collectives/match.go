package collectives

import (
	"cmp"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
)

// group is a communicator as far as the timelines show it: streams of different ranks that ran the same collectives, one after
// another, and ended them together.
type group struct {
	leader  *lane
	members []member // the leader first
}

// member is a lane whose call i is the leader's call i + shift.
type member struct {
	*lane
	shift int
	clock clock // from its time to the leader's
}

// call returns the member's part of a collective of the leader, nil if it is not in its timeline.
func (m *member) call(n int) *call {
	if i := n - m.shift; i >= 0 && i < len(m.calls) {
		return &m.calls[i]
	}
	return nil
}

// groups joins the lanes of all ranks. A lane joins the communicator with which it has most in common, of several the one whose ends
// it fits best, and leads one of its own if it fits none well.
func groups(ranks []Rank, streams [][]*lane) (all []*group) {
	for i, lanes := range streams {
		taken := map[*group]bool{} // a rank is in a communicator once
		for _, l := range lanes {
			var best *group
			var how member
			var most quality
			for _, g := range all {
				other := &ranks[g.leader.rank]
				if taken[g] || g.leader.rank == l.rank || other.Run != ranks[i].Run {
					continue
				}
				m, fitted, ok := join(g.leader, l, between(other, &ranks[i]))
				if ok && (fitted.pairs > most.pairs || fitted.pairs == most.pairs && fitted.left < most.left) {
					best, how, most = g, m, fitted
				}
			}
			if best == nil {
				best = &group{leader: l}
				how = member{lane: l}
				all = append(all, best)
			}
			best.members = append(best.members, how)
			taken[best] = true
		}
	}
	return all
}

// bounds are how far apart the clocks of two ranks are at most, in ns, and how fast they drift, in ns per ns.
type bounds struct{ offset, drift float64 }

// between returns the bounds of two ranks. GPUs of one host have its clock, but for errors when their times are converted.
func between(a, b *Rank) bounds {
	if a.Host != "" && a.Host == b.Host {
		return bounds{5e6, 0}
	}
	return bounds{60e9, 200e-6}
}

// quality is how many ends of two lanes were compared, and how far apart they typically are, in ns.
type quality struct {
	pairs int
	left  float64
}

// join finds out which calls of two lanes are the same collectives, if they are of one communicator. Recordings that began at
// different times have different first calls.
func join(leader, l *lane, within bounds) (m member, fitted quality, ok bool) {
	type candidate struct {
		shift int
		clock clock
		left  float64
	}
	var found []candidate
	try := func(shift int) {
		if !sameCalls(leader, l, shift, 1+len(l.calls)/256) {
			return
		}
		c, left := guess(pairs(leader, l, shift), within)
		if math.Abs(c.offset) > within.offset {
			return
		}
		found = append(found, candidate{shift, c, left})
	}
	try(0)
	limit := closeness(leader)
	if len(found) == 0 || len(leader.calls) != len(l.calls) && found[0].left > limit {
		for shift := 1; shift <= mostShift; shift++ {
			try(shift)
			try(-shift)
		}
	}
	if len(found) == 0 {
		return m, fitted, false
	}
	best := slices.MinFunc(found, func(a, b candidate) int { return cmp.Compare(a.left, b.left) })
	// All steps have the same operations: of the shifts that fit about as well, the one that moves the clock least.
	for _, c := range found {
		if c.left <= 2*best.left+1000 && math.Abs(c.clock.offset) < math.Abs(best.clock.offset) {
			best = c
		}
	}
	ends := pairs(leader, l, best.shift)
	fitted.pairs = len(ends)
	if !sameCalls(leader, l, best.shift, 1) || len(ends) < fewPairs && len(leader.calls) != len(l.calls) {
		return m, fitted, false
	}
	m = member{lane: l, shift: best.shift}
	m.clock, fitted.left = fit(ends, within)
	return m, fitted, fitted.left <= limit
}

// fewPairs fit at many places: they count only if the lanes have as many calls.
const fewPairs = 3

// mostShift is how many collectives one recording may have before the first one of another.
const mostShift = 2000

// closeness is how far apart, in ns, the ends of one collective typically are at most: 50 µs, or a tenth of its time.
func closeness(l *lane) float64 {
	times := make([]float64, 0, mostPairs)
	for _, c := range thinned(l.calls, mostPairs) {
		times = append(times, float64(c.end-c.start))
	}
	return max(50_000, figures.Median(times)/10)
}

// sameCalls reports whether the calls that two lanes have in common are the same operations. At least half of the shorter lane's
// have to be in common, of which every step-th is looked at.
func sameCalls(leader, l *lane, shift, step int) bool {
	first, last := max(0, shift), min(len(leader.calls), len(l.calls)+shift)
	if 2*(last-first) < min(len(leader.calls), len(l.calls)) || last <= first {
		return false
	}
	for n := first; n < last; n += step {
		if leader.calls[n].name != l.calls[n-shift].name {
			return false
		}
	}
	return true
}

// pairs are the ends of the collectives that end together on all ranks, or of all if there are none of them.
func pairs(leader, l *lane, shift int) []pair {
	var all, aligned []pair
	for n := max(0, shift); n < min(len(leader.calls), len(l.calls)+shift); n++ {
		p := pair{l.calls[n-shift].end, leader.calls[n].end}
		all = append(all, p)
		if endsTogether(leader.calls[n].name) {
			aligned = append(aligned, p)
		}
	}
	if len(aligned) > 0 {
		return aligned
	}
	return all
}
