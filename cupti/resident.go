package cupti

/*
#include "runtime.h"

static uint32_t flush_all(void) { return cupti.ActivityFlushAll(FLUSH_FORCED); }
*/
import "C"

import (
	"errors"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/settings"
)

// Timing whole graphs (GRAPH_TRACE) is nearly free, but switching it on or off is dangerous. On an H200 with CUPTI 12.8 and 13.0,
// also without GoProton, a program crashes when it launches a graph that was instantiated before these records were enabled, or
// one that was instantiated afterwards if cuptiFinalize has been called. So they are enabled only before the program can have
// a graph, and stay enabled until the process ends.

// resident is the collector that stays subscribed until the process ends, nil for none.
var resident *Collector

// ErrLateGraphs is returned by an Attach that fell back from whole graphs to timing node by node.
var ErrLateGraphs = errors.New("graphs are timed node by node: whole graphs can only be timed when profiling begins before " +
	"the program uses its GPU, because CUPTI crashes programs that launch an older graph; use `proton run --graph graph`, " +
	"or set PROTON_GRAPH_LATE=1 if no graph from before the start is launched again")

var errReplayedGraphs = errors.New("graphs have the times that were recorded: --graph graph has no effect on a replay")

func (c *Collector) refuseLateGraphs(early bool) error {
	if !c.opts.WholeGraphs || early || settings.GraphLate.On(hotpath.Getenv) {
		return nil
	}
	c.opts.WholeGraphs = false
	if c.opts.Replay != "" {
		return errReplayedGraphs
	}
	return ErrLateGraphs
}

// pause is Detach for a collector that times whole graphs: it stays subscribed, and records that arrive are discarded.
func (c *Collector) pause() {
	C.cupti_listen(0, boolint(c.nvtx), 0)
	hotpath.DiscardBuffers(true)
	c.resting = false
	resident = c
}

// subscription is what the subscribed callback does. A resident collector keeps it for the sessions that follow.
type subscription struct{ samples, metered, counted bool }

func (c *Collector) wanted() subscription {
	sampling := &c.opts.Sampling
	return subscription{samples: sampling.Mode != record.NoSampling && sampling.Counters == nil, metered: c.opts.Metered, counted: sampling.Counters != nil}
}

var (
	errNotSampled = errors.New("instructions are not sampled: the first session of a process that times whole graphs decides that; have it sample, too, or leave --graph graph out")
	errNotCounted = errors.New("counters are not measured: the first session of a process that times whole graphs decides that; have it measure them, too, or leave --graph graph out")
	errNotMetered = errors.New("the cost of callbacks is not measured, and does not count for the budget: the first session of a process that times whole graphs decides that; give it a budget, too, or leave --graph graph out")
)

// resume ends a pause. Where the session asks for more than the callback does that is subscribed, that is an error.
func (c *Collector) resume() error {
	C.flush_all() // records of graphs that ran during the pause are still discarded
	hotpath.DiscardBuffers(false)
	c.sampler, c.counter = nil, nil
	wanted := c.wanted()
	switch {
	case wanted.samples && !c.subscribed.samples:
		return errNotSampled
	case wanted.samples:
		c.startSampler()
	case wanted.counted && !c.subscribed.counted:
		return errNotCounted
	case wanted.counted:
		c.startCounters()
	}
	c.startReader()
	if wanted.metered && !c.subscribed.metered {
		return errNotMetered
	}
	return nil
}
