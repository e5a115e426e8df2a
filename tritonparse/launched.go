package tritonparse

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
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

// recordReader takes launches apart. Nearly all of a launch is like the launch before it, so stacks and arguments that were
// seen are not taken apart again. Workers share one.
type recordReader struct {
	stacks launchtext.Shared[[]Frame]
	args   launchtext.Shared[*seenArgument]
}

// seenArgument is what an argument says, and how LaunchKind has it.
type seenArgument struct {
	Argument
	canonical []byte
}

// seenBudget bounds the bytes of what was seen; a trace of one program has a few hundred kilobytes.
const seenBudget = 8 << 20

func (r *recordReader) stack(raw []byte) []Frame {
	frames := r.stacks.Get(raw)
	if frames == nil {
		frames = readStack(raw)
		r.stacks.Put(string(raw), frames, len(raw), seenBudget/2)
	}
	return frames
}

func (r *recordReader) argument(raw []byte) *seenArgument {
	a := r.args.Get(raw)
	if a == nil {
		raw = bytes.Clone(raw)
		a = &seenArgument{readArgument("", raw, 0), kindForm.Append(nil, raw)}
		r.args.Put(string(raw), a, len(raw), seenBudget/2)
	}
	return a
}

// arguments takes extracted_args apart and returns them as LaunchKind has them.
func (r *recordReader) arguments(raw []byte) (args []Argument, canonical []byte) {
	var room [32]jsontext.Member
	members, err := jsontext.AppendMembers(room[:0], raw)
	if err != nil {
		return nil, appendArguments(nil, raw)
	}
	args = make([]Argument, 0, len(members))
	type named struct {
		name      string
		canonical []byte
	}
	var roomToo [32]named
	sorted := roomToo[:0]
	for _, m := range members {
		a := r.argument(m.Value)
		sorted = append(sorted, named{m.Name, a.canonical})
		if m.Name == noteName {
			continue
		}
		args = append(args, a.Argument)
		args[len(args)-1].Name = m.Name
	}
	slices.SortFunc(sorted, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return args, jsontext.AppendObject(make([]byte, 0, len(raw)), sorted, func(out []byte, a named) []byte {
		return append(append(kindForm.AppendText(out, a.name), ':'), a.canonical...)
	})
}

// read takes a launch apart; the launch keeps parts of the record's memory. ID is for the caller to set.
func (r *recordReader) read(file string, rec ndjson.Record, members []jsontext.Member) *LaunchRecord {
	l := &LaunchRecord{File: file, Line: rec.Index, Raw: rec.Text}
	var grid, args []byte // args as LaunchKind has them
	for _, m := range members {
		v := m.Value
		switch m.Name {
		case "name":
			l.Name = jsontext.Text(v)
		case "pid":
			l.PID = int(ndjson.Integer(v))
		case "function":
			l.Function, _ = strconv.ParseUint(ndjson.Bare(v), 0, 64)
		case "stream":
			l.Stream = ndjson.Integer(v)
		case "grid":
			grid = v
			for _, n := range ndjson.WholeNumbers(v) {
				l.Grid = append(l.Grid, int(n))
			}
		case "compilation_metadata":
			l.Metadata = v
			l.Hash = jsontext.Text(jsontext.Get(v, "hash"))
		case "extracted_args":
			l.Args, args = r.arguments(v)
			l.Note = jsontext.Text(jsontext.Get(v, noteName))
		case "extracted_inductor_args":
			l.InductorArgs = ReadArguments(v)
		case "stack":
			l.Stack = r.stack(v)
		case "goproton":
			l.Extra = decode[LaunchExtension](v)
		}
	}
	l.Kind = kindOf(l.Hash, grid, args)
	return l
}

// Benchmark says whether the launch timed a configuration. How many of these there are is another number in each run.
func (l *LaunchRecord) Benchmark() bool {
	return slices.ContainsFunc(l.Stack, func(f Frame) bool { return launchtext.TimesConfiguration(f.File, f.Name) })
}
