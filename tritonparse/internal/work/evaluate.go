package work

import (
	"math"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/triton/ttir"
)

// evaluate computes the result of an operation on whole numbers, if its operands are known.
func (r *run) evaluate(op *operation, known values) {
	name := op.Results[0]
	delete(known, name)
	switch op.Name {
	case "arith.constant":
		if op.constant {
			known[name] = op.number
		}
		return
	case "tt.get_program_id":
		if axis := axisOf(op.Keyword("axis", "")); axis >= 0 {
			if r.asked = true; r.id != nil {
				known[name] = r.id[axis]
			}
		}
		return
	case "tt.get_num_programs":
		if axis := axisOf(op.Keyword("axis", "")); axis >= 0 {
			known[name] = r.launch.Grid[axis]
		}
		return
	}
	var v [3]int64
	for i, o := range op.Operands {
		n, ok := known[o]
		if !ok || i == len(v) || o == ttir.NoValue {
			return
		}
		v[i] = n
	}
	if result, ok := compute(op, v, len(op.Operands)); ok {
		known[name] = result
	}
}

func axisOf(word string) int {
	switch word {
	case "x":
		return 0
	case "y":
		return 1
	case "z":
		return 2
	}
	return -1
}

func compute(op *operation, v [3]int64, n int) (int64, bool) {
	switch n {
	case 1:
		switch op.Name {
		case "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui":
			return v[0], true
		}
	case 2:
		if op.Name == "arith.cmpi" {
			return compare(op.Keyword("predicate", ""), v[0], v[1])
		}
		return twoOperands(op.Name, v[0], v[1])
	case 3:
		if op.Name == "arith.select" {
			if v[0] != 0 {
				return v[1], true
			}
			return v[2], true
		}
	}
	return 0, false
}

func twoOperands(name string, a, b int64) (int64, bool) {
	switch name {
	case "arith.addi":
		return a + b, true
	case "arith.subi":
		return a - b, true
	case "arith.muli":
		return a * b, true
	case "arith.minsi", "arith.minui":
		return min(a, b), true
	case "arith.maxsi", "arith.maxui":
		return max(a, b), true
	case "arith.andi":
		return a & b, true
	case "arith.ori":
		return a | b, true
	case "arith.xori":
		return a ^ b, true
	case "arith.shli":
		return a << (uint64(b) & 63), true
	case "arith.shrsi", "arith.shrui":
		return a >> (uint64(b) & 63), true
	}
	if b == 0 || a == math.MinInt64 && b == -1 {
		return 0, false
	}
	switch name {
	case "arith.divsi", "arith.divui":
		return a / b, true
	case "arith.remsi", "arith.remui":
		return a % b, true
	case "arith.ceildivsi", "arith.ceildivui":
		q := a / b
		if a%b != 0 && a < 0 == (b < 0) {
			q++
		}
		return q, true
	case "arith.floordivsi":
		q := a / b
		if a%b != 0 && a < 0 != (b < 0) {
			q--
		}
		return q, true
	}
	return 0, false
}

func compare(predicate string, a, b int64) (int64, bool) {
	var is bool
	switch predicate {
	case "eq":
		is = a == b
	case "ne":
		is = a != b
	case "slt", "ult":
		is = a < b
	case "sle", "ule":
		is = a <= b
	case "sgt", "ugt":
		is = a > b
	case "sge", "uge":
		is = a >= b
	default:
		return 0, false
	}
	return figures.OneIf[int64](is), true
}
