package interpreter

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// LineCounts is what a launch did in one line of the source. Active is without the elements that masks leave out.
type LineCounts struct {
	Frame         mlir.Frame
	Loads, Stores Access           // atomics are stores
	Flops         map[string]int64 // additions, multiplications, divisions and functions, by type: f32
	DotFlops      map[string]int64 // 2·M·N·K, by type of the inputs
	Operations    int64            // of TTIR
}

// Access is what was loaded or stored.
type Access struct {
	Operations, Lanes, Active int64
	Bytes, ActiveBytes        int64
}

// cost is what an operation does in each turn of its block.
type cost struct {
	op    *ttir.Op
	of    string // a type
	flops int64
	dot   bool
}

// site is an operation that accesses memory, with what it did.
type site struct {
	op     *ttir.Op
	size   int // of an element
	store  bool
	counts accessCounts
}

type accessCounts struct{ operations, lanes, active int64 }

// countsOf adds up what machines did, by line.
func countsOf(module *ttir.Module, machines []*machine) []LineCounts {
	lines := map[mlir.Frame]*LineCounts{}
	line := func(op *ttir.Op) *LineCounts {
		at := mlir.Frame{Line: int(op.Line)}
		if frames := module.Frames(op); len(frames) > 0 {
			at = mlir.Frame{File: frames[0].File, Line: frames[0].Line}
		}
		if lines[at] == nil {
			lines[at] = &LineCounts{Frame: at, Flops: map[string]int64{}, DotFlops: map[string]int64{}}
		}
		return lines[at]
	}
	for _, m := range machines {
		for _, b := range m.blocks {
			for _, c := range b.costs {
				l := line(c.op)
				l.Operations += b.turns
				switch {
				case c.dot:
					l.DotFlops[c.of] += c.flops * b.turns
				case c.flops > 0:
					l.Flops[c.of] += c.flops * b.turns
				}
			}
		}
		for _, s := range m.sites {
			a := &line(s.op).Loads
			if s.store {
				a = &line(s.op).Stores
			}
			a.Operations += s.counts.operations
			a.Lanes += s.counts.lanes
			a.Active += s.counts.active
			a.Bytes += s.counts.lanes * int64(s.size)
			a.ActiveBytes += s.counts.active * int64(s.size)
		}
	}
	var list []LineCounts
	for _, l := range lines {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b LineCounts) int {
		return cmp.Or(cmp.Compare(a.Frame.File, b.Frame.File), cmp.Compare(a.Frame.Line, b.Frame.Line))
	})
	return list
}
