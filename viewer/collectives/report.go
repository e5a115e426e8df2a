package collectives

import (
	"cmp"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
)

// Report is what Compare found. All times are in ns.
type Report struct {
	Ranks       []Times
	Kinds       []Operation  // the most time first
	Longest     []Wait       // the longest first
	Collectives int          // that several ranks ran together
	Median, P99 int64        // how far the end of a rank is from those of the others, on the common clock
	Unaligned   []string     // labels of ranks that share no collective with the first one, nor its host: their clock is their own
	first       int64        // time of the first collective, on the common clock
	clocks      []clock      // of each rank, to the first one's
	compute     [][]interval // unions, each on its rank's clock
}

// Times is what one rank did. All are ns.
type Times struct {
	Label      string `json:"rank"`
	Offset     int64  `json:"offset_ns"` // of its clock to that of the first rank, in the middle of its collectives
	Drift      Drift  `json:"drift_ppm"`
	Apart      int64  `json:"apart_ns"`      // median distance of its ends from those of the others
	Calls      int    `json:"collectives"`   // that it ran
	NCCL       int64  `json:"nccl_ns"`       // with a collective's kernel running
	Overlapped int64  `json:"overlapped_ns"` // of it, with another kernel running too
	Exposed    int64  `json:"exposed_ns"`    // of it, with no other
	Waiting    int64  `json:"waiting_ns"`    // of it, before the last rank arrived
}

// Drift is how fast a clock moves away from that of the first rank, in ns per ns.
type Drift float64

// MarshalJSON writes parts per million.
func (d Drift) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(math.Round(float64(d)*1e9) / 1e3)
}

// Operation is the collectives of one operation and type.
type Operation struct {
	Name     string `json:"operation"`
	Count    int    `json:"count"`
	Time     int64  `json:"time_ns"`     // mean over the ranks of the time in them
	Waiting  int64  `json:"waiting_ns"`  // the part of it before the last rank arrived
	Transfer int64  `json:"transfer_ns"` // from the arrival of the last rank to the last end
	Last     string `json:"last"`        // the rank that arrived last most often
	LastIn   int    `json:"last_in"`     // how often
}

// Wait is a collective for which a rank waited.
type Wait struct {
	Name   string `json:"operation"`
	Number int    `json:"number"`   // of the communicator, counted from 0
	Start  int64  `json:"start_ns"` // arrival of the first rank, on the common clock
	Nanos  int64  `json:"waiting_ns"`
	First  string `json:"first"`
	Last   string `json:"last"`
}

// longest is how many of the longest waits are kept.
const longest = 5

// Compare matches the collectives of ranks. It changes no timeline.
func Compare(ranks []Rank) *Report {
	r := &Report{}
	lanes := make([][]*lane, len(ranks))
	for i, rank := range ranks {
		var compute []interval
		lanes[i], compute = lanesOf(i, rank.Timeline)
		r.compute = append(r.compute, union(compute))
		r.Ranks = append(r.Ranks, Times{Label: rank.Label})
	}
	all := groups(ranks, lanes)
	r.align(all, ranks)
	r.measure(all, lanes)
	return r
}

// align finds each rank's clock, from the first rank on along the communicators that ranks share, the closest first.
func (r *Report) align(all []*group, ranks []Rank) {
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(len(b.leader.calls), len(a.leader.calls)) })
	r.clocks = make([]clock, len(ranks))
	known := make([]bool, len(ranks))
	for first := range ranks {
		if known[first] {
			continue
		}
		neighbour := slices.IndexFunc(ranks, func(other Rank) bool { return other.Host != "" && other.Host == ranks[first].Host })
		switch {
		case neighbour >= 0 && known[neighbour]:
			r.clocks[first] = r.clocks[neighbour]
		case first > 0:
			r.Unaligned = append(r.Unaligned, ranks[first].Label)
		}
		known[first] = true
		for again := true; again; {
			again = r.spread(all, known)
		}
	}
	for _, g := range all {
		g.members = slices.DeleteFunc(g.members, func(m member) bool { return m.lane != g.leader && r.distance(g, m) > closeness(g.leader) })
	}
}

// distance is the median time between the ends of a member and of the leader. Two lanes of few calls may fit by chance, and the clocks
// that the others have show it.
func (r *Report) distance(g *group, m member) float64 {
	var apart []float64
	for _, p := range thinned(pairs(g.leader, m.lane, m.shift), mostPairs) {
		apart = append(apart, math.Abs(float64(r.clocks[m.rank].at(p.theirs)-r.clocks[g.leader.rank].at(p.ours))))
	}
	return figures.Median(apart)
}

// spread gives a clock to the ranks of communicators in which some rank has one, and reports whether there were any.
func (r *Report) spread(all []*group, known []bool) (some bool) {
	for _, g := range all {
		at := slices.IndexFunc(g.members, func(m member) bool { return known[m.rank] })
		if at < 0 {
			continue
		}
		base := g.members[at]
		back := inverse(base.clock).after(r.clocks[base.rank]) // from the leader's time to the common one
		for _, m := range g.members {
			if !known[m.rank] {
				known[m.rank], some = true, true
				r.clocks[m.rank] = m.clock.after(back)
			}
		}
	}
	return some
}

func inverse(c clock) clock { return clock{c.at(c.from), -c.offset, -c.drift} }

