package ttir

import "slices"

// checks are the rules of operations, by name. The types of all operands and results are known, and operands that the format needs are there.
var checks map[string]func(v *verifier, op *Op)

func init() {
	checks = map[string]func(v *verifier, op *Op){
		"tt.load": checkLoad, "tt.store": checkStore, "tt.atomic_rmw": checkAtomic, "tt.atomic_cas": checkCompareAndSwap, "tt.atomic_load": checkAtomicLoad, "tt.atomic_store": checkAtomicStore, "tt.atomic_poll": checkPoll, "tt.addptr": checkOffset,
		"tt.make_range": checkRange, "tt.splat": checkSplat, "tt.unsplat": checkUnsplat, "tt.broadcast": checkBroadcast, "tt.expand_dims": checkExpand, "tt.reshape": checkReshape,
		"tt.trans": checkTranspose, "tt.split": checkSplit, "tt.join": checkJoin, "tt.cat": checkCat, "tt.bitcast": checkBitcast, "arith.bitcast": checkBitcast, "tt.fp_to_fp": checkFloatCast,
		"tt.dot": checkDot, "tt.dot_scaled": checkScaled, "tt.reduce": checkFold, "tt.scan": checkFold, "tt.map_elementwise": checkMap, "tt.gather": checkGather, "tt.histogram": checkHistogram,
		"tt.call": checkCall, "tt.return": checkReturn, "tt.make_tensor_descriptor": checkDescriptor, "tt.make_tensor_ptr": checkBlockPointer,
		"tt.descriptor_load": checkDescriptorAccess, "tt.descriptor_store": checkDescriptorAccess, "tt.descriptor_reduce": checkDescriptorAccess, "tt.descriptor_gather": checkRows, "tt.descriptor_scatter": checkRows,
		"scf.for": checkLoop, "scf.if": checkBranch, "scf.while": checkWhile, "cf.cond_br": checkCondition, "arith.select": checkSelect, "arith.constant": checkConstant,
	}
	for name, f := range formats {
		if dialect := name[:min(5, len(name))]; (dialect == "arith" || dialect == "math.") && checks[name] == nil {
			checks[name] = checkElements
			if f.parts[len(f.parts)-1].name != "" || slices.ContainsFunc(f.parts, func(p part) bool { return p.word == "to" }) {
				checks[name] = checkShapes
			}
		}
	}
	checks["math.fpowi"] = checkShapes
}

func (v *verifier) shapes(what string, a, b *Type) bool {
	if a == nil || b == nil {
		v.fail("a result or an operand is missing")
		return false
	}
	if !sameShape(a, b) {
		v.fail("%s: %s and %s differ in their shapes", what, a.Text, b.Text)
		return false
	}
	return true
}

func (v *verifier) equal(what string, a, b *Type) bool {
	if a == nil || b == nil {
		v.fail("a result or an operand is missing")
		return false
	}
	if a != b {
		v.fail("%s: %s is not %s", what, a.Text, b.Text)
	}
	return a == b
}

