package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// TraceDiff is what differs between all compilations of two traces.
type TraceDiff struct {
	TraceA  string         `json:"trace_a"`
	TraceB  string         `json:"trace_b"`
	Matches []Match        `json:"matches"`
	OnlyA   []Side         `json:"only_a"`
	OnlyB   []Side         `json:"only_b"`
	Counts  map[string]int `json:"counts"` // of matches by status
}

// Match is two compilations of one kernel, one of each trace.
type Match struct {
	A          Side               `json:"a"`
	B          Side               `json:"b"`
	How        string             `json:"how"`        // hash, name, source or similar name
	Confidence float64            `json:"confidence"` // 0 to 1
	Status     string             `json:"status"`     // identical, similar, different
	Options    []Change           `json:"options"`
	Python     float64            `json:"python"`          // similarity of the sources, 0 to 1; 1 if there are none
	Stages     map[string]float64 `json:"representations"` // similarity of each
	Operations map[string][]Count `json:"operations"`
	Lines      map[string]Count   `json:"lines"` // of code of each representation
	TensorDiff                    // of the first launches of both that say what is in their tensors

	equal      []Change
	opsA, opsB map[string]map[string]int
}

// Below these, compilations of kernels with other names are not taken for the same.
const (
	sourceThreshold = 0.75
	nameThreshold   = 0.7
	similarCode     = 0.9 // of all representations of similar compilations
)

// digest is what is kept of a compilation: lines by their hashes, not their texts.
type digest struct {
	side    Side
	options *flat
	stages  []string
	lines   map[string][]uint64
	ops     map[string]map[string]int
	python  []uint64
}

// Traces compares two traces, which may be open without texts: each compilation is read once.
func Traces(a, b *tritonparse.Trace, timesA, timesB *profile.Profile, c *Comparer) (*TraceDiff, error) {
	x, err := digests(a, timesA)
	if err != nil {
		return nil, err
	}
	y, err := digests(b, timesB)
	if err != nil {
		return nil, err
	}
	d := &TraceDiff{TraceA: a.Source, TraceB: b.Source, Matches: []Match{}, OnlyA: []Side{}, OnlyB: []Side{}, Counts: map[string]int{}}
	m := matcher{a: x, b: y, takenA: make([]bool, len(x)), takenB: make([]bool, len(y)), found: func(i, j int, how string, confidence float64) {
		match := compareDigests(x[i], y[j])
		match.How, match.Confidence = how, confidence
		d.Matches = append(d.Matches, match)
		d.Counts[match.Status]++
	}}
	m.run()
	slices.SortStableFunc(d.Matches, func(p, q Match) int { return p.A.Event - q.A.Event })
	for i, taken := range m.takenA {
		if !taken {
			d.OnlyA = append(d.OnlyA, x[i].side)
		}
	}
	for j, taken := range m.takenB {
		if !taken {
			d.OnlyB = append(d.OnlyB, y[j].side)
		}
	}
	return d, d.findTensors(a, b, c)
}

// findTensors compares the tensors of matches both of whose sides have a launch that says what is in them.
func (d *TraceDiff) findTensors(a, b *tritonparse.Trace, c *Comparer) error {
	ofA := map[string]*tritonparse.LaunchRecord{}
	err := a.EachRecorded(func(k *tritonparse.Compilation, l *tritonparse.LaunchRecord) error {
		ofA[k.Hash] = l
		return nil
	})
	if err != nil || len(ofA) == 0 {
		return err
	}
	matches := map[string]*Match{} // by B's hash
	for i := range d.Matches {
		matches[d.Matches[i].B.Hash] = &d.Matches[i]
	}
	return b.EachRecorded(func(k *tritonparse.Compilation, l *tritonparse.LaunchRecord) error {
		if m := matches[k.Hash]; m != nil && ofA[m.A.Hash] != nil {
			m.TensorDiff = c.Launches(ofA[m.A.Hash], l)
		}
		return nil
	})
}

func digests(t *tritonparse.Trace, times *profile.Profile) ([]*digest, error) {
	var all []*digest
	byHash := map[string]*digest{}
	for i, c := range t.Compilations() {
		g := &digest{side: Compilation(t, i), options: flatOptions(c), lines: map[string][]uint64{}, ops: map[string]map[string]int{}}
		g.side.Time = TimeOf(times, c)
		all = append(all, g)
		byHash[c.Hash] = g
	}
	return all, t.EachCompilation(func(c *tritonparse.Compilation) error {
		g := byHash[c.Hash]
		g.options = flatOptions(c) // now that there is a source, which knows the parameters' names
		for _, stage := range c.Stages() {
			if l := languageOf(stage); l != nil {
				lines := l.read(c.Texts[stage], c.Name)
				g.stages = append(g.stages, stage)
				g.lines[stage], g.ops[stage] = hashes(lines), operations(lines)
			}
		}
		for _, l := range function(c.Python) {
			g.python = append(g.python, (&line{key: strings.TrimSpace(l)}).hash())
		}
		return nil
	})
}

