package callpath

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// script plays lines against a resolver, all on one thread, and returns what came out of it:
//
//	launch CORR NODE OP         graph-launch CORR NODE      (OP 0: none)
//	tagged CORR NODE KIND       node-of GRAPH ID NODE KIND
//	metric NAME VALUE OP        created GRAPH ID NODE OP captured|by-hand
//	scoped NAME VALUE NODE captured|elsewhere       (by a thread that is capturing, or another)
//	tensor NAME NUMBER NODE LENGTH       reads GRAPH ID NODE NUMBER
//	cloned EXEC ID ORIGINAL     graph-gone ID    exec-gone ID    free    own-node GRAPH ID
//	kernel CORR EXEC ID         flush            cycles N        waiting    nodes
func script(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	r := New()
	r.Tensor = func(number uint32) { fmt.Fprintf(&out, "expect values of %d\n", number) }
	r.Metric = func(p Place, order uint64, m OpMetric) {
		fmt.Fprintf(&out, "metric %d=%d at %d after launch %d\n", m.Name, m.Bits, p.Node, order)
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		play(t, r, &out, line)
	}
	return out.String()
}

func play(t *testing.T, r *Resolver, out *strings.Builder, line string) {
	t.Helper()
	f := strings.Fields(line)
	n := make([]uint32, 5)
	for i, s := range f[1:] {
		fmt.Sscan(s, &n[i])
	}
	add := func(rec hotpath.Record) { rec.Set = 1; r.Add(7, []hotpath.Record{rec}) }
	flags := func(op uint32) uint8 { return uint8(min(op, 1) * hotpath.FlagOp) }
	switch f[0] {
	case "launch":
		add(hotpath.Record{Type: hotpath.Launch, ID: uint64(n[0]), Node: n[1], Op: n[2], Flags: flags(n[2])})
	case "several":
		add(hotpath.Record{Type: hotpath.Launch, ID: uint64(n[0]), Node: n[1], Flags: hotpath.FlagSeveral})
	case "tagged":
		add(hotpath.Record{Type: hotpath.Launch, ID: uint64(n[0]), Node: n[1], Tag: uint16(n[2])})
	case "node-of":
		add(hotpath.Record{Type: hotpath.NodeCreated, Flags: hotpath.FlagCaptured, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2], Tag: uint16(n[3])})
	case "scoped":
		add(hotpath.Record{Type: hotpath.OpMetric, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2], Flags: map[bool]uint8{true: hotpath.FlagCaptured}[f[4] == "captured"]})
	case "tensor":
		add(hotpath.Record{Type: hotpath.TensorMetric, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2], Op: n[3]})
	case "reads":
		add(hotpath.Record{Type: hotpath.NodeCreated, Flags: hotpath.FlagCaptured, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2], Stream: n[3]})
	case "graph-launch":
		add(hotpath.Record{Type: hotpath.GraphLaunch, ID: uint64(n[0]), Node: n[1]})
	case "metric":
		add(hotpath.Record{Type: hotpath.OpMetric, ID: uint64(n[0]), Word: uint64(n[1]), Op: n[2], Node: 100 + n[2]})
	case "created":
		rec := hotpath.Record{Type: hotpath.NodeCreated, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2], Op: n[3], Flags: flags(n[3])}
		if f[5] == "captured" {
			rec.Flags |= hotpath.FlagCaptured
		}
		add(rec)
	case "own-node":
		add(hotpath.Record{Type: hotpath.NodeCreated, Flags: hotpath.FlagOwn, ID: uint64(n[0]), Word: uint64(n[1])})
	case "cloned":
		add(hotpath.Record{Type: hotpath.NodeCloned, ID: uint64(n[0]), Word: uint64(n[1]), Node: n[2]})
	case "graph-gone":
		add(hotpath.Record{Type: hotpath.GraphDestroyed, ID: uint64(n[0])})
	case "exec-gone":
		add(hotpath.Record{Type: hotpath.ExecDestroyed, ID: uint64(n[0])})
	case "free":
		fmt.Fprintf(out, "free: more to come %v\n", r.FreeDestroyed())
	case "kernel":
		out.WriteString(resolved(r, &record.Activity{Correlation: uint64(n[0]), GraphID: uint64(n[1]), GraphNode: uint64(n[2])}))
	case "flush":
		mark := r.Mark()
		r.CountAll()
		r.Forget(mark)
	case "cycles":
		for range n[0] {
			r.NextCycle()
		}
	case "waiting":
		fmt.Fprintf(out, "waiting: %d\n", r.Waiting())
	case "nodes":
		fmt.Fprintf(out, "nodes: %d\n", r.graphs.size())
	default:
		t.Fatalf("unknown line %q", line)
	}
}

