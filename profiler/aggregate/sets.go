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
	launch  map[uint32]launchSet
	scope   map[uint32]scopeSet
	byKey   map[string]uint32
	next    uint32
	serials uint32 // trees made so far

	timelines []*Tree // those that show a timeline
}

type launchSet struct {
	key   string
	trees []*Tree
}

type scopeSet struct {
	key      string // "" once a session of it has ended
	sessions []int
}

// NewSets returns no sets at all.
func NewSets() *Sets {
	s := &Sets{next: 1}
	s.clear()
	return s
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
		s.launch[id] = launchSet{key.String(), slices.Clone(trees)}
	}
	return id
}

// Scope returns the number of a combination of sessions. It is never 0, not even for no session at all: 0 stands for everyone.
func (s *Sets) Scope(sessions []int) uint32 {
	key := fmt.Sprint("scope", sessions)
	id, fresh := s.id(key)
	if fresh {
		s.scope[id] = scopeSet{key, slices.Clone(sessions)}
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
	return set == 0 || slices.Contains(s.scope[set].sessions, session)
}

// Has reports whether a launch set includes a tree.
func (s *Sets) Has(set uint32, t *Tree) bool { return slices.Contains(s.trees(set), t) }

func (s *Sets) trees(set uint32) []*Tree { return s.launch[set].trees }

// each calls f with every tree, with some more than once.
func (s *Sets) each(f func(*Tree)) {
	for _, l := range s.launch {
		for _, t := range l.trees {
			f(t)
		}
	}
}

// Timelines reports whether some tree shows a timeline.
func (s *Sets) Timelines() bool { return len(s.timelines) > 0 }

// Drop forgets a tree: later records of its sets no longer reach it. No set with it is asked for again, so one
// without any other tree is forgotten altogether: phases may come and go for weeks.
func (s *Sets) Drop(t *Tree) {
	s.timelines = slices.DeleteFunc(s.timelines, func(x *Tree) bool { return x == t })
	for id, l := range s.launch {
		i := slices.Index(l.trees, t)
		if i < 0 {
			continue
		}
		delete(s.byKey, l.key)
		if len(l.trees) == 1 {
			delete(s.launch, id)
			continue
		}
		s.launch[id] = launchSet{l.key, slices.Delete(slices.Clone(l.trees), i, i+1)}
	}
}

// End forgets a session: what it saw stays on the call paths of those it saw it with.
func (s *Sets) End(session int) {
	for id, c := range s.scope {
		if !slices.Contains(c.sessions, session) {
			continue
		}
		delete(s.byKey, c.key)
		left := slices.DeleteFunc(slices.Clone(c.sessions), func(n int) bool { return n == session })
		if len(left) == 0 {
			delete(s.scope, id)
			continue
		}
		s.scope[id] = scopeSet{sessions: slices.Clip(left)}
	}
}

// clear forgets every set; only while no session exists.
func (s *Sets) clear() {
	s.timelines = nil
	s.launch, s.scope, s.byKey = map[uint32]launchSet{}, map[uint32]scopeSet{}, map[string]uint32{}
}
