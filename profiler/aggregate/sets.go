package aggregate

import (
	"fmt"
	"slices"
	"strings"
)

// Sets names combinations of listeners by a number that fits into a ring record. A launch set holds the
// trees (one per session, of its current phase) that get a launch; a scope set holds the sessions that
// see a scope. Numbers are never reused, so a late record can't reach the wrong session.
type Sets struct {
	launch map[uint32][]*Tree
	scope  map[uint32][]int
	byKey  map[string]uint32
	next   uint32
	trees  uint32 // made so far
}

func newSets() *Sets {
	return &Sets{launch: map[uint32][]*Tree{}, scope: map[uint32][]int{}, byKey: map[string]uint32{}, next: 1}
}

// Launch returns the number of a combination of trees; 0 for none.
func (s *Sets) Launch(trees []*Tree) uint32 {
	if len(trees) == 0 {
		return 0
	}
	var key strings.Builder
	key.WriteString("launch")
	for _, t := range trees {
		fmt.Fprintf(&key, " %d", t.serial)
	}
	id, fresh := s.id(key.String())
	if fresh {
		s.launch[id] = slices.Clone(trees)
	}
	return id
}

// Scope returns the number of a combination of sessions; 0 means everyone, so that it is never returned
// for an empty combination either: with nobody listening no scope is recorded.
func (s *Sets) Scope(sessions []int) uint32 {
	id, fresh := s.id(fmt.Sprint("scope", sessions))
	if fresh {
		s.scope[id] = slices.Clone(sessions)
	}
	return id
}

func (s *Sets) id(key string) (id uint32, fresh bool) {
	if id, ok := s.byKey[key]; ok {
		return id, false
	}
	id = s.next
	s.next++
	s.byKey[key] = id
	return id, true
}

// Sees reports whether a session sees scopes of a set.
func (s *Sets) Sees(set uint32, session int) bool {
	return set == 0 || slices.Contains(s.scope[set], session)
}

// Has reports whether a launch set includes a tree.
func (s *Sets) Has(set uint32, t *Tree) bool { return slices.Contains(s.launch[set], t) }

// Drop forgets a tree: later records of its sets no longer reach it.
func (s *Sets) Drop(t *Tree) {
	for id, trees := range s.launch {
		if i := slices.Index(trees, t); i >= 0 {
			s.launch[id] = slices.Delete(slices.Clone(trees), i, i+1)
		}
	}
}

// Clear forgets every set; only while no session exists.
func (s *Sets) Clear() {
	clear(s.launch)
	clear(s.scope)
	clear(s.byKey)
}
