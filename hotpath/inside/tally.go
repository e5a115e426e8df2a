package inside

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Tally sums the blocks of one launch: it has a counter for every bucket of a histogram, so that a pair costs a few additions.
// Its memory stays when it is read out, and is reused. One drainer owns it.
type Tally struct {
	scopes [256]*scopeTally
	used   []uint8 // scopes of this launch
	sms    []uint32
	bySM   []profile.InsideShare // by position in sms
	sm     int                   // position of the block's
	rings  int                   // bytes

	of    *Kernel    // the kernel of first
	first [256]uint8 // the lowest ID of a scope's call path: a helper that is inlined twice has two, which are one scope
	ran   [256]bool  // IDs in this launch

	kernel profile.InsideKernel
	times  counter
}

// scopeTally sums the pairs of one scope.
type scopeTally struct {
	each, sums      counter
	warps           []profile.InsideShare // of this block, by number
	byWarp          []profile.InsideShare
	bySM            []profile.InsideShare // by position in Tally.sms
	events, crossed uint64
}

// counter is a distribution that is being counted.
type counter struct {
	count, sum, min, max uint64
	shift                uint64  // the first value: squares are of distances from it
	squares              float64 // of these distances
	far                  int64   // sum of these distances
	buckets              []uint32
	low, high            uint16 // buckets in use
}

func (c *counter) add(v uint64) {
	at := profile.BucketOf(v)
	if c.count == 0 {
		c.shift, c.min, c.low, c.high = v, v, at, at
	}
	c.count++
	c.sum += v
	c.min, c.max = min(c.min, v), max(c.max, v)
	distance := int64(v - c.shift)
	c.far += distance
	c.squares += float64(distance) * float64(distance)
	c.low, c.high = min(c.low, at), max(c.high, at)
	if int(at) >= len(c.buckets) {
		c.buckets = append(c.buckets, make([]uint32, int(at)+64-len(c.buckets))...)
	}
	c.buckets[at]++
}

// take returns what was counted, and begins anew.
func (c *counter) take() *profile.Sketch {
	s := &profile.Sketch{Count: c.count, Min: c.min, Max: c.max}
	if c.count > 0 {
		n := float64(c.count)
		s.Mean = float64(c.sum) / n
		s.M2 = max(c.squares-float64(c.far)*float64(c.far)/n, 0)
		for at := c.low; at <= c.high; at++ {
			if n := c.buckets[at]; n > 0 {
				s.Buckets = append(s.Buckets, profile.Bucket{Index: at, Count: uint64(n)})
				c.buckets[at] = 0
			}
		}
	}
	*c = counter{buckets: c.buckets}
	return s
}

// Add adds a block of the kernel.
func (t *Tally) Add(b *Block, k *Kernel) {
	if t.of != k {
		t.of, t.first = k, k.firsts()
	}
	recorded := uint64(k.Recorded())
	nanos := b.PreFinal - b.Init
	t.kernel.Blocks++
	t.kernel.Warps += recorded
	t.kernel.AllWarps += uint64(k.Warps)
	t.kernel.Nanos += nanos
	t.kernel.WarpNanos += nanos * recorded
	if b.PostFinal > b.PreFinal {
		t.kernel.CopyNanos += b.PostFinal - b.PreFinal
	}
	t.times.add(nanos)
	t.sm, t.rings = t.position(b.SM), int(b.Rings)
	t.bySM[t.sm].Count++
	t.bySM[t.sm].Amount += nanos
	for i := range b.Pairs {
		p := &b.Pairs[i]
		scope := t.first[p.Scope]
		t.ran[p.Scope] = true
		s := t.scopes[scope]
		if s == nil || s.each.count == 0 {
			s = t.begin(scope, k.Warps)
		}
		cycles := p.End - p.Start
		s.each.add(cycles)
		w := &s.warps[p.Warp]
		w.Count++
		w.Amount += cycles
		if p.Event {
			s.events++
			if p.Warp != p.EndWarp {
				s.crossed++
			}
		}
	}
	for _, id := range t.used {
		t.scopes[id].endBlock(t.sm)
	}
}

// position finds or makes the place of a multiprocessor. Blocks follow each other on neighbours.
func (t *Tally) position(sm uint32) int {
	for i := range t.sms {
		if at := (t.sm + 1 + i) % len(t.sms); t.sms[at] == sm {
			return at
		}
	}
	t.sms = append(t.sms, sm)
	t.bySM = append(t.bySM, profile.InsideShare{At: sm})
	return len(t.sms) - 1
}

