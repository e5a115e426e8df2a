package viewer

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/goproton/goproton/internal/term"
)

// NameFormat is how names of frames are shortened. The forms with file, function and line change names such as
// /path/file.py:12@function and no others.
type NameFormat string

// The formats. The empty one is ShortName.
const (
	ShortName        NameFormat = "short"              // file:line@function; C++ without namespaces, parameters and what templates repeat
	FullName         NameFormat = "full"               // C++ demangled, and nothing left out
	MangledName      NameFormat = "mangled"            // as recorded
	FileFunctionLine NameFormat = "file_function_line" // file:line@function
	FunctionLine     NameFormat = "function_line"      // line@function
	FileFunction     NameFormat = "file_function"      // file@function
)

// NameFormats are all formats, for help texts.
var NameFormats = []NameFormat{ShortName, FullName, MangledName, FileFunctionLine, FunctionLine, FileFunction}

// namer shortens recorded names for people. It caches the results, since demangling takes microseconds and trees repeat few names
// many times.
type namer struct {
	format NameFormat
	known  map[string]string
}

func newNamer(f NameFormat) (*namer, error) {
	if f == "" {
		f = ShortName
	}
	if slices.Contains(NameFormats, f) {
		return &namer{f, map[string]string{}}, nil
	}
	var all []string
	for _, f := range NameFormats {
		all = append(all, string(f))
	}
	return nil, badOption("format names as %q: no such format; use %s", f, strings.Join(all, ", "))
}

// Labels returns a function that shortens names as Table.Label does.
func Labels(f NameFormat) (func(name string) string, error) {
	n, err := newNamer(f)
	if err != nil {
		return nil, err
	}
	return n.label, nil
}

func (n *namer) label(name string) string {
	label, known := n.known[name]
	if !known {
		label = term.Printable(n.shorten(name))
		n.known[name] = label
	}
	return label
}

// location is the name of a line of a program: /path/file.py:12@function.
var location = regexp.MustCompile(`^(.*):(\d+)@(.*)$`)

func (n *namer) shorten(name string) string {
	if n.format == MangledName {
		return name
	}
	if m := location.FindStringSubmatch(name); m != nil {
		file, line, function := path.Base(m[1]), m[2], m[3]
		if full := demangled(function); full != function {
			function = shortCxx(full)
		}
		switch n.format {
		case ShortName, FileFunctionLine:
			return file + ":" + line + "@" + function
		case FunctionLine:
			return line + "@" + function
		case FileFunction:
			return file + "@" + function
		}
		return name
	}
	full := demangled(name)
	if n.format == FullName || full == name && !looksLikeCxx(name) {
		return full
	}
	return shortCxx(full)
}

// maxDemangled bounds what a mangled name may grow to, as a power of two: substitutions can double it every few bytes.
const maxDemangled = 14

// demangled is a C++ or Rust name in the clear; other names stay as they are.
func demangled(name string) string {
	if m := copied.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") {
		return name
	}
	return demangle.Filter(name, demangle.NoClones, demangle.MaxLength(maxDemangled))
}

// copied is the name of a function that the compiler copied for one kernel: $kernel$function.
var copied = regexp.MustCompile(`^\$[A-Za-z_]\w*\$([A-Za-z_][\w$.]*)$`)

// looksLikeCxx reports whether a name is a C++ function that is already demangled. The name of a scope such as aten::add
// is not a function.
func looksLikeCxx(name string) bool {
	return strings.HasPrefix(name, "void ") && strings.ContainsAny(name, "(<") ||
		strings.HasSuffix(name, ")") && strings.Contains(name, "::") && strings.Contains(name, "(") && !strings.Contains(name, " (")
}
