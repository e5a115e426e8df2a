package count

// Decisive are the names of the kernel's parameters that may decide how often loops run and which branches are taken. Launches that
// differ only in other parameters do the same work. Since functions may share names of values, there may be some too many.
func (m *Module) Decisive() map[string]bool {
	d := decisive{module: m, names: map[string]bool{}}
	for before := -1; before != len(d.names); {
		before = len(d.names)
		for _, f := range m.functions {
			d.block(f.body)
		}
	}
	parameters := map[string]bool{}
	for _, p := range m.Parameters() {
		if d.names["%"+p.Name] {
			parameters[p.Name] = true
		}
	}
	return parameters
}

// decisive gathers the values that loops and branches depend on.
type decisive struct {
	module *Module
	names  map[string]bool
}

func (d *decisive) block(b *block) {
	for i := len(b.ops) - 1; i >= 0; i-- { // a value is used after it is made
		d.operation(b.ops[i])
	}
}

func (d *decisive) operation(op *operation) {
	inside := op.regions
	if f := d.module.functions[op.word]; f != nil && op.name == "tt.call" {
		inside = []*block{f.body}
	}
	matters := d.has(op.results)
	for _, b := range op.regions {
		d.block(b)
	}
	for _, b := range inside {
		matters = matters || d.has(b.arguments)
	}
	if matters {
		d.add(op.operands)
		for _, b := range inside {
			d.add(b.ends)
		}
	}
	switch {
	case op.name == "scf.for":
		d.add([]string{op.loop.from, op.loop.to, op.loop.step})
	case op.arms && len(op.operands) > 0:
		d.add(op.operands[:1])
	}
}

func (d *decisive) has(names []string) bool {
	for _, n := range names {
		if d.names[n] {
			return true
		}
	}
	return false
}

func (d *decisive) add(names []string) {
	for _, n := range names {
		d.names[n] = true
	}
}
