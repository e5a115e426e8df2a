// Package validate finds the errors of a trace, raw or parsed: records without the shape that TritonParse's readers expect, and
// records that contradict one another or the files next to the trace.
package validate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Finding is an error or a warning.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1, as editors count; 0 for what is wrong with the trace as a whole
	Type    string `json:"type,omitempty"` // of the record
	Member  string `json:"member,omitempty"`
	What    string `json:"what"`
	Rule    string `json:"rule"`              // see the constants
	Warning bool   `json:"warning,omitempty"` // it may be intended, and readers of the trace do not fail
}

// Rules.
const (
	Damage = "damage" // it cannot be read
	Shape  = "shape"  // TritonParse's schemas forbid it
	Joins  = "joins"  // records contradict one another
	Hashes = "hashes" // a hash in a record is not the one computed from the record
	Maps   = "maps"   // source maps point to lines that do not exist
	Files  = "files"  // files next to the trace are missing, or are not those that were recorded
)

func (f Finding) String() string {
	s := f.File
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, f.Line)
	}
	if f.Warning {
		s += ": warning"
	}
	if f.Member != "" {
		return fmt.Sprintf("%s: %s %s", s, f.Member, f.What)
	}
	return fmt.Sprintf("%s: %s", s, f.What)
}

// Options select what is checked.
type Options struct {
	Quick  bool          // check only that files of tensors and machine code exist, do not read them
	Report func(Finding) // gets findings, record by record; must be set
}

// Result counts the records and findings of a trace.
type Result struct {
	Records  map[string]int `json:"records"` // by type
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
}

// Validate reads a trace, a file or a folder, once, and the files next to it.
func Validate(source string, o Options) (*Result, error) {
	files, err := tritonparse.Files(source)
	if err != nil {
		return nil, err
	}
	v := &validator{options: o, result: &Result{Records: map[string]int{}}, checked: map[string]string{}}
	v.join.init(v)
	for _, f := range files {
		if err := v.file(f); err != nil {
			return nil, err
		}
	}
	v.join.end()
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		v.fileList(source)
	}
	if len(v.result.Records) == 0 {
		v.report(Finding{File: source, What: "holds no record of a trace", Rule: Damage})
	}
	return v.result, nil
}

type validator struct {
	options Options
	result  *Result
	join    joiner
	checked map[string]string // what is wrong with a file next to the trace, "" if nothing is
}

func (v *validator) report(f Finding) {
	if f.Warning {
		v.result.Warnings++
	} else {
		v.result.Errors++
	}
	v.options.Report(f)
}

// record is what a worker finds in one record by itself.
type record struct {
	kind, hash, name string
	line             int
	findings         []Finding
	occurrence       int64 // -1 without one
	inferred         bool
	pid              string
	function         string
	launches         int64 // a launch_diff's total_launches
	blobs            []blob
	cubin, image     string
}

// blob is a tensor whose contents were kept.
type blob struct {
	member string
	tensor *tritonparse.Argument
}

func (v *validator) file(path string) error {
	v.join.file(path)
	parse := func(rec ndjson.Record, members []jsontext.Member) *record { return inspect(path, rec, members) }
	damages, n, err := ndjson.ReadFile(path, ndjson.WithMembers(parse), func(r **record) error {
		v.take(path, *r)
		return nil
	})
	for _, d := range damages {
		v.report(Finding{File: path, Line: d.Line, What: fmt.Sprintf("cannot be read from byte %d on: %s", d.Offset, d.What), Rule: Damage})
	}
	if n > len(damages) {
		v.report(Finding{File: path, What: fmt.Sprintf("has %d more errors", n-len(damages)), Rule: Damage})
	}
	return err
}

func (v *validator) take(path string, r *record) {
	v.result.Records[r.kind]++
	for _, f := range r.findings {
		v.report(f)
	}
	v.join.take(path, r)
	for _, b := range r.blobs {
		if what := v.blob(path, b.tensor); what != "" {
			v.report(Finding{File: path, Line: r.line, Type: r.kind, Member: b.member, What: what, Rule: Files})
		}
	}
	if what := v.cubin(path, r.cubin, r.image, r.occurrence >= 0); what != "" {
		v.report(Finding{File: path, Line: r.line, Type: r.kind, Member: "goproton.cubin", What: what, Rule: Files})
	}
}

