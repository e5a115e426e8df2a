package tritonparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/shelf"
)

// tuning is what a stack says about the autotuner.
type tuning struct {
	known     bool
	session   string // "" outside of the autotuner
	benchmark bool
	user      []*frame // before the autotuner's
	inductor  bool     // it is Inductor's, which tritonparse does not know
}

// autotuner is Triton's, inductorTuner torch.compile's.
const (
	autotuner     = "triton/runtime/autotuner.py"
	inductorTuner = "torch/_inductor/runtime/triton_heuristics.py"
)

// benchmarks are Inductor's functions that time configurations, some of which call the launcher through others.
var benchmarks = []string{"bench", "benchmark_all_configs", "autotune_to_one_config", "coordinate_descent_tuning", "_coordinate_descent_tuning"}

// timesConfiguration says whether a function does what only autotuners do.
func timesConfiguration(file, name string) bool {
	return name == "_bench" && strings.Contains(file, autotuner) || strings.Contains(file, inductorTuner) && slices.Contains(benchmarks, name)
}

// Benchmark says whether the launch timed a configuration. How many of these there are is another number in each run.
func (l *LaunchRecord) Benchmark() bool {
	return slices.ContainsFunc(l.Stack, func(f Frame) bool { return timesConfiguration(f.File, f.Name) })
}

// readTuning finds the autotuner in a stack.
func readTuning(stack []byte) tuning {
	elements := jsontext.Elements(stack)
	frames := make([]*frame, len(elements))
	for i, e := range elements {
		members, _ := jsontext.Members(e)
		frames[i] = readFrame(e, members)
	}
	return tuningOf(frames)
}

// tuningOf finds the autotuner in the frames of a stack. A session is a call site: the frames above the autotuner's.
func tuningOf(frames []*frame) tuning {
	t := tuning{known: true, benchmark: slices.ContainsFunc(frames, func(f *frame) bool { return f.benchmark })}
	first := slices.IndexFunc(frames, func(f *frame) bool { return f.tunes })
	if first <= 0 {
		return t
	}
	t.inductor, t.user = frames[first].inductor, frames[:first]
	var room [2048]byte
	site := room[:0]
	for i, f := range t.user {
		if i > 0 {
			site = append(site, '|')
		}
		site = append(site, f.place...)
	}
	sum := sha256.Sum256(site)
	t.session = hex.EncodeToString(sum[:8])
	return t
}

// seenBy is the tuning as one of both readings has it.
func (t tuning) seenBy(compat bool) tuning {
	if compat && (t.inductor || t.session == "") {
		return tuning{known: true}
	}
	return t
}

// tuneResult is what an autotune record says: how long each configuration took, and which was chosen.
type tuneResult struct {
	tuned                       tuning
	best, timings, took, cached []byte
}

func readTuneResult(members []jsontext.Member, compat bool) tuneResult {
	r := tuneResult{}
	if stack := member(members, "stack"); stack != nil {
		r.tuned = readTuning(stack).seenBy(compat)
	}
	get := func(name string) []byte {
		if v := member(members, name); v != nil {
			return bytes.Clone(v)
		}
		return null
	}
	r.best, r.timings, r.took, r.cached = get("best_config"), get("configs_timings"), get("duration"), get("cache_hit")
	return r
}

// sessions are the autotuner's, by call site, in the order of their first record.
type sessions struct {
	byID    map[string]*session
	order   []*session
	spill   *spill
	shelf   *shelf.Shelf // launches that do not wait any more, by the sessions' numbers
	room    int          // bytes of launches that may wait
	waiting int          // and that do
	waiters []*session   // that have some
	log     []byte       // of the last that went to the shelf

	groups spares[tunedGroup] // that wait no more

	sets map[string][][]string // see findSets
}

// session is all that the autotuner did for one call site.
type session struct {
	number     int // by the first record
	id         string
	inductor   bool
	stack      *chunk
	compiled   names  // hashes, in the order of their compilations
	common     *chunk // of the first compilation: its stack and source
	hashes     names  // the same, and those of launches
	benchmarks int
	benchmark  runs // occurrence ids
	winner     runs
	selected   launchID
	groups     tunedGroups
	result     *tuneResult
}

type launchID struct {
	group group
	hash  string
}

func (s *sessions) get(t tuning) *session {
	u := s.byID[t.session]
	if u == nil {
		if s.byID == nil {
			s.byID = map[string]*session{}
		}
		u = &session{number: len(s.order), id: t.session, inductor: t.inductor, stack: s.spill.addLaunches(joinFrames(t.user, func(f *frame) string { return f.raw }))}
		s.byID[t.session] = u
		s.order = append(s.order, u)
	}
	return u
}

func addNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// names are texts, each once, in the order of their first use.
type names struct {
	list []string
	has  map[string]bool // of long lists
}

func (n *names) add(s string) {
	const few = 16
	switch {
	case n.has != nil:
		if n.has[s] {
			return
		}
		n.has[s] = true
	case slices.Contains(n.list, s):
		return
	case len(n.list) == few:
		n.has = map[string]bool{s: true}
		for _, t := range n.list {
			n.has[t] = true
		}
	}
	n.list = append(n.list, s)
}

// compilation counts a compilation into its session, also one that another process had made before.
func (s *sessions) compilation(c *compilation) {
	if c.tuned.session == "" {
		return
	}
	u := s.get(c.tuned)
	if u.common == nil {
		u.common = s.spill.addLaunches(c.common)
	}
	u.compiled.add(c.hash)
	u.hashes.add(c.hash)
}

// inferred counts kernels that are only launched as compiled in the session of their first launch, before all others, as
// tritonparse does.
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
	if r.tuned.session != "" {
		s.get(r.tuned).result = r
	}
}

// launch counts a launch into its session and says what the autotuner used it for; "" and nil outside of it.
func (s *sessions) launch(l *launch, id int, compat bool) (use string, u *session) {
	tuned := l.tuning()
	if tuned == nil {
		return "", nil
	}
	t := tuned.seenBy(compat)
	if t.session == "" {
		if t.benchmark {
			return "benchmark", nil
		}
		return "", nil
	}
	u = s.get(t)
	s.keep(u, l, id)
	if t.benchmark {
		u.benchmarks++
		u.benchmark.add(id, id+1)
		u.benchmark.log.lighten(s.spill, logBytes)
		if l.hash != "" {
			u.hashes.add(l.hash)
		}
		return "benchmark", u
	}
	u.winner.add(id, id+1)
	u.winner.log.lighten(s.spill, logBytes)
	if l.hash != "" {
		u.selected = launchID{l.group, l.hash}
	}
	switch {
	case u.benchmarks > 0:
		return "winner", u
	case u.inductor: // all of Inductor's launches come from there, also those of kernels that it never tunes
		return "", u
	}
	return "cached_winner", u
}

// configurations are the compilations that a session chose from. tritonparse takes those that it compiled; one that was
// compiled elsewhere, as Inductor's are, was timed no less.
func (u *session) configurations(compat bool) []string {
	if compat {
		return u.compiled.list
	}
	all := names{}
	for _, h := range slices.Concat(u.compiled.list, u.hashes.list) {
		all.add(h)
	}
	return all.list
}

// chose says whether the session chose between configurations, and did not only launch what was chosen before.
func (u *session) chose(compat bool) bool {
	return u.benchmarks >= 2 || len(u.configurations(compat)) >= 2 || !compat && u.result != nil
}
