package tritonparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// launch is a launch record: what it has in common with its template, and what not. It is valid until it has been taken.
type launch struct {
	*template
	changes   []change // in the order of the places
	text      []byte   // the record
	group     group
	rewritten []byte // as it is written, without its end, if that is another text
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
	scratch []byte
	order   []int
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

// reread compares a record with the last one of the same kernel. changes is where what differs goes.
func (r *launchReader) reread(text []byte, changes []change) (launch, []change, bool) {
	t := r.in.template(templateKey(text))
	if t == nil {
		return launch{}, changes, false
	}
	first := len(changes)
	all, ok := t.match(r.in, text, changes)
	if !ok {
		return launch{}, changes, false
	}
	l := launch{template: t, changes: all[first:len(all):len(all)], text: text, group: t.group, rewritten: t.rewritten}
	if len(l.changes) == 0 {
		return l, all, true
	}
	l.group = r.groupOf(&l)
	if l.rewritten != nil || slices.ContainsFunc(l.changes, func(c change) bool { return c.shrunk != nil }) {
		members, err := jsontext.Members(text)
		if err != nil {
			return launch{}, changes, false
		}
		l.rewritten = rewrite(members)
	}
	return l, all, true
}

// read takes a launch apart that is like no other.
func (r *launchReader) read(text []byte, members []jsontext.Member) launch {
	t := newTemplate(r.in, text, members)
	r.in.keep(templateKey(text), t)
	return launch{template: t, text: text, group: t.group, rewritten: t.rewritten}
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
			return c.tuned
		}
	}
	return l.tuned
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
	l.template, l.group = of.template, of.group
	l.changes = changes[:0]
	for i := range of.changes {
		c := of.changes[i]
		var own []byte
		if i < len(changes) {
			own = changes[i].text[:0]
		}
		c.value = value{text: append(own, c.text...), tuned: c.tuned}
		l.changes = append(l.changes, c)
	}
}
