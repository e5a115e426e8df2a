package parse

import (
	"bytes"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/extsort"
	"github.com/goproton/goproton/internal/trace/field"
	"github.com/goproton/goproton/internal/trace/launchtext"
	"github.com/goproton/goproton/internal/trace/quirks"
	"github.com/goproton/goproton/internal/trace/store"
)

// tuneResult is what an autotune record says: how long each configuration took, and which was chosen.
type tuneResult struct {
	tuned                       launchtext.Tuning
	best, timings, took, cached []byte
}

func readTuneResult(members []jsontext.Member, q quirks.Set) tuneResult {
	r := tuneResult{}
	if stack := field.Get(members, "stack"); stack != nil {
		r.tuned = launchtext.ReadTuning(stack).SeenBy(q)
	}
	get := func(name string) []byte {
		if v := field.Get(members, name); v != nil {
			return bytes.Clone(v)
		}
		return field.Null
	}
	r.best, r.timings, r.took, r.cached = get("best_config"), get("configs_timings"), get("duration"), get("cache_hit")
	return r
}

// sessions are the autotuner's sessions in the order of their first record. A session is known by its call site.
type sessions struct {
	byID    map[string]*session
	order   []*session
	spill   *store.Spill
	sorter  *extsort.Sorter // launches that do not wait any more, by the sessions' numbers
	room    int             // bytes of launches that may wait
	waiting int             // bytes of launches that wait
	waiters []*session      // sessions with waiting launches
	log     []byte          // memory for flushWaiting

	groups store.Spares[tunedGroup] // memory of launches that do not wait any more

	sets map[string][][]string // see findSets
}

// session is all that the autotuner did for one call site.
type session struct {
	number     int // by the first record
	id         string
	inductor   bool
	stack      *store.Chunk
	compiled   names        // hashes, in the order of their compilations
	common     *store.Chunk // stack and source of the first compilation
	hashes     names        // of compilations and launches
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

func (s *sessions) get(t launchtext.Tuning) *session {
	u := s.byID[t.Session]
	if u == nil {
		if s.byID == nil {
			s.byID = map[string]*session{}
		}
		u = &session{number: len(s.order), id: t.Session, inductor: t.Inductor, stack: s.spill.AddLaunches(launchtext.JoinFrames(t.User, func(f *launchtext.Frame) string { return f.Raw }))}
		s.byID[t.Session] = u
		s.order = append(s.order, u)
	}
	return u
}

// compilation adds a compilation to its session, also one that another process had made before.
func (s *sessions) compilation(c *compilation) {
	if c.tuned.Session == "" {
		return
	}
	u := s.get(c.tuned)
	if u.common == nil {
		u.common = s.spill.AddLaunches(c.common)
	}
	u.compiled.add(c.hash)
	u.hashes.add(c.hash)
}

// inferred adds kernels without a compilation record to the session of their first launch, before all others, as tritonparse does.
func (s *sessions) inferred(kernels []*kernel) {
	var first []*session
	of := map[*session]*names{}
	for _, k := range kernels {
		u := k.inferredIn
		if u == nil {
			continue
		}
		if of[u] == nil {
			of[u] = &names{}
			first = append(first, u)
		}
		of[u].add(k.hash)
	}
	for u, hashes := range of {
		for _, h := range u.compiled.list {
			hashes.add(h)
		}
		u.compiled = *hashes
	}
	rest := slices.DeleteFunc(slices.Clone(s.order), func(u *session) bool { return of[u] != nil })
	s.order = append(first, rest...)
}

// result keeps what an autotune record says of its session.
func (s *sessions) result(r *tuneResult) {
	if r.tuned.Session != "" {
		s.get(r.tuned).result = r
	}
}

// launch adds a launch to its session and says what the autotuner used it for; "" and nil outside of the autotuner.
func (s *sessions) launch(l *launchtext.Launch, id int, q quirks.Set) (use string, u *session) {
	tuned := l.Tuning()
	if tuned == nil {
		return "", nil
	}
	t := tuned.SeenBy(q)
	if t.Session == "" {
		if t.Benchmark {
			return "benchmark", nil
		}
		return "", nil
	}
	u = s.get(t)
	s.keep(u, l, id)
	if t.Benchmark {
		u.benchmarks++
		u.benchmark.Add(id, id+1)
		u.benchmark.Log.Lighten(s.spill, store.LogBytes)
		if l.Hash != "" {
			u.hashes.add(l.Hash)
		}
		return "benchmark", u
	}
	u.winner.Add(id, id+1)
	u.winner.Log.Lighten(s.spill, store.LogBytes)
	if l.Hash != "" {
		u.selected = launchID{l.Group, l.Hash}
	}
	switch {
	case u.benchmarks > 0:
		return "winner", u
	case u.inductor: // all of Inductor's launches come from there, also those of kernels that it never tunes
		return "", u
	}
	return "cached_winner", u
}

// configurations are the compilations that a session chose from, by hash. tritonparse takes those that the session compiled; here one
// that was compiled elsewhere, as Inductor's are, counts if the session timed it.
func (u *session) configurations(q quirks.Set) []string {
	if q.Has(quirks.CompiledOnly) {
		return u.compiled.list
	}
	all := names{}
	for _, h := range slices.Concat(u.compiled.list, u.hashes.list) {
		all.add(h)
	}
	return all.list
}

// chose says whether the session chose between configurations, and did not only launch what was chosen before.
func (u *session) chose(q quirks.Set) bool {
	return u.benchmarks >= 2 || len(u.configurations(q)) >= 2 || !q.Has(quirks.LaunchedOnly) && u.result != nil
}
