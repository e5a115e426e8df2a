package callpath

// graphs maps graph nodes to where they were captured. Capturing fills a graph; instantiating clones its
// nodes into an executable graph, whose id and node ids the kernel records carry.
type graphs struct {
	graph map[uint64]map[uint64]*Captured
	exec  map[uint64]map[uint64]*Captured
	owner map[uint64]uint64 // node of a graph → the graph
	dying []uint64          // executable graphs destroyed since the last free
	dead  []uint64          // and before it

	early [2]early // of this cycle and of the one before
}

// early is copies that were reported before their originals: the thread that instantiates a graph may be read before a thread that
// captured a part of it, as those for backward passes of PyTorch do.
type early struct {
	of     map[uint64][]earlyCopy // by original
	copies map[uint64]bool        // the nodes
}

type earlyCopy struct{ exec, node uint64 }

func newEarly() early { return early{map[uint64][]earlyCopy{}, map[uint64]bool{}} }

func newGraphs() graphs {
	return graphs{graph: map[uint64]map[uint64]*Captured{}, exec: map[uint64]map[uint64]*Captured{}, owner: map[uint64]uint64{}, early: [2]early{newEarly(), newEarly()}}
}

func put(m map[uint64]map[uint64]*Captured, id uint64, node uint64, c *Captured) {
	nodes := m[id]
	if nodes == nil {
		nodes = make(map[uint64]*Captured)
		m[id] = nodes
	}
	nodes[node] = c
}

// created notes where a node was made; a copy's place is its original's, see clone.
func (g *graphs) created(graph uint64, node uint64, c *Captured) {
	if original := g.exec[graph][node]; original != nil {
		c = original
	}
	put(g.graph, graph, node, c)
	g.owner[node] = graph
	if !g.isEarly(node) {
		g.placeCopies(node)
	}
}

func (g *graphs) isEarly(node uint64) bool { return g.early[0].copies[node] || g.early[1].copies[node] }

// placeCopies gives copies that were reported too early the place of their original.
func (g *graphs) placeCopies(original uint64) {
	for i := range g.early {
		list := g.early[i].of[original]
		delete(g.early[i].of, original)
		for _, c := range list {
			delete(g.early[i].copies, c.node)
			g.clone(c.exec, c.node, original)
			g.placeCopies(c.node)
		}
	}
}

func (g *graphs) nextCycle() {
	if g.early[1] = g.early[0]; len(g.early[0].of) > 0 {
		g.early[0] = newEarly()
	}
}

// clone gives a copied node the place of the node it was copied from. The library also reports the copy as
// created, with the place of the thread that instantiates: the original's is the one that counts, also for copies
// of the copy, as of a child graph or a cloned one.
func (g *graphs) clone(exec uint64, node, original uint64) {
	c := g.graph[g.owner[original]][original]
	if c == nil || g.isEarly(original) {
		g.early[0].of[original] = append(g.early[0].of[original], earlyCopy{exec, node})
		g.early[0].copies[node] = true
		return
	}
	put(g.exec, exec, node, c)
	if g.graph[exec][node] != nil {
		g.graph[exec][node] = c
	}
}

func (g *graphs) find(exec uint64, node uint64) *Captured {
	if c := g.exec[exec][node]; c != nil {
		return c
	}
	return g.graph[exec][node] // a graph whose clones were not reported one by one
}

func (g *graphs) graphDestroyed(id uint64) { g.drop(id) }

func (g *graphs) drop(graph uint64) {
	for node := range g.graph[graph] {
		if g.owner[node] == graph {
			delete(g.owner, node)
		}
	}
	delete(g.graph, graph)
}

func (g *graphs) execDestroyed(id uint64) { g.dying = append(g.dying, id) }

func (g *graphs) free() bool {
	for _, id := range g.dead {
		delete(g.exec, id)
		g.drop(id)
	}
	g.dead, g.dying = g.dying, nil
	return len(g.dead) > 0
}

func (g *graphs) each(f func(*Captured)) {
	for _, of := range []map[uint64]map[uint64]*Captured{g.graph, g.exec} {
		for _, nodes := range of {
			for _, c := range nodes {
				f(c)
			}
		}
	}
}

// HasGraph reports whether a node of an executable graph is known.
func (r *Resolver) HasGraph(exec uint64) bool {
	return len(r.graphs.exec[exec]) > 0 || len(r.graphs.graph[exec]) > 0
}
