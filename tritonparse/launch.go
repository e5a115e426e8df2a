package tritonparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
)

// launch is a launch record: what it has in common with its template, and what not. It is valid until it has been taken.
type launch struct {
	*template
	hash, name string   // of the kernel
	changes    []change // in the order of the places
	text       []byte   // the record
	group      group
	rewritten  []byte // as it is written, without its end, if that is another text
}

// group is a launch_group_hash.
type group [16]byte

func (g group) String() string {
	if g == (group{}) {
		return ""
	}
	return string(g[:])
}

// notHashed are left out of launch_group_hash wherever they are: they differ between launches that are alike.
func notHashed(name string) bool {
	switch name {
	case "timestamp", "pid", "launch_group_hash", "occurrence_id", "function":
		return true
	}
	return false
}

var (
	hashForm = jsontext.Form{ASCII: true, Drop: notHashed}
	diffForm = jsontext.Form{}
)

func groupOf(canonical []byte) (g group) {
	sum := sha256.Sum256(canonical)
	hex.Encode(g[:], sum[:len(g)/2])
	return g
}

// launchReader takes launches apart, on one goroutine.
type launchReader struct {
	in      *interner
	known   bool // groups and long texts are of no interest: launches were read before
	scratch []byte
	order   []int
	leaves  []jsontext.Span
}

// templateKey is the beginning of a record, up to the function's handle where there is one: what follows is mostly the same.
func templateKey(text []byte) []byte {
	head := text[:min(len(text), 1024)]
	name := []byte(`"function":`)
	if at := bytes.Index(head, name); at >= 0 {
		if end := bytes.IndexByte(head[at+len(name):], ','); end >= 0 {
			return head[:at+len(name)+end]
		}
	}
	return head[:min(len(head), 128)]
}

// reread compares a record with one that it is like: the last one of the same kernel, or one of another kernel with the same
// skeleton. changes is where what differs goes. It returns false if there is none, or if there should be a nearer one.
func (r *launchReader) reread(text []byte, changes []change) (launch, []change, bool) {
	key := templateKey(text)
	first := len(changes)
	if p := r.in.program(key); p != nil {
		if r.in.wantsOwn(p) {
			return launch{}, changes, false
		}
		if all, ok := p.template.match(r.in, text, changes); ok {
			return r.differs(p.template, text, all, first)
		}
	}
	if t, all := r.likeness(text, changes); t != nil {
		r.in.borrow(key, t)
		return r.differs(t, text, all, first)
	}
	return launch{}, changes, false
}

// likeness finds a template that a record has the skeleton of, and what differs.
func (r *launchReader) likeness(text []byte, changes []change) (*template, []change) {
	if !bytes.Contains(text[:min(len(text), 64)], []byte(`"launch"`)) {
		return nil, changes // a compilation, mostly
	}
	var err error
	if r.leaves, err = jsontext.AppendLeaves(r.leaves[:0], text); err != nil {
		return nil, changes
	}
	between := len(text)
	for _, l := range r.leaves {
		between -= int(l.End - l.Start)
	}
	for _, t := range r.in.like(likeness{len(r.leaves), between}) {
		if all, ok := t.fit(r.in, text, r.leaves, changes); ok {
			return t, all
		}
	}
	return nil, changes
}

// differs is a launch that differs from a template by all changes from first on.
func (r *launchReader) differs(t *template, text []byte, all []change, first int) (launch, []change, bool) {
	l := t.launch(text)
	l.changes = all[first:len(all):len(all)]
	if len(l.changes) == 0 {
		return l, all, true
	}
	for i := range l.changes {
		switch t.spans[l.changes[i].leaf].role {
		case theName:
			l.name = jsontext.Text(l.changes[i].hashed)
		case theHash:
			l.hash = jsontext.Text(l.changes[i].hashed)
		}
	}
	if r.known {
		return l, all, true
	}
	l.group = r.groupOf(&l)
	if l.rewritten != nil || slices.ContainsFunc(l.changes, func(c change) bool { return c.shrunk != nil }) {
		members, err := jsontext.Members(text)
		if err != nil {
			return launch{}, all[:first], false
		}
		l.rewritten = rewrite(members)
	}
	return l, all, true
}

