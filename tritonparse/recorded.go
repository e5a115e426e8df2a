package tritonparse

import (
	"bytes"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/ndjson"
)

// EachRecorded hands over what Recorded finds, for each compilation that has it, in the order of the files. do may keep what
// it gets; launches have no ID. An error of do ends it and is returned.
func (t *Trace) EachRecorded(do func(*Compilation, *LaunchRecord) error) error {
	wanted := map[string]map[int]*Compilation{}
	for _, c := range t.compilations {
		if f := c.recorded.file; f != "" {
			if wanted[f] == nil {
				wanted[f] = map[int]*Compilation{}
			}
			wanted[f][c.recorded.line] = c
		}
	}
	for _, f := range t.Files {
		if err := eachWanted(f, wanted[f], do); err != nil {
			return err
		}
	}
	return nil
}

func eachWanted(file string, wanted map[int]*Compilation, do func(*Compilation, *LaunchRecord) error) error {
	if len(wanted) == 0 {
		return nil
	}
	r, err := ndjson.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	var reader recordReader
	return ndjson.Ordered(r, func(rec ndjson.Record, _ []jsontext.Member) *LaunchRecord {
		if wanted[rec.Index] == nil {
			return nil
		}
		rec.Text = bytes.Clone(rec.Text)
		own, _ := jsontext.Members(rec.Text) // was well-formed just now
		return reader.read(file, rec, own)
	}, func(l **LaunchRecord) error {
		if *l == nil {
			return nil
		}
		return do(wanted[(*l).Line], *l)
	})
}