// checkElements: operands and results have one type.
func checkElements(v *verifier, op *Op) {
	for i := range op.Operands {
		v.equal("an operand and the result", v.typ(i), v.result(0))
	}
	if t := v.result(0); t != nil {
		last := op.Name[len(op.Name)-1]
		integers := last == 'i' || op.Name == "arith.xori" || slices.Contains([]string{"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}, op.Name)
		if k := t.Scalar().Kind; op.Name[:5] == "arith" && integers != (k == IntegerType || k == IndexType) && (last == 'i' || last == 'f' || integers) {
			v.fail("the elements are %s", t.Scalar().Text)
		}
	}
}

// checkShapes: operands and results have one shape.
func checkShapes(v *verifier, op *Op) {
	for i := range op.Operands {
		v.shapes("an operand and the result", v.typ(i), v.result(0))
	}
	if op.Name == "arith.cmpi" || op.Name == "arith.cmpf" {
		v.equal("the operands", v.typ(0), v.typ(1))
		if keywordOrNumber(op) < 0 {
			v.fail("there is no comparison %q", op.Keyword("predicate", ""))
		}
		return
	}
	from, to := v.typ(0), v.result(0)
	if from == nil || to == nil {
		return
	}
	switch a, b := from.Scalar().Bits, to.Scalar().Bits; op.Name {
	case "arith.extsi", "arith.extui", "arith.extf":
		if a >= b {
			v.fail("%s is not wider than %s", to.Text, from.Text)
		}
	case "arith.trunci", "arith.truncf":
		if a <= b {
			v.fail("%s is not narrower than %s", to.Text, from.Text)
		}
	}
}

func keywordOrNumber(op *Op) int {
	return slices.Index(enums[op.Name+" predicate"], op.Keyword("predicate", ""))
}

func checkLoad(v *verifier, op *Op) {
	p := v.typ(0)
	to := p.Pointee()
	if to == nil {
		v.fail("%s is not a pointer", p.Text)
		return
	}
	if to.Kind == TensorType {
		v.equal("what is loaded", v.result(0), to)
		return
	}
	v.equal("what is loaded", v.result(0), v.m.tensorOf(p, to))
	v.mask(p, 1)
	if other := v.typ(2); other != nil {
		v.equal("the other value", other, v.result(0))
		if op.Operand(1) == NoValue {
			v.fail("it has another value and no mask")
		}
	}
}

// mask checks an operand that says which elements take part.
func (v *verifier) mask(p *Type, n int) {
	if mask := v.typ(n); mask != nil && v.shapes("the mask", mask, p) && (mask.Scalar().Kind != IntegerType || mask.Scalar().Bits != 1) {
		v.fail("the mask is %s", mask.Text)
	}
}

func checkStore(v *verifier, _ *Op) {
	p := v.typ(0)
	to := p.Pointee()
	switch {
	case to == nil:
		v.fail("%s is not a pointer", p.Text)
	case to.Kind == TensorType:
		v.equal("what is stored", v.typ(1), to)
	default:
		v.equal("what is stored", v.typ(1), v.m.tensorOf(p, to))
		v.mask(p, 2)
	}
}

func checkAtomic(v *verifier, op *Op) {
	checkStore(v, op)
	v.equal("the result", v.result(0), v.typ(1))
	if word := op.Keyword("atomic_rmw_op", ""); !slices.Contains(enums["atomic_rmw_op"], word) {
		v.fail("there is no atomic operation %q", word)
	}
}

func checkCompareAndSwap(v *verifier, _ *Op) {
	p := v.typ(0)
	if to := p.Pointee(); to == nil {
		v.fail("%s is not a pointer", p.Text)
	} else if t := v.m.tensorOf(p, to); v.equal("what is compared", v.typ(1), t) {
		v.equal("what is stored", v.typ(2), t)
	}
	v.equal("the result", v.result(0), v.typ(1))
}

// atomicSize checks that what an atomic access of n bits or more uses is in memory in one piece.
func (v *verifier) atomicSize(p *Type, least int) {
	if to := p.Pointee(); to != nil && (to.Bits < least || to.Bits > 64) {
		v.fail("%s is not accessed atomically", to.Text)
	}
}

func checkAtomicLoad(v *verifier, op *Op) {
	checkLoad(v, op)
	v.atomicSize(v.typ(0), 8)
}

func checkAtomicStore(v *verifier, op *Op) {
	checkStore(v, op)
	v.atomicSize(v.typ(0), 8)
}

func checkPoll(v *verifier, _ *Op) {
	p := v.typ(0)
	to := p.Pointee()
	if to == nil {
		v.fail("%s is not a pointer", p.Text)
		return
	}
	v.equal("what is expected", v.typ(1), v.m.tensorOf(p, to))
	v.atomicSize(p, 16)
}

func checkOffset(v *verifier, _ *Op) {
	p, by := v.typ(0), v.typ(1)
	if v.equal("the result", v.result(0), p) && v.shapes("the offset", by, p) && (p.Pointee() == nil || by.Scalar().Kind != IntegerType) {
		v.fail("%s is added to %s", by.Text, p.Text)
	}
}

func checkRange(v *verifier, _ *Op) {
	from, ok := v.integer("start")
	to, both := v.integer("end")
	t := v.result(0)
	if !ok || !both || t == nil {
		return
	}
	if from >= to || len(t.Shape) != 1 || t.Shape[0] != to-from || t.Element.Kind != IntegerType || t.Element.Bits != 32 {
		v.fail("from %d to %d is not %s", from, to, t.Text)
	}
}

func checkSplat(v *verifier, _ *Op) {
	if to := v.result(0); to != nil {
		v.equal("the elements", to.Scalar(), v.typ(0))
	}
}

func checkUnsplat(v *verifier, _ *Op) {
	if from := v.typ(0); v.equal("the element", v.result(0), from.Scalar()) && from.Elements() != 1 {
		v.fail("%s has more than one element", from.Text)
	}
}

// tensors returns the first operand and the first result, if both are tensors with equal elements.
func (v *verifier) tensors() (from, to *Type, ok bool) {
	from, to = v.typ(0), v.result(0)
	if from == nil || to == nil || from.Kind != TensorType || to.Kind != TensorType {
		v.fail("an operand or a result is not a tensor")
		return nil, nil, false
	}
	return from, to, v.equal("the elements", to.Element, from.Element)
}

func checkBroadcast(v *verifier, _ *Op) {
	from, to, ok := v.tensors()
	if !ok {
		return
	}
	if len(from.Shape) != len(to.Shape) {
		v.fail("%s and %s differ in their number of dimensions", from.Text, to.Text)
		return
	}
	for i, n := range from.Shape {
		if n != to.Shape[i] && n != 1 {
			v.fail("dimension %d goes from %d to %d", i, n, to.Shape[i])
		}
	}
}

// axis is a dimension of a tensor of so many.
func (v *verifier) axis(rank int) (int, bool) {
	n, ok := v.integer("axis")
	if ok && (n < 0 || n >= int64(rank)) {
		v.fail("there is no dimension %d", n)
		return 0, false
	}
	return int(n), ok
}

func checkExpand(v *verifier, _ *Op) {
	from, to, ok := v.tensors()
	if !ok {
		return
	}
	if axis, ok := v.axis(len(from.Shape) + 1); ok && !slices.Equal(slices.Insert(slices.Clone(from.Shape), axis, 1), to.Shape) {
		v.fail("a dimension %d of 1 in %s is not %s", axis, from.Text, to.Text)
	}
}

func checkReshape(v *verifier, _ *Op) {
	if from, to, ok := v.tensors(); ok && from.Elements() != to.Elements() {
		v.fail("%s and %s differ in their number of elements", from.Text, to.Text)
	}
}

func checkTranspose(v *verifier, op *Op) {
	from, to, ok := v.tensors()
	order := op.Attribute("order")
	if !ok || order == nil || len(order.Ints) != len(from.Shape) || len(to.Shape) != len(from.Shape) {
		v.fail("the order of dimensions is missing, or of another length")
		return
	}
	seen := make([]bool, len(from.Shape))
	for i, n := range order.Ints {
		if n < 0 || n >= int64(len(seen)) || seen[n] {
			v.fail("%v is not an order of dimensions", order.Ints)
			return
		}
		if seen[n] = true; to.Shape[i] != from.Shape[n] {
			v.fail("%s in the order %v is not %s", from.Text, order.Ints, to.Text)
			return
		}
	}
}

func checkSplit(v *verifier, _ *Op) {
	from, to, ok := v.tensors()
	if ok && (!slices.Equal(from.Shape, append(slices.Clone(to.Shape), 2)) || v.result(1) != to) {
		v.fail("%s does not split into two of %s", from.Text, to.Text)
	}
}

func checkJoin(v *verifier, _ *Op) {
	from, to, ok := v.tensors()
	if ok && v.equal("the operands", v.typ(1), from) && !slices.Equal(append(slices.Clone(from.Shape), 2), to.Shape) {
		v.fail("two of %s do not join to %s", from.Text, to.Text)
	}
}

func checkCat(v *verifier, _ *Op) {
	from, to, ok := v.tensors()
	if ok && v.equal("the operands", v.typ(1), from) && 2*from.Elements() != to.Elements() {
		v.fail("two of %s are not %s", from.Text, to.Text)
	}
}

func checkBitcast(v *verifier, _ *Op) {
	from, to := v.typ(0), v.result(0)
	if !v.shapes("the result", from, to) {
		return
	}
	if a, b := from.Scalar(), to.Scalar(); a.Bits != b.Bits || (a.Kind == PointerType) != (b.Kind == PointerType) {
		v.fail("the bits of %s are not %s", from.Text, to.Text)
	}
}

func checkFloatCast(v *verifier, op *Op) {
	from, to := v.typ(0), v.result(0)
	if !v.shapes("the result", from, to) {
		return
	}
	switch a, b := from.Scalar(), to.Scalar(); {
	case a.Kind != FloatType || b.Kind != FloatType:
		v.fail("%s to %s is not a conversion of floating-point numbers", from.Text, to.Text)
	case a.Bits > b.Bits && op.Attribute("rounding") == nil:
		v.fail("how %s is rounded to %s is missing", from.Text, to.Text)
	}
}

func checkSelect(v *verifier, _ *Op) {
	if t := v.result(0); v.equal("the operands", v.typ(1), t) {
		v.equal("the operands", v.typ(2), t)
		if c := v.typ(0); c.Kind == TensorType {
			v.mask(t, 0)
		}
	}
}

func checkConstant(v *verifier, op *Op) {
	a := op.Attribute("value")
	if a == nil || a.Kind != Dense {
		return
	}
	if _, err := a.Elements(); err != nil {
		v.fail("%v", err)
	}
}
