package sourcemap

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// readMLIR reads TTIR, TTGIR and whatever else prints MLIR's locations.
func readMLIR(text string, _ *Files, q quirks.Set) []Entry {
	if q.Has(quirks.MapMLIR) {
		return mlirCompat(strings.Split(text, "\n"))
	}
	return mlirCorrect(text)
}

// The forms of locations that tritonparse knows.
var (
	compatDirect   = regexp.MustCompile(`loc\("([^"]+)":(\d+):(\d+)\)`)
	compatDef      = regexp.MustCompile(`^\s*#loc(\d*) = loc\("([^"]+)":(\d+):(\d+)\)`)
	compatNamed    = regexp.MustCompile(`^\s*#loc(\d+) = loc\("([^"]+)"\(#loc(\d*)\)\)`)
	compatAlias    = regexp.MustCompile(`^\s*#loc(\d+) = loc\(#loc(\d*)\)`)
	compatCallsite = regexp.MustCompile(`^\s*#loc(\d+) = loc\(callsite\(#loc(\d*) at #loc(\d*)\)\)`)
	compatRef      = regexp.MustCompile(`loc\(#loc(\d+)\)\s*$`)
)

// mlirLoc is a numbered location as tritonparse resolves it.
type mlirLoc struct {
	Frame
	id             string
	alias          string
	isAlias        bool
	callsite       bool
	callee, caller string
	line           int
}

func frameOf(file, line, column string) (Frame, bool) {
	l, errLine := strconv.Atoi(line)
	c, errColumn := strconv.Atoi(column)
	return Frame{File: file, Line: l, Column: c}, errLine == nil && errColumn == nil
}

// mlirCompat reads definitions in three rounds: files with lines, then aliases, then call sites. An alias of a call site
// therefore has no location, as in tritonparse.
func mlirCompat(lines []string) []Entry {
	locs := map[string]*mlirLoc{}
	for i, l := range lines {
		if m := compatDef.FindStringSubmatch(l); m != nil {
			if f, ok := frameOf(m[2], m[3], m[4]); ok {
				locs[m[1]] = &mlirLoc{Frame: f, id: m[1], line: i + 1}
			}
		}
	}
	defs := compatAliases(lines, locs)
	defs = append(defs, compatCallsites(lines, locs)...)
	var entries []Entry
	mapped := map[int]bool{}
	for i, l := range lines {
		if e, ok := compatLine(l, locs); ok {
			e.Own = i + 1
			mapped[e.Own] = true
			entries = append(entries, e)
		}
	}
	for _, d := range defs {
		if mapped[d.line] {
			continue
		}
		e := Entry{Frame: d.Frame, Own: d.line, Kind: "loc_def"}
		if d.isAlias {
			e.Alias, e.ID = d.alias, d.id
		}
		entries = append(entries, e)
	}
	return entries
}

func compatAliases(lines []string, locs map[string]*mlirLoc) []*mlirLoc {
	type alias struct {
		id, name, target string
		line             int
	}
	var order []alias
	byID := map[string]alias{}
	for i, l := range lines {
		var a alias
		if m := compatNamed.FindStringSubmatch(l); m != nil {
			a = alias{m[1], m[2], m[3], i + 1}
		} else if m := compatAlias.FindStringSubmatch(l); m != nil {
			a = alias{m[1], "", m[2], i + 1}
		} else {
			continue
		}
		order = append(order, a)
		byID[a.id] = a
	}
	var defs []*mlirLoc
	for _, a := range order {
		target := a.target
		for range order { // a chain is no longer than there are aliases, or it is a circle
			next, ok := byID[target]
			if !ok {
				break
			}
			target = next.target
		}
		if to := locs[target]; to != nil && !to.isAlias {
			defs = append(defs, &mlirLoc{Frame: to.Frame, id: a.id, alias: a.name, isAlias: true, line: a.line})
		}
	}
	for _, d := range defs {
		locs[d.id] = d
	}
	return defs
}

func compatCallsites(lines []string, locs map[string]*mlirLoc) []*mlirLoc {
	var defs []*mlirLoc
	for i, l := range lines {
		m := compatCallsite.FindStringSubmatch(l)
		if m == nil || locs[m[2]] == nil {
			continue
		}
		d := &mlirLoc{Frame: locs[m[2]].Frame, id: m[1], callsite: true, callee: m[2], caller: m[3], line: i + 1}
		locs[d.id] = d
		defs = append(defs, d)
	}
	return defs
}

// compatLine is the entry of one line; the last location on it counts.
func compatLine(line string, locs map[string]*mlirLoc) (Entry, bool) {
	if m := compatRef.FindStringSubmatch(line); m != nil {
		l := locs[m[1]]
		if l == nil {
			return Entry{}, false
		}
		e := Entry{Frame: l.Frame, Alias: l.alias}
		if l.isAlias {
			e.ID = l.id
		}
		if l.callsite {
			e.Inlined, e.HasIDs, e.Callee, e.Caller = true, true, l.callee, l.caller
			e.Outer = compatOuter(l, locs)
		}
		return e, true
	}
	all := compatDirect.FindAllStringSubmatch(line, -1)
	if len(all) == 0 {
		return Entry{}, false
	}
	m := all[len(all)-1]
	f, ok := frameOf(m[1], m[2], m[3])
	return Entry{Frame: f}, ok
}

// compatOuter returns the outermost caller; a broken or circular chain has none.
func compatOuter(l *mlirLoc, locs map[string]*mlirLoc) Frame {
	seen := map[*mlirLoc]bool{}
	for l.callsite {
		if seen[l] {
			return Frame{}
		}
		seen[l] = true
		if l = locs[l.caller]; l == nil {
			return Frame{}
		}
	}
	return l.Frame
}

// mlirCorrect maps the lines of operations. A region's location follows its closing brace and belongs to the line that opened
// the region.
func mlirCorrect(text string) []Entry {
	file := mlir.Parse(text)
	var entries []Entry
	file.Walk(func(op *mlir.Op) {
		if e, ok := inlined(file.Frames(op.Location)); ok {
			e.Own = int(op.Line)
			entries = append(entries, e)
		}
	})
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Own, b.Own) })
	return entries
}

// inlined makes an entry of a chain of frames, innermost first.
func inlined(frames []Frame) (Entry, bool) {
	if len(frames) == 0 || frames[0].Line == 0 {
		return Entry{}, false
	}
	e := Entry{Frame: frames[0]}
	if len(frames) > 1 {
		e.Inlined, e.Outer, e.Callers = true, frames[len(frames)-1], frames[1:]
	}
	return e, true
}
