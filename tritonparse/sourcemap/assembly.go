package sourcemap

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// readPTX reads the assembly that LLVM writes for NVIDIA's GPUs.
func readPTX(text string, files *Files, q quirks.Set) []Entry {
	return assembly(text, "//", files, q)
}

// readAMDGCN reads the assembly that LLVM writes for AMD's GPUs.
func readAMDGCN(text string, files *Files, q quirks.Set) []Entry {
	return assembly(text, ";", files, q)
}

var (
	asmLoc     = regexp.MustCompile(`^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)([^/;]*)`)
	asmInlined = regexp.MustCompile(`inlined_at\s+(\d+)\s+(\d+)\s+(\d+)`)
	asmFile    = regexp.MustCompile(`^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?`)
	asmPlace   = regexp.MustCompile(`^(.*):(\d+):(\d+)$`)
	asmLabel   = regexp.MustCompile(`^[\w$.@]+:`)
)

// assemblyReader goes through a listing line by line.
type assemblyReader struct {
	comment string
	files   *Files
	quirky  bool              // the reading of quirks.MapAssembly
	table   map[string]string // .file numbers
	chain   map[[3]string][3]string
	current Entry
	known   bool
	asm     bool // inside of inline assembly
}

func assembly(text, comment string, files *Files, q quirks.Set) []Entry {
	lines := strings.Split(text, "\n")
	r := &assemblyReader{comment: comment, files: files, quirky: q.Has(quirks.MapAssembly), table: map[string]string{}, chain: map[[3]string][3]string{}}
	for _, l := range lines {
		if m := match(asmFile, ".file", l); m != nil {
			name := mlir.Unescape(m[2])
			if m[3] != "" {
				name = joinPath(name, mlir.Unescape(m[3]))
			}
			r.table[m[1]] = name
		}
		if !r.quirky {
			continue
		}
		if m := match(asmLoc, ".loc", l); m != nil {
			r.note(m)
		}
	}
	if r.quirky {
		return r.compatLines(lines)
	}
	return r.correctLines(lines)
}

// match matches an expression that has a word in it: most lines have not.
func match(e *regexp.Regexp, word, line string) []string {
	if !strings.Contains(line, word) {
		return nil
	}
	return e.FindStringSubmatch(line)
}

// note stores where a .loc was inlined. Code that is inlined at several places has several callers. LLVM names a caller before what is
// inlined into it, so a line's caller is the last one above it; tritonparse takes the last one of the whole text.
func (r *assemblyReader) note(m []string) {
	key := [3]string{m[1], m[2], m[3]}
	if at := asmInlined.FindStringSubmatch(m[4]); at != nil {
		r.chain[key] = [3]string(at[1:4])
	} else if !r.quirky {
		delete(r.chain, key)
	}
}

// compatLines reads the first function, between its two comments.
func (r *assemblyReader) compatLines(lines []string) []Entry {
	var entries []Entry
	inside := false
	for i, l := range lines {
		switch {
		case !inside:
			inside = strings.Contains(l, r.comment+" -- Begin function")
			continue
		case strings.Contains(l, r.comment+" -- End function"):
			return entries
		}
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || strings.HasPrefix(trimmed, r.comment) {
			continue
		}
		if m := match(asmLoc, ".loc", l); m != nil {
			r.compatLoc(l, m)
		}
		if r.known {
			e := r.current
			e.Own = i + 1
			entries = append(entries, e)
		}
	}
	return nil // no end: tritonparse maps nothing
}

// compatLoc takes file, line and column as tritonparse does: the file from the comment, which must be there.
func (r *assemblyReader) compatLoc(line string, m []string) {
	_, comment, ok := strings.Cut(line, r.comment)
	place := asmPlace.FindStringSubmatch(firstWord(comment))
	if !ok || place == nil {
		return
	}
	f, ok := frameOf(r.files.Resolve(place[1]), m[2], m[3])
	if !ok || f.Line == 0 {
		r.known = false
		return
	}
	r.known = true
	r.current = Entry{Frame: f}
	if r.comment != "//" || !strings.Contains(m[4], "inlined_at") {
		return
	}
	caller := asmInlined.FindStringSubmatch(m[4])
	if caller == nil {
		return
	}
	at := [3]string(caller[1:4])
	for range len(r.chain) + 1 {
		next, ok := r.chain[at]
		if !ok {
			break
		}
		at = next
	}
	if file := r.table[at[0]]; file != "" {
		outer, _ := frameOf(file, at[1], at[2])
		r.current.Inlined, r.current.Outer = true, outer
	}
}

func firstWord(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i]
	}
	return s
}

// correctLines gives places to instructions only, not to labels, braces, declarations and comments. Inline assembly has the place of
// the call that inserted it: see FindMisplaced.
func (r *assemblyReader) correctLines(lines []string) []Entry {
	for _, name := range r.table {
		r.files.Add(name)
	}
	entries := make([]Entry, 0, len(lines))
	same := map[string]Entry{} // by a whole .loc; what it means changes with the chain alone
	begin, end := r.comment+" -- Begin function", r.comment+" -- End function"
	for i, l := range lines {
		if strings.Contains(l, begin) || strings.Contains(l, end) {
			r.known, r.asm = false, false
			continue
		}
		if r.asm = insideAsm(r.asm, l); r.asm && match(asmLoc, ".loc", l) != nil {
			continue
		}
		if e, ok := same[l]; ok && len(r.chain) == 0 {
			r.current, r.known = e, e.Line != 0
			continue
		}
		if m := match(asmLoc, ".loc", l); m != nil {
			r.note(m)
			frames := r.frames(l, m)
			r.current, r.known = inlined(frames)
			if len(r.chain) == 0 {
				same[l] = r.current
			}
			continue
		}
		if r.known && r.instruction(l) {
			e := r.current
			e.Own = i + 1
			entries = append(entries, e)
		}
	}
	return entries
}

