package tritonparse

import "slices"

// object is JSON that is put together in the order of first use.
type object struct {
	name    string
	members []*object
	byName  map[string]*object // of many
	text    []byte             // of a value that is no object
	long    longText           // of one that is better written than held
}

type longText func(s *spill, w writer) error

// at finds or makes the member that a path leads to.
func (o *object) at(path ...string) *object {
	for _, name := range path {
		next := o.get(name)
		if next == nil {
			next = &object{name: name}
			o.add(next)
		}
		o = next
	}
	return o
}

// get is a member, nil if there is none.
func (o *object) get(name string) *object {
	if o.byName != nil {
		return o.byName[name]
	}
	if i := slices.IndexFunc(o.members, func(m *object) bool { return m.name == name }); i >= 0 {
		return o.members[i]
	}
	return nil
}

func (o *object) add(m *object) {
	const few = 16
	o.members = append(o.members, m)
	switch {
	case o.byName != nil:
		o.byName[m.name] = m
	case len(o.members) > few:
		o.byName = map[string]*object{}
		for _, m := range o.members {
			o.byName[m.name] = m
		}
	}
}

// write writes it piece by piece.
func (o *object) write(s *spill, w writer) error {
	switch {
	case o.long != nil:
		return o.long(s, w)
	case o.text != nil:
		w(o.text)
		return nil
	}
	out := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		w(append(diffForm.AppendText(out, m.name), ':'))
		if err := m.write(s, w); err != nil {
			return err
		}
		out = out[:0]
	}
	w(append(out, '}'))
	return nil
}

// appendJSON writes one without members that are long.
func (o *object) appendJSON(out []byte) []byte {
	if o.text != nil {
		return append(out, o.text...)
	}
	out = append(out, '{')
	for i, m := range o.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = diffForm.AppendText(out, m.name)
		out = append(out, ':')
		out = m.appendJSON(out)
	}
	return append(out, '}')
}
