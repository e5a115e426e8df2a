package tritonparse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/ttir"
)

// workSource is what a compilation says of its work: taken apart when all launches are known.
type workSource struct {
	text      string // TTIR
	constants []byte // src_constants of its metadata: the arguments that are compiled in
}

// workTemplate is what a kernel's TTIR says of its work, before any launch.
type workTemplate struct {
	compat    compatWork
	module    *ttir.Module // nil with Compat
	decisive  map[string]bool
	constants map[int]bool // positions of arguments that are compiled in
}

func newWorkTemplate(s *workSource, compat bool) *workTemplate {
	if compat {
		return &workTemplate{compat: readCompatWork(s.text)}
	}
	t := &workTemplate{module: ttir.Parse(s.text), constants: map[int]bool{}}
	t.decisive = t.module.Decisive()
	constants, _ := jsontext.Members(s.constants)
	for _, m := range constants { // (4,)
		if n, err := strconv.Atoi(strings.Trim(m.Name, "(,)")); err == nil {
			t.constants[n] = true
		}
	}
	return t
}

// estimate is what one kind of launch does; numbers that are not known are negative.
type estimate struct {
	grid                              []byte // as it was given, empty if it was not
	programs, fromIR, fromArgs, flops int64
	work                              ttir.Work // of all programs
	notes                             []string
}

// newEstimate is one of which only what the launch says is known.
func newEstimate(k *workKind) estimate {
	e := estimate{grid: k.grid, programs: -1, fromIR: -1, fromArgs: -1, flops: -1}
	if k.hasArgs {
		e.fromArgs = k.fromArgs
	}
	return e
}

func (e *estimate) moved() int64 {
	switch {
	case e.fromIR < 0:
		return e.fromArgs
	case e.fromArgs < 0:
		return e.fromIR
	}
	return min(e.fromIR, e.fromArgs)
}

// NoteMasked is said of every kernel that loads or stores with a mask.
const NoteMasked = "masked elements count as moved"

// estimate counts one kind of launch.
func (t *workTemplate) estimate(k *workKind) estimate {
	e := newEstimate(k)
	n, ok := k.programs()
	if !ok {
		e.notes = []string{"the grid is not known"}
		return e
	}
	e.programs = n
	launch := ttir.Launch{Grid: [3]int64{1, 1, 1}, Arguments: map[string]int64{}}
	for name, b := range t.bind(k) {
		launch.Arguments[name] = b.value
	}
	copy(launch.Grid[:], k.dims)
	total := t.module.Count(launch)
	e.work, e.notes = total.Work, total.Notes
	if total.Masked {
		e.notes = append(e.notes, NoteMasked)
	}
	e.fromIR = e.work.Bytes()
	if e.flops = e.work.Dots; e.flops == 0 {
		e.flops = e.work.Flops
	}
	return e
}

// bound is the value of a parameter, and the argument that it is of by its place among the kind's.
type bound struct {
	value    int64
	argument int
}

// bind gives the kernel's parameters their values: by name where the text has names, else by position.
func (t *workTemplate) bind(k *workKind) map[string]bound {
	parameters := t.module.Parameters()
	values, byName := map[string]bound{}, map[string]bound{}
	var order []bound // of parameters that arguments are expected to have; only whole numbers matter
	var known []bool
	push := func(b bound, ok bool) { order, known = append(order, b), append(known, ok) }
	next := 0
	for i := range k.positions {
		at, a := next, boundArgument{}
		if next < len(k.arguments) && k.arguments[next].position == i {
			a = k.arguments[next]
			next++
		}
		if a.isNumber {
			byName[a.name] = bound{a.number, at}
		}
		for d, n := range a.shape {
			byName[fmt.Sprintf("%s.shape.%d", a.name, d)] = bound{n, at}
		}
		for d, n := range a.strides {
			byName[fmt.Sprintf("%s.stride.%d", a.name, d)] = bound{n, at}
		}
		if t.constants[i] {
			continue
		}
		push(bound{a.number, at}, a.isNumber)
		for _, n := range slices.Concat(a.shape, a.strides) {
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

// idle says of each of the kind's arguments whether the work does not depend on it, whatever number it is.
func (t *workTemplate) idle(k *workKind) []bool {
	idle := make([]bool, len(k.arguments))
	for i := range idle {
		idle[i] = k.arguments[i].isNumber
	}
	for name, b := range t.bind(k) {
		if t.decisive[name] {
			idle[b.argument] = false
		}
	}
	return idle
}
