package tritonparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// tuning is what a stack says about the autotuner.
type tuning struct {
	known     bool
	session   string // "" outside of the autotuner
	benchmark bool
	user      []byte // the frames before the autotuner's
	inductor  bool   // it is Inductor's, which tritonparse does not know
}

// autotuner is Triton's, inductorTuner torch.compile's.
const (
	autotuner     = "triton/runtime/autotuner.py"
	inductorTuner = "torch/_inductor/runtime/triton_heuristics.py"
)

// benchmarks are Inductor's functions that time configurations, some of which call the launcher through others.
var benchmarks = []string{"bench", "benchmark_all_configs", "autotune_to_one_config", "coordinate_descent_tuning", "_coordinate_descent_tuning"}

// readTuning finds the autotuner in a stack. A session is a call site: the frames above the autotuner's.
func readTuning(stack []byte) tuning {
	t := tuning{known: true}
	frames := jsontext.Elements(stack)
	var user []string
	var raw [][]byte
	found := false
	for _, f := range frames {
		file, name := jsontext.Text(jsontext.Get(f, "filename")), jsontext.Text(jsontext.Get(f, "name"))
		inside := strings.Contains(file, autotuner)
		inductor := strings.Contains(file, inductorTuner)
		t.benchmark = t.benchmark || inside && name == "_bench" || inductor && slices.Contains(benchmarks, name)
		if !found && inductor && (name == "run" || slices.Contains(benchmarks, name)) {
			found, t.inductor = true, true
		}
		found = found || inside && (name == "run" || name == "_bench")
		if !found {
			user = append(user, file+":"+string(jsontext.Get(f, "line"))+":"+name)
			raw = append(raw, f)
		}
	}
	if !found || len(user) == 0 {
		return tuning{known: true, benchmark: t.benchmark}
	}
	sum := sha256.Sum256([]byte(strings.Join(user, "|")))
	t.session = hex.EncodeToString(sum[:8])
	t.user = append(t.user, '[')
	for i, f := range raw {
		if i > 0 {
			t.user = append(t.user, ',')
		}
		t.user = append(t.user, f...)
	}
	t.user = append(t.user, ']')
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
	waiting int // bytes of launches that are in memory
}

