// Package compare says what differs between two compilations of a kernel, or between all compilations of two traces: their
// options, sources and representations, what they take of the GPU, and how long they ran.
//
// Representations are compared by what they do. Values are named anew by every compilation, locations and metadata are
// renumbered: lines that differ in such names only are equal, as long as the same names stand for the same values.
package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// Side is one of the two compilations.
type Side struct {
	Trace  string `json:"trace"`
	Kernel string `json:"kernel"`
	Hash   string `json:"hash"`
	Event  int    `json:"event"` // place among the trace's compilations, from 0
	Line   int    `json:"line"`  // of the record in its file, from 0

	Launches  int                `json:"launches"`
	Launch    *tritonparse.Place `json:"launch,omitempty"` // whose arguments are compared; nil if none are
	Resources nearby.Resources   `json:"resources"`
	Time      *Time              `json:"time,omitempty"` // nil without a profile, or if it has none of this kernel

	compilation *tritonparse.Compilation
}

// Change is an option, or anything else with a name, that is not the same. JSON is as in the trace; nil where there is none.
type Change struct {
	Name string          `json:"name"`
	A    json.RawMessage `json:"a"`
	B    json.RawMessage `json:"b"`
}

// ByLine is what became of one line of the Python source.
type ByLine struct {
	Offset int            `json:"offset"`           // of the line in A's function, or in B's if A has no such line; 0 is its first
	LineA  int            `json:"line_a,omitempty"` // in the file; 0 if A has no such line
	LineB  int            `json:"line_b,omitempty"`
	Code   string         `json:"code"`
	A      map[string]int `json:"a"` // lines of each representation that it became
	B      map[string]int `json:"b"`

	fromA, fromB map[string][]int
}

// Expansion is by how much the lines of a representation grew.
func (l *ByLine) Expansion(stage string) int { return l.B[stage] - l.A[stage] }

// Diff is what differs between two compilations.
type Diff struct {
	A       Side     `json:"a"`
	B       Side     `json:"b"`
	Same    bool     `json:"same"` // nothing that matters differs
	Options []Change `json:"options"`
	Equal   []Change `json:"-"` // options that are the same
	Python  *Stage   `json:"python,omitempty"`
	Stages  []Stage  `json:"representations"`
	Lines   []ByLine `json:"lines"` // that became another number of lines
	TensorDiff
	Notes []string `json:"notes,omitempty"` // why something is not there

	compared int // lines of the Python source
}

// New compares two compilations, which have their texts.
func New(a, b Side) *Diff {
	d := &Diff{A: a, B: b}
	x, y := a.compilation, b.compilation
	d.Options, d.Equal = compareOptions(flatOptions(x), flatOptions(y))
	for _, s := range []*Side{&d.A, &d.B} {
		var err error
		if s.Resources, err = nearby.ResourcesOf(s.compilation); err != nil {
			d.Notes = append(d.Notes, err.Error())
		}
	}
	var pairs []pair
	d.Python, pairs = python(x.Python, y.Python)
	d.Stages = stages(x, y)
	d.lines(x, y, pairs)
	d.Same = len(d.Options) == 0 && len(d.resourceChanges()) == 0 && (d.Python == nil || d.Python.Same()) && !slices.ContainsFunc(d.Stages, func(s Stage) bool { return !s.Same() })
	return d
}

// Compilation is a side, from a trace's compilation at a place.
func Compilation(t *tritonparse.Trace, event int) Side {
	c := t.Compilations()[event]
	return Side{Trace: t.Source, Kernel: c.Name, Hash: c.Hash, Event: event, Line: c.Line, Launches: c.Launches, compilation: c}
}

// ofOneCompilation are members of the metadata that say nothing about the code.
var ofOneCompilation = map[string]bool{"hash": true, "name": true, "times": true, "cache_hit": true, "src_cache_key": true, "num_warps_base": true, "env": true}

func compareOptions(a, b *flat) (changed, equal []Change) {
	changed = []Change{}
	add := func(name string) {
		c := Change{name, a.values[name], b.values[name]}
		if bytes.Equal(c.A, c.B) {
			equal = append(equal, c)
		} else {
			changed = append(changed, c)
		}
	}
	for _, name := range a.names {
		add(name)
	}
	for _, name := range b.names {
		if a.values[name] == nil {
			add(name)
		}
	}
	return changed, equal
}

