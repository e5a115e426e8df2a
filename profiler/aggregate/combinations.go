package aggregate

import (
	"fmt"
	"slices"
	"strings"
)

// combinations are sets of members with numbers that rise. Sessions and phases may come and go for weeks during a session that stays, so what is
// left of combinations whose other members have ended is stored once, and its numbers as the runs that they form: mostly one.
type combinations[T comparable] struct {
	id    func(T) int
	next  uint32
	fresh uint32                     // numbers below are not given any more
	runs  []run[T]                   // by their numbers
	whole map[string]*combination[T] // by the ids of members, none of which has ended
	rest  map[string]*combination[T] // the same of what is left of others
}

type combination[T comparable] struct {
	members []T
	number  uint32 // of a whole one
}

// run is numbers in a row that stand for one combination.
type run[T comparable] struct {
	from, to uint32 // to is behind the last
	of       *combination[T]
}

func newCombinations[T comparable](next uint32, id func(T) int) combinations[T] {
	return combinations[T]{id: id, next: next, fresh: max(next, 1), whole: map[string]*combination[T]{}, rest: map[string]*combination[T]{}}
}

func (c *combinations[T]) key(members []T) string {
	var key strings.Builder
	for _, m := range members {
		fmt.Fprint(&key, c.id(m), " ")
	}
	return key.String()
}

// number returns the number of a combination, a new one if it was not asked for before or if a member had ended since.
func (c *combinations[T]) number(members []T) uint32 {
	key := c.key(members)
	found := c.whole[key]
	if found == nil {
		found = &combination[T]{members: slices.Clone(members)}
		c.whole[key] = found
	}
	if found.number < c.fresh {
		found.number = c.next
		if last := len(c.runs) - 1; last >= 0 && c.runs[last].of == found && c.runs[last].to == c.next {
			c.runs[last].to++
		} else {
			c.runs = append(c.runs, run[T]{c.next, c.next + 1, found})
		}
		c.next++
	}
	return found.number
}

// renew has every combination get another number the next time it is asked for, and returns the first of these.
func (c *combinations[T]) renew() uint32 {
	c.fresh = c.next
	return c.fresh
}

func (c *combinations[T]) members(number uint32) []T {
	i, found := slices.BinarySearchFunc(c.runs, number, func(r run[T], n uint32) int {
		switch {
		case n < r.from:
			return 1
		case n >= r.to:
			return -1
		}
		return 0
	})
	if !found {
		return nil
	}
	return c.runs[i].of.members
}

func (c *combinations[T]) each(f func(T)) {
	for _, sets := range []map[string]*combination[T]{c.whole, c.rest} {
		for _, one := range sets {
			for _, m := range one.members {
				f(m)
			}
		}
	}
}

// drop takes a member out of every combination. A combination without members is forgotten.
func (c *combinations[T]) drop(gone T) {
	left := map[*combination[T]]*combination[T]{}
	for _, sets := range []map[string]*combination[T]{c.whole, c.rest} {
		for key, one := range sets {
			if slices.Contains(one.members, gone) {
				delete(sets, key)
				left[one] = c.without(one.members, gone)
			}
		}
	}
	if len(left) > 0 {
		c.leave(left)
	}
}

// without is what is left of a combination when a member is gone; nil if it was the only member.
func (c *combinations[T]) without(members []T, gone T) *combination[T] {
	members = slices.DeleteFunc(slices.Clone(members), func(m T) bool { return m == gone })
	if len(members) == 0 {
		return nil
	}
	key := c.key(members)
	if c.rest[key] == nil {
		c.rest[key] = &combination[T]{members: slices.Clip(members)}
	}
	return c.rest[key]
}

// leave gives the numbers of combinations to what is left of each.
func (c *combinations[T]) leave(left map[*combination[T]]*combination[T]) {
	kept := c.runs[:0]
	for _, r := range c.runs {
		if of, changes := left[r.of]; changes {
			r.of = of
		}
		switch last := len(kept) - 1; {
		case r.of == nil:
		case last >= 0 && kept[last].of == r.of && kept[last].to == r.from:
			kept[last].to = r.to
		default:
			kept = append(kept, r)
		}
	}
	clear(c.runs[len(kept):])
	c.runs = kept
}
