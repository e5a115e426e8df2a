package graphvalues

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profiler/record"
)

// On an H200 a node reads the time within 0.3 µs of the start of its activity, and a replay of the same node follows 4 µs later at the
// earliest; the clocks drift apart by 2.5 µs in a second.
const (
	clockNoise = 1500
	clockStep  = 100
	longKernel = 3000    // one that reads a number takes 1200 to 1800 ns
	clockDrift = 100_000 // one in so many: four times of what was measured
)

// clock relates the GPU's clock to that of activities.
type clock struct {
	known []relation // one for each time that recording began, in that order; activities of an earlier one may arrive later
	// Of the kernels outside of graphs whose other half has not arrived, both in the order of time.
	stamps []uint64
	alone  []record.Activity // none once the clocks are known
}

// maxKnown is how many relations are remembered, and maxAlone how many kernels outside of graphs wait for their other half.
const (
	maxKnown = 16
	maxAlone = 64
)

// relation is how the clocks relate since recording began.
type relation struct {
	began uint64 // time of the activity that showed it first
	stamp uint64 // and of its reading: readings from before belong to no later activity
	ahead int64  // how far the GPU's clock is ahead when a node reads it, over the start of the activity, in ns
	slack int64  // by how much that may be too much, as long as only a kernel that had to wait has shown it
	at    uint64 // time of the last activity that showed it
}

// ---- kernels outside of graphs ----

// stored takes the stamp of a kernel outside of graphs.
func (c *clock) stored(stamp uint64) {
	at, _ := slices.BinarySearch(c.stamps, stamp)
	c.stamps = newest(slices.Insert(c.stamps, at, stamp))
}

// ran takes the activity of one. Its stamp is there already, or lost. Until the clocks are known, a stamp may be that of an
// activity in another thread's buffer: all are paired when there are as many of the one as of the other.
func (c *clock) ran(k *record.Activity) {
	if len(c.known) > 0 {
		c.pairNearest(k)
		return
	}
	at, _ := slices.BinarySearchFunc(c.alone, k.Start, func(other record.Activity, start uint64) int { return cmp.Compare(other.Start, start) })
	c.alone = newest(slices.Insert(c.alone, at, *k))
	if len(c.alone) == len(c.stamps) {
		c.pairInOrder()
	}
}

// newest keeps the last of what waits.
func newest[T any](waiting []T) []T { return waiting[max(len(waiting)-maxAlone, 0):] }

// pairInOrder pairs all of them. Where some are lost, the later ones of the others are left over, and show nothing.
func (c *clock) pairInOrder() {
	for i := range min(len(c.alone), len(c.stamps)) {
		c.learn(&c.alone[i], c.stamps[i])
	}
	c.alone, c.stamps = nil, nil
}

// pairNearest finds the stamp of an activity by what is known of the clocks. If its stamp is lost, it shows nothing.
func (c *clock) pairNearest(k *record.Activity) {
	n := c.since(k)
	best, least := -1, n.tolerance(k)+1
	for i, stamp := range c.stamps {
		if off := n.off(k, stamp); off < least {
			best, least = i, off
		}
	}
	if best >= 0 {
		c.learn(k, c.stamps[best])
		c.stamps = slices.Delete(c.stamps, best, best+1)
	}
}

// unsure reports whether the activity that shows the clocks at the time of this one is still to come, from another thread's
// buffer. An earlier relation may be long ago, and readings without activities may lie in between.
func (c *clock) unsure(k *record.Activity) bool {
	if len(c.known) == 0 {
		return true
	}
	n := c.since(k)
	latest := uint64(int64(k.Start) + n.ahead + n.tolerance(k))
	i, _ := slices.BinarySearch(c.stamps, n.stamp)
	return i < len(c.stamps) && c.stamps[i] <= latest
}

// learn adds a relation when recording begins.
func (c *clock) learn(k *record.Activity, stamp uint64) {
	n := relation{began: k.Start, stamp: stamp, ahead: int64(stamp - k.Start), at: k.End}
	place := c.after(k)
	if k.Duration() > longKernel { // the GPU was full: what was known before is better
		n.stamp -= k.Duration()
		n.slack = int64(k.Duration())
		if place > 0 {
			before := &c.known[place-1]
			n.ahead, n.slack, n.at = min(n.ahead, max(before.ahead, int64(stamp-k.End))), before.slack, before.at
		}
	}
	c.known = slices.Insert(c.known, place, n)
	if len(c.known) > maxKnown {
		c.known = slices.Delete(c.known, 0, 1)
	}
}

// ---- relations ----

// after is the index of the first relation that began after an activity.
func (c *clock) after(k *record.Activity) int {
	i := len(c.known)
	for i > 0 && c.known[i-1].began > k.Start {
		i--
	}
	return i
}

// since returns the relation since recording began before an activity.
func (c *clock) since(k *record.Activity) *relation { return &c.known[max(c.after(k)-1, 0)] }

// correct takes the times of an activity and of its reading. A node reads the time as it begins, but if the GPU is full it begins
// long after the start of its activity, which says nothing. After a shorter wait the GPU's clock seems too far ahead: it is
// believed only as far as the clocks may have drifted apart.
func (n *relation) correct(k *record.Activity, stamp uint64) {
	if k.Duration() > longKernel {
		return
	}
	n.ahead = min(int64(stamp-k.Start), n.ahead+clockStep+n.drift(k))
	n.at, n.slack = k.End, 0
}

// off is how far outside of the time of an activity a stamp is.
func (n *relation) off(k *record.Activity, stamp uint64) int64 {
	from := int64(stamp-k.Start) - n.ahead
	return max(-from, from-int64(k.Duration()), 0)
}

// tolerance is how far outside of its activity a stamp may seem.
func (n *relation) tolerance(k *record.Activity) int64 { return clockNoise + n.slack + n.drift(k) }

// drift is how far the clocks may have drifted apart since a relation was known.
func (n *relation) drift(k *record.Activity) int64 { return n.apart(k) / clockDrift }

// apart is the time between an activity and the last that showed the relation.
func (n *relation) apart(k *record.Activity) int64 {
	d := int64(k.Start - n.at)
	return max(d, -d)
}
