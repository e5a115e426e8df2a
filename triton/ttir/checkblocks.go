package ttir

import "slices"

func checkDot(v *verifier, _ *Op) {
	a, b, c := v.typ(0), v.typ(1), v.typ(2)
	if !v.equal("the result", v.result(0), c) {
		return
	}
	r := len(a.Shape)
	if r != 2 && r != 3 || len(b.Shape) != r || len(c.Shape) != r {
		v.fail("%s * %s -> %s are not matrices", a.Text, b.Text, c.Text)
		return
	}
	switch {
	case a.Shape[r-1] != b.Shape[r-2] || a.Shape[r-2] != c.Shape[r-2] || b.Shape[r-1] != c.Shape[r-1] || !slices.Equal(a.Shape[:r-2], b.Shape[:r-2]) || !slices.Equal(a.Shape[:r-2], c.Shape[:r-2]):
		v.fail("the shapes of %s * %s -> %s do not fit", a.Text, b.Text, c.Text)
	case a.Element.Bits != b.Element.Bits:
		v.fail("the elements of %s and %s differ in their sizes", a.Text, b.Text)
	}
}

// checkScaled: a byte has two numbers of four bits, along K or, without lhs_k_pack, along M.
func checkScaled(v *verifier, op *Op) {
	a, b, c := v.typ(0), v.typ(1), v.typ(2)
	if !v.equal("the result", v.result(0), c) || len(a.Shape) < 2 || len(b.Shape) != len(a.Shape) || len(c.Shape) != len(a.Shape) {
		v.fail("%s * %s -> %s are not matrices", a.Text, b.Text, c.Text)
		return
	}
	r := len(a.Shape)
	m, ka := packed(op, "a_elem_type", "lhs_k_pack", a.Shape[r-2], a.Shape[r-1])
	n, kb := packed(op, "b_elem_type", "rhs_k_pack", b.Shape[r-1], b.Shape[r-2])
	if ka != kb || m != c.Shape[r-2] || n != c.Shape[r-1] {
		v.fail("the shapes of %s * %s -> %s do not fit", a.Text, b.Text, c.Text)
		return
	}
	for i, rows := range []int64{m, n} {
		if s := v.typ(3 + i); s != nil {
			if k := len(s.Shape); k < 2 || s.Shape[k-2] != rows || s.Shape[k-1] == 0 || ka/s.Shape[k-1] != 32 && ka/s.Shape[k-1] != 16 {
				v.fail("scales of %s do not fit %d rows of %d", s.Text, rows, ka)
			}
		}
	}
}

func packed(op *Op, format, along string, rows, k int64) (int64, int64) {
	if op.Keyword(format, "") != "e2m1" {
		return rows, k
	}
	if a := op.Attribute(along); a != nil && a.Kind == Bool && a.Int == 0 {
		return 2 * rows, k
	}
	return rows, 2 * k
}

// checkFold: reductions and scans. Their regions combine two elements of each operand.
func checkFold(v *verifier, op *Op) {
	first := v.typ(0)
	if first == nil || first.Kind != TensorType || len(op.Regions) != 1 || len(op.Regions[0].Blocks) != 1 {
		v.fail("it needs a tensor and a region with one block")
		return
	}
	axis, ok := v.axis(len(first.Shape))
	if !ok {
		return
	}
	block := &op.Regions[0].Blocks[0]
	if len(block.Arguments) != 2*len(op.Operands) || len(op.Results) != len(op.Operands) {
		v.fail("%d operands, %d arguments and %d results do not fit", len(op.Operands), len(block.Arguments), len(op.Results))
		return
	}
	left := slices.Delete(slices.Clone(first.Shape), axis, axis+1)
	for i := range op.Operands {
		t := v.typ(i)
		if !v.shapes("the operands", t, first) {
			return
		}
		if v.f.Type(block.Arguments[i]) != t.Element || v.f.Type(block.Arguments[len(op.Operands)+i]) != t.Element {
			v.fail("the region combines other types than %s", t.Element.Text)
		}
		if op.Name == "tt.scan" {
			v.equal("the result", v.result(i), t)
		} else if r := v.result(i); r.Scalar() != t.Element || !slices.Equal(shape(r), left) {
			v.fail("%s along dimension %d is not %s", t.Text, axis, r.Text)
		}
	}
	v.ends(&op.Regions[0], op.Operands)
}

