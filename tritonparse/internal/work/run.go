package work

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/triton/ttir"
)

// Launch is what is known of one launch when a kernel's work is counted.
type Launch struct {
	Arguments map[string]int64 // by Parameter.Name
	Grid      [3]int64
}

// Total is the work of all programs of a launch.
type Total struct {
	Work
	Programs int64
	Masked   bool     // some of it may be masked off
	Exact    bool     // no loop or branch depends on what is not known
	Notes    []string // what is not known, each once
}

// maxPrograms is how many programs of a launch are counted one by one if they differ. Of more programs, as many at even distances
// are counted.
const maxPrograms = 512

// Differ begins the note that says how many programs were counted.
const Differ = "programs differ"

// maxSteps bounds the operations that are counted for one launch.
const maxSteps = 1 << 20

// Count adds up what all programs of a launch do. Masks are not looked at: what is masked counts.
func (m *Module) Count(l Launch) Total {
	programs := times(times(l.Grid[0], l.Grid[1]), l.Grid[2])
	t := Total{Programs: programs, Exact: true, Masked: m.masked}
	if m.kernel == nil || programs <= 0 {
		return t
	}
	r := &run{module: m, launch: l}
	if one := r.program(nil); !one.Guessed || !r.asked {
		t.Work, t.Exact, t.Notes = one.Times(programs), !one.Guessed, r.notes
		return t
	}
	// What a program does depends on which it is.
	counted := min(programs, maxPrograms)
	each := &run{module: m, launch: l}
	var sum Work
	for i := range counted {
		n := i * (programs / counted)
		sum.Add(each.program(&[3]int64{n % l.Grid[0], n / l.Grid[0] % l.Grid[1], n / l.Grid[0] / l.Grid[1]}))
	}
	t.Exact, t.Notes = !sum.Guessed, each.notes
	if counted == programs {
		t.Work = sum
		return t
	}
	t.Work = sum.scaled(programs, counted)
	t.Exact = false
	t.Notes = append(t.Notes, fmt.Sprintf(Differ+": %d of %d were counted", counted, programs))
	return t
}

func (w Work) scaled(by, of int64) Work {
	f := func(n int64) int64 {
		v := float64(n) / float64(of) * float64(by)
		if v >= math.MaxInt64 {
			return math.MaxInt64
		}
		return int64(v)
	}
	return Work{f(w.Loaded), f(w.Stored), f(w.Dots), f(w.Flops), w.Guessed}
}

// run counts the work of one program after another.
type run struct {
	module *Module
	launch Launch
	id     *[3]int64 // of the program; nil while all programs are taken for equal
	asked  bool      // something depends on the program's id
	notes  []string
	steps  int
	depth  int
	ends   []ttir.Value // of the region that ran last; nil if it is not known where that ended
}

// values are the whole numbers that are known.
type values map[ttir.Value]int64

// set gives a value the number of another one, or none if that is not known.
func (v values) set(to ttir.Value, from values, other ttir.Value) {
	if n, ok := from[other]; ok {
		v[to] = n
	} else {
		delete(v, to)
	}
}

func (v values) forget(list []ttir.Value) {
	for _, n := range list {
		delete(v, n)
	}
}

func (r *run) program(id *[3]int64) Work {
	r.id = id
	known := values{}
	for _, p := range r.module.kernel.parameters {
		if v, ok := r.launch.Arguments[p.Name]; ok {
			known[p.value] = v
		}
	}
	return r.block(r.module.kernel.body, known)
}

func (r *run) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// block counts the operations of a region once.
func (r *run) block(b *block, known values) (total Work) {
	if b.parts != nil {
		return r.graph(b, known)
	}
	for _, op := range b.ops {
		r.steps++
		total.Add(r.operation(op, known))
	}
	r.ends = b.ends
	return total
}

// graph counts the blocks of a region that are reached. Behind a branch of which it is not known where it leads, all other blocks count once.
func (r *run) graph(b *block, known values) (total Work) {
	counted := map[*block]bool{}
	at := b.parts[0]
	for {
		total.Add(r.block(at, known))
		counted[at] = true
		if at.jump == nil {
			return total
		}
		to := taken(at.jump, known)
		if to == nil || r.steps > 2*maxSteps {
			break
		}
		r.steps++
		next := values{}
		r.pass(b.parts[to.Block].arguments, to.Arguments, known, next)
		at = b.parts[to.Block]
		r.pass(at.arguments, at.arguments, next, known)
	}
	var rest Work
	for _, p := range b.parts {
		if !counted[p] {
			rest.Add(r.block(p, known))
		}
	}
	r.ends = nil
	rest.Guessed = !rest.none() || r.steps > 2*maxSteps
	if rest.Guessed {
		if r.id != nil || !r.asked {
			r.note("line %d: it is not known where the branch leads; both sides are counted", at.jump.Line)
		}
	}
	total.Add(rest)
	return total
}

// taken is where a jump leads; nil if that is not known.
func taken(jump *ttir.Op, known values) *ttir.Successor {
	if jump.Name == "cf.br" {
		return &jump.Successors[0]
	}
	v, ok := known[jump.Operand(0)]
	if jump.Name != "cf.cond_br" || !ok || len(jump.Successors) != 2 {
		return nil
	}
	return &jump.Successors[figures.OneIf[int](v == 0)]
}

