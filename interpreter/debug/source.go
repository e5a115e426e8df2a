package debug

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// sources are the texts of source files, by path.
type sources struct {
	given map[string]string // of cells of notebooks, which are in no file
	lines map[string][]string
}

// maxSource bounds a file that is read as source.
const maxSource = 16 << 20

// of are the lines of a file; none if it cannot be read.
func (s *sources) of(file string) []string {
	if list, ok := s.lines[file]; ok {
		return list
	}
	text, ok := s.given[file]
	if info, err := os.Stat(file); !ok && err == nil && info.Mode().IsRegular() && info.Size() < maxSource {
		data, _ := os.ReadFile(file)
		text = string(data)
	}
	var list []string
	if text != "" {
		list = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	s.lines[file] = list
	return list
}

// line is a line without its end, and false if there is none.
func (s *sources) line(file string, n int) (string, bool) {
	if list := s.of(file); n >= 1 && n <= len(list) {
		return strings.TrimRight(list[n-1], "\r"), true
	}
	return "", false
}

var definition = regexp.MustCompile(`^(\s*)(?:async\s+)?def\s+(\w+)`)

// functionAt is the function whose body a line is in, by the source; "" if that is not known.
func (s *sources) functionAt(file string, line int) string {
	list := s.of(file)
	if line < 1 || line > len(list) {
		return ""
	}
	indent := len(list[line-1]) - len(strings.TrimLeft(list[line-1], " \t"))
	for n := line; n >= 1; n-- {
		m := definition.FindStringSubmatch(list[n-1])
		if m != nil && (len(m[1]) < indent || n == line) {
			return m[2]
		}
	}
	return ""
}

// functionName is the source's name of a function of the text: add.helper__fp32S16 is helper.
func (s *sources) functionName(f *ttir.Function, at mlir.Frame) string {
	list := s.of(at.File)
	for n := at.Line; n >= 1 && n <= len(list) && n < at.Line+32; n++ { // behind its decorators
		if m := definition.FindStringSubmatch(list[n-1]); m != nil {
			return m[2]
		}
	}
	name := strings.TrimPrefix(f.Name, "__main__.")
	if i := strings.Index(name, "__"); i > 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// matches says whether a path ends with what a user wrote: add.py, or kernels/add.py.
func matches(path, written string) bool {
	path, written = filepath.ToSlash(path), strings.TrimPrefix(filepath.ToSlash(written), "./")
	return path == written || strings.HasSuffix(path, "/"+strings.TrimPrefix(written, "/"))
}
