package tritonparse

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
)

// skeleton is a record and where in it the values stand that are no objects, its leaves. Launches of a kernel are nearly
// the same text, so that of another one only the leaves that differ are looked at. It is shared and never changed.
type skeleton struct {
	raw      []byte
	spans    []span // of the leaves
	reusable bool   // other records can be compared with it
}

// span is where a leaf stands in the record.
type span struct {
	start, end int32
	depth      int16
	role       role
}

type role uint8

const (
	ordinary role = iota
	fixed         // no launch with another value is compared with this one
	theName       // of the kernel
	theHash
	theStack
)

// place says where a leaf stands, by names.
type place struct {
	member   string
	argument string // if isArg
	isArg    bool
	path     []string // below the member or argument
	route    []string // all names that lead there
	counted  bool     // it differs so often that only the number of its values is shown
	work     bool     // the work of a launch may depend on it
	id       string
}

func (p *place) role() role {
	switch {
	case p.member == "stack" && len(p.path) == 0:
		return theStack
	case p.member == "event_type", p.member == "compilation_metadata" && len(p.path) == 0:
		return fixed
	case p.member == "name" && len(p.path) == 0:
		return theName
	case p.member == "compilation_metadata" && len(p.path) == 1 && p.path[0] == "hash":
		return theHash
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

// take takes a record apart and calls leaf with the place and the text of each, which it may keep; what place has it may
// not change. It returns the record's members.
func (s *skeleton) take(text []byte, members []jsontext.Member, leaf func(p place, raw []byte)) []node {
	s.raw = bytes.Clone(text)
	w := walker{s, leaf, nil}
	nodes := make([]node, 0, len(members))
	for _, m := range members {
		nodes = append(nodes, w.member(m))
	}
	s.reusable = true
	for i := 1; i < len(s.spans); i++ { // a name that comes twice
		s.reusable = s.reusable && s.spans[i-1].end < s.spans[i].start
	}
	return nodes
}

// walker goes through a record.
type walker struct {
	*skeleton
	leaf func(p place, raw []byte)
	path []string
}

func (w *walker) member(m jsontext.Member) node {
	n := node{name: m.Name, at: int32(m.At), raw: w.raw[m.At : m.At+len(m.Value)]}
	if m.Name != "extracted_args" || n.raw[0] != '{' {
		w.value(&n, place{member: m.Name})
		return n
	}
	arguments, _ := jsontext.Members(n.raw)
	for _, a := range arguments {
		k := node{name: a.Name, at: n.at + int32(a.At), raw: a.Value}
		w.value(&k, place{member: m.Name, argument: a.Name, isArg: true})
		n.kids = append(n.kids, k)
	}
	return n
}

func (w *walker) value(n *node, p place) {
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
	p.path = slices.Clone(w.path)
	s := span{start: n.at, end: n.at + int32(len(n.raw)), depth: int16(1 + len(p.path)), role: p.role()}
	if p.isArg {
		s.depth++
	}
	n.leaf = int32(len(w.spans))
	w.spans = append(w.spans, s)
	w.leaf(p, n.raw)
}

// match compares a record with the skeleton, leaf by leaf where they differ: read says where the i-th leaf, which begins
// at at, ends in the record, and whether it is sound. It returns false if it is no such record. A record that agrees up to
// a place is read there as the skeleton was, so only values that differ need be checked.
func (s *skeleton) match(text []byte, read func(i, at int) (end int, ok bool)) bool {
	at, from, next := 0, 0, 0
	for {
		n := samePrefix(text[at:], s.raw[from:])
		at, from = at+n, from+n
		if from == len(s.raw) {
			return at == len(text)
		}
		// A number may go on where the skeleton's ends, so that the byte behind a leaf is looked at with it.
		rest := s.spans[next:]
		i := next + sort.Search(len(rest), func(i int) bool { return int(rest[i].start) > from }) - 1
		if i < next || from > int(s.spans[i].end) {
			return false
		}
		leaf := &s.spans[i]
		start := at - (from - int(leaf.start))
		if leaf.role == fixed || start >= len(text) || text[start] == '{' {
			return false
		}
		end, ok := read(i, start)
		if !ok || bytes.Equal(text[start:end], s.raw[leaf.start:leaf.end]) {
			return false
		}
		at, from, next = end, int(leaf.end), i+1
	}
}

// likeness is what records with the same skeleton have in common.
func (s *skeleton) likeness() likeness {
	between := len(s.raw)
	for _, l := range s.spans {
		between -= int(l.end - l.start)
	}
	return likeness{len(s.spans), between}
}

// sameSkeleton says whether all between the leaves is the same in both.
func (s *skeleton) sameSkeleton(u *skeleton) bool {
	if len(s.spans) != len(u.spans) {
		return false
	}
	at, from := int32(0), int32(0)
	for i := range s.spans {
		a, b := &s.spans[i], &u.spans[i]
		if !bytes.Equal(s.raw[at:a.start], u.raw[from:b.start]) {
			return false
		}
		at, from = a.end, b.end
	}
	return bytes.Equal(s.raw[at:], u.raw[from:])
}

// samePrefix is how many bytes two texts have in common at their beginning.
func samePrefix(a, b []byte) int {
	const stride = 256
	n := min(len(a), len(b))
	i := 0
	for i+stride <= n && bytes.Equal(a[i:i+stride], b[i:i+stride]) {
		i += stride
	}
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// listEnd guesses where the list at at ends that stands in place of the i-th leaf: where the skeleton's text goes on; 0 if
// it does not. A guess is right if what it delimits is a list.
func (s *skeleton) listEnd(text []byte, at, i int) int {
	const enough = 16 // bytes behind a list to know it by: ],"timestamp":
	from := s.spans[i].end - 1
	to := min(from+enough, int32(len(s.raw)))
	if i+1 < len(s.spans) {
		to = min(to, s.spans[i+1].start)
	}
	if n := bytes.Index(text[at:], s.raw[from:to]); n >= 0 {
		return at + n + 1
	}
	return 0
}