// ends checks what a region's last operations return: an element for each of the values.
func (v *verifier) ends(r *Region, like []Value) {
	for b := range r.Blocks {
		n := len(r.Blocks[b].Ops)
		if n == 0 {
			continue
		}
		last := &r.Blocks[b].Ops[n-1]
		if last.Name == "cf.br" || last.Name == "cf.cond_br" {
			continue
		}
		if len(last.Operands) != len(like) {
			v.fail("the region returns %d values, and %d are needed", len(last.Operands), len(like))
			continue
		}
		for i, o := range last.Operands {
			if t, want := v.f.Type(o), v.f.Type(like[i]); t != nil && want != nil && t != want.Scalar() {
				v.fail("the region returns %s, and %s is needed", t.Text, want.Scalar().Text)
			}
		}
	}
}

func checkMap(v *verifier, op *Op) {
	pack, ok := v.integer("pack")
	if !ok || len(op.Regions) != 1 || len(op.Regions[0].Blocks) == 0 || len(op.Operands) == 0 {
		v.fail("it needs operands and a region")
		return
	}
	if pack <= 0 || pack&(pack-1) != 0 {
		v.fail("%d elements at once are not a power of two", pack)
		return
	}
	if n := len(op.Regions[0].Blocks[0].Arguments); int64(n) != pack*int64(len(op.Operands)) {
		v.fail("the region has %d arguments for %d operands of %d", n, len(op.Operands), pack)
	}
	for i := range op.Operands {
		v.shapes("the operands", v.typ(i), v.typ(0))
	}
	walk(&op.Regions[0], func(inner *Op) {
		if inner.Name == "tt.store" || inner.Name == "tt.load" {
			v.fail("the region has %s", inner.Name)
		}
	})
}

func checkGather(v *verifier, _ *Op) {
	from, at := v.typ(0), v.typ(1)
	to := v.result(0)
	if from.Kind != TensorType || at.Kind != TensorType || len(from.Shape) != len(at.Shape) || to == nil {
		v.fail("%s of %s are not tensors of equally many dimensions", at.Text, from.Text)
		return
	}
	axis, ok := v.axis(len(from.Shape))
	if !ok {
		return
	}
	if !slices.Equal(at.Shape, to.Shape) || to.Element != from.Element || at.Element.Kind != IntegerType {
		v.fail("%s of %s are not %s", at.Text, from.Text, to.Text)
	}
	for i := range at.Shape {
		if i != axis && at.Shape[i] != from.Shape[i] {
			v.fail("dimension %d of %s and %s differs", i, from.Text, at.Text)
		}
	}
}

func checkHistogram(v *verifier, _ *Op) {
	from, to := v.typ(0), v.result(0)
	if to == nil || len(from.Shape) != 1 || len(to.Shape) != 1 || from.Element.Kind != IntegerType || to.Element.Kind != IntegerType {
		v.fail("it needs lists of integers")
		return
	}
	v.mask(from, 1)
}

func checkCall(v *verifier, op *Op) {
	name := op.Keyword("callee", "")
	callee := v.m.Function(name)
	if callee == nil {
		v.fail("there is no function %q", name)
		return
	}
	types := make([]*Type, len(callee.Arguments))
	for i, a := range callee.Arguments {
		types[i] = callee.Type(a.Value)
	}
	v.types("the arguments", op.Operands, types)
	v.types("the results", op.Results, callee.Results)
}

func checkReturn(v *verifier, op *Op) { v.types("the results", op.Operands, v.f.Results) }

func (v *verifier) integers(what string, values []Value, bits, many int) {
	if len(values) != many {
		v.fail("%s: there are %d, and %d are needed", what, len(values), many)
		return
	}
	for _, o := range values {
		if t := v.f.Type(o); t.Kind != IntegerType || t.Bits != bits {
			v.fail("%s: %s is not i%d", what, t.Text, bits)
		}
	}
}

func checkDescriptor(v *verifier, op *Op) {
	p, to := v.typ(0), v.result(0)
	if to == nil || to.Kind != DescriptorType || p.Kind != PointerType || p.Element != plain(v.m, to.Element) {
		v.fail("%s is not the base of a descriptor of its elements", p.Text)
		return
	}
	v.integers("the shape", op.List(0), 32, len(to.Shape))
	v.integers("the strides", op.List(1), 64, len(to.Shape))
}

