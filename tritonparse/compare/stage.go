package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse"
)

// Stage is one representation of two compilations, compared.
type Stage struct {
	Name       string  `json:"name"`
	LinesA     int     `json:"lines_a"` // that are code
	LinesB     int     `json:"lines_b"`
	Equal      int     `json:"equal"`      // lines that stand for each other
	Renamed    bool    `json:"renamed"`    // values have other names, and nothing more
	Operations []Count `json:"operations"` // whose number changed
	Hunks      []Hunk  `json:"hunks"`
	only       string  // "A" or "B" if the other has no such text
	opsA, opsB map[string]int
}

type Count struct {
	Name string `json:"name"`
	A    int    `json:"a"`
	B    int    `json:"b"`
}

// Hunk is a stretch that differs, with what is around it.
type Hunk struct {
	A     int        `json:"a"` // first line in the text, from 1
	B     int        `json:"b"`
	Lines []HunkLine `json:"lines"`
}

type HunkLine struct {
	Mark string `json:"mark"` // " " for both, "-" for A only, "+" for B only
	A    int    `json:"a,omitempty"`
	B    int    `json:"b,omitempty"`
	Text string `json:"text"`
}

// Similarity is the share of the lines that both have, from 0 to 1.
func (s *Stage) Similarity() float64 { return share(s.Equal, s.LinesA+s.LinesB) }

// share is how much of two texts pairs of equal lines make up, from 0 to 1.
func share(pairs, lines int) float64 {
	if lines == 0 {
		return 1
	}
	return 2 * float64(pairs) / float64(lines)
}

// Same says whether nothing but names differs.
func (s *Stage) Same() bool { return s.only == "" && s.LinesA == s.LinesB && s.Equal == s.LinesA }

// around is how many equal lines a hunk has at both ends.
const around = 2

// compareStage compares the texts of one representation of two kernels.
func compareStage(name, a, b, kernelA, kernelB string) Stage {
	g := languageOf(name)
	x, y := g.read(a, kernelA), g.read(b, kernelB)
	s := Stage{Name: name, LinesA: len(x), LinesB: len(y), opsA: operations(x), opsB: operations(y)}
	pairs := align(hashes(x), hashes(y))
	if g.named {
		pairs, s.Renamed = checkNames(pairs, x, y)
	}
	s.Equal = equalPairs(pairs)
	s.Renamed = s.Renamed && s.Same()
	s.Operations = changes(s.opsA, s.opsB)
	s.Hunks = hunks(pairs, func(i int) (int, string) { return x[i].own, x[i].text }, func(i int) (int, string) { return y[i].own, y[i].text })
	return s
}

func hashes(lines []line) []uint64 {
	h := make([]uint64, len(lines))
	for i := range lines {
		h[i] = lines[i].hash()
	}
	return h
}

// checkNames takes pairs apart whose operands are others, and says whether any value has another name.
func checkNames(pairs []pair, a, b []line) ([]pair, bool) {
	names := newRenaming()
	var checked []pair
	renamed := false
	for _, p := range pairs {
		if p.a < 0 || p.b < 0 {
			checked = append(checked, p)
			continue
		}
		x, y := &a[p.a], &b[p.b]
		if !names.match(x, y) {
			checked = append(checked, pair{p.a, -1}, pair{-1, p.b})
			continue
		}
		renamed = renamed || !slices.Equal(x.names, y.names)
		checked = append(checked, p)
	}
	return checked, renamed
}

func operations(lines []line) map[string]int {
	counts := map[string]int{}
	for _, l := range lines {
		if l.op != "" {
			counts[l.op]++
		}
	}
	return counts
}

// changes are the counts that differ: what is new or gone first, then by how much.
func changes(a, b map[string]int) []Count {
	list := []Count{}
	for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
		if a[name] != b[name] {
			list = append(list, Count{name, a[name], b[name]})
		}
	}
	slices.SortStableFunc(list, func(x, y Count) int {
		if one, two := x.A*x.B == 0, y.A*y.B == 0; one != two {
			if one {
				return -1
			}
			return 1
		}
		return abs(y.B-y.A) - abs(x.B-x.A)
	})
	return list
}

