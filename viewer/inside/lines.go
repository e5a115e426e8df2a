package inside

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// span are lines of a source file, the last included.
type span struct {
	file        string
	first, last int
}

func (s span) has(file string, line int) bool {
	return line >= s.first && line <= s.last && sameFile(file, s.file)
}

// sameFile compares paths of two runs, between which the file may have been moved.
func sameFile(a, b string) bool { return a == b || path.Base(a) == path.Base(b) }

// file is the source file in which most scopes begin; "" if none has a line.
func (k *Kernel) file() (most string) {
	scopes := map[string]int{}
	for _, s := range All(k.Scopes) {
		for _, l := range s.lines() {
			if scopes[l.File]++; scopes[l.File] > scopes[most] {
				most = l.File
			}
		}
	}
	return most
}

func (s *Scope) lines() []profile.InsideLine {
	if s.Data == nil {
		return nil
	}
	return s.Data.Lines
}

// spans are the lines of a scope. A profile says where it begins; the source text says where it ends, and without the text a scope has
// one line. A scope that was put around inlined code by machine begins in the file of that code, and has the line of the call in its name.
func (s *Scope) spans(files *kernels.Files) (all []span) {
	main := s.Kernel.file()
	for _, l := range s.lines() {
		first, last := linesOf(files.Text(l.File), s.Name, l.Line)
		all = append(all, span{l.File, first, last})
		if call := lineInName(s.Name); call > 0 && !sameFile(l.File, main) {
			first, last := linesOf(files.Text(main), s.Name, call)
			all = append(all, span{main, first, last})
		}
	}
	return all
}

// lineInName is the number at the end of the name of a scope that was made by machine: 15 of "load x_ptr:15"; 0 if there is none.
func lineInName(name string) int {
	_, number := cutLast(name)
	line, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return line
}

func cutLast(name string) (before, after string) {
	at := strings.LastIndexByte(name, ':')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

var (
	withScope  = regexp.MustCompile(`^\s*with\b.*\bscope\(`)
	enterScope = regexp.MustCompile(`\benter_scope\((.*)$`)
)

// linesOf finds the lines of a scope that begins at a line of Python: the block of a with statement, or of a loop that a scope was put
// around by machine; all up to the exit_scope of the same name; else the lines of one statement.
func linesOf(text *kernels.Text, name string, line int) (first, last int) {
	shown, found := text.Line(line)
	if !found {
		return line, line
	}
	if before, _ := text.Line(line - 1); !withScope.MatchString(shown) && withScope.MatchString(before) { // the compiler names the first line of the block
		line, shown = line-1, before
	}
	if enter := enterScope.FindStringSubmatch(shown); enter != nil {
		return line, exitOf(text, line, name)
	}
	end := statementEnd(text, line)
	if withScope.MatchString(shown) || strings.HasPrefix(name, "loop") {
		end = blockEnd(text, line, end)
	}
	return line, end
}

// exitOf is the line of the exit_scope of a name, or the first line if there is none.
func exitOf(text *kernels.Text, line int, name string) int {
	for n := line; n <= text.Lines(); n++ {
		shown, _ := text.Line(n)
		if _, of, is := strings.Cut(shown, "exit_scope("); is && (strings.Contains(of, `"`+name+`"`) || strings.Contains(of, "'"+name+"'")) {
			return n
		}
	}
	return line
}

// statementEnd is the line in which all brackets that a statement opened are closed.
func statementEnd(text *kernels.Text, line int) int {
	open := 0
	for n := line; n <= text.Lines(); n++ {
		shown, _ := text.Line(n)
		open += strings.Count(shown, "(") + strings.Count(shown, "[") - strings.Count(shown, ")") - strings.Count(shown, "]")
		if open <= 0 {
			return n
		}
	}
	return line
}

// blockEnd is the last line that is indented more than the statement that opens the block and ends at header.
func blockEnd(text *kernels.Text, line, header int) int {
	opening, _ := text.Line(line)
	last := header
	for n := header + 1; n <= text.Lines(); n++ {
		shown, _ := text.Line(n)
		if strings.TrimSpace(shown) == "" {
			continue
		}
		if indent(shown) <= indent(opening) {
			break
		}
		last = n
	}
	return last
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
