package interpreter

//go:noescape
func addProducts(p, q, y, a, b *float32, n, columns int)

// vectorColumns does what twoRows does for the first columns, four of them at a time, and returns how many it has done.
func vectorColumns[T float](p, q, y []T, n int, a, b []T) int {
	columns := n &^ 3
	if p32, ok := any(&p[0]).(*float32); ok && columns > 0 {
		_, _, _, _, _ = p[n-1], q[n-1], y[4*n-1], a[3], b[3]
		addProducts(p32, any(&q[0]).(*float32), any(&y[0]).(*float32), any(&a[0]).(*float32), any(&b[0]).(*float32), n, columns)
		return columns
	}
	return 0
}
