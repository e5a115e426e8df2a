package tritonparse

import (
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
}

const autotuner = "triton/runtime/autotuner.py"

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
		t.benchmark = t.benchmark || inside && name == "_bench"
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

// sessions are the autotuner's, by call site, in the order of their first record.
type sessions struct {
	byID  map[string]*session
	order []*session
}

// session is all that the autotuner did for one call site.
type session struct {
	id, name  string
	stack     []byte
	compiled  []string // hashes, in the order of their compilations
	hashes    []string // the same, and those of launches
	benchmark []int    // occurrence ids
	winner    []int
	selected  launchID
	groups    []*tunedGroup // distinct launches
	byGroup   map[group]*tunedGroup
}

type launchID struct {
	group group
	hash  string
}

// tunedGroup is the launches that are alike.
type tunedGroup struct {
	launchID
	last   int // occurrence id
	launch launch
}

func (s *sessions) get(t tuning) *session {
	u := s.byID[t.session]
	if u == nil {
		if s.byID == nil {
			s.byID = map[string]*session{}
		}
		u = &session{id: t.session, stack: t.user, byGroup: map[group]*tunedGroup{}}
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
	if u.name == "" {
		u.name = c.name
	}
}

// launch counts a launch into its session and says what the autotuner used it for; "" outside of it.
func (s *sessions) launch(l *launch, id int) string {
	t := l.tuning()
	if t == nil {
		return ""
	}
	if t.session == "" {
		if t.benchmark {
			return "benchmark"
		}
		return ""
	}
	u := s.get(*t)
	if u.name == "" {
		u.name = l.name
	}
	u.group(l, id)
	if !t.benchmark {
		u.selected = launchID{l.group, l.hash}
		u.winner = append(u.winner, id)
		if len(u.benchmark) > 0 {
			return "winner"
		}
		return "cached_winner"
	}
	u.benchmark = append(u.benchmark, id)
	u.hashes = addNew(u.hashes, l.hash)
	return "benchmark"
}

// group keeps one launch of those that are alike, the last.
func (u *session) group(l *launch, id int) {
	g := u.byGroup[l.group]
	if g == nil {
		g = &tunedGroup{launchID: launchID{l.group, l.hash}}
		u.byGroup[l.group] = g
		u.groups = append(u.groups, g)
	}
	g.last, g.launch = id, l.keep()
}

// analyses writes autotune_analysis for each session in which something was chosen, and how often each kernel was.
func (p *parser) analyses() [][]byte {
	var lines [][]byte
	runs := map[string]int{}
	var winners []string
	for _, u := range p.sessions.order {
		if len(u.benchmark) < 2 && len(u.hashes) < 2 {
			continue
		}
		lines = append(lines, p.analysis(u))
		if hash := u.selected.hash; hash != "" {
			winners = addNew(winners, hash)
			runs[hash]++
		}
	}
	if len(lines) == 0 {
		return nil
	}
	counts := &object{}
	for _, w := range winners {
		counts.at(w).text = strconv.AppendInt(nil, int64(runs[w]), 10)
	}
	out := append([]byte(`{"event_type":"autotune_summary","winner_run_counts":`), counts.appendJSON(nil)...)
	return append(lines, p.numbered(out))
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
	out := appendMember(nil, "event_type", []byte(`"autotune_analysis"`))
	out = appendMember(out, "session_id", jsontext.Quote(u.id))
	out = appendMember(out, "session_stack", u.stack)
	out = appendMember(out, "name", textOrNull(u.name))
	out = appendMember(out, "selected_hash", textOrNull(u.selected.group.String()))
	out = appendMember(out, "winner_compilation_hash", textOrNull(u.selected.hash))
	out = appendMember(out, "possible_groups", p.possibleGroups(u))
	out = appendMember(out, "compilation_analysis", p.compilationAnalysis(u))
	out = appendMember(out, "launch_analysis", p.launchAnalysis(u))
	out = appendMember(out, "cache_usage", strconv.AppendBool(nil, len(u.benchmark) == 0))
	out = appendMember(out, "launch_ranges", fmt.Appendf(nil, `{"benchmark":%q,"winner":%q}`, idRanges(u.benchmark), idRanges(u.winner)))
	out = appendMember(out, "launch_occurrence_ids", fmt.Appendf(nil, `{"benchmark":%s,"winner":%s}`, appendInts(nil, u.benchmark), appendInts(nil, u.winner)))
	return p.numbered(out)
}

// possibleGroups are the sets of configurations that the winner was chosen from, in whatever session.
func (p *parser) possibleGroups(u *session) []byte {
	out := []byte{'['}
	seen := map[string]bool{}
	for _, other := range p.sessions.order {
		key := strings.Join(other.hashes, "|")
		if len(other.hashes) == 0 || seen[key] || !slices.Contains(other.hashes, u.selected.hash) {
			continue
		}
		seen[key] = true
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendTexts(out, other.hashes)
	}
	return append(out, ']')
}

// compilationAnalysis is null where all was compiled before.
func (p *parser) compilationAnalysis(u *session) []byte {
	if len(u.compiled) == 0 {
		return null
	}
	configs := []byte{'['}
	for i, hash := range u.compiled {
		if i > 0 {
			configs = append(configs, ',')
		}
		configs = fmt.Appendf(configs, `{"compilation_config_params":%s,"compilation_hash":%s}`, p.kernels[hash].parameters, jsontext.Quote(hash))
	}
	first := p.kernels[u.compiled[0]]
	common := appendMember(nil, "stack", first.stack)
	common = append(appendMember(common, "python_source", first.source), '}')
	out := appendMember(nil, "configs", append(configs, ']'))
	out = appendMember(out, "compilation_hashes", appendTexts(nil, u.compiled))
	return append(appendMember(out, "common_info", common), '}')
}

// launchAnalysis compares the launches that differ; it is null where there were none.
func (p *parser) launchAnalysis(u *session) []byte {
	if len(u.groups) == 0 {
		return null
	}
	slices.SortFunc(u.groups, func(a, b *tunedGroup) int { return a.last - b.last })
	var hashes []string
	var diff launchDiff
	for _, g := range u.groups {
		hashes = append(hashes, g.group.String())
		diff.add(&g.launch)
	}
	diffs, sames := diff.result(p.options.Compat)
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