// size is the number of graph nodes that are remembered.
func (g *graphs) size() int {
	n := 0
	for _, m := range g.graph {
		n += len(m)
	}
	for _, m := range g.exec {
		n += len(m)
	}
	return n
}

func resolved(r *Resolver, k *record.Activity) string {
	a, ok := r.Resolve(k)
	if !ok {
		return fmt.Sprintf("kernel of %d: unknown\n", k.Correlation)
	}
	s := fmt.Sprintf("kernel of %d: at %d", k.Correlation, a.Launch.Node)
	if a.Launch.Op {
		s += " op"
	}
	if a.Graph {
		s += " by a graph"
	}
	if a.Launch.Set == 0 {
		s += " for no session"
	}
	if c := a.Captured; c != nil {
		s += fmt.Sprintf(" captured at %d", c.Node)
		for _, m := range c.Metrics {
			s += fmt.Sprintf(" %d=%d", m.Name, m.Bits)
		}
		for _, m := range c.Scoped {
			s += fmt.Sprintf(" %d=%d of %d", m.Name, m.Bits, m.Node)
		}
		if c.Tensor != nil {
			s += fmt.Sprintf(" reads %d: %d of %d, %d elements", c.Tensor.Number, c.Tensor.Name, c.Tensor.Node, max(c.Tensor.Length, 1))
		}
	}
	if a.Tag != 0 {
		s += fmt.Sprintf(" kind %d", a.Tag)
	}
	return s + "\n"
}

