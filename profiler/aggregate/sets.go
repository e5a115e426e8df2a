package aggregate

import "slices"

// Sets names combinations of listeners by a number that fits into a ring record. A launch set holds the
// trees (one per session, of its current phase) that get a launch; a scope set holds the sessions that
// see a scope. Numbers are never reused, so a late record can't reach the wrong session.
type Sets struct {
	launch  combinations[*Tree]
	scope   combinations[int]
	serials uint32 // trees made so far

	timelines []*Tree // those that show a timeline
}

// NewSets returns no sets at all.
func NewSets() *Sets {
	s := &Sets{launch: combinations[*Tree]{next: 1}, scope: combinations[int]{next: 1}}
	s.clear()
	return s
}

// Launch returns the number of a combination of trees; 0 for none.
func (s *Sets) Launch(trees []*Tree) uint32 {
	if len(trees) == 0 {
		return 0
	}
	return s.launch.number(trees)
}

// Renew has every combination of trees get another number than it had, and returns the first of these.
func (s *Sets) Renew() uint32 { return s.launch.renew() }

// Scope returns the number of a combination of sessions. It is never 0, not even for no session at all: 0 stands for everyone.
func (s *Sets) Scope(sessions []int) uint32 { return s.scope.number(sessions) }

// Sees reports whether a session sees scopes of a set.
func (s *Sets) Sees(set uint32, session int) bool {
	return set == 0 || slices.Contains(s.scope.members(set), session)
}

// Has reports whether a launch set includes a tree.
func (s *Sets) Has(set uint32, t *Tree) bool { return slices.Contains(s.trees(set), t) }

func (s *Sets) trees(set uint32) []*Tree { return s.launch.members(set) }

// each calls f with every tree, with some more than once.
func (s *Sets) each(f func(*Tree)) { s.launch.each(f) }

// Timelines reports whether some tree shows a timeline.
func (s *Sets) Timelines() bool { return len(s.timelines) > 0 }

// Drop forgets a tree: later records of its sets no longer reach it.
func (s *Sets) Drop(t *Tree) {
	s.timelines = slices.DeleteFunc(s.timelines, func(x *Tree) bool { return x == t })
	s.launch.drop(t)
}

// End forgets a session: what it saw stays on the call paths of those it saw it with.
func (s *Sets) End(session int) { s.scope.drop(session) }

// clear forgets every set; only while no session exists.
func (s *Sets) clear() {
	s.timelines = nil
	s.launch = newCombinations(s.launch.next, func(t *Tree) int { return int(t.serial) })
	s.scope = newCombinations(s.scope.next, func(session int) int { return session })
}
