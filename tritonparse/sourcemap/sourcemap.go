// Package sourcemap finds the Python line of each line of a compiler's representations, and so the lines of other representations
// with the same Python line.
//
// There are two readings. With all quirks it gives what tritonparse 0.6.0 gives, mistakes included, for tools that compare with it.
// Without quirks it follows inlined code to its caller in every representation, resolves fused, ranged and aliased locations, and has
// no entries for lines that are not code.
package sourcemap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// Frame is a place in a source file.
type Frame = mlir.Frame

// Entry says where one line of a representation came from.
type Entry struct {
	Frame
	Own     int  // the line itself, from 1
	Inlined bool // the code was inlined: Frame is in the callee
	Outer   Frame
	Callers []Frame // the calls that it was inlined at, the innermost first, Outer last; nil with quirks
	// Names of the location in the representation, for readers of tritonparse's files.
	HasIDs         bool
	Callee, Caller string
	Alias, ID      string
	Kind           string

	made   int // of an instruction: the line of PTX that it was made of; 0 if that is not known
	others []*others
}

// others are the lines of another stage with the same place. All entries of the place share them, unless they are a crowd.
type others struct {
	stage string
	lines []int
}

// Parser reads the text of one representation. files has the paths of earlier stages: some representations have base names only.
type Parser func(text string, files *Files) []Entry

// builtin are the parsers of the representations of the built-in backends.
var builtin = map[string]func(text string, files *Files, q quirks.Set) []Entry{"mlir": readMLIR, "llvm_dbg": readLLVM, "ptx": readPTX, "amdgcn": readAMDGCN, "sass": readSASS}

var registered = map[string]Parser{}

// Register adds a parser under the name that stages use. It is called from an init function. It panics if the name is taken.
func Register(name string, p Parser) {
	if builtin[name] != nil || registered[name] != nil || name == "" {
		panic(fmt.Sprintf("sourcemap: parser %q is registered already, or has no name", name))
	}
	registered[name] = p
}

// parse reads the text of a stage; nil where no parser is registered for it.
func (s *Stage) parse(files *Files, q quirks.Set) []Entry {
	if read := builtin[s.Parser]; read != nil {
		return read(s.Text, files, q)
	}
	if read := registered[s.Parser]; read != nil {
		return read(s.Text, files)
	}
	return nil
}

// Stage is one representation to be mapped.
type Stage struct {
	Name   string // also the end of the artifact's file name, and the beginning of the map's members
	Parser string
	Text   string
	sass   bool
}

// Python is the kernel's own source; without a File there is none.
type Python struct {
	File string
	Has  bool
}

// Map is the maps of all stages.
type Map struct {
	stages  []Stage
	entries [][]Entry
	python  []pythonLine
}

type pythonLine struct {
	line   int
	stages []others
}

// New maps the stages, which come in the order of the compiler.
func New(stages []Stage, python Python) *Map { return NewQuirky(stages, python, quirks.None) }

// NewQuirky is New with the quirks of tritonparse 0.6.0 that are asked for.
func NewQuirky(stages []Stage, python Python, q quirks.Set) *Map {
	m := &Map{}
	files := &Files{}
	for _, s := range stages {
		entries := s.parse(files, q)
		if len(entries) == 0 {
			continue
		}
		if s.sass = s.Parser == "sass"; s.sass && !q.Has(quirks.MapSASS) {
			correctMisplaced(entries, stages)
		}
		for _, e := range entries {
			files.Add(e.File)
		}
		m.stages = append(m.stages, s)
		m.entries = append(m.entries, entries)
	}
	made := indexes{}
	for i := range m.stages {
		for j := range m.stages {
			if i != j {
				m.join(i, j, q, made)
			}
		}
	}
	if python.Has {
		m.byPython(python, q)
	}
	return m
}

// Entries are the entries of a stage.
func (m *Map) Entries(stage string) []Entry {
	for i, s := range m.stages {
		if s.Name == stage {
			return m.entries[i]
		}
	}
	return nil
}

// Origin is equal for lines that were made of the same code: the innermost place, and the line of the kernel's own that it was inlined into.
type Origin struct {
	Frame
	Outer Frame // without its column; zero if the code was not inlined
}

