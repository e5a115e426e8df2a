package parse

import (
	"slices"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// sites are the places that call an autotuner, in the order of their first record.
type sites struct {
	quirks   quirks.Set
	byID     map[string]*site
	order    []*site
	sessions int        // so far
	all      []*session // of all sites, once all is read

	spill   *store.Spill
	sorter  *store.Sorter // stacks, and launches that do not wait any more, by the sessions' numbers
	room    int           // bytes of launches that may wait
	waiting int           // bytes of launches that wait
	waiters []*session    // sessions with waiting launches
	log     []byte        // memory for flushWaiting

	groups store.Spares[tunedGroup] // memory of launches that do not wait any more

	sets map[string][][]string // see findSets
}

// site is one call of the autotuner in the program. For each key it has a session.
type site struct {
	id         string
	inductor   bool
	stack      []byte       // from the sorter
	compiled   names        // hashes, in the order of their compilations
	common     *store.Chunk // stack and source of the first compilation
	benchmarks bool         // there was one
	results    []*tuneResult
	sessions   []*session
	keys       tunedKeys
	launches   store.Stream // for split: each launch's occurrence id, use and group
	lastID     int          // in launches
}

// session is all that the autotuner did at one site for one key.
type session struct {
	site       *site
	number     int    // by the first record
	id         string // the site's, and the key's if the site has several
	facts      []launchtext.Fact
	compiled   []string // those of the site's that are the session's
	hashes     names    // of launches that timed a configuration
	launched   names    // of all launches
	benchmarks int
	benchmark  store.Runs // occurrence ids
	winner     store.Runs
	selected   launchID
	groups     tunedGroups
	result     *tuneResult
}

type launchID struct {
	group launchtext.Group
	hash  string
}

// get is the site of a record.
func (s *sites) get(t launchtext.Tuning) *site {
	at := s.byID[t.Session]
	if at == nil {
		if s.byID == nil {
			s.byID = map[string]*site{}
		}
		at = &site{id: t.Session, inductor: t.Inductor}
		s.byID[t.Session] = at
		s.order = append(s.order, at)
		s.log = append(append(s.log[:0], stackMark), launchtext.JoinFrames(t.User, func(f *launchtext.Frame) string { return f.Raw })...)
		s.sorter.Add(s.begin(at).number, s.log)
	}
	return at
}

// begin adds a session to a site.
func (s *sites) begin(at *site) *session {
	u := &session{site: at, number: s.sessions}
	s.sessions++
	at.sessions = append(at.sessions, u)
	return u
}

// compilation adds a compilation to its site, also one that another process had made before.
func (s *sites) compilation(c *compilation) {
	if c.tuned.Session == "" {
		return
	}
	at := s.get(c.tuned)
	if at.common == nil {
		at.common = s.spill.AddLaunches(c.common)
	}
	at.compiled.add(c.hash)
}

// inferred adds kernels without a compilation record to the site of their first launch, before all others, as tritonparse does.
func (s *sites) inferred(kernels []*kernel) {
	var first []*site
	of := map[*site]*names{}
	for _, k := range kernels {
		at := k.inferredIn
		if at == nil {
			continue
		}
		if of[at] == nil {
			of[at] = &names{}
			first = append(first, at)
		}
		of[at].add(k.hash)
	}
	for at, hashes := range of {
		for _, h := range at.compiled.list {
			hashes.add(h)
		}
		at.compiled = *hashes
	}
	rest := slices.DeleteFunc(slices.Clone(s.order), func(at *site) bool { return of[at] != nil })
	s.order = append(first, rest...)
}

// launch adds a launch to its session and says what the autotuner used it for; "" and nil outside of the autotuner.
func (s *sites) launch(l *launchtext.Launch, id int) (use string, at *site) {
	tuned := l.Tuning()
	if tuned == nil {
		return "", nil
	}
	t := tuned.SeenBy(s.quirks)
	if t.Session == "" {
		if t.Benchmark {
			return "benchmark", nil
		}
		return "", nil
	}
	at = s.get(t)
	u := at.sessions[0]
	if s.quirks.Has(quirks.KeysByArguments) {
		at.log(s.spill, l, id, t.Benchmark)
	} else {
		u = at.keys.session(s, at, l, t.Benchmark)
	}
	if !l.Shape.Captured || u.facts == nil {
		s.keep(u, l, id)
	}
	if at.benchmarks = at.benchmarks || t.Benchmark; t.Benchmark {
		u.timed(s.spill, l.Hash, id)
		return "benchmark", at
	}
	u.chosen(s.spill, launchID{l.Group, l.Hash}, id)
	switch {
	case at.benchmarks:
		return "winner", at
	case at.inductor: // all of Inductor's launches come from there, also those of kernels that it never tunes
		return "", at
	}
	return "cached_winner", at
}

// timed adds a launch that timed a configuration.
func (u *session) timed(spill *store.Spill, hash string, id int) {
	u.benchmarks++
	u.benchmark.Add(id, id+1)
	u.benchmark.Log.Lighten(spill, store.LogBytes)
	if hash != "" {
		u.hashes.add(hash)
		u.launched.add(hash)
	}
}

// chosen adds a launch of the configuration that was chosen.
func (u *session) chosen(spill *store.Spill, l launchID, id int) {
	u.winner.Add(id, id+1)
	u.winner.Log.Lighten(spill, store.LogBytes)
	if l.hash != "" {
		u.selected = l
		u.launched.add(l.hash)
	}
}

// end numbers and completes the sessions, once all is read.
func (s *sites) end(kernels map[string]*kernel) error {
	if s.quirks.Has(quirks.KeysByArguments) {
		if err := s.split(kernels); err != nil {
			return err
		}
	} else {
		for _, at := range s.order {
			at.nameSessions()
			s.giveResults(at)
		}
	}
	for _, at := range s.order {
		at.shareCompilations()
		s.all = append(s.all, at.sessions...)
	}
	return nil
}

// shareCompilations gives each session the compilations that it launched, and those that none launched.
func (at *site) shareCompilations() {
	if len(at.sessions) == 1 {
		at.sessions[0].compiled = at.compiled.list
		return
	}
	launched := map[string]int{}
	for _, u := range at.sessions {
		for _, h := range u.launched.list {
			launched[h]++
		}
	}
	for _, u := range at.sessions {
		own := map[string]bool{}
		for _, h := range u.launched.list {
			own[h] = true
		}
		for _, h := range at.compiled.list {
			if own[h] || launched[h] == 0 {
				u.compiled = append(u.compiled, h)
			}
		}
	}
}

// configurations are the compilations that a session chose from, by hash. tritonparse takes those that the site compiled; here one
// that was compiled elsewhere, as Inductor's are, counts if the session timed it.
func (u *session) configurations(q quirks.Set) []string {
	if q.Has(quirks.CompiledOnly) || len(u.hashes.list) == 0 {
		return u.compiled
	}
	all := names{}
	for _, h := range slices.Concat(u.compiled, u.hashes.list) {
		all.add(h)
	}
	return all.list
}

// chose says whether the session chose between configurations, and did not only launch what was chosen before.
func (u *session) chose(q quirks.Set) bool {
	return u.benchmarks >= 2 || len(u.configurations(q)) >= 2 || !q.Has(quirks.LaunchedOnly) && u.result != nil
}