// Align moves everything in the timeline of a rank to the common clock.
func (r *Report) Align(rank int, t *profile.Timeline) {
	c := r.clocks[rank]
	for i := range t.Slices {
		s := &t.Slices[i]
		start := c.at(s.Start)
		s.Duration, s.Start = max(0, c.at(s.Start+s.Duration)-start), start
	}
	for i := range t.Flows {
		t.Flows[i].Start, t.Flows[i].End = c.at(t.Flows[i].Start), c.at(t.Flows[i].End)
	}
}

// measure fills in the times, now that there is one clock.
func (r *Report) measure(all []*group, lanes [][]*lane) {
	waits := make([][]interval, len(r.Ranks))
	apart := make([][]float64, len(r.Ranks))
	kinds := map[string]*kindSums{}
	for _, g := range all {
		for n := range g.leader.calls {
			r.together(g, n, waits, apart, kinds)
		}
	}
	var every []float64
	for i := range r.Ranks {
		t := &r.Ranks[i]
		var own []interval
		for _, l := range lanes[i] {
			t.Calls += len(l.calls)
			for _, c := range l.calls {
				own = append(own, interval{c.start, c.end})
			}
		}
		busy := union(own)
		t.NCCL, t.Overlapped = length(busy), common(busy, r.compute[i])
		t.Exposed, t.Waiting = t.NCCL-t.Overlapped, length(union(waits[i]))
		t.Drift = Drift(r.clocks[i].drift)
		t.Offset = int64(math.Round(r.clocks[i].offset))
		if apart[i] != nil {
			t.Apart = int64(figures.Median(apart[i]))
		}
		every = append(every, apart[i]...)
	}
	if every != nil {
		r.Median, r.P99 = int64(figures.Median(every)), int64(figures.Quantile(every, 0.99))
	}
	for _, k := range kinds {
		r.Kinds = append(r.Kinds, k.kind(r.Ranks))
	}
	slices.SortFunc(r.Kinds, func(a, b Operation) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	slices.SortFunc(r.Longest, func(a, b Wait) int { return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Start, b.Start)) })
	r.Longest = r.Longest[:min(len(r.Longest), longest)]
}

// kindSums adds up the collectives of one kind.
type kindSums struct {
	Operation
	parts int         // parts of ranks in them
	last  map[int]int // rank → how often it arrived last
}

func (k *kindSums) kind(ranks []Times) Operation {
	members := max(1, (k.parts+k.Count-1)/max(1, k.Count))
	k.Time, k.Waiting = k.Time/int64(members), k.Waiting/int64(members)
	for rank, times := range k.last {
		if times > k.LastIn || times == k.LastIn && ranks[rank].Label < k.Last {
			k.Last, k.LastIn = ranks[rank].Label, times
		}
	}
	return k.Operation
}

// together adds collective n of a communicator.
func (r *Report) together(g *group, n int, waits [][]interval, apart [][]float64, kinds map[string]*kindSums) {
	var parts []part
	for _, m := range g.members {
		if c := m.call(n); c != nil {
			parts = append(parts, part{m.rank, *c, r.clocks[m.rank].at(c.start), r.clocks[m.rank].at(c.end)})
		}
	}
	if len(parts) < 2 {
		return
	}
	r.Collectives++
	first := slices.MinFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	last := slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	if r.first == 0 || first.start < r.first {
		r.first = first.start
	}
	ends := make([]float64, 0, len(parts))
	for _, p := range parts {
		ends = append(ends, float64(p.end-last.start))
	}
	name := shownName(g.leader.calls[n].name)
	k := kinds[name]
	if k == nil {
		k = &kindSums{Operation: Operation{Name: name}, last: map[int]int{}}
		kinds[name] = k
	}
	k.Count++
	k.parts += len(parts)
	k.last[last.rank]++
	k.Transfer += max(0, int64(slices.Max(ends)))
	apartOf := fromOthers(ends)
	for i, p := range parts {
		wait := min(max(0, last.start-p.start), p.end-p.start)
		waits[p.rank] = append(waits[p.rank], interval{p.start, p.start + wait})
		k.Time += p.end - p.start
		k.Waiting += wait
		if endsTogether(p.call.name) {
			apart[p.rank] = append(apart[p.rank], apartOf[i])
		}
	}
	r.keep(Wait{name, n, first.start, min(last.start-first.start, first.end-first.start), r.Ranks[first.rank].Label, r.Ranks[last.rank].Label})
}

// fromOthers returns how far each value is from the median of the others.
func fromOthers(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	apart := make([]float64, len(values))
	for k, i := range order {
		other := func(n int) float64 { // the n-th of the others
			if n >= k {
				n++
			}
			return values[order[n]]
		}
		n := len(order) - 1
		apart[i] = math.Abs(values[i] - (other((n-1)/2)+other(n/2))/2)
	}
	return apart
}

// part is what one rank did of a collective: its call, and its times on the common clock.
type part struct {
	rank       int
	call       call
	start, end int64
}

// keep keeps the longest waits.
func (r *Report) keep(w Wait) {
	if w.Nanos <= 0 {
		return
	}
	r.Longest = append(r.Longest, w)
	if len(r.Longest) >= 64 {
		slices.SortFunc(r.Longest, func(a, b Wait) int { return cmp.Compare(b.Nanos, a.Nanos) })
		r.Longest = r.Longest[:longest]
	}
}
