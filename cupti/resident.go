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

// Timing whole graphs (GRAPH_TRACE) is nearly free, and dangerous to switch. Seen on an H200 with CUPTI 12.8
// and 13.0, also without us: a graph instantiated while these records were off crashes the program when it
// is launched while they are on; one instantiated while they were on, after cuptiFinalize. So they are only
// switched on before the program can have a graph, and then stay until the process ends.

// resident is the collector that can't let go of CUPTI any more.
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

// leave is Detach for a collector that times whole graphs: it stays subscribed, and what CUPTI goes on
// delivering is thrown away.
func (c *Collector) leave() {
	C.cupti_listen(0, boolint(c.opts.NVTX))
	hotpath.DiscardBuffers(true)
	resident = c
}

// stay takes a resident collector into use again.
func (c *Collector) stay() {
	C.flush_all() // graphs that ran in between
	hotpath.DiscardBuffers(false)
}
