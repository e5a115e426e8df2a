package store

// Spares are things that nobody has any more, for their memory to be used again.
type Spares[T any] []*T

// Take returns one of them as it was given up, or else a new one.
func (s *Spares[T]) Take() *T {
	n := len(*s)
	if n == 0 {
		return new(T)
	}
	spare := (*s)[n-1]
	*s = (*s)[:n-1]
	return spare
}
