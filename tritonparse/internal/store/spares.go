package store

// Spares are values that are not in use any more. They are kept so that their memory is used again. Not safe for concurrent
// use.
type Spares[T any] []*T

// Take returns a spare with the contents it had last, or a new value where there is none.
func (s *Spares[T]) Take() *T {
	n := len(*s)
	if n == 0 {
		return new(T)
	}
	spare := (*s)[n-1]
	*s = (*s)[:n-1]
	return spare
}
