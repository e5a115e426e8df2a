package parse

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// showKernels notes which kernels' stack and source an analysis shows.
func (s *sites) showKernels(p *parser) {
	for _, u := range s.all {
		if hashes := u.configurations(s.quirks); len(hashes) > 0 && u.chose(s.quirks) {
			p.kernels[hashes[0]].shown = true
		}
	}
}

// writeAnalyses adds an autotune_analysis for each session that chose a configuration, to the output of its kernels, and to each of
// these outputs a summary of how often each kernel was chosen.
func (p *parser) writeAnalyses(o *outputs) error {
	events := store.NewSorter(p.folder, (p.options.room.sorter+1)/2)
	defer events.Close()
	files, err := p.analyses(events)
	if err != nil {
		return err
	}
	counts := p.winnerCounts()
	ids, ends := p.numberAnalyses(files, counts != nil)
	r, err := events.Read()
	if err != nil {
		return err
	}
	add := func(name string, event []byte, id int) {
		o.add(name, tunedPart, &store.Part{Held: fmt.Appendf(event, ",\"occurrence_id\":%d}\n", id)})
	}
	for i, name := range files {
		if name == "" {
			continue
		}
		to := o.part(name, tunedPart)
		if err := r.Each(i, func(event []byte) error { to.LaunchLines(event); return nil }); err != nil {
			return err
		}
		add(name, nil, ids[i])
	}
	for name, id := range ends {
		add(name, slices.Clip(counts), id) // each gets a number of its own
	}
	return nil
}

// numberAnalyses gives ids to analyses, file by file, and with end to the summary of each file.
func (p *parser) numberAnalyses(files []string, end bool) (ids []int, ends map[string]int) {
	var inOrder names
	of := map[string][]int{}
	for i, name := range files {
		if name != "" {
			inOrder.add(name)
			of[name] = append(of[name], i)
		}
	}
	ids, ends = make([]int, len(files)), map[string]int{}
	for _, name := range inOrder.list {
		for _, i := range of[name] {
			ids[i] = p.nextID()
		}
		if end {
			ends[name] = p.nextID()
		}
	}
	return ids, ends
}

// analyses adds the analysis of each session, up to its occurrence id, to a sorter, by the session's place among all. It returns the
// output file of each; "" for sessions that chose nothing. Several sessions are analysed at a time.
func (p *parser) analyses(events *store.Sorter) ([]string, error) {
	q := p.options.quirks
	r, err := p.sites.sorter.Read()
	if err != nil {
		return nil, err
	}
	p.sites.findSets()
	a := analysts{p: p, events: events, files: make([]string, len(p.sites.all)), work: make(chan placed), logs: make(chan []byte, runtime.GOMAXPROCS(0)+1)}
	for range runtime.GOMAXPROCS(0) {
		a.Go(a.analyse)
	}
	order := make([]placed, len(p.sites.all)) // by number
	for i, u := range p.sites.all {
		order[i] = placed{u, i}
	}
	slices.SortStableFunc(order, func(a, b placed) int { return a.number - b.number })
	for _, u := range order {
		chose := u.chose(q)
		first := !q.Has(quirks.KeysByArguments) && u.session == u.site.sessions[0] // the site's stack is there
		select {
		case u.groups.log.Buffer = <-a.logs:
		default:
		}
		if first && (chose || len(u.site.sessions) > 1) || chose && !first && !q.Has(quirks.KeysByArguments) {
			if err = u.groups.end(u.session, p.mostGroups(), r, p.spill); err != nil {
				break
			}
		}
		if chose {
			a.work <- u
		} else {
			a.done(u.session)
		}
	}
	close(a.work)
	a.Wait()
	return a.files, errors.Join(err, a.err)
}

// placed is a session with its place among all.
type placed struct {
	*session
	at int
}

// analysts are goroutines that analyse sessions.
type analysts struct {
	sync.WaitGroup
	p     *parser
	work  chan placed
	files []string    // of each session
	logs  chan []byte // memory for logs of sessions

	mu     sync.Mutex
	events *store.Sorter
	err    error
}

func (a *analysts) analyse() {
	p := a.p
	var memory analysisMemory
	var event store.Pieces
	for u := range a.work {
		if n := u.groups.total.count(); n > 0 {
			note := fmt.Sprintf("the autotuner's session %s has %d distinct launches: its analysis covers the last %d of them; with --compat tritonparse it covers all", u.id, n, len(u.groups.all))
			a.locked(func() { p.notes = append(p.notes, note) })
		}
		if name, ok := p.sessionOutput(u.session); ok {
			a.files[u.at] = name
			event.Put = func(text []byte) { a.locked(func() { a.events.Add(u.at, text) }) }
			err := p.analysis(u.session, &memory, event.Write)
			event.Flush()
			a.locked(func() { a.err = errors.Join(a.err, err) })
		}
		a.done(u.session)
	}
}

