package tritonparse

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// patterns has a launch of each program, the last that was unlike the one before, to compare others with. Workers share it.
type patterns struct {
	records recordReader
	lists   validLists
	room    sync.Pool                   // of *[]difference
	of      launchtext.Shared[*pattern] // by TemplateKey
}

// validLists are long lists that are known to be valid, stacks above all, so that they are not checked again.
type validLists = launchtext.Shared[bool]

// pattern is a launch that others are compared with, so that few launches are taken apart.
type pattern struct {
	launchtext.Skeleton
	leaves []patternLeaf
	traits *traits
	marks  marks
	seen   launchtext.Shared[*traits] // of launches with other values, by those that decide
}

// patternLeaf says what another value of a leaf means.
type patternLeaf struct {
	decides bool // the launch may be of another kind
	blob    bool // it is the hash of a tensor's contents
}

// difference is a value of a launch that is not its pattern's.
type difference struct{ leaf, start, end int32 }

// match finds the launch that a record is like and calls f with it and what differs; false if there is none.
func (k *patterns) match(text []byte, f func(p *pattern, differences []difference)) bool {
	p := k.of.Get(launchtext.TemplateKey(text))
	if p == nil {
		return false
	}
	room, _ := k.room.Get().(*[]difference)
	if room == nil {
		room = new([]difference)
	}
	differences := (*room)[:0]
	ok := p.Match(text, func(i, at int) (int, bool) {
		if s := &p.Spans[i]; s.Role == launchtext.TheName || s.Role == launchtext.TheHash {
			return 0, false // another kernel
		}
		end, ok := p.end(&k.lists, text, at, i)
		differences = append(differences, difference{int32(i), int32(at), int32(end)})
		return end, ok
	})
	if ok {
		f(p, differences)
	}
	*room = differences
	k.room.Put(room)
	return ok
}

// add makes a pattern of a launch.
func (k *patterns) add(rec ndjson.Record, members []jsontext.Member) *pattern {
	p := &pattern{traits: k.records.traits(rec, members), marks: marksOf(rec.Text)}
	p.Take(rec.Text, members, func(place launchtext.LeafPath, _ []byte) {
		p.leaves = append(p.leaves, patternLeaf{place.DecidesKind(), len(place.Path) > 0 && place.Path[len(place.Path)-1] == "tensor_hash"})
	})
	if p.Reusable {
		k.of.Put(string(launchtext.TemplateKey(p.Raw)), p, 2*len(p.Raw), launchtext.InternBudget)
	}
	return p
}

// launched is the kernel that a record launches; false if the record is not a launch.
func (k *patterns) launched(rec ndjson.Record) (kernel string, ok bool) {
	if k.match(rec.Text, func(p *pattern, _ []difference) { kernel = p.traits.name }) {
		return kernel, true
	}
	members, err := jsontext.Members(rec.Text)
	if err != nil || ndjson.TextOf(members, "event_type") != "launch" {
		return "", false
	}
	return k.add(rec, members).traits.name, true
}

// end is where the value that begins at at, in place of the i-th leaf, ends, and whether it is valid.
func (p *pattern) end(lists *validLists, text []byte, at, i int) (int, bool) {
	s := &p.Spans[i]
	long := text[at] == '[' && s.End-s.Start > launchtext.InternFrom
	if long {
		if end := p.ListEnd(text, at, i); end > 0 && lists.Get(text[at:end]) {
			return end, true
		}
	}
	end, err := jsontext.End(text, at, int(s.Depth))
	if err != nil {
		return 0, false
	}
	if long {
		lists.Put(string(text[at:end]), true, end-at+launchtext.ValueBytes, launchtext.InternBudget)
	}
	return end, true
}

// traits are what launches of a kind have in common.
type traits struct {
	name, hash, id string
	whole          bool
	kind           *Kind // for the indexer, which alone looks at it
}

func (r *recordReader) traits(rec ndjson.Record, members []jsontext.Member) *traits {
	l := r.read("", rec, members)
	return &traits{name: l.Name, hash: l.Hash, id: l.Kind, whole: len(l.Args) > 0 && len(l.Grid) > 0}
}

// traitsOf are the traits of a launch that differs from the pattern.
func (p *pattern) traitsOf(r *recordReader, rec ndjson.Record, differences []difference) (*traits, error) {
	var room [128]byte
	key := room[:0]
	for _, d := range differences {
		if p.leaves[d.leaf].decides {
			key = binary.AppendUvarint(key, uint64(d.leaf))
			key = binary.AppendUvarint(key, uint64(d.end-d.start))
			key = append(key, rec.Text[d.start:d.end]...)
		}
	}
	if len(key) == 0 {
		return p.traits, nil
	}
	if f := p.seen.Get(key); f != nil {
		return f, nil
	}
	members, err := jsontext.Members(rec.Text)
	if err != nil {
		return nil, err
	}
	f := r.traits(rec, members)
	p.seen.Put(string(key), f, len(key), seenBudget/8)
	return f, nil
}

// marks says what a launch's text has in it.
type marks struct {
	blobs  bool // the name of where a tensor's contents are kept
	values bool // what is in a tensor, or the hash of that
}

func marksOf(text []byte) marks {
	return marks{
		blobs: bytes.Contains(text, []byte(`"blob_path":`)),
		values: bytes.Contains(text, []byte(`"tensor_hash":"`)) || bytes.Contains(text, []byte(`"std":`)) ||
			bytes.Contains(text, []byte(`"tensor_hash": "`)), // as Python's json writes it, by default
	}
}

func hasObject(value []byte) bool { return value[0] == '[' && bytes.IndexByte(value, '{') >= 0 }

// marksOf are the pattern's own, unless a value differs that has to do with them.
func (p *pattern) marksOf(text []byte, differences []difference) marks {
	for _, d := range differences {
		if p.leaves[d.leaf].blob {
			return marksOf(text)
		}
		if s := &p.Spans[d.leaf]; s.Role != launchtext.TheStack && (hasObject(text[d.start:d.end]) || hasObject(p.Raw[s.Start:s.End])) {
			return marksOf(text)
		}
	}
	return p.marks
}
