package tritonparse

import (
	"bytes"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Kind is launches of one compilation with the same grid and arguments.
type Kind struct {
	ID         string // see LaunchKind
	Name, Hash string // as in LaunchRecord
	Whole      bool   // they say their grid and at least one argument
	Launches   int
	First      Place
	Recorded   *Place // the first of which the contents of all tensors were kept; nil if there is none

	text    copied // of the first
	records *recordReader
}

// Place is where a launch stands in a trace.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"` // of the record, from 0
	ID   int    `json:"id"`   // among the launches of its kernel in the file, from 0
}

// Place is where the launch stands.
func (b *Brief) Place() Place { return Place{b.File, b.Line, b.ID} }

// Place is where the launch stands.
func (l *LaunchRecord) Place() Place { return Place{l.File, l.Line, l.ID} }

// Record takes the first launch of the kind apart.
func (k *Kind) Record() (*LaunchRecord, error) {
	text := k.text.bytes()
	members, err := jsontext.Members(text)
	if err != nil {
		return nil, err
	}
	l := k.records.read(k.First.File, ndjson.Record{Text: text, Index: k.First.Line}, members)
	l.ID = k.First.ID
	return l, nil
}

// Kinds are all kinds of launches, in the order of their first. It reads the trace again, unless Open had the option to collect
// them. A kind takes a few hundred bytes of memory. The error is that of reading.
func (t *Trace) Kinds() ([]*Kind, error) {
	t.kindsOnce.Do(func() {
		if t.kinds != nil {
			return
		}
		t.kinds = &kinds{}
		again := &Trace{Records: map[string]int{}, byHash: map[string]*Compilation{}, known: t.known, kinds: t.kinds}
		nothing := OpenOptions{NoTexts: true, Keep: func(string, string) bool { return false }}
		t.kindsErr = again.index(t.Files, nothing)
	})
	return t.kinds.list, t.kindsErr
}

// kinds are the kinds that were found so far.
type kinds struct {
	list []*Kind
	at   map[kindKey]*Kind
}

// kindKey distinguishes kinds. A launch without a hash is known by its kernel's name.
type kindKey struct{ name, id string }

// add counts a launch.
func (k *kinds) add(known *patterns, tr *traits, rec ndjson.Record, place Place, blobs bool) error {
	kind := tr.kind
	if kind == nil {
		key := kindKey{tr.name, tr.id}
		if kind = k.at[key]; kind == nil {
			kind = &Kind{ID: tr.id, Name: tr.name, Hash: tr.hash, Whole: tr.whole, First: place, text: known.copy(rec.Text), records: &known.records}
			if k.at == nil {
				k.at = map[kindKey]*Kind{}
			}
			k.at[key] = kind
			k.list = append(k.list, kind)
		}
		tr.kind = kind
	}
	kind.Launches++
	if !blobs || kind.Recorded != nil {
		return nil
	}
	members, err := jsontext.Members(rec.Text)
	if err != nil {
		return err
	}
	if known.records.read("", rec, members).Recorded() {
		kind.Recorded = &place
	}
	return nil
}

// copied is a text that is kept as its differences from a base text.
type copied struct {
	base    []byte
	changes []changed
}

type changed struct {
	start, end int32 // in base
	text       string
}

// copy keeps a record in little memory: as its pattern, if it has one, and what differs from it.
func (k *patterns) copy(text []byte) (c copied) {
	if !k.match(text, func(p *pattern, differences []difference) {
		c.base = p.Raw
		for _, d := range differences {
			s := p.Spans[d.leaf]
			c.changes = append(c.changes, changed{s.Start, s.End, string(text[d.start:d.end])})
		}
	}) {
		c.base = bytes.Clone(text)
	}
	return c
}

func (c *copied) bytes() []byte {
	var text []byte
	at := int32(0)
	for _, d := range c.changes {
		text = append(append(text, c.base[at:d.start]...), d.text...)
		at = d.end
	}
	return append(text, c.base[at:]...)
}

// Recorded says whether the contents of all tensors of a launch were kept.
func (l *LaunchRecord) Recorded() bool {
	return !slices.ContainsFunc(l.Args, func(a Argument) bool {
		t := a.Tensor()
		return t != nil && (t.Blob == nil || t.Blob.Path == "")
	})
}