func (r *run) operation(op *operation, known values) Work {
	if op.unsized != "" {
		r.note("line %d: the size of %s is not known, so it is not counted", op.Line, op.unsized)
	}
	switch {
	case op.Name == "scf.for" && op.Known():
		return r.loop(op, known)
	case op.Name == "scf.while":
		return r.while(op, known)
	case op.Name == "scf.if":
		return r.branch(op, known)
	case op.Name == "tt.call":
		return r.call(op, known)
	case len(op.regions) > 0:
		w := op.cost
		for _, b := range op.regions {
			w.Add(r.block(b, known).Times(max(op.times, 1)))
		}
		return w
	}
	if len(op.Results) == 1 {
		r.evaluate(op, known)
	}
	return op.cost
}

// maxDepthCalls bounds recursion of functions, which Triton does not have.
const maxDepthCalls = 64

// callee is the function that an operation calls; nil for other operations and unknown functions.
func (m *Module) callee(op *operation) *function {
	if op.Name != "tt.call" {
		return nil
	}
	return m.functions[op.Keyword("callee", "")]
}

func (r *run) call(op *operation, known values) Work {
	f := r.module.callee(op)
	if f == nil || r.depth >= maxDepthCalls || r.steps > 2*maxSteps { // functions that each call the next one twice take exponential time
		r.note("line %d: the called function %s is not known", op.Line, op.Keyword("callee", ""))
		return Work{Guessed: true}
	}
	inner := values{}
	for i, p := range f.parameters {
		if i < len(op.Operands) {
			inner.set(p.value, known, op.Operands[i])
		}
	}
	r.depth++
	w := r.block(f.body, inner)
	r.depth--
	r.pass(op.Results, r.ends, inner, known)
	return w
}

// pass gives the results of an operation the values that its region ends with.
func (r *run) pass(results, ends []ttir.Value, inner, known values) {
	for i, name := range results[:min(len(results), len(ends))] {
		known.set(name, inner, ends[i])
	}
	known.forget(results[min(len(results), len(ends)):])
}

// branch counts the arm that is taken, or the larger of both if that is not known.
func (r *run) branch(op *operation, known values) (most Work) {
	taken := -1
	if len(op.Operands) > 0 {
		if v, ok := known[op.Operands[0]]; ok {
			taken = figures.OneIf[int](v == 0)
		}
	}
	if taken >= 0 {
		if taken >= len(op.regions) {
			return Work{}
		}
		w := r.block(op.regions[taken], known)
		r.pass(op.Results, r.ends, known, known)
		return w
	}
	for _, b := range op.regions {
		most = most.most(r.block(b, known))
	}
	known.forget(op.Results)
	if !most.none() {
		most.Guessed = true
		if r.id != nil || !r.asked {
			r.note("line %d: it is not known which branch is taken; the larger is counted", op.Line)
		}
	}
	return most
}

func (r *run) while(op *operation, known values) (total Work) {
	for _, b := range op.regions {
		total.Add(r.block(b, known))
	}
	known.forget(op.Results)
	if total.Guessed = !total.none(); total.Guessed {
		r.note("line %d: how often the while loop runs is not known; it is counted once", op.Line)
	}
	return total
}

// loop multiplies what the body does by how often it runs. If the turns differ, as in the inner loop over a triangle, it counts each.
func (r *run) loop(op *operation, known values) Work {
	if len(op.regions) == 0 {
		return Work{}
	}
	body := op.regions[0]
	from, okFrom := known[op.Operands[0]]
	to, okTo := known[op.Operands[1]]
	step, okStep := known[op.Operands[2]]
	turns := int64(-1)
	if okFrom && okTo && okStep && step > 0 {
		turns = 0
		if to > from {
			turns = (to-from-1)/step + 1
		}
	}
	outside := maps.Clone(known)
	outside.forget(body.arguments)
	before := len(r.notes)
	once := r.block(body, outside)
	known.forget(op.Results)
	switch {
	case once == Work{}:
		r.notes = r.notes[:before]
		return once
	case turns < 0:
		if r.id != nil || !r.asked {
			r.note("line %d: how often the loop runs is not known before the launch; it is counted once", op.Line)
		}
		once.Guessed = true
		return once
	case !once.Guessed || r.steps+int(min(turns, maxSteps))*len(body.ops) > maxSteps:
		return once.Times(turns)
	}
	r.notes = r.notes[:before]
	return r.turns(op, body, known, from, step, turns)
}

func (r *run) turns(op *operation, body *block, known values, from, step, turns int64) (total Work) {
	inner := maps.Clone(known)
	carried := body.arguments[min(1, len(body.arguments)):]
	r.pass(carried, op.carried(), known, inner)
	for i := range turns {
		if len(body.arguments) > 0 {
			inner[body.arguments[0]] = from + i*step
		}
		total.Add(r.block(body, inner))
		next := values{}
		r.pass(carried, r.ends, inner, next)
		r.pass(carried, carried, next, inner)
	}
	r.pass(op.Results, carried, inner, known)
	return total
}
