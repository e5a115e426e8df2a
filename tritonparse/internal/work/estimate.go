package work

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Source is what a compilation says of its work. NewModel analyses it when all launches are known.
type Source struct {
	Text      string // TTIR
	Constants []byte // src_constants of its metadata: the arguments that are compiled in
}

// Model is what a kernel's TTIR says of its work, before any launch.
type Model struct {
	Compat    compatWork
	module    *Module // nil with Compat
	decisive  map[string]bool
	constants map[int]bool // positions of arguments that are compiled in
}

// NewModel analyses a kernel's TTIR, or with quirks.StaticWork counts as tritonparse 0.6.0 does.
func NewModel(s *Source, q quirks.Set) *Model {
	if q.Has(quirks.StaticWork) {
		return &Model{Compat: readCompatWork(s.Text)}
	}
	t := &Model{module: Parse(s.Text), constants: map[int]bool{}}
	t.decisive = t.module.Decisive()
	constants, _ := jsontext.Members(s.Constants)
	for _, m := range constants { // (4,)
		if n, err := strconv.Atoi(strings.Trim(m.Name, "(,)")); err == nil {
			t.constants[n] = true
		}
	}
	return t
}

// Dot is how the kernel multiplies matrices, by its first tt.dot.
func (t *Model) Dot() Dot { return t.module.Dot() }

// Estimate is what one kind of launch does. Numbers that are not known are negative.
type Estimate struct {
	grid                              []byte // as in the record, empty if it has none
	programs, FromIR, FromArgs, Flops int64
	work                              Work // of all programs
	Notes                             []string
	Depends                           bool // on what is not known without running it: a loop or branch on values, or masks that leave out some of what tensors have
}

// Ran is what running a launch, or some of its programs, says of all of it.
type Ran struct {
	Loaded, Stored, Dots, Flops float64
	Note                        string // how it was run
}

// total sets the sums of work.
func (e *Estimate) total() {
	e.FromIR = e.work.Bytes()
	if e.Flops = e.work.Dots; e.Flops == 0 {
		e.Flops = e.work.Flops
	}
}

// Run takes what running the launch says, or notes why the launch was not run, and is false.
func (e *Estimate) Run(run func() (Ran, error)) bool {
	r, err := run()
	if err != nil {
		e.Notes = append(e.Notes, "not run: "+err.Error())
		return false
	}
	e.work = Work{Loaded: int64(r.Loaded), Stored: int64(r.Stored), Dots: int64(r.Dots), Flops: int64(r.Flops)}
	e.total()
	e.Notes = []string{r.Note}
	return true
}

// newEstimate is an estimate from the launch alone.
func newEstimate(k *Inputs) Estimate {
	e := Estimate{grid: k.Grid, programs: -1, FromIR: -1, FromArgs: -1, Flops: -1}
	if k.HasArgs {
		e.FromArgs = k.FromArgs
	}
	return e
}

// Moved is the lesser of the bytes by the code and by the arguments, negative if neither is known.
func (e *Estimate) Moved() int64 {
	switch {
	case e.FromIR < 0:
		return e.FromArgs
	case e.FromArgs < 0:
		return e.FromIR
	}
	return min(e.FromIR, e.FromArgs)
}

// NoteMasked is said of every kernel that loads or stores with a mask.
const NoteMasked = "masked elements count as moved"

func (t *Model) Estimate(k *Inputs) Estimate {
	e := newEstimate(k)
	n, ok := k.programs()
	if !ok {
		e.Notes = []string{"the grid is not known"}
		return e
	}
	e.programs = n
	launch := Launch{Grid: [3]int64{1, 1, 1}, Arguments: map[string]int64{}}
	for name, b := range t.bind(k) {
		launch.Arguments[name] = b.value
	}
	copy(launch.Grid[:], k.Dims)
	total := t.module.Count(launch)
	e.work, e.Notes = total.Work, total.Notes
	e.total()
	e.Depends = slices.ContainsFunc(e.Notes, func(note string) bool { return !strings.HasPrefix(note, Differ) })
	if total.Masked {
		e.Notes = append(e.Notes, NoteMasked)
		e.Depends = e.Depends || e.FromArgs < 0 || e.FromIR < e.FromArgs
	}
	return e
}

// bound is the value of a parameter, and the index of its argument in the kind.
type bound struct {
	value    int64
	argument int
}

// bind gives the kernel's parameters their values: by name where the text has names, else by position.
func (t *Model) bind(k *Inputs) map[string]bound {
	parameters := t.module.Parameters()
	values, byName := map[string]bound{}, map[string]bound{}
	var order []bound // of parameters that arguments are expected to have; only whole numbers matter
	var known []bool
	push := func(b bound, ok bool) { order, known = append(order, b), append(known, ok) }
	next := 0
	for i := range k.Positions {
		at, a := next, boundArgument{}
		if next < len(k.Arguments) && k.Arguments[next].Position == i {
			a = k.Arguments[next]
			next++
		}
		if a.IsNumber {
			byName[a.Name] = bound{a.number, at}
		}
		for d, n := range a.Shape {
			byName[fmt.Sprintf("%s.shape.%d", a.Name, d)] = bound{n, at}
		}
		for d, n := range a.Strides {
			byName[fmt.Sprintf("%s.stride.%d", a.Name, d)] = bound{n, at}
		}
		if t.constants[i] {
			continue
		}
		push(bound{a.number, at}, a.IsNumber)
		for _, n := range slices.Concat(a.Shape, a.Strides) {
			push(bound{n, at}, true)
		}
	}
	positional := len(order) == len(parameters)
	for i, p := range parameters {
		name := p.Label
		if _, ok := byName[name]; !ok {
			name = p.Name
		}
		if b, ok := byName[name]; ok {
			values[p.Name] = b
		} else if positional && p.Integer && known[i] {
			values[p.Name] = order[i]
		}
	}
	return values
}

// Irrelevant reports, for each argument of a kind, whether the work of the kernel is the same for every value of the argument.
func (t *Model) Irrelevant(k *Inputs) []bool {
	irrelevant := make([]bool, len(k.Arguments))
	for i := range irrelevant {
		irrelevant[i] = k.Arguments[i].IsNumber
	}
	for name, b := range t.bind(k) {
		if t.decisive[name] {
			irrelevant[b.argument] = false
		}
	}
	return irrelevant
}

// SourceMark begins a Source in a sorter. Launches begin with a brace there.
const SourceMark = 'W'

// Append writes what ReadSource reads.
func (s *Source) Append(out []byte) []byte {
	return append(store.AppendCounted(append(out, SourceMark), s.Constants), s.Text...)
}

// ReadSource reads what Append wrote.
func ReadSource(in []byte) *Source {
	c := store.Cursor{In: in[1:]}
	constants := slices.Clone(c.Text())
	return &Source{string(c.In), constants}
}
