package tritonparse

import (
	"encoding/json"
	"strconv"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/ndjson"
)

// LaunchRecord is one launch of a trace.
type LaunchRecord struct {
	Name     string // of the kernel
	Hash     string // of what was launched, see Compilation; "" if the record does not say
	PID      int
	Function uint64 // CUfunction handle in that process; 0 if it was not known
	Stream   int64  // handle
	Grid     []int  // as the program gave it: one to three numbers; nil if it was not recorded

	// nil if the record does not say, which is so for kernels of Inductor's without its hook, and while a graph is captured.
	Args         []Argument
	InductorArgs []Argument
	Metadata     json.RawMessage

	File  string // of the trace that the record is in
	Line  int    // of the record in the file, from 0, blank lines not counted
	ID    int    // among the launches of its kernel in its file, from 0
	Kind  string // see LaunchKind
	Stack []Frame
	Note  string // why there are no arguments
	Raw   []byte
	Extra *LaunchExtension // nil in traces that GoProton did not write
}

// Arg is the argument of that name, nil if there is none.
func (l *LaunchRecord) Arg(name string) *Argument {
	for i := range l.Args {
		if l.Args[i].Name == name {
			return &l.Args[i]
		}
	}
	return nil
}

// newLaunch takes a launch apart; it keeps parts of the record's memory. ID is for the caller to set.
func newLaunch(file string, rec ndjson.Record, members []jsontext.Member) *LaunchRecord {
	l := &LaunchRecord{File: file, Line: rec.Index, Raw: rec.Text}
	var grid, args []byte
	for _, m := range members {
		v := m.Value
		switch m.Name {
		case "name":
			l.Name = jsontext.Text(v)
		case "pid":
			l.PID = int(integer(v))
		case "function":
			l.Function, _ = strconv.ParseUint(text(v), 0, 64)
		case "stream":
			l.Stream = integer(v)
		case "grid":
			grid = v
			for _, n := range integers(v) {
				l.Grid = append(l.Grid, int(n))
			}
		case "compilation_metadata":
			l.Metadata = v
			l.Hash = jsontext.Text(jsontext.Get(v, "hash"))
		case "extracted_args":
			args = v
			l.Args = ReadArguments(v)
			l.Note = jsontext.Text(jsontext.Get(v, "_note"))
		case "extracted_inductor_args":
			l.InductorArgs = ReadArguments(v)
		case "stack":
			l.Stack = readStack(v)
		case "goproton":
			l.Extra = decode[LaunchExtension](v)
		}
	}
	l.Kind = LaunchKind(l.Hash, grid, args)
	return l
}
