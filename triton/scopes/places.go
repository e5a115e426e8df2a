package scopes

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
)

// kind is what a scope is around. Where there are more places than records, the last kinds go without.
type kind uint8

const (
	noKind kind = iota
	wholeKernel
	partition
	loop
	dot
	wait
	load
	store
	atomic
	reduce
	barrier
	shared
)

var kindNames = [...]string{wholeKernel: "kernel", partition: "partition", loop: "loop", dot: "dot", wait: "wait", load: "load", store: "store", atomic: "atomic",
	reduce: "reduce", barrier: "barrier", shared: "shared"}

// kindOf are the operations that get a scope.
var kindOf = func() map[string]kind {
	of := map[string]kind{}
	for k, names := range map[kind]string{
		loop: "scf.for scf.while",
		dot:  "tt.dot tt.dot_scaled ttng.warp_group_dot ttng.tc_gen5_mma ttng.tc_gen5_mma_scaled",
		wait: "ttg.async_wait ttng.wait_barrier ttng.warp_group_dot_wait ttng.async_tma_store_wait ttng.tmem_wait " +
			"amdg.async_wait amdg.wait_barrier amdg.async_tdm_wait amdg.memory_counter_wait amdg.cluster_barrier_wait",
		load: "tt.load tt.descriptor_load tt.descriptor_gather tt.atomic_load ttg.async_copy_global_to_local " +
			"ttng.async_tma_copy_global_to_local ttng.async_tma_gather amdg.buffer_load amdg.buffer_load_to_local " +
			"amdg.bypass_lds_load amdg.masked_load amdg.async_tdm_copy_global_to_local amdg.async_tdm_gather",
		store: "tt.store tt.descriptor_store tt.descriptor_scatter tt.descriptor_reduce tt.atomic_store " +
			"ttng.async_tma_copy_local_to_global ttng.async_tma_reduce ttng.async_tma_scatter amdg.buffer_store " +
			"amdg.masked_store amdg.async_copy_local_to_global amdg.async_tdm_copy_local_to_global amdg.async_tdm_scatter",
		atomic:  "tt.atomic_rmw tt.atomic_cas tt.atomic_poll amdg.buffer_atomic_rmw amdg.buffer_atomic_cas",
		reduce:  "tt.reduce tt.scan tt.histogram tt.gather",
		barrier: "gpu.barrier ttg.barrier ttg.local_barrier ttng.cluster_wait ttng.cluster_barrier amdg.cond_barrier",
		shared:  "ttg.local_alloc ttg.local_store ttg.local_load ttng.tmem_load ttng.tmem_store amdg.local_load_packed_transposed",
	} {
		for _, name := range strings.Fields(names) {
			of[name] = k
		}
	}
	return of
}()

// uniform are the operations whose regions all warps of the block, or of the partition, execute together.
var uniform = setOf("scf.for scf.while scf.if ttg.warp_specialize")

// terminators end a block.
var terminators = setOf("scf.yield scf.condition tt.return ttg.warp_yield ttg.warp_return cf.br cf.cond_br")

// completing are copies that complete a barrier, which is one of their operands.
var completing = setOf("ttng.async_tma_copy_global_to_local ttng.async_tma_gather")

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// place is a scope to be.
type place struct {
	name           string // as the user sees it: "load a_ptr:27"
	kind           kind
	begin, end     *mlir.Op // before and after which the scope begins and ends
	beginAt, endAt string   // their locations as text
}

// find returns the places of all scopes that the kernel could have, an outer one before those in it.
func (m *module) find() []*place {
	f := &finder{module: m, sources: sourcesOf(m.file, m.kernel), own: m.at(m.kernel), filled: map[any]*filling{}}
	for _, region := range f.sources.order {
		for op := range inRegion(region) {
			if completing[op.Name] {
				f.completed(op, region)
			}
		}
	}
	body := &m.kernel.Regions[0]
	var outside []string
	if len(body.Blocks) == 1 { // with an early return, the scope would have two ends
		outside = f.around(body.Blocks[0].Ops, "kernel", wholeKernel, nil)
	}
	f.region(body, outside)
	return f.places
}

// at is the place in the source of an operation: in the innermost function of the program. A function of Triton's own library does not count
// while there is a caller.
func (m *module) at(op *mlir.Op) (at mlir.Frame) {
	for _, frame := range m.file.Frames(op.Location) {
		if at = frame; !strings.Contains(at.File, "/triton/language/") && !strings.Contains(at.File, "/triton/experimental/gluon/") {
			break
		}
	}
	return at
}

type finder struct {
	*module
	places  []*place
	sources *sources
	own     mlir.Frame // of the kernel
	filled  map[any]*filling
}

// filling is what completes a barrier: the names of what the copies read, and their line, 0 for several.
type filling struct {
	names []string
	line  int
}

// around adds a scope around everything in a block, and returns the scopes around its operations.
func (f *finder) around(ops []mlir.Op, name string, k kind, outside []string) []string {
	var first, last *mlir.Op
	for i := range ops {
		if !terminators[ops[i].Name] {
			if first == nil {
				first = &ops[i]
			}
			last = &ops[i]
		}
	}
	if first == nil {
		return outside
	}
	f.add(name, k, first, last)
	return append(slices.Clip(outside), name)
}

