package tritonparse

import (
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Brief identifies a launch, without its arguments. It is valid only during the call that passes it.
type Brief struct {
	Name, Hash string
	Kind       string // see LaunchKind
	Whole      bool   // it says its grid and at least one argument
	Blobs      bool   // contents of tensors may have been recorded with it
	File       string
	Line, ID   int // as in LaunchRecord

	text    []byte
	records *recordReader
}

// Record takes the launch apart. What it returns is valid as long as the Brief.
func (b *Brief) Record() (*LaunchRecord, error) {
	members, err := jsontext.Members(b.text)
	if err != nil {
		return nil, err
	}
	l := b.records.read(b.File, ndjson.Record{Text: b.text, Index: b.Line}, members)
	l.ID = b.ID
	return l, nil
}

// EachBrief is EachLaunch for callers that need few launches as a whole: one that differs from an earlier one in addresses and
// times alone is not taken apart.
func (t *Trace) EachBrief(do func(*Brief) error) error {
	for _, f := range t.Files {
		if err := eachBrief(f, t.known, do); err != nil {
			return err
		}
	}
	return nil
}

func eachBrief(file string, known *patterns, do func(*Brief) error) error {
	ids := map[string]int{}
	type glance struct {
		traits *traits
		rec    ndjson.Record
		blobs  bool
	}
	_, _, err := ndjson.ReadFile(file, func(rec ndjson.Record, g *glance, room []jsontext.Member) (_ []jsontext.Member, err error) {
		*g = glance{rec: rec}
		similar := known.match(rec.Text, func(p *pattern, differences []difference) {
			g.traits, err = p.traitsOf(&known.records, rec, differences)
			g.blobs = p.marksOf(rec.Text, differences).blobs
		})
		if similar {
			return room, err
		}
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err == nil && ndjson.TextOf(members, "event_type") == "launch" {
			p := known.add(rec, members)
			g.traits, g.blobs = p.traits, p.marks.blobs
		}
		return members, err
	}, func(g *glance) error {
		if g.traits == nil {
			return nil
		}
		b := Brief{Name: g.traits.name, Hash: g.traits.hash, Kind: g.traits.id, Whole: g.traits.whole, Blobs: g.blobs,
			File: file, Line: g.rec.Index, ID: ids[g.traits.name], text: g.rec.Text, records: &known.records}
		ids[b.Name]++
		return do(&b)
	})
	return err
}
