// Package scopes puts scopes into the TTGIR of a kernel: records before and after the loads, stores, loops, products, waits and partitions
// that the source has, in lines of their own, named by what the source calls them. Triton's own passes turn the records into code.
//
// A scope is a range of operations of one block, so that it ends wherever it began. Regions are entered only if all warps execute them
// together: loops, conditions on scalars, and the partitions of a specialised kernel; not the combine function of a reduction, which the
// compiler copies between shuffles, nor code per element.
package scopes

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
)

// maxIDs is the number of scopes and events of one kernel: a record has 8 bits for its scope.
const maxIDs = 256

// Rewritten is a kernel with scopes.
type Rewritten struct {
	Text    string         `json:"text"`     // of the module
	Scopes  int            `json:"scopes"`   // that were added
	LeftOut map[string]int `json:"left_out"` // names of scopes for which there was no id left, and the number of their places
	Warps   []int          `json:"warps"`    // whose records are enough: one of each group of four that execute the same
	Records int            `json:"records"`  // the most that a warp can leave; 0 if loops repeat some, or the program has records of its own
	Alone   bool           `json:"alone"`    // the program has no records of its own

	places []*place // outer ones first
	added  []int    // numbers of the lines that were added, from 0
}

// Rewrite adds scopes to the kernel of a module, at most so many as it has pairs. An error says why the text must stay as it is.
func Rewrite(text string, pairs int) (*Rewritten, error) {
	m, err := read(text)
	if err != nil {
		return nil, err
	}
	own := m.ownRecords()
	places := m.find()
	for _, p := range places {
		for own.names[p.name] {
			p.name += "'"
		}
	}
	r := &Rewritten{LeftOut: map[string]int{}, Alone: !own.any, Warps: m.oneOfEachGroup()}
	r.places = r.choose(places, min(pairs, maxIDs-own.ids))
	r.Scopes = len(r.places)
	r.insert(text)
	if r.Alone && !m.repeats() {
		r.Records = 2 * r.Scopes
	}
	return r, nil
}

// module is the text of a module with one kernel.
type module struct {
	file   *mlir.File
	whole  *mlir.Op // the operation module
	kernel *mlir.Op
}

// read finds the kernel of a module, and checks that each operation has lines of its own, between which others can be put.
func read(text string) (*module, error) {
	m := &module{file: mlir.Parse(text)}
	if i := slices.IndexFunc(m.file.Ops, func(op mlir.Op) bool { return op.Name == "module" }); i >= 0 {
		m.whole = &m.file.Ops[i]
	}
	if len(m.file.Problems) > 0 {
		return nil, fmt.Errorf("line %d is not understood: %s", m.file.Problems[0].Line, m.file.Problems[0].Text)
	}
	if m.whole == nil {
		return nil, errors.New("no module")
	}
	functions := 0
	for op := range inRegions(m.whole) {
		if op.Name != "tt.func" {
			continue
		}
		functions++
		if m.kernel == nil && strings.HasPrefix(op.Head, "public ") && len(op.Regions) > 0 {
			m.kernel = op
		}
	}
	switch {
	case m.kernel == nil:
		return nil, errors.New("no kernel")
	case functions > 1:
		return nil, errors.New("it calls functions that are not inlined, and Triton's passes accept records in kernels of one function only")
	}
	return m, onLines(m.kernel)
}

// inRegion yields the operations of a region, but not those within them.
func inRegion(region *mlir.Region) iter.Seq[*mlir.Op] {
	return func(yield func(*mlir.Op) bool) {
		for b := range region.Blocks {
			ops := region.Blocks[b].Ops
			for i := range ops {
				if !yield(&ops[i]) {
					return
				}
			}
		}
	}
}

