package tritonparse

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Extension is the member goproton of a compilation record: what GoProton's own traces say beyond TritonParse's.
type Extension struct {
	Version      int          `json:"version"`
	Tool         string       `json:"tool"`  // name and version of the program that recorded
	Image        string       `json:"image"` // 16 hexadecimal digits: the hash of the cubin, as samples name modules
	Cubin        string       `json:"cubin"` // file of the cubin, relative to the folder of the trace
	Function     string       `json:"function"`
	Module       string       `json:"module"`   // of Python, that the function is in
	Qualname     string       `json:"qualname"` // of the function in its module; this and what follows it are missing in older traces
	Kind         string       `json:"kind"`     // jit or gluon
	Options      Options      `json:"options"`
	Params       []Parameter  `json:"params"`
	Dependencies []Dependency `json:"dependencies"`
	Globals      []Global     `json:"globals"`
	Tuning       *Tuning      `json:"tuning"`  // in one of the function's compilations
	Failure      *Failure     `json:"failure"` // of a compilation that failed
	Inputs       *Inputs      `json:"inputs"`  // of a compilation that failed
	Device       int          `json:"device"`  // ordinal that it was compiled for
}

// Options are those of triton.jit that a function has, by name, as JSON.
type Options map[string]json.RawMessage

// Tuning is what the decorators of autotuner and heuristics use in addition to the kernel.
type Tuning struct {
	Dependencies []Dependency `json:"dependencies"`
	Globals      []Global     `json:"globals"`
}

// Parameter is one of the kernel function's.
type Parameter struct {
	Name      string          `json:"name"`
	Constexpr bool            `json:"constexpr"`
	Default   json.RawMessage `json:"default"` // nil without one
}

// Failure is the error that ended a compilation.
type Failure struct {
	Type    string   `json:"type"` // of the Python exception
	Message string   `json:"message"`
	Stage   string   `json:"stage"`  // that the compiler was making: ttgir, cubin; ir for the first one, "" before it
	Causes  []string `json:"causes"` // innermost first, each with its type
}

// Inputs are what Triton's compiler was called with.
type Inputs struct {
	Signature json.RawMessage `json:"signature"` // pairs of a parameter and its type, which is a list for a tuple
	Constants json.RawMessage `json:"constants"` // pairs of a path, as in [3, 0], and a description as of arguments
	Attrs     json.RawMessage `json:"attrs"`     // pairs of a path and a list
	Options   json.RawMessage `json:"options"`   // those that are not the compiler's own choice
}

// Brief says in a line what happened, as far as the error tells.
func (f *Failure) Brief() string {
	text := f.Type + ": " + f.Message
	if len(f.Causes) > 0 && !strings.HasPrefix(f.Causes[0], "CalledProcessError") {
		text = f.Causes[0]
	}
	kind, message, _ := strings.Cut(text, ": ")
	lines := slices.DeleteFunc(strings.Split(message, "\n"), func(l string) bool { return strings.Trim(l, " \t^=") == "" })
	if len(lines) == 0 {
		return kind
	}
	line := lines[len(lines)-1]
	if i := slices.IndexFunc(lines, assemblerError.MatchString); i >= 0 { // its command line comes after it
		line = lines[i]
	}
	return kind + ": " + strings.TrimSpace(line)
}

var assemblerError = regexp.MustCompile(`(; error|\bfatal)\s*:`)

// Dependency is a function or class that a kernel uses, itself or through others.
type Dependency struct {
	Name     string          `json:"name"`
	Module   string          `json:"module"`
	Qualname string          `json:"qualname"`
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Code     string          `json:"code"`
	Kind     string          `json:"kind"` // jit, gluon, constexpr_function, python or class
	Options  Options         `json:"options"`
	Base     string          `json:"base"`    // of a class without source: tuple, Enum, IntEnum …
	Members  json.RawMessage `json:"members"` // of a class without source: names of a tuple's fields, members of an enumeration
}

// Global is a constant of a module that a kernel, or one of its dependencies, reads.
type Global struct {
	Name  string          `json:"name"`
	Owner string          `json:"owner"` // the function that reads it
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"` // a literal, or text

	Constexpr bool            `json:"constexpr"` // it is a tl.constexpr
	Described json.RawMessage `json:"described"` // as arguments are, if the value does not say all
}

// LaunchExtension is the member goproton of a launch record.
type LaunchExtension struct {
	Launch    string `json:"launch"` // see LaunchKind
	Device    int    `json:"device"`
	Timestamp struct {
		Nanos    int64 `json:"ns"`       // Unix time
		Sequence int64 `json:"sequence"` // among the launch records of the process
	} `json:"timestamp"`
}

// decode fills a structure from a member of a record; nil if it is not there or something else.
func decode[T any](raw []byte) *T {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}
