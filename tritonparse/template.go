package tritonparse

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// template is a launch that was taken apart, for others to be compared with.
type template struct {
	skeleton
	hash, name string // of the kernel
	shape      *shape
	leaves     []leaf // one for each place of the shape
	hashed     []byte // the canonical text that launch_group_hash is made of
	group      group
	tuned      *tuning // by its stack; nil if it has none
	rewritten  []byte  // the record as it is written, without its end, if that is another text
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
	tuned  *tuning
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
		stack := p.role() == theStack
		v := newValue(raw, stack)
		if stack {
			t.tuned = v.tuned
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

// newValue works out a leaf. What is canonical as it stands is not copied.
func newValue(raw []byte, stack bool) *value {
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
	if stack && raw[0] == '[' {
		tuned := readTuning(raw)
		v.tuned = &tuned
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
	stack := s.role == theStack
	if text[at] == '[' && s.end-s.start > internFrom {
		if end := t.listEnd(text, at, i); end > 0 {
			if v := in.known(text[at:end], stack); v != nil {
				return *v, end, true
			}
		}
	}
	end, err := jsontext.End(text, at, int(s.depth))
	if err != nil {
		return value{}, 0, false
	}
	raw := text[at:end]
	switch {
	case len(raw) > internFrom, raw[0] == '[':
		return *in.get(raw, stack), end, true
	case jsontext.Canonical(raw):
		return value{text: raw, hashed: raw}, end, true
	}
	return *newValue(raw, stack), end, true
}

// Values that are longer than internFrom are shared, stacks above all, and short lists, such as shapes and grids.
const internFrom = 64

// valueBytes is what a value takes besides its texts.
const valueBytes = 200

// internBudget bounds the bytes of what is shared, of templates and of values each; a trace of one process has a few
// hundred kilobytes.
const internBudget = 8 << 20

// interner shares templates, values and shapes between the workers.
type interner struct {
	sync.RWMutex
	compat    bool
	templates map[string]*template
	values    map[string]*value
	stacks    map[string]*value
	places    map[string]*place
	shapes    map[string]*shape
	size      struct{ templates, values, shapes int }
}

// template returns the last launch of a program that began with the same bytes.
func (in *interner) template(key []byte) *template {
	in.RLock()
	defer in.RUnlock()
	return in.templates[string(key)]
}

func (in *interner) keep(key []byte, t *template) {
	if !t.reusable {
		return
	}
	in.Lock()
	defer in.Unlock()
	if in.size.templates += 4 * len(t.raw); in.size.templates > internBudget || in.templates == nil {
		in.templates, in.size.templates = map[string]*template{}, 4*len(t.raw)
	}
	in.templates[string(key)] = t
}

func (in *interner) known(raw []byte, stack bool) *value {
	in.RLock()
	defer in.RUnlock()
	if stack {
		return in.stacks[string(raw)]
	}
	return in.values[string(raw)]
}

func (in *interner) get(raw []byte, stack bool) *value {
	if v := in.known(raw, stack); v != nil {
		return v
	}
	v := newValue(bytes.Clone(raw), stack)
	in.Lock()
	defer in.Unlock()
	if in.size.values += 3*len(raw) + valueBytes; in.size.values > internBudget || in.values == nil {
		in.values, in.stacks, in.size.values = map[string]*value{}, map[string]*value{}, 3*len(raw)+valueBytes
	}
	if stack {
		in.stacks[string(raw)] = v
	} else {
		in.values[string(raw)] = v
	}
	return v
}

func (in *interner) place(p place) *place {
	argument := ""
	if p.isArg {
		argument = "." + p.argument
	}
	p.id = strings.Join(append([]string{p.member, argument}, p.path...), "\x00")
	in.Lock()
	defer in.Unlock()
	if known := in.places[p.id]; known != nil {
		return known
	}
	if in.size.shapes += 100 + 2*len(p.id); in.size.shapes > internBudget || in.places == nil {
		in.places, in.shapes, in.size.shapes = map[string]*place{}, map[string]*shape{}, 0
	}
	p.counted, p.work = p.onlyCounted(in.compat), p.matters()
	in.places[p.id] = &p
	return &p
}

func (in *interner) shape(places []*place) *shape {
	var id []byte
	for _, p := range places {
		id = binary.AppendUvarint(id, uint64(len(p.id)))
		id = append(id, p.id...)
	}
	in.Lock()
	defer in.Unlock()
	if known := in.shapes[string(id)]; known != nil {
		return known
	}
	if in.shapes == nil {
		in.shapes = map[string]*shape{}
	}
	s := &shape{places}
	in.size.shapes += len(id) + 8*len(places)
	in.shapes[string(id)] = s
	return s
}
