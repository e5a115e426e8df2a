package ttir

import "strings"

// FloatOperations is how many floating-point operations an operation on numbers of floating point does for each element of its result: 2 of
// a multiplication with an addition, 1 of other arithmetic and of functions, 0 of what only moves, compares or converts.
func FloatOperations(name string) int64 {
	switch name {
	case "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.negf", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
		"tt.precise_sqrt", "tt.precise_divf", "tt.approx_divf", "tt.extern_elementwise":
		return 1
	case "math.fma":
		return 2
	}
	if strings.HasPrefix(name, "math.") {
		return 1
	}
	return 0
}
