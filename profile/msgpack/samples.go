package msgpack

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/sampletable"
)

func (e *encoder) samples(list []profile.FunctionSamples) {
	e.str("samples")
	e.array(len(list))
	for i := range list {
		e.numbers(sampletable.Of(&list[i]))
	}
}

func (e *encoder) numbers(list []uint64) {
	e.array(len(list))
	for _, n := range list {
		e.unsigned(n)
	}
}

func (e *encoder) object(members []sampletable.Member) {
	e.mapping(len(members))
	for i := range members {
		m := &members[i]
		e.str(m.Key)
		switch m.Kind {
		case sampletable.Text:
			e.str(m.Text)
		case sampletable.Number:
			e.unsigned(m.Number)
		case sampletable.Texts:
			e.array(len(m.Texts))
			for _, s := range m.Texts {
				e.str(s)
			}
		case sampletable.Numbers:
			e.numbers(m.Numbers)
		case sampletable.Objects:
			e.array(len(m.Objects))
			for _, o := range m.Objects {
				e.object(o)
			}
		}
	}
}

// samples reads a node's samples. That they fit the root's table is seen at the end.
func (d *decoder) samples() (list []profile.FunctionSamples) {
	d.sampled = true
	for range d.array("samples") {
		start := d.pos
		d.keep(start, functionSize)
		f, err := sampletable.Samples(d.numbers())
		if err != nil {
			d.fail(start, "samples of a function: %v", err)
		}
		if d.err != nil {
			return nil
		}
		list = append(list, f)
	}
	return list
}

func (d *decoder) numbers() (list []uint64) {
	for range d.array("a list of numbers") {
		d.keep(d.pos, numberSize)
		n := d.unsigned()
		if d.err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}

func (d *decoder) readSampling() {
	start := d.pos
	s, err := sampletable.Read(d.object(0))
	if err != nil {
		d.fail(start, "sampling: %v", err)
	}
	d.sampling = s
}

// mostNested is how deep objects lie within the table's.
const mostNested = 1

func (d *decoder) object(depth int) (members []sampletable.Member) {
	start := d.pos
	n := d.mapping("an object of sampling")
	if n > sampletable.MaxMembers {
		d.fail(start, "%d members in an object of sampling; %d are the most", n, sampletable.MaxMembers)
	}
	d.keep(start, functionSize+n*memberSize)
	for range n {
		if d.err != nil {
			return nil
		}
		members = append(members, d.member(depth))
	}
	return members
}

func (d *decoder) member(depth int) sampletable.Member {
	m := sampletable.Member{Key: d.str("a key of sampling")}
	switch d.kind() {
	case textKind:
		m.Text = d.str("a string")
	case arrayKind:
		m.Kind = sampletable.Numbers
		for range d.array("a list") {
			if d.element(&m, depth); d.err != nil {
				return m
			}
		}
	case numberKind:
		m.Kind, m.Number = sampletable.Number, d.unsigned()
	default:
		d.skip(depth)
	}
	return m
}

func (d *decoder) element(m *sampletable.Member, depth int) {
	switch k := d.kind(); {
	case k == textKind:
		m.Kind = sampletable.Texts
		d.keep(d.pos, 2*numberSize)
		m.Texts = append(m.Texts, d.str("a string"))
	case k == mapKind && depth < mostNested:
		m.Kind = sampletable.Objects
		m.Objects = append(m.Objects, d.object(depth+1))
	case k == numberKind:
		d.keep(d.pos, numberSize)
		m.Numbers = append(m.Numbers, d.unsigned())
	default:
		d.skip(depth)
	}
}