func TestResolver(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"a kernel takes its launch along", `
launch 1 11 0
launch 2 12 3
kernel 2 0 0
kernel 1 0 0
kernel 1 0 0
waiting`, `
kernel of 2: at 12 op
kernel of 1: at 11
kernel of 1: unknown
waiting: 0`},
		{"a call with several records stays until no more come", `
several 1 11
launch 2 12 0
kernel 1 0 0
kernel 2 0 0
cycles 200
kernel 1 0 0
cycles 200
waiting
cycles 57
waiting`, `
kernel of 1: at 11
kernel of 2: at 12
kernel of 1: at 11
waiting: 1
waiting: 0`},
		{"correlation ids come round", `
launch 4294967295 1 0
launch 1 2 0
launch 1 3 0
kernel 1 0 0
kernel 4294967295 0 0`, `
kernel of 1: at 3
kernel of 4294967295: at 1`},
		{"a replay finds where each clone was captured, once per kernel", `
metric 9 100 5
launch 1 21 5
created 3 30 21 5 captured
launch 2 22 0
created 3 31 22 0 captured
waiting
cloned 4 40 30
cloned 4 41 31
graph-gone 3
graph-launch 8 50
kernel 8 4 40
kernel 8 4 41
kernel 8 4 99`, `
waiting: 0
kernel of 8: at 50 by a graph captured at 21 9=100
kernel of 8: at 50 by a graph captured at 22
kernel of 8: at 50 by a graph`},
		{"a node of the profiler's own is of no session", `
launch 1 21 0
created 3 30 21 0 captured
own-node 3 31
cloned 4 40 30
cloned 4 41 31
graph-launch 8 50
kernel 8 4 40
kernel 8 4 41`, `
kernel of 8: at 50 by a graph captured at 21
kernel of 8: at 50 by a graph for no session captured at 0`},
		{"instantiating reports each copy as created too", `
launch 1 21 0
created 3 30 21 0 captured
created 4 40 77 0 by-hand
cloned 4 40 30
graph-launch 8 50
kernel 8 4 40`, `
kernel of 8: at 50 by a graph captured at 21`},
		{"a copy of a copy leads back to the capture, whatever is reported first", `
launch 1 21 0
created 3 30 21 0 captured
created 4 40 77 0 by-hand
cloned 4 40 30
cloned 5 50 30
created 5 50 78 0 by-hand
cloned 6 60 40
cloned 7 70 50
graph-launch 8 90
kernel 8 6 60
kernel 8 7 70`, `
kernel of 8: at 90 by a graph captured at 21
kernel of 8: at 90 by a graph captured at 21`},
		{"copies may be reported before their originals, which another thread captured", `
created 4 40 77 0 by-hand
cloned 4 40 30
cloned 5 50 40
created 5 50 78 0 by-hand
cloned 6 60 50
launch 1 21 0
created 3 30 21 0 captured
graph-launch 8 90
kernel 8 4 40
kernel 8 5 50
kernel 8 6 60`, `
kernel of 8: at 90 by a graph captured at 21
kernel of 8: at 90 by a graph captured at 21
kernel of 8: at 90 by a graph captured at 21`},
		{"originals that do not come are forgotten", `
created 4 40 77 0 by-hand
cloned 4 40 30
cycles 2
launch 1 21 0
created 3 30 21 0 captured
graph-launch 8 90
kernel 8 4 40`, `
kernel of 8: at 90 by a graph captured at 77`},
		{"destroyed graphs go after their last records", `
launch 1 21 0
created 3 30 21 0 captured
cloned 4 40 30
graph-launch 8 50
exec-gone 4
free
kernel 8 4 40
free
nodes
graph-gone 3
nodes`, `
free: more to come true
kernel of 8: at 50 by a graph captured at 21
free: more to come false
nodes: 1
nodes: 0`},
		{"metrics of an op that was not captured count once", `
metric 9 100 5
launch 1 21 5
launch 2 22 0
flush`, `
metric 9=100 at 105 after launch 1`},
		{"a flush counts the last op", `
metric 9 100 5
metric 8 1 5
launch 1 21 5
flush`, `
metric 9=100 at 105 after launch 1
metric 8=1 at 105 after launch 1`},
		{"a flush forgets launches without kernels, graph launches too", `
launch 1 21 0
graph-launch 2 22
flush
waiting
launch 3 23 0
kernel 3 0 0`, `
waiting: 0
kernel of 3: at 23`},
		{"graph launches are forgotten when their kernels have long stopped coming", `
graph-launch 1 21
graph-launch 2 22
kernel 1 4 40
kernel 2 4 40
cycles 256
kernel 2 4 41
waiting
cycles 1
waiting
cycles 256
waiting`, `
kernel of 1: at 21 by a graph
kernel of 2: at 22 by a graph
kernel of 2: at 22 by a graph
waiting: 2
waiting: 1
waiting: 0`},
		{"launches and captured nodes are of a kind", `
tagged 1 21 7
kernel 1 0 0
tagged 2 22 8
node-of 3 30 22 8
node-of 3 31 23 0
cloned 4 40 30
cloned 4 41 31
tagged 9 50 9
graph-launch 9 50
kernel 9 4 40
kernel 9 4 41
kernel 9 0 0`, `
kernel of 1: at 21 kind 7
kernel of 9: at 50 by a graph captured at 22 kind 8
kernel of 9: at 50 by a graph captured at 23
kernel of 9: at 50 by a graph`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := script(t, c.script), strings.TrimPrefix(c.want, "\n")+"\n"; got != want {
				t.Errorf("--- got\n%s--- want\n%s", got, want)
			}
		})
	}
}
