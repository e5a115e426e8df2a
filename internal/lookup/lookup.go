// Package lookup finds things by their names and keys: kernels by patterns as in a shell, the names that a wrong one may have been meant
// as, and elements of growing lists.
package lookup

// few is how many keys are compared one by one before a map pays.
const few = 12

// Index finds elements by their keys: by comparing while a list is short, which nearly all are, and by a map from then on. It is of one
// list, to which elements are only appended. The zero value is ready, and takes the memory of a pointer.
type Index[K comparable] struct{ *table[K] }

type table[K comparable] struct {
	at    map[K]int
	known int // how many elements of the list are in the map
}

// Find returns the place of the first of n elements that has the key, -1 if none has. keyOf returns the key of the i-th element.
func (x *Index[K]) Find(n int, key K, keyOf func(i int) K) int {
	if n <= few {
		for i := range n {
			if keyOf(i) == key {
				return i
			}
		}
		return -1
	}
	if x.table == nil {
		x.table = &table[K]{at: make(map[K]int, 2*n)}
	}
	for ; x.known < n; x.known++ {
		if k := keyOf(x.known); !x.has(k) {
			x.at[k] = x.known
		}
	}
	if i, has := x.at[key]; has {
		return i
	}
	return -1
}

func (t *table[K]) has(key K) bool {
	_, has := t.at[key]
	return has
}
