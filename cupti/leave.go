package cupti

// #include "runtime.h"
import "C"

import (
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/recorder"
)

// leavePatience is how long Leave waits for the program to launch something.
const leavePatience = 100 * time.Millisecond

// leaveInCompany is the first version that can be left while several threads launch. Measured with 13.0 update 1 on an H200: 40 times, with four
// threads in a loop of launches.
const leaveInCompany = C.CUPTI_13_0

// Leave leaves CUPTI until Return is called, if that is safe: a subscription that rests costs a launch some 0.3 us. Nothing is listened to,
// and the buffers have come back. CUPTI is left by the thread of the program that launches next, where its launch returns, because no
// other place is safe. It is not left where graphs are launched, because a launch of a graph that CUPTI has followed fails then, nor where
// NVTX marks ranges.
// stalled is how long that thread took.
func (c *Collector) Leave() (left bool, stalled time.Duration) {
	if !c.attached || c.shared || c.opts.WholeGraphs || c.sampler != nil || c.counter != nil || c.version < finalizeSafe || C.cupti_graphs_seen() > 0 || C.cupti_ranges_seen() != 0 || hotpath.BuffersInUse() > 0 || recorder.API() != nil {
		return false, 0
	}
	if !c.subscribed.metered && c.resubscribe(subscription{metered: true}) != nil { // only these callbacks look for the question
		return false, 0
	}
	C.cupti_leave(boolint(c.version >= leaveInCompany))
	C.cupti_listen_launches(1)
	state, took := awaitTurn(leavePatience)
	if state < C.CUPTI_REFUSED && C.cupti_stay() == 0 { // a thread is about it
		state, took = awaitTurn(time.Minute)
	}
	if state < C.CUPTI_UNSUBSCRIBED {
		C.cupti_listen_launches(0)
		if was := c.wanted(); was != c.subscribed {
			_ = c.resubscribe(was)
		}
		return false, 0
	}
	hotpath.ForgetContexts()
	if state == C.CUPTI_LEFT {
		hotpath.ReclaimBuffers()
	}
	c.attached, c.left, c.enabled, c.watched = false, true, 0, record.Marks{}
	return true, took
}

// resubscribe exchanges the callbacks while nothing is listened to.
func (c *Collector) resubscribe(to subscription) error {
	C.cupti_unsubscribe()
	if rc := subscribeTo(to, false, nil); rc != 0 {
		c.attached, c.left = false, true
		return c.refused("subscribe to CUPTI", rc, "", 0)
	}
	c.subscribed = to
	C.cupti_listen(1, boolint(c.nvtx), 0) // the callbacks that stay
	C.cupti_listen(0, boolint(c.nvtx), 0)
	return nil
}

// awaitTurn waits for the thread of the program that was asked.
func awaitTurn(patience time.Duration) (state C.int, took time.Duration) {
	var nanos C.uint64_t
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		if state = C.cupti_turn(&nanos); state >= C.CUPTI_REFUSED || time.Now().After(end) {
			return state, time.Duration(nanos)
		}
	}
}

// returnStalls is the part of the time of Return in which the program cannot launch. Measured with 13.0 update 1 on an H200, as the longest
// pause between two launches: 0.52 to 0.57 in loops of one thread and of four, of kernels of 2 and of 50 us.
const returnStalls = 0.55

// Return ends a Leave. Where another tool has subscribed meanwhile, that is an error, and a later Return may succeed.
func (c *Collector) Return() (stalled time.Duration, err error) {
	if !c.left {
		return 0, nil
	}
	began := time.Now()
	if err := c.subscribe(0); err != nil {
		return 0, err
	}
	c.left = false
	return time.Duration(returnStalls * float64(time.Since(began))), nil
}
