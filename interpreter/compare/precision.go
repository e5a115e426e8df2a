package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// Line is how exact the floating-point numbers of a line of the source are. An error is the largest difference from the same numbers without
// rounding, by the largest of these.
type Line struct {
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line"`
	Variables []string `json:"variables,omitempty"`
	Values    int      `json:"values"` // that were compared
	Error     float64  `json:"error"`  // the largest
	Input     float64  `json:"input"`  // the largest error of what the operation with the largest error computes with
	Growth    float64  `json:"growth"` // of the errors of an operation's inputs: the largest; 0 if none had errors
	Op        string   `json:"op"`     // with the largest error
	Program   [3]int32 `json:"program"`
}

// Precise is what a launch would be without rounding.
type Precise struct {
	Lines    []Line   `json:"lines"` // in the order of the source
	Programs int      `json:"programs"`
	Notes    []string `json:"notes,omitempty"`
	yields   map[named]named
}

// named is a value of a function.
type named struct {
	function *ttir.Function
	value    ttir.Value
}

// source is the value that an operation with a region yields as this one.
func (p *Precise) source(v named) named {
	if v.function == nil {
		return v
	}
	if _, known := p.yields[named{v.function, ttir.NoValue}]; !known {
		p.yields[named{v.function, ttir.NoValue}] = named{}
		v.function.Walk(func(op *ttir.Op) {
			for i := range op.Regions {
				for k := range op.Regions[i].Blocks {
					ops := op.Regions[i].Blocks[k].Ops
					if n := len(ops); n > 0 && ops[n-1].Name == "scf.yield" && len(ops[n-1].Operands) == len(op.Results) {
						for r, result := range op.Results {
							p.yields[named{v.function, result}] = named{v.function, ops[n-1].Operands[r]}
						}
					}
				}
			}
		})
	}
	for range 64 {
		next, ok := p.yields[v]
		if !ok || next.function == nil {
			return v
		}
		v = next
	}
	return v
}

// Precision runs a launch with and without rounding: the module of wide has been widened (ttir.Widen). Numbers that are stored are rounded in both, so
// that errors do not go from one instance to another.
func Precision(a, wide *Side, o Options) (*Precise, error) {
	p := &Precise{yields: map[named]named{}}
	lines := map[mlir.Frame]*Line{}
	notes := map[string]bool{}
	err := o.instances(func(at [3]int32) error {
		p.Programs++
		var left keeper
		found, err := a.run(o.Grid, at, left.keep)
		if err != nil {
			return err
		}
		n, apart := 0, false
		errors := map[named]float64{}
		foundWide, err := wide.run(o.Grid, at, func(e *event) {
			if apart || n >= len(left.list) {
				return
			}
			mine := left.list[n]
			if n++; mine.op.Line != e.op.Line || mine.value != e.value {
				apart = true
				notes[fmt.Sprintf("the instances go other ways without rounding from line %d of the TTIR on, and are compared up to there", e.op.Line)] = true
				return
			}
			if _, isFloat := mine.count(); isFloat {
				p.line(lines, mine, e, errors, at)
			}
		})
		if err != nil {
			return err
		}
		if f := foundWide; f != nil && found == nil {
			notes["without rounding: "+f.Error()] = true
		}
		if found != nil {
			notes[found.Error()] = true
		}
		return nil
	})
	for _, l := range lines {
		if l.File == "" && l.Error == 0 { // constants, mostly
			continue
		}
		slices.Sort(l.Variables)
		p.Lines = append(p.Lines, *l)
	}
	slices.SortFunc(p.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	for n := range notes {
		p.Notes = append(p.Notes, n)
	}
	slices.Sort(p.Notes)
	return p, err
}

func (p *Precise) line(lines map[mlir.Frame]*Line, a, b *event, errors map[named]float64, at [3]int32) {
	off, _, _ := worst(a.values, b.values, &Options{})
	if a.begins {
		errors[named{a.function, a.value}] = off
		return
	}
	place := mlir.Frame{Line: int(a.op.Line)}
	if f := frame(a); f.File != "" {
		place = mlir.Frame{File: f.File, Line: f.Line}
	}
	l := lines[place]
	if l == nil {
		l = &Line{File: place.File, Line: place.Line}
		lines[place] = l
	}
	input := 0.0
	for _, v := range a.op.Operands {
		input = max(input, errors[p.source(named{a.function, v})])
	}
	errors[named{a.function, a.value}] = off
	l.Values++
	if a.name != "" && !slices.Contains(l.Variables, a.name) {
		l.Variables = append(l.Variables, a.name)
	}
	if input > 0 {
		l.Growth = max(l.Growth, off/input)
	}
	if off > l.Error || l.Op == "" {
		l.Error, l.Input, l.Op, l.Program = off, input, a.op.Name, at
	}
}
