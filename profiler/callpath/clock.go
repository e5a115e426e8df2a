package callpath

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/gpu/record"
)

// On an H200 a node reads the time within 0.3 µs of the start of its activity, and a replay of the same node follows 4 µs later at the
// earliest.
const (
	clockNoise = 1500
	clockStep  = 100
	longKernel = 3000 // one that reads a number takes 1200 to 1800 ns
)

// clock relates the GPU's clock to that of activities.
type clock struct {
	drift drift
	known []relation // one for each time that recording began, in that order; activities of an earlier one may arrive later
	// Of the kernels outside of graphs whose other half has not arrived, both in the order of time.
	stamps []uint64
	alone  []record.Activity
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
	point        // how far the GPU's clock is ahead when a node reads it, over the start of the last activity that showed it, in ns
	slack int64  // by how much that may be wrong, as long as only a kernel that had to wait has shown it
}

// ---- kernels outside of graphs ----

// stored takes the stamp of a kernel outside of graphs.
func (c *clock) stored(stamp uint64) {
	at, _ := slices.BinarySearch(c.stamps, stamp)
	c.stamps = newest(slices.Insert(c.stamps, at, stamp))
}

// ran takes the activity of one. Its stamp is there already, or lost. As long as several stamps may be its own, because those of
// other threads' buffers are there too, it waits until there are as many activities as stamps.
func (c *clock) ran(k *record.Activity) {
	if len(c.known) > 0 && len(c.alone) == 0 && c.candidates(k) < 2 {
		c.pairNearest(k)
		return
	}
	at, _ := slices.BinarySearchFunc(c.alone, k.Start, func(other record.Activity, start uint64) int { return cmp.Compare(other.Start, start) })
	c.alone = newest(slices.Insert(c.alone, at, *k))
	if len(c.alone) == len(c.stamps) {
		c.pairInOrder()
	}
}

// candidates is how many stamps may be an activity's.
func (c *clock) candidates(k *record.Activity) (n int) {
	e := c.expect(k)
	for _, stamp := range c.stamps {
		if e.off(stamp) <= e.tolerance {
			n++
		}
	}
	return n
}

// noMore says that no activities are to come: the stamps that are left over are of those that are lost.
func (c *clock) noMore() {
	if len(c.known) == 0 {
		c.pairInOrder()
	}
	for i := range c.alone {
		c.pairNearest(&c.alone[i])
	}
	c.alone, c.stamps = nil, nil
}

// newest keeps the last of what waits.
func newest[T any](waiting []T) []T { return waiting[max(len(waiting)-maxAlone, 0):] }

// pairInOrder pairs all of them. Where some are lost, the later ones of the others show nothing.
func (c *clock) pairInOrder() {
	for i := range min(len(c.alone), len(c.stamps)) {
		c.learn(&c.alone[i], c.stamps[i])
	}
	c.alone, c.stamps = nil, nil
}

// pairNearest finds the stamp of an activity by what is known of the clocks. If its stamp is lost, it shows nothing.
func (c *clock) pairNearest(k *record.Activity) {
	e := c.expect(k)
	best, least := -1, e.tolerance+1
	for i, stamp := range c.stamps {
		if off := e.off(stamp); off < least {
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
	e := c.expect(k)
	i, _ := slices.BinarySearch(c.stamps, e.after)
	return i < len(c.stamps) && c.stamps[i] <= e.stamp+uint64(e.tolerance)
}

// learn adds a relation when recording begins.
func (c *clock) learn(k *record.Activity, stamp uint64) {
	n := relation{began: k.Start, stamp: stamp, point: point{k.Start, int64(stamp - k.Start)}}
	place := c.after(k)
	if k.Duration() <= longKernel {
		c.drift.saw(n.point)
	} else { // the GPU was full: what was known before is better
		n.stamp -= k.Duration()
		n.slack = int64(k.Duration())
		if place > 0 {
			before := &c.known[place-1]
			ahead, wrong := c.predict(before, k)
			n.ahead, n.slack = min(n.ahead, max(ahead, int64(stamp-k.End))), min(n.slack, before.slack+wrong)
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

// predict returns how far the GPU's clock is ahead at the start of an activity, and by how much that may be wrong.
func (c *clock) predict(n *relation, k *record.Activity) (ahead, wrong int64) {
	gain, wrong := c.drift.over(int64(k.Start - n.at))
	return n.ahead + gain, wrong
}

// correct takes the times of an activity and of its reading. A node reads the time as it begins, but if the GPU is full it begins
// long after the start of its activity, which says nothing. After a shorter wait the GPU's clock seems too far ahead: it is
// believed only as far as the clocks may have drifted apart.
func (c *clock) correct(k *record.Activity, stamp uint64) {
	if k.Duration() > longKernel {
		return
	}
	n := c.since(k)
	ahead, wrong := c.predict(n, k)
	n.point, n.slack = point{k.Start, min(int64(stamp-k.Start), ahead+clockStep+wrong)}, 0
	c.drift.saw(n.point)
}

// expected is when an activity has stored its reading, by the GPU's clock.
type expected struct {
	stamp     uint64 // at its start
	lasts     int64
	after     uint64 // its recording began then
	tolerance int64  // how far outside of the activity a stamp may seem
}

func (c *clock) expect(k *record.Activity) expected {
	n := c.since(k)
	ahead, wrong := c.predict(n, k)
	return expected{uint64(int64(k.Start) + ahead), int64(k.Duration()), n.stamp, clockNoise + n.slack + wrong}
}

// off is how far outside of the activity a stamp is.
func (e *expected) off(stamp uint64) int64 {
	from := int64(stamp - e.stamp)
	return max(-from, from-e.lasts, 0)
}