// Origin is that of a line.
func (e *Entry) Origin() Origin {
	o := Origin{Frame: e.Frame}
	if e.Inlined {
		o.Outer = Frame{File: e.Outer.File, Line: e.Outer.Line}
	}
	return o
}

// KernelLine is the place in the kernel's function: that of the outermost call for code that was inlined.
func (e *Entry) KernelLine() Frame {
	if e.Inlined && e.Outer.File != "" {
		return e.Outer
	}
	return e.Frame
}

// precision is what of their places two stages compare. Listings of machine code have no columns, and often no callers: then only file
// and line count.
type precision struct{ columns, callers bool }

func (c precision) key(e *Entry) Origin {
	p := e.Origin()
	if !c.callers {
		p.Outer = Frame{}
	}
	if !c.columns {
		p.Column = 0
	}
	return p
}

// indexes are the lines of stages by their places, which all stages that compare as much of them share.
type indexes map[indexed]map[Origin]*others

type indexed struct {
	stage int
	precision
}

func (m *Map) index(stage int, c precision, made indexes) map[Origin]*others {
	if at := made[indexed{stage, c}]; at != nil {
		return at
	}
	at := map[Origin]*others{}
	for k := range m.entries[stage] {
		e := &m.entries[stage][k]
		p := c.key(e)
		o := at[p]
		if o == nil {
			o = &others{stage: m.stages[stage].Name}
			at[p] = o
		}
		o.lines = append(o.lines, e.Own)
	}
	for _, o := range at {
		slices.Sort(o.lines)
	}
	made[indexed{stage, c}] = at
	return at
}

// join gives every line of stage i the lines of stage j with the same place, or those near it in a crowd.
func (m *Map) join(i, j int, q quirks.Set, made indexes) {
	compared := precision{
		columns: !m.stages[i].sass && !m.stages[j].sass,
		callers: !q.Has(quirks.MapByLine) && hasCallers(m.entries[i]) && hasCallers(m.entries[j]),
	}
	at, key := m.index(j, compared, made), compared.key
	var crowds map[Origin]*crowd
	if !q.Has(quirks.MapAllLines) {
		crowds = crowdsOf(m.entries[i], at, key)
	}
	for k := range m.entries[i] {
		e := &m.entries[i][k]
		p := key(e)
		o := at[p]
		if o == nil {
			continue
		}
		if c := crowds[p]; c != nil {
			o = c.next(o)
		}
		if e.others == nil {
			e.others = make([]*others, 0, len(m.stages)-1)
		}
		e.others = append(e.others, o)
	}
}

func hasCallers(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Inlined })
}

// byPython makes the map from Python lines to lines of the stages. It has lines of the kernel's own file only; tritonparse takes line
// numbers of any file.
func (m *Map) byPython(python Python, q quirks.Set) {
	at := map[int]int{}
	for i, s := range m.stages {
		for _, e := range m.entries[i] {
			where := e.KernelLine()
			if !q.Has(quirks.MapAnyFile) && where.File != python.File {
				continue
			}
			k, ok := at[where.Line]
			if !ok {
				k = len(m.python)
				at[where.Line] = k
				m.python = append(m.python, pythonLine{line: where.Line})
			}
			p := &m.python[k]
			if n := len(p.stages); n == 0 || p.stages[n-1].stage != s.Name {
				p.stages = append(p.stages, others{stage: s.Name})
			}
			last := &p.stages[len(p.stages)-1]
			last.lines = append(last.lines, e.Own)
		}
	}
	if !q.Has(quirks.MapAnyFile) {
		slices.SortFunc(m.python, func(a, b pythonLine) int { return cmp.Compare(a.line, b.line) })
	}
}

// Files finds paths by base names: comments of assembly have no more.
type Files struct {
	seen map[string]bool
	byID map[string]string // base name to the first path that has it
}

// Add makes a path known.
func (f *Files) Add(path string) {
	if f.seen[path] {
		return
	}
	if f.seen == nil {
		f.seen, f.byID = map[string]bool{}, map[string]string{}
	}
	f.seen[path] = true
	if b := base(path); f.byID[b] == "" {
		f.byID[b] = path
	}
}

// Resolve returns the first path that ends with a base name, and the name itself where there is none.
func (f *Files) Resolve(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if p := f.byID[base(name)]; p != "" {
		return p
	}
	return name
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
