package aggregate

import (
	"fmt"
	"slices"
	"strings"
)

// combinations are sets of members with numbers. Sessions and phases may come and go for weeks during a session that stays, so what is left
// of combinations whose other members have ended is stored once: 40 bytes stay of each number.
type combinations[T comparable] struct {
	id    func(T) int
	byID  map[uint32]*combination[T]
	whole map[string]*combination[T] // by the ids of members, none of which has ended
	rest  map[string]*combination[T] // the same of what is left of others
}

// combination is a set that may have several numbers if it is what is left of several.
type combination[T comparable] struct {
	members []T
	numbers []uint32
}

func newCombinations[T comparable](id func(T) int) combinations[T] {
	return combinations[T]{id, map[uint32]*combination[T]{}, map[string]*combination[T]{}, map[string]*combination[T]{}}
}

func (c *combinations[T]) key(members []T) string {
	var key strings.Builder
	for _, m := range members {
		fmt.Fprint(&key, c.id(m), " ")
	}
	return key.String()
}

// number returns the number of a combination, a new one if it was not asked for before or if a member had ended since.
func (c *combinations[T]) number(members []T, next *uint32) uint32 {
	key := c.key(members)
	found := c.whole[key]
	if found == nil {
		found = &combination[T]{slices.Clone(members), []uint32{*next}}
		c.whole[key], c.byID[*next] = found, found
		*next++
	}
	return found.numbers[0]
}

func (c *combinations[T]) members(number uint32) []T {
	if found := c.byID[number]; found != nil {
		return found.members
	}
	return nil
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
	for _, sets := range []map[string]*combination[T]{c.whole, c.rest} {
		for key, one := range sets {
			if slices.Contains(one.members, gone) {
				delete(sets, key)
				c.leave(one, slices.DeleteFunc(slices.Clone(one.members), func(m T) bool { return m == gone }))
			}
		}
	}
}

// leave gives the numbers of a combination to what is left of it.
func (c *combinations[T]) leave(one *combination[T], left []T) {
	if len(left) == 0 {
		for _, n := range one.numbers {
			delete(c.byID, n)
		}
		return
	}
	key := c.key(left)
	to := c.rest[key]
	if to == nil {
		to = &combination[T]{members: slices.Clip(left)}
		c.rest[key] = to
	}
	to.numbers = append(to.numbers, one.numbers...)
	for _, n := range one.numbers {
		c.byID[n] = to
	}
}
