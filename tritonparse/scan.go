package tritonparse

import (
	"fmt"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Header is what a record says of itself. What it does not say is a zero value.
type Header struct {
	Type string // compilation, launch, autotune, and what parsing adds: launch_diff, ir_analysis, …
	Hash string // of the compilation that the record is about
	Name string // of the kernel
	PID  int
}

// Record is one record of a trace as it stands in the file: a JSON object.
type Record struct {
	File string
	Line int    // its place in the file, from 0; blank lines are not counted
	Text []byte // valid only during the call that passes the record
}

// Damage is a piece of a file that could not be read.
type Damage struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`         // in the file, of the gzip member, zstd frame or line
	Line   int    `json:"line,omitempty"` // from 1, where it is known
	What   string `json:"what"`
}

func (d Damage) String() string { return ndjson.Damage(d).String() }

// Scan reads files, raw or parsed, and hands every record over in the order of the files, on the caller's goroutine. What is
// damaged is skipped: Scan returns the first 100 damages of each file, and how many there are. An error of do ends it and is
// returned. Files finds the files of a folder.
func Scan(files []string, do func(Header, *Record) error) (damages []Damage, damaged int, err error) {
	type scanned struct {
		header Header
		record Record
	}
	for _, f := range files {
		found, n, err := scanFile(f, func(rec ndjson.Record, into *scanned, room []jsontext.Member) ([]jsontext.Member, error) {
			members, err := jsontext.AppendMembers(room[:0], rec.Text)
			if err == nil && ndjson.Get(members, "event_type") == nil {
				err = ErrNoType
			}
			if err == nil {
				*into = scanned{Header(ndjson.ReadHeader(members)), Record{f, rec.Index, rec.Text}}
			}
			return members, err
		}, func(s *scanned) error { return do(s.header, &s.record) })
		damages, damaged = append(damages, found...), damaged+n
		if err != nil {
			return damages, damaged, err
		}
	}
	return damages, damaged, nil
}

// scanFile is ndjson.ReadFile with damages as this package has them.
func scanFile[T any](file string, parse ndjson.Parse[T], take func(*T) error) (damages []Damage, damaged int, err error) {
	found, damaged, err := ndjson.ReadFile(file, parse, take)
	for _, d := range found {
		damages = append(damages, Damage(d))
	}
	return damages, damaged, err
}

// members takes the record apart.
func (r *Record) members() ([]jsontext.Member, error) {
	members, err := jsontext.Members(r.Text)
	if err != nil {
		return nil, fmt.Errorf("record %d of %s: %w", r.Line, r.File, err)
	}
	return members, nil
}
