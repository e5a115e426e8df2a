package union

// Pile adds up many sorted lists in the order in which they come. Lists of similar length are joined first, as in a merge
// sort: adding each to the sum would copy a growing list again and again, and a file may have 80,000 siblings of one name.
type Pile[T any] struct{ lists [][]T }

// Add puts a list on the pile, which owns it from then on.
func (p *Pile[T]) Add(list []T, join func(a, b []T) []T) {
	if len(list) == 0 {
		return
	}
	p.lists = append(p.lists, list)
	for n := len(p.lists); n > 1 && len(p.lists[n-2]) < 2*len(p.lists[n-1]); n-- {
		p.lists = append(p.lists[:n-2], join(p.lists[n-2], p.lists[n-1]))
	}
}

// All is the sum; nil if nothing was added.
func (p *Pile[T]) All(join func(a, b []T) []T) (sum []T) {
	for n := len(p.lists) - 1; n >= 0; n-- {
		sum = join(p.lists[n], sum)
	}
	return sum
}
