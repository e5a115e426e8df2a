package tritonparse

import (
	"bytes"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
)

// template is a launch that was taken apart, for others to be compared with.
type template struct {
	skeleton
	hash, name string // of the kernel
	shape      *shape
	leaves     []leaf // one for each place of the shape
	hashed     []byte // the canonical text that launch_group_hash is made of
	group      group
	stack      *stack // nil if it has none
	rewritten  []byte // the record as it is written, without its end, if that is another text
	works      templateWork
}

// leaf is a value that is no object.
type leaf struct {
	from, to int32 // in hashed; from is -1 for what is not hashed
	*value
}

// value is a leaf's value.
type value struct {
	text   []byte // as launch_diff compares and shows it
	hashed []byte // as launch_group_hash has it; both may be the text of the record
	shrunk []byte // as it is written if it has a text that is too long, else nil
	stack  *stack // if it is one
}

// shape is the places of a launch's leaves in the record's order. Launches of one program have few shapes.
type shape struct{ places []*place }

// find returns the place of a leaf, -1 if there is none. An argument's path begins with the argument's name.
func (s *shape) find(member string, path ...string) int {
	return slices.IndexFunc(s.places, func(p *place) bool {
		if p.member != member {
			return false
		}
		if p.isArg {
			return len(path) > 0 && p.argument == path[0] && slices.Equal(p.path, path[1:])
		}
		return slices.Equal(p.path, path)
	})
}

func newTemplate(in *interner, text []byte, members []jsontext.Member) *template {
	own := slices.DeleteFunc(slices.Clone(members), func(m jsontext.Member) bool { return isOurs(m.Name) })
	t := &template{hash: jsontext.Text(jsontext.Get(member(members, "compilation_metadata"), "hash")), name: textOf(members, "name")}
	var places []*place
	shrunk := false
	nodes := t.take(text, own, func(p place, raw []byte) {
		var v *value
		if p.role() == theStack && raw[0] == '[' {
			v, _, _ = in.stackAt(raw, 0, 1, nil)
			t.stack = v.stack
		} else {
			v = newValue(raw)
		}
		shrunk = shrunk || v.shrunk != nil
		t.leaves = append(t.leaves, leaf{from: -1, value: v})
		places = append(places, in.place(p))
	})
	t.shape = in.shape(places)
	t.hashed = t.canonical(make([]byte, 0, len(text)), nodes)
	t.group = groupOf(t.hashed)
	again := len(own) < len(members)
	t.reusable = t.reusable && !again
	if shrunk || again {
		t.rewritten = rewrite(members)
	}
	return t
}

// isOurs says whether a member is one that parsing adds: the trace was parsed before.
func isOurs(name string) bool {
	return name == "launch_group_hash" || name == "occurrence_id" || name == "autotune_launch_type"
}

// canonical writes an object as launch_group_hash has it and notes where its leaves are.
func (t *template) canonical(out []byte, members []node) []byte {
	// The order of UTF-8's bytes is the order of code points, which is Python's.
	sort.Slice(members, func(i, j int) bool { return members[i].name < members[j].name })
	out = append(out, '{')
	for i := range members {
		m := &members[i]
		if notHashed(m.name) {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(hashForm.AppendText(out, m.name), ':')
		if m.raw[0] == '{' {
			out = t.canonical(out, m.kids)
			continue
		}
		l := &t.leaves[m.leaf]
		l.from = int32(len(out))
		out = append(out, l.hashed...)
		l.to = int32(len(out))
	}
	return append(out, '}')
}

// newValue works out a leaf that is no stack. What is canonical as it stands is not copied.
func newValue(raw []byte) *value {
	if jsontext.Canonical(raw) && len(raw) <= maxText {
		return &value{text: raw, hashed: raw}
	}
	v := &value{hashed: hashForm.Append(nil, raw)}
	shown := raw
	if long(raw) {
		v.shrunk = shrink(nil, raw)
		shown = v.shrunk
	}
	v.text = diffForm.Append(nil, shown)
	if bytes.Equal(v.text, v.hashed) {
		v.hashed = v.text
	}
	return v
}

// change is a value of a launch that differs from its template's.
type change struct {
	leaf int32
	value
}

// match compares a record with the template and appends what differs; false if it is no such record.
func (t *template) match(in *interner, text []byte, changes []change) ([]change, bool) {
	ok := t.skeleton.match(text, func(i, at int) (int, bool) {
		v, end, ok := t.read(in, text, at, i)
		changes = append(changes, change{leaf: int32(i), value: v})
		return end, ok
	})
	return changes, ok
}

// read works out the value at at, and where it ends, that stands in place of the i-th leaf.
func (t *template) read(in *interner, text []byte, at, i int) (v value, end int, ok bool) {
	s := &t.spans[i]
	if text[at] == '[' {
		if s.role == theStack {
			v, end, ok := in.stackAt(text, at, int(s.depth), t.leaves[i].stack)
			if !ok {
				return value{}, 0, false
			}
			return *v, end, true
		}
		if s.end-s.start > internFrom {
			if end := t.listEnd(text, at, i); end > 0 {
				if v := in.known(text[at:end]); v != nil {
					return *v, end, true
				}
			}
		}
	}
	end, err := jsontext.End(text, at, int(s.depth))
	if err != nil {
		return value{}, 0, false
	}
	return in.value(text[at:end]), end, true
}

// value works out a value that is known to be sound, and no stack.
func (in *interner) value(raw []byte) value {
	switch {
	case len(raw) > internFrom, raw[0] == '[':
		return *in.get(raw)
	case jsontext.Canonical(raw):
		return value{text: raw, hashed: raw}
	}
	return *newValue(raw)
}

// fit compares a record whose leaves are known with the template, as match does: all between the leaves must be the same.
func (t *template) fit(in *interner, text []byte, leaves []jsontext.Span, changes []change) ([]change, bool) {
	at, from := int32(0), int32(0)
	for i := range t.spans {
		s, l := &t.spans[i], leaves[i]
		if !bytes.Equal(text[at:l.Start], t.raw[from:s.start]) {
			return changes, false
		}
		if raw := text[l.Start:l.End]; !bytes.Equal(raw, t.raw[s.start:s.end]) {
			if s.role == fixed {
				return changes, false
			}
			v := value{}
			if s.role == theStack && raw[0] == '[' {
				stack, _, _ := in.stackAt(raw, 0, int(s.depth), t.leaves[i].stack)
				v = *stack
			} else {
				v = in.value(raw)
			}
			changes = append(changes, change{leaf: int32(i), value: v})
		}
		at, from = l.End, s.end
	}
	return changes, bytes.Equal(text[at:], t.raw[from:])
}