// inspect checks one record by itself.
func inspect(path string, rec ndjson.Record, members []jsontext.Member) *record {
	r := &record{line: rec.Line, occurrence: -1, pid: string(ndjson.Get(members, "pid"))}
	h := ndjson.ReadHeader(members)
	r.hash, r.name = h.Hash, h.Name
	wrong := func(rule string) report {
		return func(member, what string) {
			// tritonparse writes a note in place of arguments that were not recorded, which its schema forbids.
			note := member == "extracted_args._note"
			r.findings = append(r.findings, Finding{File: path, Line: rec.Line, Type: r.kind, Member: member, What: what, Rule: rule, Warning: note})
		}
	}
	kind := ndjson.Get(members, "event_type")
	if kind == nil {
		wrong(Shape)("event_type", "is missing")
		return r
	}
	if r.kind = jsontext.Text(kind); r.kind == "" {
		wrong(Shape)("event_type", "is not a string")
		return r
	}
	if s := shapes[r.kind]; s != nil {
		s.check(rec.Text, "", wrong(Shape))
	}
	if id := ndjson.Get(members, "occurrence_id"); id != nil && kindOf(id) == "integer" {
		fmt.Sscan(string(id), &r.occurrence) //nolint:errcheck // an id beyond 64 bits is none
	}
	switch r.kind {
	case "compilation":
		r.compilation(members, wrong)
	case "launch":
		r.launch(rec, members, wrong)
	default:
		if total := ndjson.Get(members, "total_launches"); total != nil && kindOf(total) == "integer" {
			fmt.Sscan(string(total), &r.launches) //nolint:errcheck // see above
		}
	}
	return r
}

func (r *record) launch(rec ndjson.Record, members []jsontext.Member, wrong func(string) report) {
	metadata := ndjson.Get(members, "compilation_metadata")
	r.function = string(ndjson.Get(members, "function"))
	if said := ndjson.Get(members, "launch_group_hash"); said != nil {
		if hash, ok := launchtext.RecordGroup(rec.Text); ok && hash != jsontext.Text(said) {
			wrong(Hashes)("launch_group_hash", fmt.Sprintf("is %s, but the record's is %q", said, hash))
		}
	}
	arguments := ndjson.Get(members, "extracted_args")
	if said := jsontext.Text(jsontext.Get(ndjson.Get(members, "goproton"), "launch")); said != "" {
		if kind := tritonparse.LaunchKind(r.hash, ndjson.Get(members, "grid"), arguments); kind != said {
			wrong(Hashes)("goproton.launch", fmt.Sprintf("is %q, but the record's is %q", said, kind))
		}
	}
	if name := jsontext.Text(jsontext.Get(metadata, "name")); name != "" && r.name != "" && name != r.name {
		wrong(Joins)("name", fmt.Sprintf("is %q, but the compilation that it launches has %q", brief(r.name), brief(name)))
	}
	args := tritonparse.ReadArguments(arguments)
	for i := range args {
		if t := args[i].Tensor(); t != nil && t.Blob != nil && t.Blob.Path != "" {
			kept := &tritonparse.Argument{Bytes: t.Bytes, Blob: t.Blob} // without the record's memory
			r.blobs = append(r.blobs, blob{join("extracted_args", args[i].Name), kept})
		}
	}
}

// fileList checks that the files that log_file_list.json names exist.
func (v *validator) fileList(folder string) {
	path := filepath.Join(folder, "log_file_list.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return // a raw trace
	}
	ranks, err := jsontext.Members(text)
	if err != nil {
		v.report(Finding{File: path, What: "is not JSON: " + err.Error(), Rule: Damage})
		return
	}
	for _, m := range ranks {
		if m.Value[0] != '{' {
			continue
		}
		names := jsontext.Elements(jsontext.Get(m.Value, "regular_files"))
		if mapped := jsontext.Get(m.Value, "mapped_file"); mapped != nil {
			names = append(names, mapped)
		}
		for _, n := range names {
			name := jsontext.Text(n)
			rank := m.Name
			if rank == "rank_none" || rank == "rank_default" {
				rank = ""
			}
			if _, err := os.Stat(filepath.Join(folder, rank, name)); err != nil {
				v.report(Finding{File: path, Member: m.Name, What: fmt.Sprintf("names %s, which does not exist", name), Rule: Files})
			}
		}
	}
}
