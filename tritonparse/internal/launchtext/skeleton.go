// Package launchtext takes launch records apart by comparing them with earlier ones. Nearly all of a record is the same text as in
// the record before it, so only the values that differ are parsed.
package launchtext

import (
	"bytes"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Skeleton is the text of a record with the places of its leaves: the values that are not objects. Launches of one kernel
// have nearly the same text, so that only the leaves that differ from those of an earlier launch are parsed. A Skeleton is
// shared by goroutines and never changed.
type Skeleton struct {
	Raw      []byte
	Spans    []span // of the leaves
	Reusable bool   // other records can be compared with it
}

// span is where a leaf stands in the record.
type span struct {
	Start, End int32
	Depth      int16
	Role       role
}

type role uint8

const (
	ordinary role = iota
	fixed         // a record with another value has another skeleton
	TheName       // of the kernel
	TheHash
	TheStack
)

// LeafPath says where a leaf stands, by the names that lead to it.
type LeafPath struct {
	Member   string
	Argument string // if IsArg
	IsArg    bool
	Path     []string // below the member or argument
	Route    []string // all names
	Counted  bool     // only the number of its values is shown, see onlyCounted
	Work     bool     // the work of a launch may depend on it
	identity uint32   // Fact.Place of this place; 0 if the program passes no value here
	Id       string
}

func (p *LeafPath) role() role {
	switch {
	case p.Member == "stack" && len(p.Path) == 0:
		return TheStack
	case p.Member == "event_type", p.Member == "compilation_metadata" && len(p.Path) == 0:
		return fixed
	case p.Member == "name" && len(p.Path) == 0:
		return TheName
	case p.Member == "compilation_metadata" && len(p.Path) == 1 && p.Path[0] == "hash":
		return TheHash
	}
	return ordinary
}

// node is a member of a record that was taken apart.
type node struct {
	name string
	at   int32 // of the value in the record
	raw  []byte
	kids []node // of an object
	leaf int32  // else
}

// Take takes a record apart. It calls leaf, which may keep what it gets and must not change it, with each leaf's place and text. It
// returns the record's members.
func (s *Skeleton) Take(text []byte, members []jsontext.Member, leaf func(p LeafPath, raw []byte)) []node {
	s.Raw = bytes.Clone(text)
	w := walker{s, leaf, nil}
	nodes := make([]node, 0, len(members))
	for _, m := range members {
		nodes = append(nodes, w.member(m))
	}
	s.Reusable = true
	for i := 1; i < len(s.Spans); i++ { // a name that comes twice
		s.Reusable = s.Reusable && s.Spans[i-1].End < s.Spans[i].Start
	}
	return nodes
}

type walker struct {
	*Skeleton
	leaf func(p LeafPath, raw []byte)
	path []string
}

func (w *walker) member(m jsontext.Member) node {
	n := node{name: m.Name, at: int32(m.At), raw: w.Raw[m.At : m.At+len(m.Value)]}
	if m.Name != "extracted_args" || n.raw[0] != '{' {
		w.value(&n, LeafPath{Member: m.Name})
		return n
	}
	arguments, _ := jsontext.Members(n.raw)
	for _, a := range arguments {
		k := node{name: a.Name, at: n.at + int32(a.At), raw: a.Value}
		w.value(&k, LeafPath{Member: m.Name, Argument: a.Name, IsArg: true})
		n.kids = append(n.kids, k)
	}
	return n
}

func (w *walker) value(n *node, p LeafPath) {
	if n.raw[0] == '{' {
		members, _ := jsontext.Members(n.raw)
		for _, m := range members {
			k := node{name: m.Name, at: n.at + int32(m.At), raw: m.Value}
			w.path = append(w.path, m.Name)
			w.value(&k, p)
			w.path = w.path[:len(w.path)-1]
			n.kids = append(n.kids, k)
		}
		return
	}
	p.Path = slices.Clone(w.path)
	s := span{Start: n.at, End: n.at + int32(len(n.raw)), Depth: int16(1 + len(p.Path)), Role: p.role()}
	if p.IsArg {
		s.Depth++
	}
	n.leaf = int32(len(w.Spans))
	w.Spans = append(w.Spans, s)
	w.leaf(p, n.raw)
}

// Match compares a record with the skeleton and returns false if the record has another skeleton. Where the two differ, it
// calls read for the i-th leaf, which begins at at; read returns where the leaf ends in the record, and whether the leaf is
// valid. Text that equals the skeleton's is valid, because that was.
func (s *Skeleton) Match(text []byte, read func(i, at int) (end int, ok bool)) bool {
	at, from, next := 0, 0, 0
	for {
		n := store.SamePrefix(text[at:], s.Raw[from:])
		at, from = at+n, from+n
		if from == len(s.Raw) {
			return at == len(text)
		}
		// A number may go on where the skeleton's ends: a difference at the byte behind a leaf is one of the leaf.
		rest := s.Spans[next:]
		i := next + sort.Search(len(rest), func(i int) bool { return int(rest[i].Start) > from }) - 1
		if i < next || from > int(s.Spans[i].End) {
			return false
		}
		leaf := &s.Spans[i]
		start := at - (from - int(leaf.Start))
		if leaf.Role == fixed || start >= len(text) || text[start] == '{' {
			return false
		}
		end, ok := read(i, start)
		if !ok || bytes.Equal(text[start:end], s.Raw[leaf.Start:leaf.End]) {
			return false
		}
		at, from, next = end, int(leaf.End), i+1
	}
}

// likeness is what records with the same skeleton have in common.
func (s *Skeleton) likeness() likeness {
	between := len(s.Raw)
	for _, l := range s.Spans {
		between -= int(l.End - l.Start)
	}
	return likeness{len(s.Spans), between}
}

// sameSkeleton says whether all between the leaves is the same in both.
func (s *Skeleton) sameSkeleton(u *Skeleton) bool {
	if len(s.Spans) != len(u.Spans) {
		return false
	}
	at, from := int32(0), int32(0)
	for i := range s.Spans {
		a, b := &s.Spans[i], &u.Spans[i]
		if !bytes.Equal(s.Raw[at:a.Start], u.Raw[from:b.Start]) {
			return false
		}
		at, from = a.End, b.End
	}
	return bytes.Equal(s.Raw[at:], u.Raw[from:])
}

// ListEnd guesses where a list ends that begins at at in place of the i-th leaf: before the text that follows the leaf in the
// skeleton. It returns 0 if that text is not found. The caller checks that the text between is a list.
func (s *Skeleton) ListEnd(text []byte, at, i int) int {
	const enough = 16 // bytes behind a list to know it by: ],"timestamp":
	from := s.Spans[i].End - 1
	to := min(from+enough, int32(len(s.Raw)))
	if i+1 < len(s.Spans) {
		to = min(to, s.Spans[i+1].Start)
	}
	if n := bytes.Index(text[at:], s.Raw[from:to]); n >= 0 {
		return at + n + 1
	}
	return 0
}

// TemplateKey is the beginning of a record, with the handle of the function if there is one near: it tells programs apart.
func TemplateKey(text []byte) []byte {
	head := text[:min(len(text), 1024)]
	name := []byte(`"function":`)
	if at := bytes.Index(head, name); at >= 0 {
		if end := bytes.IndexByte(head[at+len(name):], ','); end >= 0 {
			return head[:at+len(name)+end]
		}
	}
	return head[:min(len(head), 128)]
}

// Values that are longer than InternFrom bytes are shared; most of them are stacks. Shorter lists, such as shapes, are shared,
// too.
const InternFrom = 64

// ValueBytes is what a value takes in memory in addition to its texts.
const ValueBytes = 200

// InternBudget bounds the bytes of shared templates, and those of shared values; a trace of one process has a few hundred
// kilobytes.
const InternBudget = 8 << 20

// likeness is equal for records with the same skeleton, and hardly ever for others.
type likeness struct{ leaves, between int }