// session is all that the autotuner did for one call site.
type session struct {
	id        string
	inductor  bool
	stack     []byte
	compiled  []string // hashes, in the order of their compilations
	hashes    []string // the same, and those of launches
	benchmark []int    // occurrence ids
	winner    []int
	selected  launchID
	groups    tunedGroups
	result    *tuneResult
	inferred  map[string]bool // those of compiled that were not traced
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
		u = &session{id: t.session, inductor: t.inductor, stack: t.user}
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

// compilation counts a compilation into its session, also one that another process had made before.
func (s *sessions) compilation(c *compilation) {
	if c.tuned.session == "" {
		return
	}
	u := s.get(c.tuned)
	u.compiled = addNew(u.compiled, c.hash)
	u.hashes = addNew(u.hashes, c.hash)
}

// inferred counts kernels that are only launched as compiled in the session of their first launch, before all others, as
// tritonparse does.
func (s *sessions) inferred(kernels []*kernel) {
	var first []*session
	for _, k := range kernels {
		if k.inferred == nil || k.inferred.tuned.session == "" {
			continue
		}
		u := s.get(k.inferred.tuned)
		at := 0
		for at < len(u.compiled) && u.inferred[u.compiled[at]] {
			at++
		}
		u.compiled = slices.Insert(u.compiled, at, k.hash)
		if u.inferred == nil {
			u.inferred = map[string]bool{}
			first = append(first, u)
		}
		u.inferred[k.hash] = true
	}
	rest := slices.DeleteFunc(slices.Clone(s.order), func(u *session) bool { return u.inferred != nil })
	s.order = append(first, rest...)
}

// result keeps what an autotune record says of its session.
func (s *sessions) result(r *tuneResult) {
	if r.tuned.session != "" {
		s.get(r.tuned).result = r
	}
}

// launch counts a launch into its session and says what the autotuner used it for; "" outside of it.
func (s *sessions) launch(l *launch, id int, compat bool) string {
	tuned := l.tuning()
	if tuned == nil {
		return ""
	}
	t := tuned.seenBy(compat)
	if t.session == "" {
		if t.benchmark {
			return "benchmark"
		}
		return ""
	}
	u := s.get(t)
	s.keep(u, l, id)
	if t.benchmark {
		u.benchmark = append(u.benchmark, id)
		if l.hash != "" {
			u.hashes = addNew(u.hashes, l.hash)
		}
		return "benchmark"
	}
	u.winner = append(u.winner, id)
	if l.hash != "" {
		u.selected = launchID{l.group, l.hash}
	}
	switch {
	case len(u.benchmark) > 0:
		return "winner"
	case u.inductor: // all of Inductor's launches come from there, also those of kernels that it never tunes
		return ""
	}
	return "cached_winner"
}

// configurations are the compilations that a session chose from. tritonparse takes those that it compiled; one that was
// compiled elsewhere, as Inductor's are, was timed no less.
func (u *session) configurations(compat bool) []string {
	if compat {
		return u.compiled
	}
	all := slices.Clone(u.compiled)
	for _, h := range u.hashes {
		all = addNew(all, h)
	}
	return all
}

// chose says whether the session chose between configurations, and did not only launch what was chosen before.
func (u *session) chose(compat bool) bool {
	return len(u.benchmark) >= 2 || len(u.configurations(compat)) >= 2 || !compat && u.result != nil
}

// writeAnalyses adds autotune_analysis for each session in which something was chosen, to the output that its kernels are
// in, and to each of these outputs how often each kernel was.
func (p *parser) writeAnalyses(files map[string]*gzipFile) {
	p.sessions.inferred(p.order)
	var names []string
	byFile := map[string][]*session{}
	for _, u := range p.sessions.order {
		if !u.chose(p.options.Compat) {
			continue
		}
		if err := u.groups.end(p.spill); err != nil {
			p.spill.fail(err)
		}
		if name, ok := p.sessionOutput(u); ok {
			names = addNew(names, name)
			byFile[name] = append(byFile[name], u)
		}
	}
	counts := p.winnerCounts()
	for _, name := range names {
		for _, u := range byFile[name] {
			files[name].text(p.numbered(p.analysis(u)))
			u.groups = tunedGroups{}
		}
		if counts != nil {
			files[name].text(p.numbered(slices.Clip(counts))) // each gets a number of its own
		}
	}
}

// winnerCounts is in how many sessions each kernel was chosen; nil if in none.
func (p *parser) winnerCounts() []byte {
	counts := &object{}
	runs := map[string]int{}
	for _, u := range p.sessions.order {
		if u.selected.hash == "" || u.inductor && !u.chose(p.options.Compat) {
			continue
		}
		runs[u.selected.hash]++
		counts.at(u.selected.hash).text = strconv.AppendInt(nil, int64(runs[u.selected.hash]), 10)
	}
	if len(runs) == 0 {
		return nil
	}
	return append([]byte(`{"event_type":"autotune_summary","winner_run_counts":`), counts.appendJSON(nil)...)
}

// sessionOutput is where the session's first kernel is written; there may be none that is.
func (p *parser) sessionOutput(u *session) (string, bool) {
	if hashes := u.configurations(p.options.Compat); len(hashes) > 0 && p.kernels[hashes[0]] != nil {
		return p.output(p.kernels[hashes[0]]), true
	}
	if k := p.kernels[u.groups.hash]; k != nil {
		return p.output(k), true
	}
	return "", false
}

// numbered ends an event.
func (p *parser) numbered(out []byte) []byte {
	return fmt.Appendf(out, ",\"occurrence_id\":%d}\n", p.nextID())
}

var null = []byte("null")

func textOrNull(s string) []byte {
	if s == "" {
		return null
	}
	return jsontext.Quote(s)
}

func appendTexts(out []byte, texts []string) []byte {
	out = append(out, '[')
	for i, t := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, jsontext.Quote(t)...)
	}
	return append(out, ']')
}

