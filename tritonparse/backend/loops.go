package backend

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// LoopSchedule has the Python lines of the operations that software pipelining moves: those before the loop, in it and after it,
// in the order of TTGIR.
type LoopSchedule struct {
	Prologue []string `json:"prologue"`
	Body     []string `json:"loop_body"`
	Epilogue []string `json:"epilogue"`
}

// pipelined are the operations that move data in or compute, as TTIR and TTGIR print them; the blank keeps
// warp_group_dot_wait out.
type pipelined struct{ ttir, ttgir []string }

var (
	compatPipelined = pipelined{
		[]string{"tt.load ", "tt.dot "},
		[]string{"tt.load ", "tt.dot ", "async_copy_global_to_local ", "warp_group_dot "},
	}
	allPipelined = pipelined{
		[]string{"tt.load ", "tt.dot ", "tt.dot_scaled ", "tt.descriptor_load ", "tt.descriptor_gather "},
		[]string{"tt.load ", "tt.dot ", "tt.dot_scaled ", "tt.descriptor_load ", "tt.descriptor_gather ", "async_copy_global_to_local ", "async_tma_copy_global_to_local ",
			"async_tma_gather ", "warp_group_dot ", "tc_gen5_mma ", "tc_gen5_mma_scaled ", "buffer_load ", "buffer_load_to_local "},
	}
)

func containsAny(line string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(line, p) })
}

// lineRange is a range of lines of a representation, counted from 1; it includes both ends.
type lineRange struct{ first, last int }

func (r lineRange) has(line int) bool { return r.first <= line && line <= r.last }

// innerLoops are the loops without a loop in them, in the order of their ends.
func innerLoops(text string) (loops []lineRange) {
	var in func(ops []mlir.Op) bool // whether there are any
	in = func(ops []mlir.Op) (found bool) {
		for i := range ops {
			op, inner := &ops[i], false
			for _, r := range op.Regions {
				for _, b := range r.Blocks {
					inner = in(b.Ops) || inner
				}
			}
			loop := op.Name == "scf.for"
			if loop && !inner {
				loops = append(loops, lineRange{int(op.Line), int(op.End)})
			}
			found = found || loop || inner
		}
		return found
	}
	in(mlir.Parse(text).Ops)
	return loops
}

// loopSchedules finds where the pipeliner put the loads and multiplications of each innermost loop of TTIR. tritonparse pairs
// the first loop of TTIR with the first of TTGIR; here the source map leads from the lines of each loop to those of TTGIR.
func loopSchedules(a *Artifacts) []Finding {
	ttir, ttgir := strings.Split(a.Texts["ttir"], "\n"), strings.Split(a.Texts["ttgir"], "\n")
	from, to := innerLoops(a.Texts["ttir"]), innerLoops(a.Texts["ttgir"])
	operations := allPipelined
	if a.settings.Quirks.Has(quirks.FirstLoop) {
		from = from[:min(1, len(from))]
		to = to[:min(1, len(to))]
		operations = compatPipelined
	}
	if len(from) == 0 {
		return nil
	}
	entries := map[int]sourcemap.Entry{}
	for _, e := range a.Maps.Entries("ttgir") {
		entries[e.Own] = e
	}
	schedules := []LoopSchedule{}
	for _, loop := range from {
		var moved []int
		for _, e := range a.Maps.Entries("ttir") {
			if !loop.has(e.Own) || !containsAny(ttir[e.Own-1], operations.ttir) {
				continue
			}
			for _, l := range e.Lines("ttgir") {
				if l <= len(ttgir) && containsAny(strings.TrimSpace(ttgir[l-1]), operations.ttgir) {
					moved = append(moved, l)
				}
			}
		}
		slices.SortStableFunc(moved, cmp.Compare)
		if !a.settings.Quirks.Has(quirks.FirstLoop) {
			moved = slices.Compact(moved)
		}
		text := func(line int) string { return a.pythonText(entries[line], strings.TrimSpace(ttgir[line-1])) }
		schedules = append(schedules, schedule(moved, to, text))
	}
	return []Finding{{"loop_schedules", schedules}}
}

// pythonText returns the line of the kernel's source that an entry came from, or own if that line is not known.
func (a *Artifacts) pythonText(e sourcemap.Entry, own string) string {
	where := e.Frame
	if !a.settings.Quirks.Has(quirks.FirstLoop) {
		if e.Inlined && e.Outer.File != "" {
			where = e.Outer
		}
		if a.Python == nil || where.File != a.Python.File {
			return own
		}
	}
	if text, ok := a.Python.line(where.Line); ok && where.Line != 0 {
		return text
	}
	return own
}

// schedule divides lines into those before, in and after the loops that contain any of them.
func schedule(lines []int, loops []lineRange, text func(int) string) LoopSchedule {
	s := LoopSchedule{[]string{}, []string{}, []string{}}
	if len(loops) == 0 {
		return s
	}
	if len(loops) > 1 {
		loops = slices.DeleteFunc(slices.Clone(loops), func(r lineRange) bool { return !slices.ContainsFunc(lines, r.has) })
	}
	first := 0
	for i, r := range loops {
		if i == 0 || r.first < first {
			first = r.first
		}
	}
	for _, l := range lines {
		switch {
		case slices.ContainsFunc(loops, func(r lineRange) bool { return r.has(l) }):
			s.Body = append(s.Body, text(l))
		case l < first:
			s.Prologue = append(s.Prologue, text(l))
		default:
			s.Epilogue = append(s.Epilogue, text(l))
		}
	}
	return s
}
