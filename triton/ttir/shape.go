package ttir

// Count is how many elements a shape has.
func Count[T int | int64](shape []T) T {
	n := T(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Strides are how far apart neighbours in each dimension are, of elements in row-major order.
func Strides(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// Each calls visit for all indices of a shape, in row-major order.
func Each(shape []int, visit func(at []int)) {
	at := make([]int, len(shape))
	for range Count(shape) {
		visit(at)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
}
