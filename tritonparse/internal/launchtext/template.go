package launchtext

import (
	"bytes"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Template is a launch that others are compared with.
type Template struct {
	Skeleton
	hash, name string // of the kernel
	Shape      *Shape
	Leaves     []Leaf // one for each place of the shape
	hashed     []byte // the canonical text that launch_group_hash is made of
	group      Group
	stack      *stack // nil if it has none
	rewritten  []byte // see AppendLine; nil if the record is written as it is
	works      templateWork
	arguments  uint64 // see ArgumentHash
}

// Leaf is a value that is not an object.
type Leaf struct {
	from, to int32 // in hashed; from is -1 for what is not hashed
	*Value
}

type Value struct {
	Text   []byte // as launch_diff compares and shows it; may be the record's text
	hashed []byte // as launch_group_hash contains it; may be the record's text
	shrunk []byte // as it is written, if it has a text that is too long
	stack  *stack // nil for other values
}

// Shape is the places of a launch's leaves in the record's order. Launches of one program have few shapes.
type Shape struct {
	Places   []*LeafPath
	Captured bool // a note says that the launch was captured, in the place of its arguments
	Distinct bool // no place comes twice
}

// find returns the index of a leaf, -1 if there is none. Below extracted_args the path begins with the argument's name.
func (s *Shape) find(member string, path ...string) int {
	return slices.IndexFunc(s.Places, func(p *LeafPath) bool {
		if p.Member != member {
			return false
		}
		if p.IsArg {
			return len(path) > 0 && p.Argument == path[0] && slices.Equal(p.Path, path[1:])
		}
		return slices.Equal(p.Path, path)
	})
}

func newTemplate(in *Interner, text []byte, members []jsontext.Member) *Template {
	own := slices.DeleteFunc(slices.Clone(members), func(m jsontext.Member) bool { return isOurs(m.Name) })
	t := &Template{hash: jsontext.Text(jsontext.Get(ndjson.Get(members, "compilation_metadata"), "hash")), name: ndjson.TextOf(members, "name")}
	var places []*LeafPath
	shrunk := false
	nodes := t.Take(text, own, func(p LeafPath, raw []byte) {
		var v *Value
		if p.role() == TheStack && raw[0] == '[' {
			v, _, _ = in.stackAt(raw, 0, 1, nil)
			t.stack = v.stack
		} else {
			v = newValue(raw)
		}
		shrunk = shrunk || v.shrunk != nil
		t.Leaves = append(t.Leaves, Leaf{from: -1, Value: v})
		places = append(places, in.place(p))
	})
	t.Shape = in.shape(places)
	t.hashed = t.canonical(make([]byte, 0, len(text)), nodes)
	t.group = GroupOf(t.hashed)
	for i, p := range t.Shape.Places {
		t.arguments += p.fact(t.Leaves[i].Text).sum()
	}
	again := len(own) < len(members)
	t.Reusable = t.Reusable && !again
	if shrunk || again {
		t.rewritten = rewrite(members)
	}
	return t
}

// isOurs says whether parsing adds a member: a record that has it was parsed before.
func isOurs(name string) bool {
	return name == "launch_group_hash" || name == "occurrence_id" || name == "autotune_launch_type"
}

// canonical writes an object as launch_group_hash contains it, and notes where its leaves are.
func (t *Template) canonical(out []byte, members []node) []byte {
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
		l := &t.Leaves[m.leaf]
		l.from = int32(len(out))
		out = append(out, l.hashed...)
		l.to = int32(len(out))
	}
	return append(out, '}')
}

// newValue is a leaf that is not a stack. Text that is canonical already is not copied.
func newValue(raw []byte) *Value {
	if jsontext.Canonical(raw) && len(raw) <= MaxText {
		return &Value{Text: raw, hashed: raw}
	}
	v := &Value{hashed: hashForm.Append(nil, raw)}
	shown := raw
	if long(raw) {
		v.shrunk = shrink(nil, raw)
		shown = v.shrunk
	}
	v.Text = jsontext.Form{}.Append(nil, shown)
	if bytes.Equal(v.Text, v.hashed) {
		v.hashed = v.Text
	}
	return v
}

// Change is a value of a launch that differs from its template's.
type Change struct {
	Leaf int32
	Value
}

// match compares a record with the template and appends what differs; false if the record has another skeleton.
func (t *Template) match(in *Interner, text []byte, changes []Change) ([]Change, bool) {
	ok := t.Skeleton.Match(text, func(i, at int) (int, bool) {
		v, end, ok := t.read(in, text, at, i)
		changes = append(changes, Change{Leaf: int32(i), Value: v})
		return end, ok
	})
	return changes, ok
}

// read returns the value that begins at at, in place of the i-th leaf, and where it ends.
func (t *Template) read(in *Interner, text []byte, at, i int) (v Value, end int, ok bool) {
	s := &t.Spans[i]
	if text[at] == '[' {
		if s.Role == TheStack {
			v, end, ok := in.stackAt(text, at, int(s.Depth), t.Leaves[i].stack)
			if !ok {
				return Value{}, 0, false
			}
			return *v, end, true
		}
		if s.End-s.Start > InternFrom {
			if end := t.ListEnd(text, at, i); end > 0 {
				if v := in.values.Get(text[at:end]); v != nil {
					return *v, end, true
				}
			}
		}
	}
	end, err := jsontext.End(text, at, int(s.Depth))
	if err != nil {
		return Value{}, 0, false
	}
	return in.value(text[at:end]), end, true
}

// value is a valid value that is not a stack.
func (in *Interner) value(raw []byte) Value {
	switch {
	case len(raw) > InternFrom, raw[0] == '[':
		return *in.get(raw)
	case jsontext.Canonical(raw):
		return Value{Text: raw, hashed: raw}
	}
	return *newValue(raw)
}
