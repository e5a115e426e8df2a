package tree

// Slab allocates many values of T at once and returns pointers to them: a tree of a million nodes is some ten thousand
// allocations, not four million. One pointer keeps its whole slab in memory, which costs nothing here: all nodes of a profile
// are freed together.
type Slab[T any] struct {
	rest []T
	size int
}

const (
	smallestSlab = 16 // a small file stays small
	largestSlab  = 1024
)

// Cut returns n fresh elements.
func (s *Slab[T]) Cut(n int) []T {
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

// Copy returns a copy of a list at its final size; nil for an empty one.
func (s *Slab[T]) Copy(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	own := s.Cut(len(list))
	copy(own, list)
	return own
}
