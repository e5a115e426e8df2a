package callpath

import "github.com/goproton/goproton/hotpath"

// capturing is what the resolver remembers of a thread while some stream is being captured: the metrics of scopes, which belong
// to a graph if the thread's next launch does.
type capturing struct {
	scoped   []ScopedMetric // not decided yet
	launched bool           // the launch that decides about them was made; if it was captured, its node comes next
	node     *Captured      // the last that the thread captured
	tensor   *Tensor        // that the next node reads

	tensorLaunches int // since tensor was set: that of the node, and before it perhaps one outside of graphs
}

// decideScoped counts the metrics of scopes now if the launch that was to decide has made no node, and before the launch of a graph,
// which makes none.
func (r *Resolver) decideScoped(t *thread, rec *hotpath.Record) {
	if t.launched && rec.Type != hotpath.NodeCreated || rec.Type == hotpath.GraphLaunch {
		r.countScoped(t)
		t.node, t.launched = nil, false
	}
	if rec.Type != hotpath.Launch {
		return
	}
	if t.tensorLaunches++; t.tensorLaunches > 2 {
		t.tensor = nil // its node was refused
	}
	if t.tensor == nil && (len(t.scoped) > 0 || t.node != nil) {
		t.launched = true
	}
}

// countScoped counts the metrics of scopes that no later node takes: at the last node that the thread captured, if it was
// capturing when it added them, or now.
func (r *Resolver) countScoped(t *thread) {
	for _, m := range t.scoped {
		if m.captured && t.node != nil {
			t.node.Scoped = append(t.node.Scoped, m)
		} else {
			r.Metric(m.Place, t.lastLaunch, m.OpMetric)
		}
	}
	t.scoped = nil
}

// takeNode gives a captured node the metrics of scopes that were waiting for one, and the tensor that it reads.
func (t *thread) takeNode(rec *hotpath.Record, c *Captured) {
	if rec.Flags&hotpath.FlagCaptured == 0 {
		return
	}
	if t.tensor != nil && t.tensor.Number == rec.Reads() {
		c.Tensor = t.tensor
	}
	t.tensor = nil
	c.Scoped, t.scoped = t.scoped, nil
	t.node, t.launched = c, false
}

func tensorOf(rec *hotpath.Record) *Tensor {
	number, length := rec.Tensor()
	return &Tensor{Place: place(rec), Number: number, Length: length, Name: rec.Metric(), Double: rec.Flags&hotpath.FlagDouble != 0}
}

// Tensors returns the numbers of the tensor metrics of graphs that are not freed, and of those that are being captured.
func (r *Resolver) Tensors() map[uint32]bool {
	live := map[uint32]bool{}
	note := func(t *Tensor) {
		if t != nil {
			live[t.Number] = true
		}
	}
	r.graphs.each(func(c *Captured) { note(c.Tensor) })
	for _, t := range r.threads {
		note(t.tensor)
	}
	return live
}
