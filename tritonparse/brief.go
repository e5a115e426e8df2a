package tritonparse

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/ndjson"
)

// Brief is what a launch is known by, without its arguments. It is valid during the call that hands it over.
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

// EachBrief is EachLaunch for who needs few launches as a whole: one that differs from an earlier one in addresses and
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
	r, err := ndjson.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	ids := map[string]int{}
	type glance struct {
		traits *traits
		rec    ndjson.Record
		blobs  bool
	}
	return ndjson.OrderedRecords(r, func(rec ndjson.Record, room []jsontext.Member) (g glance, _ []jsontext.Member, err error) {
		g.rec = rec
		alike := known.match(rec.Text, func(p *pattern, changes []change) {
			g.traits, err = p.traitsOf(&known.records, rec, changes)
			g.blobs = p.marksOf(rec.Text, changes).blobs
		})
		if alike {
			return g, room, err
		}
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err == nil && textOf(members, "event_type") == "launch" {
			p := known.add(rec, members)
			g.traits, g.blobs = p.traits, p.marks.blobs
		}
		return g, members, err
	}, func(g *glance) error {
		if g.traits == nil {
			return nil
		}
		b := Brief{Name: g.traits.name, Hash: g.traits.hash, Kind: g.traits.kind, Whole: g.traits.whole, Blobs: g.blobs,
			File: file, Line: g.rec.Index, ID: ids[g.traits.name], text: g.rec.Text, records: &known.records}
		ids[b.Name]++
		return do(&b)
	})
}

// traits are what launches of a kind have in common.
type traits struct {
	name, hash, kind string
	whole            bool
}

// pattern is a launch that others are compared with.
type pattern struct {
	*template
	traits  *traits
	marks   marks
	decides []bool // by leaf: a launch with another value may be of another kind

	mu   sync.RWMutex
	seen map[string]*traits // by those values
	size int
}

// patterns are the last launches of each program. Workers share them.
type patterns struct {
	in      interner
	records recordReader
	changes sync.Pool // of *[]change

	mu   sync.RWMutex
	of   map[*template]*pattern
	size int // bytes of their records
}

func newPatterns() *patterns { return &patterns{in: interner{plain: true}} }

// match finds the launch that a record is like and calls f with it and what differs; false if there is none.
func (k *patterns) match(text []byte, f func(p *pattern, changes []change)) bool {
	t := k.in.template(templateKey(text))
	if t == nil {
		return false
	}
	k.mu.RLock()
	p := k.of[t]
	k.mu.RUnlock()
	if p == nil {
		return false
	}
	room, _ := k.changes.Get().(*[]change)
	if room == nil {
		room = new([]change)
	}
	changes, ok := t.match(&k.in, text, (*room)[:0])
	if ok {
		f(p, changes)
	}
	clear(changes)
	*room = changes
	k.changes.Put(room)
	return ok
}

// add takes a launch apart for others to be compared with.
func (k *patterns) add(rec ndjson.Record, members []jsontext.Member) *pattern {
	p := &pattern{template: newTemplate(&k.in, rec.Text, members), marks: marksOf(rec.Text)}
	p.traits = k.records.traits(rec, members)
	for _, place := range p.shape.places {
		p.decides = append(p.decides, place.decidesKind())
	}
	k.in.keep(templateKey(rec.Text), p.template)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size += 4 * len(p.raw); k.of == nil || k.size > internBudget {
		k.of, k.size = map[*template]*pattern{}, 4*len(p.raw)
	}
	k.of[p.template] = p
	return p
}

func (r *recordReader) traits(rec ndjson.Record, members []jsontext.Member) *traits {
	l := r.read("", rec, members)
	return &traits{l.Name, l.Hash, l.Kind, len(l.Args) > 0 && len(l.Grid) > 0}
}

// decidesKind says whether LaunchKind may depend on a value; that of a list is not looked into.
func (p *place) decidesKind() bool {
	switch p.member {
	case "grid":
		return true
	case "extracted_args":
		for _, name := range p.path {
			if p.isArg && ofOneLaunch[name] {
				return false
			}
		}
		return true
	}
	return false
}

// traitsOf are those of a launch that differs from the pattern.
func (p *pattern) traitsOf(r *recordReader, rec ndjson.Record, changes []change) (*traits, error) {
	var key []byte
	for _, c := range changes {
		if p.decides[c.leaf] {
			key = binary.AppendUvarint(key, uint64(c.leaf))
			key = binary.AppendUvarint(key, uint64(c.size))
			key = append(key, rec.Text[c.at:c.at+c.size]...)
		}
	}
	if key == nil {
		return p.traits, nil
	}
	p.mu.RLock()
	f := p.seen[string(key)]
	p.mu.RUnlock()
	if f != nil {
		return f, nil
	}
	members, err := jsontext.Members(rec.Text)
	if err != nil {
		return nil, err
	}
	f = r.traits(rec, members)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(key); p.seen == nil || p.size > seenBudget/8 {
		p.seen, p.size = map[string]*traits{}, len(key)
	}
	p.seen[string(key)] = f
	return f, nil
}

// marks says what a launch's text has in it.
type marks struct {
	blobs  bool // the name of where a tensor's contents are kept
	values bool // what is in a tensor, or the hash of that
}

func marksOf(text []byte) marks {
	return marks{
		blobs:  bytes.Contains(text, []byte(`"blob_path":`)),
		values: bytes.Contains(text, []byte(`"tensor_hash":"`)) || bytes.Contains(text, []byte(`"std":`)),
	}
}

func hasObject(value []byte) bool { return value[0] == '[' && bytes.IndexByte(value, '{') >= 0 }

// marksOf are the pattern's own, unless a value differs that has to do with them.
func (p *pattern) marksOf(text []byte, changes []change) marks {
	for _, c := range changes {
		place := p.shape.places[c.leaf]
		if len(place.path) > 0 && place.path[len(place.path)-1] == "tensor_hash" {
			return marksOf(text)
		}
		if l := &p.leaves[c.leaf]; l.role != theStack && (hasObject(text[c.at:c.at+c.size]) || hasObject(p.raw[l.start:l.end])) {
			return marksOf(text)
		}
	}
	return p.marks
}