// inRegions yields those of all regions of an operation.
func inRegions(op *mlir.Op) iter.Seq[*mlir.Op] {
	return func(yield func(*mlir.Op) bool) {
		for r := range op.Regions {
			for inner := range inRegion(&op.Regions[r]) {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

// onLines says which of the operations within another shares a line with its neighbour or with a brace around it.
func onLines(op *mlir.Op) error {
	last := op.Line
	for inner := range inRegions(op) {
		switch {
		case inner.Line <= last:
			return fmt.Errorf("line %d has several operations", inner.Line)
		case !strings.Contains(inner.Name, "."):
			return fmt.Errorf("line %d is not an operation", inner.Line)
		}
		if err := onLines(inner); err != nil {
			return err
		}
		last = inner.End
	}
	if len(op.Regions) > 0 && op.End <= last {
		return fmt.Errorf("line %d has several operations", op.End)
	}
	return nil
}

// within calls visit for all operations of the kernel.
func (m *module) within(visit func(*mlir.Op)) {
	inside := mlir.File{Ops: []mlir.Op{*m.kernel}}
	inside.Walk(visit)
}

// records are those that the program has of its own.
type records struct {
	names map[string]bool
	ids   int // starts and events
	any   bool
}

func (m *module) ownRecords() records {
	own := records{names: map[string]bool{}}
	m.file.Walk(func(op *mlir.Op) {
		own.any = own.any || strings.HasPrefix(op.Name, "proton.")
		if name, ok := strings.CutPrefix(op.Head, `start "`); ok && op.Name == "proton.record" {
			if end := strings.LastIndexByte(name, '"'); end >= 0 {
				own.names[mlir.Unescape(name[:end])] = true
			}
			own.ids++
		}
		if op.Name == "proton.allocate_event" {
			own.ids++
		}
	})
	return own
}

// repeats says whether a part of the kernel is executed more than once.
func (m *module) repeats() (any bool) {
	m.within(func(op *mlir.Op) { any = any || op.Name == "scf.for" || op.Name == "scf.while" || op.Name == "cf.br" })
	return any
}

// oneOfEachGroup is one warp of each group of four, which execute the same, and all warps of smaller partitions. The rings of a block are
// shared by the warps that record: with one warp in four, each ring has four times the room.
func (m *module) oneOfEachGroup() (warps []int) {
	first := numberBehind(m.whole.Head, `"ttg.num-warps" = `, 4)
	total, small := first, first%4 != 0
	m.within(func(op *mlir.Op) {
		for _, region := range op.Regions {
			if strings.HasPrefix(region.Head, "partition") {
				size := numberBehind(region.Head, " num_warps(", 0)
				total, small = total+size, small || size%4 != 0
			}
		}
	})
	groups := total // up to here, warps come in groups of four
	if small {
		groups = first
	}
	if small && total > first {
		total = (total + 3) / 4 * 4 // Triton pads partitions to a group
	}
	for warp := 0; warp < groups; warp += 4 {
		warps = append(warps, warp)
	}
	for warp := groups; warp < total; warp++ {
		warps = append(warps, warp)
	}
	return warps
}

// numberBehind is the number that follows the first occurrence of some words, other if there is none.
func numberBehind(text, words string, other int) int {
	_, rest, found := strings.Cut(text, words)
	n, digits := 0, 0
	for digits < len(rest) && digits < 6 && rest[digits] >= '0' && rest[digits] <= '9' {
		n = 10*n + int(rest[digits]-'0')
		digits++
	}
	if !found || digits == 0 {
		return other
	}
	return n
}

// choose returns the places for which there are ids, the most important kinds first. All places of a name are chosen, or none: a part would
// look like the whole.
func (r *Rewritten) choose(places []*place, pairs int) (chosen []*place) {
	count := map[string]int{}
	var firsts []*place
	for _, p := range places {
		if count[p.name]++; count[p.name] == 1 {
			firsts = append(firsts, p)
		}
	}
	slices.SortStableFunc(firsts, func(a, b *place) int { return cmp.Compare(a.kind, b.kind) })
	for _, p := range firsts {
		if same := count[p.name]; same <= pairs {
			pairs -= same
		} else {
			r.LeftOut[p.name] = same
		}
	}
	for _, p := range places {
		if _, left := r.LeftOut[p.name]; !left {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// insert writes the text with the records of the chosen places.
func (r *Rewritten) insert(text string) {
	lines := strings.Split(text, "\n")
	before, after := map[int32][]string{}, map[int32][]string{}
	for _, p := range r.places { // outer ones first: of two that begin at the same line, the outer one begins first and ends last
		first := lines[p.begin.Line-1]
		indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
		before[p.begin.Line] = append(before[p.begin.Line], indent+"proton.record start "+mlir.Quote(p.name)+p.beginAt)
		after[p.end.End] = append(after[p.end.End], indent+"proton.record end "+mlir.Quote(p.name)+p.endAt)
	}
	var out []string
	add := func(record string) {
		r.added = append(r.added, len(out))
		out = append(out, record)
	}
	for i, line := range lines {
		for _, record := range before[int32(i+1)] {
			add(record)
		}
		out = append(out, line)
		for _, record := range slices.Backward(after[int32(i+1)]) {
			add(record)
		}
	}
	r.Text = strings.Join(out, "\n")
}
