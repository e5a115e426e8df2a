package hatchet

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/sampletable"
)

// Instruction samples are two more keys that upstream's readers skip: "samples" of a node, "sampling" of the root.

// samples writes a node's samples on one line, as lists of numbers.
func (t *treeWriter) samples(list []profile.FunctionSamples) {
	if len(list) == 0 || t.sampling == nil {
		return
	}
	t.next(false)
	t.key("samples")
	defer t.onOneLine()()
	t.list(len(list), func(i int) { t.numbers(sampletable.Of(&list[i])) })
}

// onOneLine keeps what follows on the line, until the function that it returns is called.
func (t *treeWriter) onOneLine() (end func()) {
	indent := t.indent
	t.indent = false
	return func() { t.indent = indent }
}

func (t *treeWriter) numbers(list []uint64) {
	t.list(len(list), func(i int) { t.unsigned(list[i]) })
}

func (t *treeWriter) samplingTable() {
	if t.sampling == nil {
		return
	}
	t.next(false)
	t.key("sampling")
	t.object(sampletable.Table(t.sampling))
}

// object writes members a line each; lists stay on theirs.
func (t *treeWriter) object(members []sampletable.Member) {
	t.open('{')
	for i := range members {
		t.next(i == 0)
		t.member(&members[i])
	}
	t.close('}')
}

func (t *treeWriter) member(m *sampletable.Member) {
	t.key(m.Key)
	switch m.Kind {
	case sampletable.Text:
		t.str(m.Text)
	case sampletable.Number:
		t.unsigned(m.Number)
	case sampletable.Texts:
		defer t.onOneLine()()
		t.list(len(m.Texts), func(i int) { t.str(m.Texts[i]) })
	case sampletable.Numbers:
		defer t.onOneLine()()
		t.numbers(m.Numbers)
	case sampletable.Objects:
		t.list(len(m.Objects), func(i int) { t.object(m.Objects[i]) })
	}
}

// samples reads a node's samples. That they fit the root's table is seen at the end: it comes behind them.
func (d *decoder) samples() (list []profile.FunctionSamples) {
	d.sampled = true
	d.Array("at the start of samples", func() {
		d.Peek()
		start := d.Offset()
		d.Keep(functionSize)
		f, err := sampletable.Samples(d.numbers())
		if err != nil && d.Err == nil {
			d.Fail(start, "samples of a function: %v", err)
		}
		list = append(list, f)
	})
	return list
}

func (d *decoder) numbers() (list []uint64) {
	d.Array("at the start of a list of numbers", func() { list = append(list, d.unsigned()) })
	return list
}

// functionSize is about what a sampled function takes, or a kind of launches, of which a file may say nothing.
const functionSize = 256

// samplingTable reads what the samples mean.
func (d *decoder) samplingTable() *profile.Sampling {
	d.Peek()
	start := d.Offset()
	s, err := sampletable.Read(d.object(0))
	if err != nil && d.Err == nil {
		d.Fail(start, "sampling: %v", err)
	}
	return s
}

// mostNested is how deep objects lie within the table's.
const mostNested = 1

func (d *decoder) object(depth int) (members []sampletable.Member) {
	d.Peek()
	start := d.Offset()
	d.Keep(functionSize)
	d.Object("at the start of an object", func(key string) {
		if len(members) == sampletable.MaxMembers {
			d.Fail(start, "more than %d members in an object of sampling", sampletable.MaxMembers)
			return
		}
		members = append(members, d.member(key, depth))
	})
	return members
}

func (d *decoder) member(key string, depth int) sampletable.Member {
	m := sampletable.Member{Key: key}
	switch d.Peek() {
	case '"':
		m.Text = d.Intern(d.Str("a string"))
	case '[':
		m.Kind = sampletable.Numbers
		d.Array("at the start of a list", func() { d.element(&m, depth) })
	case '{':
		d.Skip(depth)
	default:
		m.Kind, m.Number = sampletable.Number, d.unsigned()
	}
	return m
}

func (d *decoder) element(m *sampletable.Member, depth int) {
	switch c := d.Peek(); {
	case c == '"':
		m.Kind = sampletable.Texts
		m.Texts = append(m.Texts, d.Intern(d.Str("a string")))
	case c == '{' && depth < mostNested:
		m.Kind = sampletable.Objects
		m.Objects = append(m.Objects, d.object(depth+1))
	case c == '{' || c == '[':
		d.Skip(depth)
	default:
		m.Numbers = append(m.Numbers, d.unsigned())
	}
}

// checkSamples makes sure that samples and table fit.
func (d *decoder) checkSamples(p *profile.Profile) error {
	if !d.sampled {
		return nil
	}
	if err := sampletable.Check(p); err != nil {
		return &jsonscan.Error{Offset: d.Offset(), Reason: err.Error()}
	}
	return nil
}
