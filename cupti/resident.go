package cupti

/*
#include "runtime.h"

static uint32_t flush_all(void) { return cupti.ActivityFlushAll(FLUSH_FORCED); }
*/
import "C"

import (
	"errors"

	"github.com/goproton/goproton/internal/environ"
	"github.com/goproton/goproton/internal/hotpath"
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
	if !c.opts.WholeGraphs || early || settings.GraphLate.On(environ.Get) {
		return nil
	}
	c.opts.WholeGraphs = false
	if c.opts.Replay {
		return errReplayedGraphs
	}
	return ErrLateGraphs
}

// pause is Detach for a collector that times whole graphs: it stays subscribed, and records that arrive are discarded.
func (c *Collector) pause() {
	C.cupti_listen(0, boolint(c.opts.NVTX), 0)
	hotpath.DiscardBuffers(true)
	c.resting = false
	resident = c
}

// resume ends a pause.
func (c *Collector) resume() {
	C.flush_all() // records of graphs that ran during the pause are still discarded
	hotpath.DiscardBuffers(false)
}
