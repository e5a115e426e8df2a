package sourcemap

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

var (
	llvmFile     = regexp.MustCompile(`^!(\d+) = (?:distinct )?!DIFile\((.*)\)`)
	llvmScope    = regexp.MustCompile(`^!(\d+) = (?:distinct )?!DI(Subprogram|LexicalBlockFile|LexicalBlock)\((.*)\)`)
	llvmLocation = regexp.MustCompile(`^!(\d+) = (distinct )?!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)(?:, inlinedAt: !(\d+))?`)
	llvmDebug    = regexp.MustCompile(`!dbg !(\d+)`)
	llvmRecord   = regexp.MustCompile(`^\s*#dbg_\w+\(.*, !(\d+)\)\s*$`)
	llvmField    = regexp.MustCompile(`\b(filename|directory|scope|file|line): ("(?:[^"\\]|\\.)*"|!?\d+)`)
)

// llvmNodes are the tables of a module's debug metadata, by number.
type llvmNodes struct {
	files     map[string]string
	scopes    map[string]llvmBlock
	locations map[string]llvmPlace
}

type llvmBlock struct {
	file, scope string
	line        int
	function    bool
}

type llvmPlace struct {
	line, column int
	scope, at    string
}

// readLLVM reads LLVM IR. An instruction names its location by !dbg, and the location of inlined code names that of the call.
func readLLVM(text string, _ *Files, q quirks.Set) []Entry {
	lines := strings.Split(text, "\n")
	n := readLLVMNodes(lines, q)
	if len(n.locations) == 0 {
		return nil
	}
	var entries []Entry
	for i, l := range lines {
		if strings.HasPrefix(l, "!") {
			continue
		}
		m := match(llvmDebug, "!dbg !", l)
		if m == nil && !q.Has(quirks.MapLLVM) {
			m = match(llvmRecord, "#dbg_", l)
		}
		if m == nil {
			continue
		}
		if e, ok := n.entry(m[1], strings.HasPrefix(l, "define"), q); ok {
			e.Own = i + 1
			entries = append(entries, e)
		}
	}
	return entries
}

func readLLVMNodes(lines []string, q quirks.Set) llvmNodes {
	n := llvmNodes{map[string]string{}, map[string]llvmBlock{}, map[string]llvmPlace{}}
	for _, l := range lines {
		if !strings.HasPrefix(l, "!") {
			continue
		}
		if m := match(llvmLocation, "!DILocation(", l); m != nil {
			if q.Has(quirks.MapLLVM) && m[2] != "" {
				continue
			}
			line, _ := strconv.Atoi(m[3])
			column, _ := strconv.Atoi(m[4])
			n.locations[m[1]] = llvmPlace{line, column, m[5], m[6]}
		} else if m := match(llvmScope, "!DI", l); m != nil {
			f := llvmFields(m[3], q)
			line, _ := strconv.Atoi(f["line"])
			function := m[2] == "Subprogram" && f["line"] != "" // others are declarations, as of printf
			n.scopes[m[1]] = llvmBlock{strings.TrimPrefix(f["file"], "!"), strings.TrimPrefix(f["scope"], "!"), line, function}
		} else if m := match(llvmFile, "!DIFile(", l); m != nil {
			f := llvmFields(m[2], q)
			n.files[m[1]] = joinPath(f["directory"], f["filename"])
		}
	}
	return n
}

func llvmFields(text string, q quirks.Set) map[string]string {
	fields := map[string]string{}
	for _, m := range llvmField.FindAllStringSubmatch(text, -1) {
		v := m[2]
		if strings.HasPrefix(v, `"`) {
			v = v[1 : len(v)-1]
			if !q.Has(quirks.MapLLVM) {
				v = mlir.Unescape(v)
			}
		}
		if _, ok := fields[m[1]]; !ok {
			fields[m[1]] = v
		}
	}
	return fields
}

func joinPath(directory, name string) string {
	if directory == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(directory, "/") + "/" + name
}

// file returns the file of a scope, which is that of the nearest scope around it that names one.
func (n llvmNodes) file(scope string) string {
	for range mlir.MaxFrames {
		s, ok := n.scopes[scope]
		if !ok {
			return ""
		}
		if f := n.files[s.file]; f != "" {
			return f
		}
		scope = s.scope
	}
	return ""
}

// compatClimb is how many calls tritonparse follows from inlined code to its callers.
const compatClimb = 32

func (n llvmNodes) entry(id string, define bool, q quirks.Set) (Entry, bool) {
	if s, ok := n.scopes[id]; ok && (define || q.Has(quirks.MapLLVM)) && s.function {
		f := n.file(id)
		return Entry{Frame: Frame{File: f, Line: s.line, Column: 0}, Kind: "subprogram"}, f != ""
	}
	l, ok := n.locations[id]
	if !ok {
		return Entry{}, false
	}
	file := n.file(l.scope)
	if file == "" || !q.Has(quirks.MapLLVM) && l.line == 0 {
		return Entry{}, false
	}
	e := Entry{Frame: Frame{File: file, Line: l.line, Column: l.column}}
	if l.at != "" {
		e.Inlined, e.HasIDs, e.Callee, e.Caller = true, true, id, l.at
		if q.Has(quirks.MapLLVM) {
			e.Outer = n.outer(l)
		} else if e.Callers = n.callers(l); len(e.Callers) > 0 {
			e.Outer = e.Callers[len(e.Callers)-1]
		}
	}
	return e, true
}

// callers returns the calls through which a location was inlined, the innermost first. It returns none if one of them, or the
// file of the outermost, is missing.
func (n llvmNodes) callers(l llvmPlace) []Frame {
	var frames []Frame
	for l.at != "" && len(frames) < mlir.MaxFrames {
		next, ok := n.locations[l.at]
		if !ok {
			return nil
		}
		l = next
		if f := n.file(l.scope); f != "" {
			frames = append(frames, Frame{File: f, Line: l.line, Column: l.column})
		} else if l.at == "" {
			return nil
		}
	}
	return frames
}

// outer returns the outermost call as tritonparse finds it: where a location is missing, the last one that is known.
func (n llvmNodes) outer(l llvmPlace) Frame {
	for range compatClimb {
		next, ok := n.locations[l.at]
		if l.at == "" || !ok {
			break
		}
		l = next
	}
	f := n.file(l.scope)
	if f == "" {
		return Frame{}
	}
	return Frame{File: f, Line: l.line, Column: l.column}
}