func (r *assemblyReader) instruction(line string) bool {
	code, _, _ := strings.Cut(line, r.comment)
	if code = strings.TrimSpace(code); strings.Contains(code, ":") {
		code = strings.TrimSpace(asmLabel.ReplaceAllString(code, ""))
	}
	switch {
	case code == "", strings.HasPrefix(code, "."), strings.HasPrefix(code, "#"):
		return false
	}
	return strings.Trim(code, "{}(), \t") != ""
}

// frames of a .loc, innermost first: itself, then what inlined_at says, else what the comment says, which is all that
// Triton's assembly has: standard.py:43:17 @[ kernel.py:90:27 @[ … ] ].
func (r *assemblyReader) frames(line string, m []string) []Frame {
	l, errLine := strconv.Atoi(m[2])
	c, errColumn := strconv.Atoi(m[3])
	if errLine != nil || errColumn != nil || l == 0 {
		return nil
	}
	_, comment, _ := strings.Cut(line, r.comment)
	var noted []Frame
	for _, part := range strings.Split(comment, "@[") {
		part = strings.TrimRight(strings.TrimSpace(part), "] ")
		p := asmPlace.FindStringSubmatch(part)
		if p == nil {
			break
		}
		f, ok := frameOf(r.files.Resolve(p[1]), p[2], p[3])
		if !ok || len(noted) > mlir.MaxFrames {
			break
		}
		noted = append(noted, f)
	}
	own := Frame{File: r.table[m[1]], Line: l, Column: c}
	if own.File == "" {
		if len(noted) == 0 {
			return nil
		}
		own.File = noted[0].File
	}
	frames := []Frame{own}
	if at := asmInlined.FindStringSubmatch(m[4]); at != nil && len(noted) < 2 {
		return append(frames, r.attributes([3]string(at[1:4]))...)
	}
	if len(noted) > 1 {
		frames = append(frames, noted[1:]...)
	}
	return frames
}

// attributes follows inlined_at from place to place.
func (r *assemblyReader) attributes(at [3]string) []Frame {
	var frames []Frame
	for range len(r.chain) + 1 {
		if f, ok := frameOf(r.table[at[0]], at[1], at[2]); ok && f.File != "" {
			frames = append(frames, f)
		}
		next, ok := r.chain[at]
		if !ok || len(frames) > mlir.MaxFrames {
			break
		}
		at = next
	}
	return frames
}

var (
	sassFile        = regexp.MustCompile(`^\s*//## File "([^"]+)", line (\d+)(?: inlined at "([^"]+)", line (\d+))?`)
	sassPTX         = regexp.MustCompile(`"\.nv_debug_ptx_txt[^"]*", line (\d+)`)
	sassInstruction = regexp.MustCompile(`/\*[0-9a-fA-F]+\*/`)
)

// readSASS reads a listing of nvdisasm -g: comments with the places of what follows, innermost first.
func readSASS(text string, _ *Files, q quirks.Set) []Entry {
	var entries []Entry
	var stack []Frame
	fresh := false // the comments that are being read begin a new stack with the next
	made := 0      // the line of PTX that instructions are made of
	for i, l := range strings.Split(text, "\n") {
		if strings.Contains(l, ".nv_debug_ptx_txt") {
			if m := sassPTX.FindStringSubmatch(l); m != nil {
				made, _ = strconv.Atoi(m[1])
			}
			continue
		}
		if m := sassFile.FindStringSubmatch(l); m != nil {
			if fresh {
				stack, fresh = nil, false
			}
			f, _ := frameOf(m[1], m[2], "0")
			if q.Has(quirks.MapSASS) {
				stack = append(stack, f)
				entries = append(entries, Entry{Frame: f, Own: i + 1})
				continue
			}
			stack = appendNew(stack, f)
			if at, ok := frameOf(m[3], m[4], "0"); ok && len(stack) < mlir.MaxFrames {
				stack = appendNew(stack, at)
			}
			continue
		}
		if !q.Has(quirks.MapSASS) && (strings.HasPrefix(l, "Function:") || strings.Contains(l, ".section")) {
			stack, made = nil, 0
		}
		if !sassInstruction.MatchString(l) {
			continue
		}
		fresh = true
		if e, ok := sassEntry(stack, q); ok {
			e.Own, e.made = i+1, made
			entries = append(entries, e)
		}
	}
	return entries
}

func sassEntry(stack []Frame, q quirks.Set) (Entry, bool) {
	if !q.Has(quirks.MapSASS) {
		return inlined(stack)
	}
	if len(stack) == 0 {
		return Entry{}, false
	}
	e := Entry{Frame: stack[0]}
	if len(stack) > 1 {
		e.Inlined, e.Outer = true, stack[len(stack)-1]
	}
	return e, true
}

// appendNew appends a frame, unless it repeats the last one, as the comment for a caller does.
func appendNew(stack []Frame, f Frame) []Frame {
	if len(stack) > 0 && stack[len(stack)-1] == f {
		return stack
	}
	return append(stack, f)
}
