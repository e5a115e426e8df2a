package tritonparse

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// template is a launch that was taken apart. Launches of a kernel are nearly the same text, so that of another one only the
// values that differ are looked at. A template is shared and never changed.
type template struct {
	raw        []byte
	hash, name string // of the kernel
	shape      *shape
	leaves     []leaf // one for each place of the shape
	hashed     []byte // the canonical text that launch_group_hash is made of
	group      group
	tuned      *tuning // by its stack; nil if it has none
	reusable   bool
	rewritten  []byte // the record as it is written, without its end, if that is another text
}

// leaf is a value that is no object.
type leaf struct {
	start, end int32 // in raw
	from, to   int32 // in hashed; from is -1 for what is not hashed
	depth      int16
	role       role
	*value
}

type role uint8

const (
	ordinary role = iota
	fixed         // no launch with another value is compared with this one
	theStack
)

// value is a leaf's value.
type value struct {
	text   []byte // as launch_diff compares and shows it
	hashed []byte // as launch_group_hash has it; both may be the text of the record
	shrunk []byte // as it is written if it has a text that is too long, else nil
	tuned  *tuning
}

// place says where a leaf stands.
type place struct {
	member   string
	argument string // if isArg
	isArg    bool
	path     []string // below the member or argument
	counted  bool     // it differs so often that only the number of its values is shown
	work     bool     // the work of a launch may depend on it
	id       string
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

// node is a member of a record that is being taken apart.
type node struct {
	name string
	at   int32 // of the value in the record
	raw  []byte
	kids []node // of an object
	leaf int32  // else
}

// builder takes a record apart.
type builder struct {
	t      *template
	in     *interner
	places []*place
	path   []string
}

func newTemplate(in *interner, text []byte, members []jsontext.Member) *template {
	b := &builder{in: in, t: &template{raw: bytes.Clone(text), reusable: true}}
	t := b.t
	t.hash = jsontext.Text(jsontext.Get(member(members, "compilation_metadata"), "hash"))
	t.name = textOf(members, "name")
	var top []node
	shrunk, again := false, false
	for _, m := range members {
		if isOurs(m.Name) {
			again = true
			continue
		}
		first := len(t.leaves)
		top = append(top, b.member(m))
		for _, l := range t.leaves[first:] {
			shrunk = shrunk || l.shrunk != nil
		}
	}
	for i := 1; i < len(t.leaves); i++ { // a name that comes twice
		t.reusable = t.reusable && t.leaves[i-1].end < t.leaves[i].start
	}
	t.shape = in.shape(b.places)
	t.hashed = b.canonical(make([]byte, 0, len(text)), top)
	t.group = groupOf(t.hashed)
	if again {
		t.reusable = false
	}
	if shrunk || again {
		t.rewritten = rewrite(members)
	}
	return t
}

// isOurs says whether a member is one that parsing adds: the trace was parsed before.
func isOurs(name string) bool {
	return name == "launch_group_hash" || name == "occurrence_id" || name == "autotune_launch_type"
}

func (b *builder) member(m jsontext.Member) node {
	n := node{name: m.Name, at: int32(m.At), raw: b.t.raw[m.At : m.At+len(m.Value)]}
	if m.Name != "extracted_args" || n.raw[0] != '{' {
		b.value(&n, place{member: m.Name})
		return n
	}
	arguments, _ := jsontext.Members(n.raw)
	for _, a := range arguments {
		k := node{name: a.Name, at: n.at + int32(a.At), raw: a.Value}
		b.value(&k, place{member: m.Name, argument: a.Name, isArg: true})
		n.kids = append(n.kids, k)
	}
	return n
}

func (b *builder) value(n *node, p place) {
	if n.raw[0] != '{' {
		b.leaf(n, p)
		return
	}
	members, _ := jsontext.Members(n.raw)
	for _, m := range members {
		k := node{name: m.Name, at: n.at + int32(m.At), raw: m.Value}
		b.path = append(b.path, m.Name)
		b.value(&k, p)
		b.path = b.path[:len(b.path)-1]
		n.kids = append(n.kids, k)
	}
}

func (b *builder) leaf(n *node, p place) {
	p.path = slices.Clone(b.path)
	l := leaf{start: n.at, end: n.at + int32(len(n.raw)), from: -1, depth: int16(1 + len(p.path))}
	switch {
	case p.member == "stack" && len(p.path) == 0:
		l.role = theStack
	case p.member == "event_type", p.member == "name", p.member == "compilation_metadata" && (len(p.path) == 0 || p.path[0] == "hash"):
		l.role = fixed
	}
	if p.isArg {
		l.depth++
	}
	l.value = newValue(n.raw, l.role == theStack)
	if l.role == theStack {
		b.t.tuned = l.tuned
	}
	n.leaf = int32(len(b.t.leaves))
	b.t.leaves = append(b.t.leaves, l)
	b.places = append(b.places, b.in.place(p))
}

// canonical writes an object as launch_group_hash has it and notes where its leaves are.
func (b *builder) canonical(out []byte, members []node) []byte {
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
			out = b.canonical(out, m.kids)
			continue
		}
		l := &b.t.leaves[m.leaf]
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
	at   int32 // of the value in the record
	size int32
	value
}