func (p *parser) analysis(u *session) []byte {
	compat := p.options.Compat
	hashes := u.configurations(compat)
	name := ""
	if len(hashes) > 0 {
		name = p.kernels[hashes[0]].name
	} else {
		name = u.groups.name
	}
	out := appendMember(nil, "event_type", []byte(`"autotune_analysis"`))
	out = appendMember(out, "session_id", jsontext.Quote(u.id))
	out = appendMember(out, "session_stack", u.stack)
	out = appendMember(out, "name", textOrNull(name))
	out = appendMember(out, "selected_hash", textOrNull(u.selected.group.String()))
	out = appendMember(out, "winner_compilation_hash", textOrNull(u.selected.hash))
	out = appendMember(out, "possible_groups", p.possibleGroups(u))
	out = appendMember(out, "compilation_analysis", p.compilationAnalysis(hashes))
	diffs, sames := p.differences(u)
	out = appendMember(out, "launch_analysis", u.launchAnalysis(diffs, sames))
	out = appendMember(out, "cache_usage", strconv.AppendBool(nil, len(u.benchmark) == 0))
	out = appendMember(out, "launch_ranges", fmt.Appendf(nil, `{"benchmark":%q,"winner":%q}`, idRanges(u.benchmark), idRanges(u.winner)))
	out = appendMember(out, "launch_occurrence_ids", fmt.Appendf(nil, `{"benchmark":%s,"winner":%s}`, appendInts(nil, u.benchmark), appendInts(nil, u.winner)))
	if len(u.groups.all) > 0 {
		out = appendMember(out, "autotune_args_summary", p.argumentsSummary(u, hashes, sames))
	}
	if r := u.result; r != nil {
		result := appendMember(nil, "best_config", r.best)
		result = appendMember(result, "configs_timings", r.timings)
		result = appendMember(result, "benchmark_duration", r.took)
		out = appendMember(out, "autotune_result", append(appendMember(result, "cache_hit", r.cached), '}'))
	}
	return out
}

// possibleGroups are the sets of configurations that the winner was chosen from: the session's own, or where it only
// launched what was chosen before, those of the sessions that had it among theirs.
func (p *parser) possibleGroups(u *session) []byte {
	compat := p.options.Compat
	out := []byte{'['}
	if own := u.configurations(compat); len(own) > 0 {
		return append(appendTexts(out, own), ']')
	}
	seen := map[string]bool{}
	for _, other := range p.sessions.order {
		group := other.configurations(compat)
		key := strings.Join(group, "|")
		if len(group) < 2 || seen[key] || !slices.Contains(group, u.selected.hash) {
			continue
		}
		seen[key] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendTexts(out, group)
	}
	return append(out, ']')
}

// compilationAnalysis is null where all was compiled before.
func (p *parser) compilationAnalysis(hashes []string) []byte {
	if len(hashes) == 0 {
		return null
	}
	configs := []byte{'['}
	for i, hash := range hashes {
		if i > 0 {
			configs = append(configs, ',')
		}
		configs = fmt.Appendf(configs, `{"compilation_config_params":%s,"compilation_hash":%s}`, p.kernels[hash].tunedParameters(), jsontext.Quote(hash))
	}
	first := p.kernels[hashes[0]]
	stack, source := first.stack, first.source
	if first.inferred != nil {
		stack = first.inferred.stack
	}
	if stack == nil {
		stack = null
	}
	if source == nil {
		source = null
	}
	common := appendMember(nil, "stack", stack)
	common = append(appendMember(common, "python_source", source), '}')
	out := appendMember(nil, "configs", append(configs, ']'))
	out = appendMember(out, "compilation_hashes", appendTexts(nil, hashes))
	return append(appendMember(out, "common_info", common), '}')
}

// tunedParameters are those of the compilation, or of the launch that it was inferred from.
func (k *kernel) tunedParameters() []byte {
	if k.inferred != nil {
		return k.inferred.parameters
	}
	return k.parameters
}

// differences compares the launches that differ.
func (p *parser) differences(u *session) (diffs, sames *object) {
	var diff launchDiff
	if err := u.groups.each(p.spill, diff.add); err != nil {
		p.spill.fail(err)
	}
	return diff.result(p.options.Compat)
}

// launchAnalysis is null where there were no launches.
func (u *session) launchAnalysis(diffs, sames *object) []byte {
	if len(u.groups.all) == 0 {
		return null
	}
	var hashes []string
	for _, g := range u.groups.all {
		hashes = append(hashes, g.group.String())
	}
	params := appendMember(nil, "sames", sames.appendJSON(nil))
	params = append(appendMember(params, "diffs", diffs.appendJSON(nil)), '}')
	out := appendMember(nil, "launch_group_hashes", appendTexts(nil, hashes))
	return append(appendMember(out, "launch_params_diff", params), '}')
}

// idRanges writes ids, which ascend, as 1-3, 5.
func idRanges(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if part := strconv.Itoa(ids[i]); i == j {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(ids[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func appendInts(out []byte, numbers []int) []byte {
	out = append(out, '[')
	for i, n := range numbers {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	return append(out, ']')
}