func merged[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

func abs(n int) int { return max(n, -n) }

// hunks joins differences that are close to each other.
func hunks(pairs []pair, a, b func(int) (int, string)) []Hunk {
	list := []Hunk{}
	var open *Hunk
	equal := 0 // lines at the end of the open hunk
	for i, p := range pairs {
		if p.a >= 0 && p.b >= 0 {
			if open != nil {
				open.add(p, a, b)
				if equal++; equal > 2*around {
					open.Lines = open.Lines[:len(open.Lines)-equal+around]
					open = nil
				}
			}
			continue
		}
		if open == nil {
			list = append(list, Hunk{})
			open = &list[len(list)-1]
			for k := max(0, i-around); k < i; k++ {
				if pairs[k].a >= 0 && pairs[k].b >= 0 {
					open.add(pairs[k], a, b)
				}
			}
		}
		open.add(p, a, b)
		equal = 0
	}
	if open != nil && equal > around {
		open.Lines = open.Lines[:len(open.Lines)-equal+around]
	}
	for i := range list {
		for _, l := range list[i].Lines {
			if list[i].A == 0 {
				list[i].A = l.A
			}
			if list[i].B == 0 {
				list[i].B = l.B
			}
		}
	}
	return list
}

func (h *Hunk) add(p pair, a, b func(int) (int, string)) {
	l := HunkLine{Mark: " "}
	if p.b >= 0 {
		l.B, l.Text = b(p.b)
		l.Mark = "+"
	}
	if p.a >= 0 {
		l.A, l.Text = a(p.a)
		l.Mark = "-"
	}
	if p.a >= 0 && p.b >= 0 {
		l.Mark = " "
	}
	h.Lines = append(h.Lines, l)
}

// stages compares all representations that one of the two has, in the order of the compiler.
func stages(a, b *tritonparse.Compilation) []Stage {
	names := a.Stages()
	for _, n := range b.Stages() {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	list := []Stage{}
	for _, n := range names {
		if languageOf(n) == nil {
			continue
		}
		s := compareStage(n, a.Texts[n], b.Texts[n], a.Name, b.Name)
		switch {
		case a.Texts[n] == "":
			s.only, s.Hunks = "B", []Hunk{}
		case b.Texts[n] == "":
			s.only, s.Hunks = "A", []Hunk{}
		}
		list = append(list, s)
	}
	return list
}

func python(a, b *tritonparse.PythonSource) (*Stage, []pair) {
	if a == nil && b == nil || a != nil && a.Code == "" && b != nil && b.Code == "" {
		return nil, nil
	}
	x, y := function(a), function(b)
	key := func(lines []string) []uint64 {
		h := make([]uint64, len(lines))
		for i, l := range lines {
			h[i] = (&line{key: strings.TrimRight(l, " \t\r")}).hash()
		}
		return h
	}
	pairs := align(key(x), key(y))
	s := &Stage{Name: "python", LinesA: len(x), LinesB: len(y), Equal: equalPairs(pairs), Operations: []Count{}}
	s.Hunks = hunks(pairs, func(i int) (int, string) { return a.FunctionStart + i, x[i] }, func(i int) (int, string) { return b.FunctionStart + i, y[i] })
	return s, pairs
}

// function is the lines of the kernel's function, also where the whole file was recorded.
func function(p *tritonparse.PythonSource) []string {
	if p == nil || p.Code == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(p.Code, "\n"), "\n")
	if from := p.FunctionStart - p.Start; from > 0 && from < len(lines) {
		lines = lines[from:]
		if n := p.FunctionEnd - p.FunctionStart + 1; n > 0 && n < len(lines) {
			lines = lines[:n]
		}
	}
	return lines
}

func percent(a, b float64) string {
	if a == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*(b-a)/a)
}
