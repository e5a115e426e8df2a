package tritonparse

import (
	"bytes"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// EachRecorded hands over what Recorded finds, for each compilation that has it, in the order of the files. do may keep what
// it gets; launches have no ID. An error of do ends it and is returned.
func (t *Trace) EachRecorded(do func(*Compilation, *LaunchRecord) error) error {
	wanted := records{}
	for _, c := range t.compilations {
		if f := c.recorded.file; f != "" {
			wanted.add(f, c.recorded.line, c)
		}
	}
	for _, f := range t.Files {
		in := wanted[f]
		if len(in) == 0 {
			continue
		}
		err := eachRecord(f, func(rec ndjson.Record, _ []jsontext.Member) *LaunchRecord {
			if in[rec.Index] == nil {
				return nil
			}
			rec.Text = bytes.Clone(rec.Text)
			own, _ := jsontext.Members(rec.Text) // was well-formed just now
			return t.known.records.read(f, rec, own)
		}, func(l *LaunchRecord) error { return do(in[l.Line], l) })
		if err != nil {
			return err
		}
	}
	return nil
}
