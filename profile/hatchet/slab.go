package hatchet

// slab allocates many values of T at once and returns pointers to them. One pointer keeps its whole slab in memory, which
// costs nothing here: all nodes of a profile are freed together.
type slab[T any] struct {
	rest []T
	size int
}

const (
	smallestSlab = 16 // a small file stays small
	largestSlab  = 1024
)

// cut returns n fresh elements.
func (s *slab[T]) cut(n int) []T {
	if n > len(s.rest) {
		if n > largestSlab/4 {
			return make([]T, n)
		}
		s.size = min(max(2*s.size, smallestSlab, n), largestSlab)
		s.rest = make([]T, s.size)
	}
	piece := s.rest[:n:n]
	s.rest = s.rest[n:]
	return piece
}