// launch is the one that the template was made of, or one that differs from it only by what is set afterwards.
func (t *template) launch(text []byte) launch {
	return launch{template: t, hash: t.hash, name: t.name, text: text, group: t.group, rewritten: t.rewritten}
}

// read takes a launch apart that is like no other.
func (r *launchReader) read(text []byte, members []jsontext.Member) launch {
	t := newTemplate(r.in, text, members)
	r.in.keep(templateKey(text), t)
	return t.launch(text)
}

// groupOf hashes the template's canonical text with what differs in it.
func (r *launchReader) groupOf(l *launch) group {
	r.order = r.order[:0]
	for i, c := range l.changes {
		if l.leaves[c.leaf].from >= 0 {
			r.order = append(r.order, i)
		}
	}
	if len(r.order) == 0 {
		return l.template.group
	}
	sort.Slice(r.order, func(i, j int) bool {
		return l.leaves[l.changes[r.order[i]].leaf].from < l.leaves[l.changes[r.order[j]].leaf].from
	})
	text, from := r.scratch[:0], int32(0)
	for _, i := range r.order {
		c := &l.changes[i]
		text = append(text, l.hashed[from:l.leaves[c.leaf].from]...)
		text = append(text, c.hashed...)
		from = l.leaves[c.leaf].to
	}
	text = append(text, l.hashed[from:]...)
	r.scratch = text
	return groupOf(text)
}

// appendLine writes the record without its end.
func (l *launch) appendLine(out []byte) []byte {
	if l.rewritten != nil {
		return append(out, l.rewritten...)
	}
	return append(append(out, bytes.TrimRight(l.text[:len(l.text)-1], " \t")...), ',')
}

// rewrite writes a record without what parsing adds, and its long texts cut.
func rewrite(members []jsontext.Member) []byte {
	var out []byte
	for _, m := range members {
		if !isOurs(m.Name) {
			out = appendMember(out, m.Name, shrink(nil, m.Value))
		}
	}
	return append(out, ',')
}

// tuning is what the stack says about the autotuner.
func (l *launch) tuning() *tuning {
	for _, c := range l.changes {
		if l.spans[c.leaf].role == theStack {
			return c.stack.tuning()
		}
	}
	return l.stack.tuning()
}

// each calls f with every leaf, in the record's order.
func (l *launch) each(f func(p *place, text []byte)) {
	next := 0
	for i, p := range l.shape.places {
		text := l.leaves[i].text
		if next < len(l.changes) && int(l.changes[next].leaf) == i {
			text = l.changes[next].text
			next++
		}
		f(p, text)
	}
}

// value is the text of a leaf, nil if there is none. An argument's path begins with the argument's name.
func (l *launch) value(member string, path ...string) []byte {
	if i := l.shape.find(member, path...); i >= 0 {
		return l.at(i)
	}
	return nil
}

// at is the text of the i-th leaf of the shape.
func (l *launch) at(i int) []byte {
	for _, c := range l.changes {
		if int(c.leaf) == i {
			return c.text
		}
	}
	return l.leaves[i].text
}

// keep makes the launch a copy of another that stays valid, in the memory of what it was before.
func (l *launch) keep(of *launch) {
	changes := l.changes[:cap(l.changes)]
	l.template, l.hash, l.name, l.group = of.template, of.hash, of.name, of.group
	l.changes = changes[:0]
	for i := range of.changes {
		c := of.changes[i]
		c.value = value{text: c.text}
		if !lasts(c.text) {
			var own []byte
			if i < len(changes) && cap(changes[i].text) <= internFrom {
				own = changes[i].text[:0]
			}
			c.value.text = append(own, c.text...)
		}
		l.changes = append(l.changes, c)
	}
}
