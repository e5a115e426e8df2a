package parse

import (
	"fmt"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
)

// tunedKeys tells the keys apart that one site tunes for. What differs between the launches that time configurations one after another
// belongs to the configurations; all other arguments are equal, and belong to the key or do not matter. Which of them are the key's
// is in no launch.
type tunedKeys struct {
	timing *session            // of the last launch, if that timed a configuration
	last   uint64              // that launch's arguments
	varies map[uint32]bool     // places of what differs between configurations
	known  map[uint64]*session // by arguments; a site with one session has none
	byKey  map[uint64]*session // by arguments without those that vary; nil until it is needed
}

// mostKnown is how many different arguments of a site are remembered.
const mostKnown = 1024

// session is the session of a launch.
func (k *tunedKeys) session(s *sites, at *site, l *launchtext.Launch, timed bool) *session {
	timing := k.timing
	k.timing = nil
	only := at.sessions[0]
	switch {
	case l.Shape.Captured: // its arguments are not known
		if timing == nil {
			timing = at.sessions[len(at.sessions)-1]
		}
		return k.goOn(timing, timed)
	case only.facts == nil:
		only.facts = l.Facts()
		k.last = l.ArgumentHash()
		return k.goOn(only, timed)
	case !timed && timing != nil: // what was chosen just before
		return timing
	case !timed && len(at.sessions) == 1:
		return only
	}
	h := l.ArgumentHash()
	if timing != nil {
		if h != k.last {
			k.last = h
			k.vary(timing, l.Facts())
		}
		return k.goOn(timing, timed)
	}
	k.last = h
	u := k.known[h]
	if u == nil {
		facts := l.Facts()
		if u = k.find(at, facts); u == nil && timed {
			u = s.begin(at)
			u.facts = facts
			k.byKey[launchtext.FactsHash(facts, k.varies)] = u
		} else if u == nil {
			u = k.nearest(at, facts)
		}
		if k.known == nil || len(k.known) >= mostKnown {
			k.known = map[uint64]*session{}
		}
		k.known[h] = u
	}
	return k.goOn(u, timed)
}

func (k *tunedKeys) goOn(u *session, timed bool) *session {
	if timed {
		k.timing = u
	}
	return u
}

// vary notes what differs from the session's first launch.
func (k *tunedKeys) vary(u *session, facts []launchtext.Fact) {
	if k.varies == nil {
		k.varies = map[uint32]bool{}
	}
	before := len(k.varies)
	launchtext.CompareFacts(u.facts, facts, func(place uint32, equal bool) {
		if !equal {
			k.varies[place] = true
		}
	})
	if len(k.varies) > before {
		k.known, k.byKey = nil, nil
	}
}

// find is the session whose first launch had these arguments, apart from those of the configuration.
func (k *tunedKeys) find(at *site, facts []launchtext.Fact) *session {
	if k.byKey == nil {
		k.byKey = map[uint64]*session{}
		for _, u := range at.sessions {
			k.byKey[launchtext.FactsHash(u.facts, k.varies)] = u
		}
	}
	return k.byKey[launchtext.FactsHash(facts, k.varies)]
}

// nearest is the session whose first launch has the most arguments in common: the others, such as a seed, are none of its key. Only the
// last sessions are looked at.
func (k *tunedKeys) nearest(at *site, facts []launchtext.Fact) *session {
	const most = 64
	var best *session
	score := -1
	for i := len(at.sessions) - 1; i >= max(0, len(at.sessions)-most); i-- {
		n := 0
		launchtext.CompareFacts(at.sessions[i].facts, facts, func(place uint32, equal bool) {
			if equal && !k.varies[place] {
				n++
			}
		})
		if n > score {
			best, score = at.sessions[i], n
		}
	}
	return best
}

// nameSessions gives the sessions of a site their ids.
func (at *site) nameSessions() {
	seen := map[string]int{}
	for _, u := range at.sessions {
		if u.id = at.id; len(at.sessions) > 1 {
			u.id += fmt.Sprintf(":%016x", launchtext.FactsHash(u.facts, at.keys.varies))
		}
		if seen[u.id]++; seen[u.id] > 1 { // separated before it was known that they differ in a configuration
			u.id += fmt.Sprintf("-%d", seen[u.id])
		}
	}
}
