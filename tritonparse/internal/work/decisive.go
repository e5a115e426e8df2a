package work

import (
	"slices"

	"github.com/goproton/goproton/triton/ttir"
)

// Decisive are the names of the kernel's parameters that may decide how often loops run and which branches are taken. Launches that
// differ only in other parameters do the same work.
func (m *Module) Decisive() map[string]bool {
	d := decisive{module: m, values: map[functionValue]bool{}}
	for before := -1; before != len(d.values); {
		before = len(d.values)
		for _, f := range m.functions {
			d.block(f, f.body)
		}
	}
	parameters := map[string]bool{}
	for _, p := range m.Parameters() {
		if d.values[functionValue{m.kernel, p.value}] {
			parameters[p.Name] = true
		}
	}
	return parameters
}

// decisive gathers the values that loops and branches depend on.
type decisive struct {
	module *Module
	values map[functionValue]bool
}

// functionValue is a value of a function.
type functionValue struct {
	function *function
	value    ttir.Value
}

func (d *decisive) block(f *function, b *block) {
	for _, p := range slices.Backward(b.parts) {
		if p.jump != nil {
			if p.jump.Name == "cf.cond_br" {
				d.add(f, p.jump.Operands[:min(1, len(p.jump.Operands))])
			}
			for _, s := range p.jump.Successors {
				for i, v := range b.parts[s.Block].arguments {
					if i < len(s.Arguments) && d.has(f, []ttir.Value{v}) {
						d.add(f, s.Arguments[i:i+1])
					}
				}
			}
		}
		d.block(f, p)
	}
	for i := len(b.ops) - 1; i >= 0; i-- { // a value is used after it is made
		d.operation(f, b.ops[i])
	}
}

func (d *decisive) operation(f *function, op *operation) {
	inside, of := op.regions, f
	if called := d.module.callee(op); called != nil {
		inside, of = []*block{called.body}, called
	}
	matters := d.has(f, op.Results)
	for _, b := range op.regions {
		d.block(f, b)
	}
	for _, b := range inside {
		matters = matters || d.has(of, b.arguments)
		for _, p := range b.parts[:min(1, len(b.parts))] {
			matters = matters || d.has(of, p.arguments)
		}
	}
	if matters {
		d.add(f, op.carried())
		for _, b := range inside {
			d.add(of, b.ends)
			for _, p := range b.parts {
				d.add(of, p.ends)
			}
		}
	}
	switch {
	case op.Name == "scf.for" && op.Known():
		d.add(f, op.Operands[:3])
	case op.Name == "scf.if" && len(op.Operands) > 0:
		d.add(f, op.Operands[:1])
	}
}

func (d *decisive) has(f *function, values []ttir.Value) bool {
	return slices.ContainsFunc(values, func(v ttir.Value) bool { return d.values[functionValue{f, v}] })
}

func (d *decisive) add(f *function, values []ttir.Value) {
	for _, v := range values {
		if v != ttir.NoValue {
			d.values[functionValue{f, v}] = true
		}
	}
}