// plain is a type without its sign, which only descriptors have.
func plain(m *Module, t *Type) *Type {
	if t.Kind == IntegerType && (t.Text[0] == 'u' || t.Text[0] == 's') {
		return m.Type(t.Text[1:])
	}
	return t
}

func checkBlockPointer(v *verifier, op *Op) {
	to := v.result(0)
	if to == nil || to.Pointee() == nil || to.Element.Kind != TensorType {
		v.fail("the result is not a pointer to a tensor")
		return
	}
	rank := len(to.Element.Shape)
	v.equal("the elements", v.typ(0).Pointee(), to.Element.Element)
	v.integers("the shape", op.List(0), 64, rank)
	v.integers("the strides", op.List(1), 64, rank)
	v.integers("the offsets", op.List(2), 32, rank)
}

// checkDescriptorAccess: a load may leave out leading dimensions of 1.
func checkDescriptorAccess(v *verifier, op *Op) {
	d, t := v.typ(0), v.result(0)
	if op.Name != "tt.descriptor_load" {
		t = v.typ(1)
	}
	if d.Kind != DescriptorType || t == nil || t.Kind != TensorType {
		v.fail("it needs a descriptor and a tensor")
		return
	}
	v.integers("the offsets", op.List(0), 32, len(d.Shape))
	at := len(d.Shape) - len(t.Shape)
	if at < 0 || t.Element != plain(v.m, d.Element) || !slices.Equal(d.Shape[at:], t.Shape) || slices.ContainsFunc(d.Shape[:at], func(n int64) bool { return n != 1 }) {
		v.fail("%s is not a window of %s", t.Text, d.Text)
	}
}

func checkRows(v *verifier, op *Op) {
	d, rows, t := v.typ(0), v.typ(1), v.result(0)
	if op.Name == "tt.descriptor_scatter" {
		t = v.typ(3)
	}
	if d.Kind != DescriptorType || t == nil || len(d.Shape) != 2 || d.Shape[0] != 1 || len(rows.Shape) != 1 || len(t.Shape) != 2 || t.Shape[0] != rows.Shape[0] || t.Shape[1] != d.Shape[1] {
		v.fail("the shapes of descriptor, rows and tensor do not fit")
		return
	}
	if rows.Shape[0] < 8 || t.Shape[1]*int64(t.Element.Bits)/8 < 32 {
		v.fail("less than 8 rows, or less than 32 bytes of a row: %s", t.Text)
	}
}

func checkLoop(v *verifier, op *Op) {
	block := &op.Regions[0].Blocks
	if len(*block) != 1 || len((*block)[0].Arguments) == 0 {
		v.fail("the body has %d blocks, or no counter", len(*block))
		return
	}
	v.same("the first values", op.Operands[3:], (*block)[0].Arguments[1:])
	v.same("the results", op.Results, (*block)[0].Arguments[1:])
	v.yields(&op.Regions[0], "scf.yield", op.Results)
}

// yields checks what the end of a region's last block passes on.
func (v *verifier) yields(r *Region, name string, as []Value) {
	for b := range r.Blocks {
		if n := len(r.Blocks[b].Ops); n > 0 && r.Blocks[b].Ops[n-1].Name == name {
			values := r.Blocks[b].Ops[n-1].Operands
			if name == "scf.condition" {
				values = values[min(1, len(values)):]
			}
			v.same("what "+name+" passes on", values, as)
		}
	}
}

func checkBranch(v *verifier, op *Op) {
	checkCondition(v, op)
	if len(op.Results) > 0 && len(op.Regions) != 2 {
		v.fail("it has results and no else")
	}
	for i := range op.Regions {
		v.yields(&op.Regions[i], "scf.yield", op.Results)
	}
}

func checkCondition(v *verifier, _ *Op) {
	if c := v.typ(0); c.Kind != IntegerType || c.Bits != 1 {
		v.fail("the condition is %s", c.Text)
	}
}

func checkWhile(v *verifier, op *Op) {
	before, after := &op.Regions[0], &op.Regions[1]
	if len(before.Blocks) != 1 || len(after.Blocks) != 1 {
		v.fail("the regions have %d and %d blocks", len(before.Blocks), len(after.Blocks))
		return
	}
	v.same("the first values", op.Operands, before.Blocks[0].Arguments)
	v.yields(before, "scf.condition", after.Blocks[0].Arguments)
	v.same("the results", op.Results, after.Blocks[0].Arguments)
	v.yields(after, "scf.yield", before.Blocks[0].Arguments)
}