func (t *Tally) begin(scope uint8, warps int) *scopeTally {
	s := t.scopes[scope]
	if s == nil {
		s = &scopeTally{}
		t.scopes[scope] = s
	}
	t.used = append(t.used, scope)
	if len(s.warps) < warps {
		s.warps = make([]profile.InsideShare, warps)
		s.byWarp = make([]profile.InsideShare, warps)
	}
	return s
}

func (s *scopeTally) endBlock(sm int) {
	for len(s.bySM) <= sm {
		s.bySM = append(s.bySM, profile.InsideShare{})
	}
	for w := range s.warps {
		in := &s.warps[w]
		if in.Count == 0 {
			continue
		}
		s.sums.add(in.Amount)
		s.byWarp[w].Count += in.Count
		s.byWarp[w].Amount += in.Amount
		s.bySM[sm].Count += in.Count
		s.bySM[sm].Amount += in.Amount
		*in = profile.InsideShare{}
	}
}

// Sum is what a launch adds to its kernel and to the scopes of it.
type Sum struct {
	Kernel *profile.InsideKernel
	Scopes []ScopeSum // in order of ID
}

// ScopeSum is what a launch adds to one scope.
type ScopeSum struct {
	ID uint8
	*profile.InsideScope
}

// Take returns the sums of a launch and begins with the next launch. It leaves the kernel's cycles at 0: the caller, which knows the
// clock, sets them.
func (t *Tally) Take(k *Kernel, losses *profile.InsideLosses) (sum Sum) {
	own := t.kernel
	t.kernel = profile.InsideKernel{}
	own.Launches = 1
	own.Losses = *losses
	own.Times = t.times.take()
	own.Builds = []profile.InsideBuild{{Mode: k.Mode, Triton: k.Triton, Arch: k.Arch, Warps: k.Warps, SlotSize: k.SlotSize, Rings: t.rings}}
	t.rings = 0
	slices.Sort(t.used)
	for _, id := range t.used {
		sum.Scopes = append(sum.Scopes, ScopeSum{id, t.scopes[id].take(t.sms, t.lines(id))})
	}
	t.ran = [256]bool{}
	own.BySM = shares(t.bySM)
	t.used, t.sms, t.bySM, t.sm = t.used[:0], t.sms[:0], t.bySM[:0], 0
	sum.Kernel = &own
	return sum
}

// firsts are the lowest IDs of the scopes' call paths.
func (k *Kernel) firsts() (first [256]uint8) {
	byPath := map[string]uint8{}
	for id := range first {
		first[id] = uint8(id)
	}
	for id := range first {
		if k.scope(uint8(id)) == nil {
			continue
		}
		path := strings.Join(k.Path(uint8(id)), "\x00")
		if _, known := byPath[path]; !known {
			byPath[path] = uint8(id)
		}
		first[id] = byPath[path]
	}
	return first
}

// lines are where a scope begins, of the code that ran.
func (t *Tally) lines(first uint8) (lines []profile.InsideLine) {
	for i := range t.of.Scopes {
		s := &t.of.Scopes[i]
		if s.File != "" && s.ID >= 0 && s.ID < len(t.ran) && t.ran[s.ID] && t.first[s.ID] == first {
			lines = append(lines, profile.InsideLine{File: s.File, Line: s.Line})
		}
	}
	slices.SortFunc(lines, func(a, b profile.InsideLine) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(lines)
}

func (s *scopeTally) take(sms []uint32, lines []profile.InsideLine) *profile.InsideScope {
	out := &profile.InsideScope{Cycles: s.each.sum, Events: s.events, Crossed: s.crossed, Lines: lines}
	out.Each, out.Sums = s.each.take(), s.sums.take()
	for w := range s.byWarp {
		s.byWarp[w].At = uint32(w)
	}
	for i := range s.bySM {
		s.bySM[i].At = sms[i]
	}
	out.ByWarp, out.BySM = shares(s.byWarp), shares(s.bySM)
	clear(s.byWarp)
	s.bySM, s.events, s.crossed = s.bySM[:0], 0, 0
	return out
}

// shares copies those that are not empty, in order.
func shares(list []profile.InsideShare) []profile.InsideShare {
	some := make([]profile.InsideShare, 0, len(list))
	for _, s := range list {
		if s.Count > 0 {
			some = append(some, s)
		}
	}
	slices.SortFunc(some, func(a, b profile.InsideShare) int { return int(int64(a.At) - int64(b.At)) })
	return some
}