// flat is the metadata of a compilation, with constants and attributes one by one under the names of the arguments.
type flat struct {
	names  []string
	values map[string][]byte // canonical
}

func (f *flat) add(name string, value []byte) {
	f.names = append(f.names, name)
	f.values[name] = jsontext.Form{}.Append(nil, value)
}

func flatOptions(c *tritonparse.Compilation) *flat {
	f := &flat{values: map[string][]byte{}}
	members, _ := jsontext.Members(c.Metadata)
	parameters := c.Parameters()
	for _, m := range members {
		switch {
		case ofOneCompilation[m.Name]:
		case m.Name == "src_constants" || m.Name == "src_attrs":
			inner, err := jsontext.Members(m.Value)
			if err != nil {
				f.add(m.Name, m.Value)
				continue
			}
			for _, i := range inner {
				name := parameterName(i.Name, parameters)
				if m.Name == "src_attrs" {
					name += " attributes"
				}
				f.add(name, i.Value)
			}
		default:
			f.add(m.Name, m.Value)
		}
	}
	return f
}

// parameterName turns (3,) into the name of the fourth parameter; what lies within an argument keeps its place: (3, 0).
func parameterName(path string, parameters []string) string {
	inside := strings.Trim(path, "() ,")
	var first int
	if n, err := fmt.Sscanf(inside, "%d", &first); n != 1 || err != nil || first < 0 || first >= len(parameters) {
		return path
	}
	name := parameters[first]
	if _, rest, deeper := strings.Cut(inside, ","); deeper {
		for _, r := range strings.Split(rest, ",") {
			name += "[" + strings.TrimSpace(r) + "]"
		}
	}
	return name
}

// lines compares what each line of the Python source became. Lines of the two sources are paired by the sources'
// difference, so it does not matter where in its file a kernel is.
func (d *Diff) lines(a, b *tritonparse.Compilation, pairs []pair) {
	d.Lines = []ByLine{}
	if a.Python == nil || b.Python == nil {
		return
	}
	x, y := a.Maps(), b.Maps()
	codeA, codeB := function(a.Python), function(b.Python)
	for _, p := range pairs {
		l := ByLine{A: map[string]int{}, B: map[string]int{}, fromA: map[string][]int{}, fromB: map[string][]int{}}
		if p.b >= 0 {
			l.Offset, l.LineB, l.Code = p.b, b.Python.FunctionStart+p.b, strings.TrimSpace(codeB[p.b])
		}
		if p.a >= 0 {
			l.Offset, l.LineA, l.Code = p.a, a.Python.FunctionStart+p.a, strings.TrimSpace(codeA[p.a])
		}
		differs := false
		for _, s := range d.Stages {
			if l.LineA > 0 {
				l.fromA[s.Name] = x.FromPython(l.LineA, s.Name)
			}
			if l.LineB > 0 {
				l.fromB[s.Name] = y.FromPython(l.LineB, s.Name)
			}
			l.A[s.Name], l.B[s.Name] = len(l.fromA[s.Name]), len(l.fromB[s.Name])
			differs = differs || l.A[s.Name] != l.B[s.Name]
		}
		d.compared++
		if differs {
			d.Lines = append(d.Lines, l)
		}
	}
	slices.SortStableFunc(d.Lines, func(p, q ByLine) int { return cmp.Compare(p.Offset, q.Offset) })
}

// Load reads the texts of sides of a trace that was opened without.
func Load(t *tritonparse.Trace, sides ...*Side) error {
	return t.EachCompilation(func(c *tritonparse.Compilation) error {
		for _, s := range sides {
			if s.Hash == c.Hash && s.compilation.File == c.File && s.compilation.Line == c.Line {
				s.compilation = c
			}
		}
		return nil
	})
}

// SetTime takes the times of a profile; nil for none.
func (s *Side) SetTime(p *profile.Profile) { s.Time = TimeOf(p, s.compilation) }