// matcher finds pairs by the surest way first.
type matcher struct {
	a, b           []*digest
	takenA, takenB []bool
	found          func(i, j int, how string, confidence float64)
}

func (m *matcher) take(i, j int, how string, confidence float64) {
	m.takenA[i], m.takenB[j] = true, true
	m.found(i, j, how, confidence)
}

func (m *matcher) run() {
	byHash := map[string]int{}
	byName := map[string][]int{}
	for j, g := range m.b {
		byHash[g.side.Hash] = j
	}
	for i, g := range m.a {
		if j, ok := byHash[g.side.Hash]; ok && g.side.Hash != "" && !m.takenB[j] {
			m.take(i, j, "hash", 1)
		}
	}
	for j, g := range m.b {
		if !m.takenB[j] {
			byName[g.side.Kernel] = append(byName[g.side.Kernel], j)
		}
	}
	m.best("name", func(i int) []int { return byName[m.a[i].side.Kernel] }, optionScore, 0)
	all := func(int) []int {
		var left []int
		for j, taken := range m.takenB {
			if !taken {
				left = append(left, j)
			}
		}
		return left
	}
	m.best("source", all, func(a, b *digest) float64 {
		if len(a.python) == 0 || len(b.python) == 0 {
			return 0
		}
		return similarity(a.python, b.python)
	}, sourceThreshold)
	m.best("similar name", all, func(a, b *digest) float64 {
		return similarity(letters(a.side.Kernel), letters(b.side.Kernel))
	}, nameThreshold)
}

func letters(name string) (list []uint64) {
	for _, c := range name {
		list = append(list, uint64(c))
	}
	return list
}

// best takes pairs by falling score, as long as it is above the least. Equal scores go by order in the traces.
func (m *matcher) best(how string, candidates func(i int) []int, score func(a, b *digest) float64, least float64) {
	type scored struct {
		i, j  int
		score float64
	}
	var all []scored
	for i := range m.a {
		if m.takenA[i] {
			continue
		}
		for _, j := range candidates(i) {
			if s := score(m.a[i], m.b[j]); !m.takenB[j] && s >= least {
				all = append(all, scored{i, j, s})
			}
		}
	}
	slices.SortStableFunc(all, func(p, q scored) int { return cmp.Compare(q.score, p.score) })
	for _, s := range all {
		if !m.takenA[s.i] && !m.takenB[s.j] {
			m.take(s.i, s.j, how, s.score)
		}
	}
}

// optionScore says how much the configurations of two compilations have in common.
func optionScore(a, b *digest) float64 {
	score := 0.0
	for _, o := range []struct {
		name   string
		weight float64
	}{{"num_stages", 0.25}, {"num_warps", 0.25}, {"shared", 0.1}} {
		x, y := jsontext.Get(a.side.compilation.Metadata, o.name), jsontext.Get(b.side.compilation.Metadata, o.name)
		if x != nil && string(x) == string(y) {
			score += o.weight
		}
	}
	x, y := jsontext.Get(a.side.compilation.Metadata, "src_constants"), jsontext.Get(b.side.compilation.Metadata, "src_constants")
	if x == nil && y == nil || x != nil && y != nil && string(jsontext.Form{}.Append(nil, x)) == string(jsontext.Form{}.Append(nil, y)) {
		score += 0.4
	}
	return score
}

func similarity(a, b []uint64) float64 { return share(equalPairs(align(a, b)), len(a)+len(b)) }

func compareDigests(a, b *digest) Match {
	m := Match{A: a.side, B: b.side, Python: similarity(a.python, b.python), Stages: map[string]float64{}, Operations: map[string][]Count{}, Lines: map[string]Count{}, opsA: a.ops, opsB: b.ops}
	m.Options, m.equal = compareOptions(a.options, b.options)
	worst := 1.0
	for stage := range merged(a.lines, b.lines) {
		m.Stages[stage] = similarity(a.lines[stage], b.lines[stage])
		m.Lines[stage] = Count{stage, len(a.lines[stage]), len(b.lines[stage])}
		if c := changes(a.ops[stage], b.ops[stage]); len(c) > 0 {
			m.Operations[stage] = c
		}
		worst = min(worst, m.Stages[stage])
	}
	switch {
	case worst == 1 && m.Python == 1 && len(m.Options) == 0:
		m.Status = "identical"
	case worst >= similarCode:
		m.Status = "similar"
	default:
		m.Status = "different"
	}
	return m
}

// Find is the place of a compilation among those of a trace: the beginning of its hash, or its number.
func Find(t *tritonparse.Trace, hash string) (int, error) {
	found := -1
	for i, c := range t.Compilations() {
		if !strings.HasPrefix(c.Hash, hash) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("several compilations in %s have hashes that begin with %s; give more of it", t.Source, hash)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("no compilation in %s has a hash that begins with %s; proton trace info --compilations lists them", t.Source, hash)
	}
	return found, nil
}
