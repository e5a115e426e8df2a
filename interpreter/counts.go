package interpreter

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// LineCounts is what a launch did in one line of the source, as it was inlined at one place. Active is without the elements that masks
// leave out.
type LineCounts struct {
	Frames     []mlir.Frame     `json:"frames"` // the innermost first, without columns; where the text has no source, one without a file: the line of the text
	Loads      Access           `json:"loads,omitzero"`
	Stores     Access           `json:"stores,omitzero"`
	Atomics    Access           `json:"atomics,omitzero"`
	Flops      map[string]int64 `json:"flops,omitempty"`     // additions, multiplications, divisions and functions, by type: f32
	DotFlops   map[string]int64 `json:"dot_flops,omitempty"` // 2·M·N·K, by type of the inputs: f16, f32:tf32, e2m1*e4m3
	Operations int64            `json:"operations"`          // of TTIR
	Touched    []Touched        `json:"-"`                   // with Options.Touched
}

// Access is what was loaded, stored or changed.
type Access struct {
	Operations  int64 `json:"operations"`
	Lanes       int64 `json:"lanes"`
	Active      int64 `json:"active"` // lanes that no mask leaves out
	Bytes       int64 `json:"bytes"`  // of all lanes
	ActiveBytes int64 `json:"active_bytes"`
	FirstBytes  int64 `json:"first_bytes,omitempty"` // with Options.Touched: bytes, each once, that no line before it in the program loaded, or stored; both of atomics
}

// Join adds what other accesses did.
func (a *Access) Join(other *Access) {
	a.Operations += other.Operations
	a.Lanes += other.Lanes
	a.Active += other.Active
	a.Bytes += other.Bytes
	a.ActiveBytes += other.ActiveBytes
	a.FirstBytes += other.FirstBytes
}

func (a *Access) add(s *site) {
	a.Operations += s.counts.operations
	a.Lanes += s.counts.lanes
	a.Active += s.counts.active
	a.Bytes += s.counts.lanes * int64(s.size)
	a.ActiveBytes += s.counts.active * int64(s.size)
}

// cost is what an operation does in each turn of its block.
type cost struct {
	op    *ttir.Op
	of    string // a type
	flops int64
	dot   bool
	line  int // its number in the machine's list
}

// accessKind is what an operation does with memory.
type accessKind uint8

const (
	loading accessKind = iota
	storing
	changing // an atomic operation
)

func (k accessKind) String() string {
	return [...]string{loading: "read", storing: "write", changing: "atomic operation"}[k]
}

// site is an operation that accesses memory, with what it did.
type site struct {
	op      *ttir.Op
	number  int // in the machine
	sight   sight
	size    int // of an element
	kind    accessKind
	line    int // its number in the machine's list
	counts  accessCounts
	late    *late     // how the addresses are made, of an access by rows
	watched bool      // it notes the bytes that it uses
	touched []byteSet // by number of the buffer
}

type accessCounts struct{ operations, lanes, active int64 }

// findLines gives the operations that count their lines, and the machine the list of these, in the order of the source.
func (m *machine) findLines() {
	var of []*int
	var frames [][]mlir.Frame
	add := func(op *ttir.Op, line *int) {
		of, frames = append(of, line), append(frames, framesOf(m.module, op))
	}
	for _, b := range m.blocks {
		for i := range b.costs {
			add(b.costs[i].op, &b.costs[i].line)
		}
	}
	for _, s := range m.sites {
		add(s.op, &s.line)
	}
	m.lines = slices.Clone(frames)
	slices.SortFunc(m.lines, compareFrames)
	m.lines = slices.CompactFunc(m.lines, slices.Equal)
	for i, line := range of {
		*line, _ = slices.BinarySearchFunc(m.lines, frames[i], compareFrames)
	}
}

// framesOf are the places of an operation, without columns.
func framesOf(module *ttir.Module, op *ttir.Op) []mlir.Frame {
	frames := slices.Clone(module.Frames(op))
	for i := range frames {
		frames[i].Column = 0
	}
	if len(frames) == 0 {
		return []mlir.Frame{{Line: int(op.Line)}}
	}
	return frames
}

// resultOf adds up what machines did, by line.
func resultOf(memory *memory, programs int64, machines []*machine) *Result {
	r := &Result{Programs: programs, Lines: make([]LineCounts, len(machines[0].lines)), SameWork: true}
	var first []int64
	for i, frames := range machines[0].lines {
		r.Lines[i].Frames = frames
	}
	for _, m := range machines {
		if m.done > 0 {
			r.SameWork = r.SameWork && !m.differ && (first == nil || slices.Equal(first, m.first))
			first = m.first
		}
		for _, b := range m.blocks {
			for _, c := range b.costs {
				l := &r.Lines[c.line]
				l.Operations += b.turns
				switch {
				case c.dot:
					addTo(&l.DotFlops, c.of, c.flops*b.turns)
				case c.flops > 0:
					addTo(&l.Flops, c.of, c.flops*b.turns)
				}
			}
		}
		for _, s := range m.sites {
			r.Lines[s.line].access(s.kind).add(s)
		}
	}
	if machines[0].with.touched {
		r.countTouched(memory, machines)
	}
	return r
}

// addTo makes the map if there is none: most lines compute nothing, and a launch may take microseconds.
func addTo(m *map[string]int64, key string, n int64) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += n
}

func (l *LineCounts) access(kind accessKind) *Access {
	switch kind {
	case loading:
		return &l.Loads
	case storing:
		return &l.Stores
	}
	return &l.Atomics
}

// compareFrames orders lines by the source: the outermost place decides first.
func compareFrames(a, b []mlir.Frame) int {
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if order := cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line)); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}
