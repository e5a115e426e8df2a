package tritonparse

import "encoding/json"

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
	Tuning       *Tuning      `json:"tuning"` // in one of the function's compilations
	Device       int          `json:"device"` // ordinal that it was compiled for
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
