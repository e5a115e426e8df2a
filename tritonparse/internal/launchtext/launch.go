package launchtext

import (
	"bytes"
	"slices"
	"sort"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Launch is a launch record: its template, and what differs from it. It is valid as long as the record's text.
type Launch struct {
	*Template
	Hash, Name string   // of the kernel
	Changes    []Change // in the order of the places
	text       []byte   // the record
	Group      Group
	rewritten  []byte // the record as it is written, without its end; nil if it is written as it is
}

// LaunchReader takes launches apart, on one goroutine.
type LaunchReader struct {
	In      *Interner
	Known   bool // the launches were read before: neither groups nor rewritten records are needed
	scratch []byte
	order   []int
	leaves  []jsontext.Span
}

// Reread compares a record with a template: that of the same kernel's launches, or one of another kernel with the same skeleton.
// What differs is written to the memory of changes. It returns false if there is no such template, or if one should be made of
// the record.
func (r *LaunchReader) Reread(text []byte, changes []Change) (Launch, bool) {
	key := TemplateKey(text)
	changes = changes[:0]
	if p := r.In.programs.Get(key); p != nil {
		if r.In.wantsOwn(p) {
			return Launch{}, false
		}
		if all, ok := p.template.match(r.In, text, changes); ok {
			return r.differs(p.template, text, all)
		}
	}
	if t, all := r.likeness(text, changes); t != nil {
		r.In.borrow(key, t)
		return r.differs(t, text, all)
	}
	return Launch{}, false
}

// likeness finds a template with the record's skeleton, and what differs.
func (r *LaunchReader) likeness(text []byte, changes []Change) (*Template, []Change) {
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
	for _, t := range r.In.like(likeness{len(r.leaves), between}) {
		if all, ok := t.match(r.In, text, changes); ok {
			return t, all
		}
	}
	return nil, changes
}

// differs returns the launch that differs from a template by these changes.
func (r *LaunchReader) differs(t *Template, text []byte, changes []Change) (Launch, bool) {
	l := t.launch(text)
	l.Changes = changes
	if len(changes) == 0 {
		return l, true
	}
	for i := range l.Changes {
		switch t.Spans[l.Changes[i].Leaf].Role {
		case TheName:
			l.Name = jsontext.Text(l.Changes[i].hashed)
		case TheHash:
			l.Hash = jsontext.Text(l.Changes[i].hashed)
		}
	}
	if r.Known {
		return l, true
	}
	l.Group = r.groupOf(&l)
	if l.rewritten != nil || slices.ContainsFunc(l.Changes, func(c Change) bool { return c.shrunk != nil }) {
		members, err := jsontext.Members(text)
		if err != nil {
			return Launch{}, false
		}
		l.rewritten = rewrite(members)
	}
	return l, true
}

// launch is the launch that the template was made of. For another one, the caller sets what differs.
func (t *Template) launch(text []byte) Launch {
	return Launch{Template: t, Hash: t.hash, Name: t.name, text: text, Group: t.group, rewritten: t.rewritten}
}

// Read takes a launch apart that Reread has no template for, and makes it one.
func (r *LaunchReader) Read(text []byte, members []jsontext.Member) Launch {
	t := newTemplate(r.In, text, members)
	r.In.keep(TemplateKey(text), t)
	return t.launch(text)
}

// groupOf hashes the template's canonical text with what differs in it.
func (r *LaunchReader) groupOf(l *Launch) Group {
	r.order = r.order[:0]
	for i, c := range l.Changes {
		if l.Leaves[c.Leaf].from >= 0 {
			r.order = append(r.order, i)
		}
	}
	if len(r.order) == 0 {
		return l.Template.group
	}
	sort.Slice(r.order, func(i, j int) bool {
		return l.Leaves[l.Changes[r.order[i]].Leaf].from < l.Leaves[l.Changes[r.order[j]].Leaf].from
	})
	text, from := r.scratch[:0], int32(0)
	for _, i := range r.order {
		c := &l.Changes[i]
		text = append(text, l.hashed[from:l.Leaves[c.Leaf].from]...)
		text = append(text, c.hashed...)
		from = l.Leaves[c.Leaf].to
	}
	text = append(text, l.hashed[from:]...)
	r.scratch = text
	return GroupOf(text)
}

// AppendLine writes the record up to its last member, with a comma behind it.
func (l *Launch) AppendLine(out []byte) []byte {
	if l.rewritten != nil {
		return append(out, l.rewritten...)
	}
	return append(append(out, bytes.TrimRight(l.text[:len(l.text)-1], " \t")...), ',')
}

// rewrite writes a record without the members that parsing adds, and with long texts cut.
func rewrite(members []jsontext.Member) []byte {
	var out []byte
	for _, m := range members {
		if !isOurs(m.Name) {
			out = ndjson.AppendMember(out, m.Name, shrink(nil, m.Value))
		}
	}
	return append(out, ',')
}

// Tuning is what the stack says about the autotuner.
func (l *Launch) Tuning() *Tuning {
	for _, c := range l.Changes {
		if l.Spans[c.Leaf].Role == TheStack {
			return c.stack.tuning()
		}
	}
	return l.stack.tuning()
}

// Each calls f with every leaf, in the record's order.
func (l *Launch) Each(f func(p *LeafPath, text []byte)) {
	next := 0
	for i, p := range l.Shape.Places {
		text := l.Leaves[i].Text
		if next < len(l.Changes) && int(l.Changes[next].Leaf) == i {
			text = l.Changes[next].Text
			next++
		}
		f(p, text)
	}
}

// Value is the text of a leaf, nil if there is none. Below extracted_args the path begins with the argument's name.
func (l *Launch) Value(member string, path ...string) []byte {
	if i := l.Shape.find(member, path...); i >= 0 {
		return l.At(i)
	}
	return nil
}

// At is the text of the i-th leaf of the shape.
func (l *Launch) At(i int) []byte {
	for _, c := range l.Changes {
		if int(c.Leaf) == i {
			return c.Text
		}
	}
	return l.Leaves[i].Text
}

// Keep makes l a copy of another launch. The copy stays valid when the other record is gone, and uses the memory that l had.
func (l *Launch) Keep(of *Launch) {
	changes := l.Changes[:cap(l.Changes)]
	l.Template, l.Hash, l.Name, l.Group = of.Template, of.Hash, of.Name, of.Group
	l.Changes = changes[:0]
	for i := range of.Changes {
		c := of.Changes[i]
		c.Value = Value{Text: c.Text}
		if !Lasts(c.Text) {
			var own []byte
			if i < len(changes) && cap(changes[i].Text) <= InternFrom {
				own = changes[i].Text[:0]
			}
			c.Value.Text = append(own, c.Text...)
		}
		l.Changes = append(l.Changes, c)
	}
}
