package sourcemap

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// readMLIR reads TTIR, TTGIR and whatever else prints MLIR's locations.
func readMLIR(text string, _ *Files, q quirks.Set) []Entry {
	if q.Has(quirks.MapMLIR) {
		return mlirCompat(strings.Split(text, "\n"))
	}
	return mlirCorrect(strings.Split(text, "\n"))
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
	return Frame{file, l, c}, errLine == nil && errColumn == nil
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

// maxFrames bounds how deep code may be inlined, and how deep locations may be nested.
const maxFrames = 256

// mlirTable has all numbered locations as text, and resolves them on demand.
type mlirTable struct {
	text map[string]string
	done map[string][]Frame
	busy map[string]bool
}

var mlirDef = regexp.MustCompile(`^\s*(#[A-Za-z_][\w.$-]*) = loc\((.*)\)\s*$`)

// mlirCorrect maps the lines of operations. A region's location follows its closing brace and belongs to the line that opened
// the region.
func mlirCorrect(lines []string) []Entry {
	t := &mlirTable{map[string]string{}, map[string][]Frame{}, map[string]bool{}}
	for _, l := range lines {
		if !strings.HasPrefix(strings.TrimSpace(l), "#") {
			continue
		}
		if m := mlirDef.FindStringSubmatch(l); m != nil {
			t.text[m[1]] = m[2]
		}
	}
	var entries []Entry
	var open []int // index of the line of each region that is open
	for i, l := range lines {
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "//") {
			continue
		}
		own := i + 1
		if closes := strings.HasPrefix(trimmed, "}"); closes && len(open) > 0 {
			own = open[len(open)-1]
			open = open[:len(open)-1]
		} else if closes {
			continue
		}
		if opens := strings.HasSuffix(trimmed, "{"); opens {
			open = append(open, own) // } else { goes on with the line of the if
			continue
		}
		frames := t.trailing(trimmed)
		if e, ok := inlined(frames); ok {
			e.Own = own
			entries = append(entries, e)
		}
	}
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

// trailing is the location that ends a line.
func (t *mlirTable) trailing(line string) []Frame {
	if !strings.HasSuffix(line, ")") {
		return nil
	}
	at := strings.LastIndex(line, " loc(")
	if at < 0 {
		if !strings.HasPrefix(line, "loc(") {
			return nil
		}
		at = -1
	}
	p := locParser{table: t, text: line[at+len(" loc(") : len(line)-1]}
	return p.location(0)
}

// resolve returns the frames of a numbered location; one that refers to itself has none.
func (t *mlirTable) resolve(id string, depth int) []Frame {
	if frames, ok := t.done[id]; ok {
		return frames
	}
	text, ok := t.text[id]
	if !ok || t.busy[id] || depth > maxFrames {
		return nil
	}
	t.busy[id] = true
	p := locParser{table: t, text: text}
	frames := p.location(depth + 1)
	delete(t.busy, id)
	t.done[id] = frames
	return frames
}

// locParser reads MLIR's grammar of locations: "file":1:2, "file":1:2 to :3:4, "name"(loc), callsite(loc at loc),
// fused<…>[loc, …], unknown, #id.
type locParser struct {
	table *mlirTable
	text  string
}

func (p *locParser) space() { p.text = strings.TrimLeft(p.text, " \t") }

func (p *locParser) take(token string) bool {
	p.space()
	if !strings.HasPrefix(p.text, token) {
		return false
	}
	p.text = p.text[len(token):]
	return true
}

// location returns the frames of a location, innermost first; none for what is unknown.
func (p *locParser) location(depth int) []Frame {
	if depth > maxFrames {
		return nil
	}
	p.space()
	switch {
	case strings.HasPrefix(p.text, `"`):
		return p.named(depth)
	case strings.HasPrefix(p.text, "#"):
		end := strings.IndexAny(p.text, " ,)]>")
		if end < 0 {
			end = len(p.text)
		}
		id := p.text[:end]
		p.text = p.text[end:]
		return p.table.resolve(id, depth)
	case p.take("loc("):
		frames := p.location(depth + 1)
		p.take(")")
		return frames
	case p.take("callsite("):
		callee := p.location(depth + 1)
		if !p.take("at") {
			return callee
		}
		caller := p.location(depth + 1)
		p.take(")")
		// An unknown callee, as of code that Triton itself adds, has no frame, and the location is the caller's.
		if len(callee)+len(caller) > maxFrames {
			return callee
		}
		return append(callee[:len(callee):len(callee)], caller...)
	case p.take("fused"):
		return p.fused(depth)
	}
	return nil
}

// fused returns the frames of the first location that has any.
func (p *locParser) fused(depth int) []Frame {
	if p.take("<") {
		for open := 1; open > 0 && p.text != ""; p.text = p.text[1:] {
			switch p.text[0] {
			case '<':
				open++
			case '>':
				open--
			}
		}
	}
	if !p.take("[") {
		return nil
	}
	var found []Frame
	for p.text != "" {
		if f := p.location(depth + 1); found == nil {
			found = f
		}
		if !p.take(",") {
			break
		}
	}
	p.take("]")
	return found
}

// named is a file with line and column, or a name around another location.
func (p *locParser) named(depth int) []Frame {
	end := 1
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) {
		p.text = ""
		return nil
	}
	name := unescape(p.text[1:end])
	p.text = p.text[end+1:]
	if p.take("(") {
		frames := p.location(depth + 1)
		p.take(")")
		return frames
	}
	line, ok := p.number()
	if !ok {
		return nil
	}
	column, _ := p.number()
	if p.take("to") {
		p.number()
		p.number()
	}
	return []Frame{{name, line, column}}
}

// number reads :12.
func (p *locParser) number() (int, bool) {
	if !p.take(":") {
		return 0, false
	}
	end := 0
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(p.text[:end])
	p.text = p.text[end:]
	return n, err == nil
}

// unescape decodes \" \\ \n \t and two hexadecimal digits, as MLIR and LLVM print strings.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