// done gives the memory of the session's launches back.
func (a *analysts) done(u *session) {
	if log := u.groups.log.Buffer; !a.p.options.quirks.Has(quirks.KeysByArguments) && cap(log) <= 2*store.ChunkSize {
		select {
		case a.logs <- log[:0]:
		default:
		}
	}
	u.groups = tunedGroups{}
}

func (a *analysts) locked(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// mostGroups is how many distinct launches of a session are compared. tritonparse compares them all.
func (p *parser) mostGroups() int {
	if p.options.quirks.Has(quirks.AllGroups) {
		return math.MaxInt
	}
	return p.options.room.groups
}

// winnerCounts is the summary of how many sessions chose each kernel, up to its occurrence id; nil if none chose any.
func (p *parser) winnerCounts() []byte {
	counts := &store.Object{}
	runs := map[string]int{}
	for _, u := range p.sites.all {
		if u.selected.hash == "" || u.site.inductor && !u.chose(p.options.quirks) {
			continue
		}
		runs[u.selected.hash]++
		counts.At(u.selected.hash).Text = strconv.AppendInt(nil, int64(runs[u.selected.hash]), 10)
	}
	if len(runs) == 0 {
		return nil
	}
	return append([]byte(`{"event_type":"autotune_summary","winner_run_counts":`), counts.AppendJSON(nil)...)
}

// sessionOutput is the output of the session's first kernel; false if no kernel of it is written.
func (p *parser) sessionOutput(u *session) (string, bool) {
	if hashes := u.configurations(p.options.quirks); len(hashes) > 0 && p.kernels[hashes[0]] != nil {
		return p.output(p.kernels[hashes[0]]), true
	}
	hash, _, err := u.groups.first(p.spill)
	if err != nil {
		p.spill.Fail(err)
	}
	if k := p.kernels[hash]; k != nil {
		return p.output(k), true
	}
	return "", false
}

// analysisMemory is what an analysis needs while it is made, for the next one to use again.
type analysisMemory struct {
	diff      launchDiff
	arguments configsArguments
	log       logReader
	commons   map[*store.Chunk][]byte // what compilationAnalysis shows of kernels
	out       []byte
}

// analysis writes the event of a session, up to its occurrence id.
func (p *parser) analysis(u *session, m *analysisMemory, w store.Writer) error {
	q := p.options.quirks
	hashes := u.configurations(q)
	name := ""
	if len(hashes) > 0 {
		name = p.kernels[hashes[0]].name
	} else if _, first, err := u.groups.first(p.spill); err != nil {
		p.spill.Fail(err)
	} else {
		name = first
	}
	out := ndjson.AppendMember(m.out[:0], "event_type", []byte(`"autotune_analysis"`))
	out = ndjson.AppendMember(out, "session_id", jsontext.Quote(u.id))
	out = ndjson.AppendMember(out, "session_stack", u.site.stack)
	out = ndjson.AppendMember(out, "name", ndjson.TextOrNull(name))
	out = ndjson.AppendMember(out, "selected_hash", ndjson.TextOrNull(u.selected.group.String()))
	out = ndjson.AppendMember(out, "winner_compilation_hash", ndjson.TextOrNull(u.selected.hash))
	out = ndjson.AppendMember(out, "possible_groups", p.possibleGroups(u))
	out = ndjson.AppendMember(out, "compilation_analysis", p.compilationAnalysis(u, hashes, m))
	w(out)
	m.diff.reset()
	m.arguments.reset()
	err := u.groups.each(p.spill, &m.log, func(l *launchtext.Launch) {
		m.diff.add(l)
		m.arguments.add(l)
	})
	if err != nil {
		return err
	}
	diffs, sames := m.diff.result(q)
	if err := u.writeLaunches(p.spill, w, diffs, sames); err != nil {
		return err
	}
	if len(u.groups.all) > 0 {
		m.out = m.arguments.appendSummary(append(out[:0], `,"autotune_args_summary":`...), p, hashes, sames)
		w(m.out)
	}
	if r := u.result; r != nil {
		result := ndjson.AppendMember(nil, "best_config", r.best)
		result = ndjson.AppendMember(result, "configs_timings", r.timings)
		result = ndjson.AppendMember(result, "benchmark_duration", r.took)
		w([]byte(`,"autotune_result":`))
		w(append(ndjson.AppendMember(result, "cache_hit", r.cached), '}'))
	}
	return nil
}

// writeLaunches writes the launches of the session, as members of its event.
func (u *session) writeLaunches(s *store.Spill, w store.Writer, diffs, sames *store.Object) error {
	w([]byte(`,"launch_analysis":`))
	if err := u.launchAnalysis(s, w, diffs, sames); err != nil {
		return err
	}
	w(fmt.Appendf(nil, `,"cache_usage":%t`, u.benchmarks == 0))
	for _, list := range []struct {
		name, quote string
		write       func(*store.Runs, *store.Spill, store.Writer) error
	}{{"launch_ranges", `"`, (*store.Runs).WriteText}, {"launch_occurrence_ids", "", (*store.Runs).WriteNumbers}} {
		w(fmt.Appendf(nil, `,"%s":{"benchmark":%s`, list.name, list.quote))
		if err := list.write(&u.benchmark, s, w); err != nil {
			return err
		}
		w(fmt.Appendf(nil, `%s,"winner":%s`, list.quote, list.quote))
		if err := list.write(&u.winner, s, w); err != nil {
			return err
		}
		w([]byte(list.quote + "}"))
	}
	return nil
}

// possibleGroups are the sets of configurations that the winner was chosen from: the session's own, or if it only launched an earlier
// choice, the sets of the sessions that have this kernel among their configurations.
func (p *parser) possibleGroups(u *session) []byte {
	sets := p.sites.sets[u.selected.hash]
	if own := u.configurations(p.options.quirks); len(own) > 0 {
		sets = [][]string{own}
	}
	return jsontext.AppendList(nil, sets, ndjson.AppendTexts)
}

// findSets finds the different sets of configurations that each hash is one of.
func (s *sites) findSets() {
	s.sets = map[string][][]string{}
	seen := map[string]bool{}
	for _, u := range s.all {
		group := u.configurations(s.quirks)
		key := strings.Join(group, "|")
		if len(group) < 2 || seen[key] {
			continue
		}
		seen[key] = true
		for _, h := range group {
			s.sets[h] = append(s.sets[h], group)
		}
	}
}

// compilationAnalysis is null if the session compiled nothing.
func (p *parser) compilationAnalysis(u *session, hashes []string, m *analysisMemory) []byte {
	if len(hashes) == 0 {
		return ndjson.Null
	}
	configs := jsontext.AppendList(nil, hashes, func(out []byte, hash string) []byte {
		return fmt.Appendf(out, `{"compilation_config_params":%s,"compilation_hash":%s}`, p.kernels[hash].parameters, jsontext.Quote(hash))
	})
	k := p.kernels[hashes[0]]
	from := k.common
	if k.compiled != nil && u.site.common != nil {
		from = u.site.common // others may have compiled it before, elsewhere
	}
	common := commonInfo(nil, nil)
	if from != nil {
		const most = 64
		if common = m.commons[from]; common == nil {
			if m.commons == nil || len(m.commons) >= most {
				m.commons = map[*store.Chunk][]byte{}
			}
			common = p.spill.Text(from)
			m.commons[from] = common
		}
	}
	out := ndjson.AppendMember(nil, "configs", configs)
	out = ndjson.AppendMember(out, "compilation_hashes", ndjson.AppendTexts(nil, hashes))
	return append(ndjson.AppendMember(out, "common_info", common), '}')
}

// commonInfo is what an analysis shows of its first kernel.
func commonInfo(stack, source []byte) []byte {
	if stack == nil {
		stack = ndjson.Null
	}
	if source == nil {
		source = ndjson.Null
	}
	return append(ndjson.AppendMember(ndjson.AppendMember(nil, "stack", stack), "python_source", source), '}')
}

// launchAnalysis is null without launches.
func (u *session) launchAnalysis(s *store.Spill, w store.Writer, diffs, sames *store.Object) error {
	if len(u.groups.all) == 0 {
		w(ndjson.Null)
		return nil
	}
	var hashes []string
	for _, g := range u.groups.all {
		hashes = append(hashes, g.group.String())
	}
	w(ndjson.AppendMember(nil, "launch_group_hashes", ndjson.AppendTexts(nil, hashes)))
	w([]byte(`,"launch_params_diff":{"sames":`))
	if err := sames.Write(s, w); err != nil {
		return err
	}
	w([]byte(`,"diffs":`))
	if err := diffs.Write(s, w); err != nil {
		return err
	}
	w([]byte("}}"))
	return nil
}