// match compares a record with the template and appends what differs; false if it is no such record. A record that agrees
// up to a place is read there as the template was, so only values that differ need be checked.
func (t *template) match(in *interner, text []byte, changes []change) ([]change, bool) {
	at, from, next := 0, 0, 0
	for {
		n := samePrefix(text[at:], t.raw[from:])
		at, from = at+n, from+n
		if from == len(t.raw) {
			return changes, at == len(text)
		}
		// A number may go on where the template's ends, so that the byte behind a leaf is looked at with it.
		rest := t.leaves[next:]
		i := sort.Search(len(rest), func(i int) bool { return int(rest[i].start) > from }) - 1
		if i < 0 || from > int(rest[i].end) {
			return changes, false
		}
		l := &rest[i]
		c := change{leaf: int32(next + i), at: int32(at - (from - int(l.start)))}
		if l.role == fixed || !c.read(in, text, l) || bytes.Equal(text[c.at:c.at+c.size], t.raw[l.start:l.end]) {
			return changes, false
		}
		changes = append(changes, c)
		at, from, next = int(c.at+c.size), int(l.end), next+i+1
	}
}

// read works out the value at c.at.
func (c *change) read(in *interner, text []byte, l *leaf) bool {
	if int(c.at) >= len(text) || text[c.at] == '{' {
		return false
	}
	start := int(c.at)
	if text[start] == '[' && l.end-l.start > internFrom {
		if end := listEnd(text, start); end > 0 {
			if v := in.known(text[start:end], l.role == theStack); v != nil {
				c.size, c.value = int32(end-start), *v
				return true
			}
		}
	}
	end, err := jsontext.End(text, start, int(l.depth))
	if err != nil {
		return false
	}
	raw := text[start:end]
	c.size = int32(len(raw))
	switch {
	case len(raw) > internFrom, raw[0] == '[':
		c.value = *in.get(raw, l.role == theStack)
	case in.plain || jsontext.Canonical(raw):
		c.value = value{text: raw, hashed: raw}
	default:
		c.value = *newValue(raw, l.role == theStack)
	}
	return true
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

// listEnd guesses where the list at start ends, without a check of what is in it; 0 if it has no end.
func listEnd(text []byte, start int) int {
	depth := 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; ; i++ {
				n := bytes.IndexByte(text[i:], '"')
				if n < 0 {
					return 0
				}
				i += n
				escapes := i
				for text[escapes-1] == '\\' {
					escapes--
				}
				if (i-escapes)%2 == 0 {
					break
				}
			}
		}
	}
	return 0
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
	plain     bool // values that differ are wanted as they stand in the record
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
	p.counted, p.work = onlyCounted(p.flat()), p.matters()
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
