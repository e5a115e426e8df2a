package cubin

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// Callers returns, for the functions of a module that are not kernels, the names of the kernels that call them: directly,
// through others, or, as far as the compiler wrote down which functions that may be, through pointers. It reads less than Read and
// is much cheaper.
func Callers(image []byte) (map[string][]string, error) {
	e, err := elf.NewFile(patched(image))
	if err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	r := reader{image: image, elf: e, file: &File{}}
	if err := r.functions(); err != nil {
		return nil, fmt.Errorf("read cubin: %w", err)
	}
	return r.kernelsOf(r.callers()), nil
}

const typeCallGraph = elf.SectionType(0x70000001)

// A call graph is four lists of pairs of symbols, each behind a pair of 0 and its number. The other two
// say where addresses of functions are kept.
const (
	listCalls    = 0xffffffff // caller, function
	listPointers = 0xfffffffc // caller, function that it may call by its address
)

// mostCalls bounds the pairs of a call graph. A module with all of a library's kernels has some thousands.
const mostCalls = 1 << 20

// callers returns who calls a function, by symbol. A function that lies in a kernel's section was put there because
// only that kernel calls it.
func (r *reader) callers() map[uint32][]uint32 {
	callers := map[uint32][]uint32{}
	for _, kernel := range r.file.Functions {
		for _, f := range kernel.parts {
			if !f.Entry {
				callers[uint32(f.Index)] = []uint32{uint32(kernel.Index)}
			}
		}
	}
	pairs := 0
	for _, s := range r.elf.Sections {
		if s.Type != typeCallGraph {
			continue
		}
		list := uint32(0)
		for b := r.inside(s); len(b) >= 8 && pairs < mostCalls; b = b[8:] {
			caller, called := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
			switch {
			case caller == 0:
				list = called
			case list == listCalls || list == listPointers:
				callers[called] = append(callers[called], caller)
				pairs++
			}
		}
	}
	return callers
}

// kernelsOf follows calls back to the kernels that they begin in.
func (r *reader) kernelsOf(callers map[uint32][]uint32) map[string][]string {
	kernels := map[uint32]string{}
	for _, f := range r.file.Functions {
		if f.Entry {
			kernels[uint32(f.Index)] = f.Name
		}
	}
	all, steps := map[string][]string{}, 0
	for _, f := range r.file.Functions {
		if f.Entry {
			continue
		}
		seen := map[uint32]bool{}
		for next := []uint32{uint32(f.Index)}; len(next) > 0 && steps < mostCalls; steps++ {
			at := next[len(next)-1]
			next = next[:len(next)-1]
			if seen[at] {
				continue
			}
			seen[at] = true
			if kernel, is := kernels[at]; is {
				all[f.Name] = append(all[f.Name], kernel)
			}
			next = append(next, callers[at]...)
		}
		slices.Sort(all[f.Name])
	}
	return all
}