func (f *finder) add(name string, k kind, begin, end *mlir.Op) *place {
	p := &place{name: name, kind: k, begin: begin, end: end, beginAt: f.locationOf(begin), endAt: f.locationOf(end)}
	f.places = append(f.places, p)
	return p
}

func (f *finder) locationOf(op *mlir.Op) string {
	if op.Location == 0 {
		return ""
	}
	return " loc(" + f.file.LocationText(op.Location) + ")"
}

// completed notes which barrier a copy completes, so that waits for it can be named.
func (f *finder) completed(op *mlir.Op, region *mlir.Region) {
	line := f.at(op).Line
	if line == f.own.Line {
		line = 0
	}
	operands := references(op.Head)
	pointer := f.sources.base(region, pointerOf(operands))
	if pointer == nil {
		return
	}
	for _, operand := range operands[1:] {
		base := f.sources.base(region, operand.text)
		if base == nil {
			continue
		}
		to := f.filled[base.key]
		if to == nil {
			to = &filling{line: line}
			f.filled[base.key] = to
		}
		if !slices.Contains(to.names, pointer.name) {
			to.names = append(to.names, pointer.name)
		}
		if to.line != line { // completed at several lines
			to.line = 0
		}
	}
}

func (f *finder) region(region *mlir.Region, outside []string) {
	for b := range region.Blocks {
		var merging *place
		ops := region.Blocks[b].Ops
		for i := range ops {
			op := &ops[i]
			if strings.HasPrefix(op.Name, "proton.") {
				merging = nil // a scope of the program's own may begin or end here
				continue
			}
			inside := outside
			if k := f.kind(op); k != noKind {
				merging = f.place(op, k, region, outside, merging)
				inside = append(slices.Clip(outside), merging.name)
			}
			if len(op.Regions) > 0 {
				merging = nil
			}
			if uniform[op.Name] {
				f.inner(op, inside)
			}
		}
	}
}

func (f *finder) inner(op *mlir.Op, outside []string) {
	for r := range op.Regions {
		region, inside := &op.Regions[r], outside
		if op.Name == "ttg.warp_specialize" && len(region.Blocks) == 1 {
			name, _, _ := strings.Cut(region.Head, "(")
			if r == 0 {
				name = "default" // it stands in the head of the operation
			}
			inside = f.around(region.Blocks[0].Ops, strings.TrimSpace(name), partition, outside)
		}
		f.region(region, inside)
	}
}

func (f *finder) kind(op *mlir.Op) kind {
	if op.Name == "ttg.local_alloc" && len(references(op.Head)) == 0 {
		return noKind // shared memory without contents: no instruction
	}
	return kindOf[op.Name]
}

// place adds a scope around an operation, or makes that of its neighbour of the same name longer.
func (f *finder) place(op *mlir.Op, k kind, region *mlir.Region, outside []string, before *place) *place {
	name := f.name(op, k, region)
	for slices.Contains(outside, name) {
		name += "'" // Triton pairs records by name: a scope inside one of the same name would end it
	}
	if before != nil && before.name == name && k != loop {
		before.end, before.endAt = op, f.locationOf(op)
		return before
	}
	return f.add(name, k, op, op)
}

func (f *finder) name(op *mlir.Op, k kind, region *mlir.Region) string {
	at := f.at(op)
	line, word := at.Line, ""
	switch k {
	case load, store, atomic:
		if base := f.sources.base(region, pointerOf(references(op.Head))); base != nil {
			word = base.name
		}
	case wait:
		if base := f.sources.base(region, pointerOf(references(op.Head))); base != nil {
			word, line = f.waitsFor(op, base, line)
		}
	case shared:
		word = "read"
		if op.Name == "ttg.local_alloc" || op.Name == "ttg.local_store" || op.Name == "ttng.tmem_store" {
			word = "write"
		}
	}
	name := kindNames[k]
	if word != "" {
		name += " " + word
	}
	switch {
	case line == 0 || line == f.own.Line: // the compiler made it, and gave it the line of the function
		return name
	case at.File != "" && at.File != f.own.File:
		name += ":" + path.Base(at.File)
	}
	return name + ":" + strconv.Itoa(line)
}

// waitsFor names what a wait waits for: a variable, or what the copies read that complete the barrier. Its line is that of the copies, if the
// compiler made it.
func (f *finder) waitsFor(op *mlir.Op, base *base, line int) (string, int) {
	word, by := base.name, f.filled[base.key]
	if by == nil {
		by = &filling{}
	}
	if word == "" {
		word = strings.Join(by.names, ",")
	}
	if word == "" && op.Name == "ttng.wait_barrier" {
		word = f.file.Variable(op.Location)
	}
	if line == 0 || line == f.own.Line {
		line = by.line
	}
	return word, line
}

// pointerOf is the operand that says where a load or store goes: the one with indices, else the first; "" without operands.
func pointerOf(operands []reference) string {
	for _, operand := range operands {
		if operand.indexed {
			return operand.text
		}
	}
	if len(operands) == 0 {
		return ""
	}
	return operands[0].text
}
