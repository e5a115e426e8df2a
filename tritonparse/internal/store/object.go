package store

import (
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/lookup"
)

// Object is a JSON object, or another value, that is put together. Members stand in the order of their first use.
type Object struct {
	Name    string
	Members []*Object
	byName  lookup.Index[string]
	Text    []byte                     // of a value that is not an object
	Long    func(*Spill, Writer) error // writes a value that is too long for memory
}

// At finds or makes the member that a path leads to.
func (o *Object) At(path ...string) *Object {
	for _, name := range path {
		next := o.Get(name)
		if next == nil {
			next = o.add(name)
		}
		o = next
	}
	return o
}

// Get is a member, nil if there is none.
func (o *Object) Get(name string) *Object {
	if at := o.byName.Find(len(o.Members), name, func(i int) string { return o.Members[i].Name }); at >= 0 {
		return o.Members[at]
	}
	return nil
}

// Clear leaves an empty object, which uses the memory of the members again.
func (o *Object) Clear() { *o = Object{Name: o.Name, Members: o.Members[:0]} }

func (o *Object) add(name string) *Object {
	var m *Object
	if n := len(o.Members); n < cap(o.Members) {
		m = o.Members[:n+1][n]
	}
	if m == nil {
		m = &Object{}
	}
	m.Clear()
	m.Name = name
	o.Members = append(o.Members, m)
	return m
}

// Write writes the object piece by piece.
func (o *Object) Write(s *Spill, w Writer) error {
	switch {
	case o.Long != nil:
		return o.Long(s, w)
	case o.Text != nil:
		w(o.Text)
		return nil
	}
	out := append(make([]byte, 0, 64), '{')
	for i, m := range o.Members {
		if i > 0 {
			out = append(out[:0], ',')
		}
		out = append(jsontext.Form{}.AppendText(out, m.Name), ':')
		w(out)
		if err := m.Write(s, w); err != nil {
			return err
		}
		out = out[:0]
	}
	w(append(out, '}'))
	return nil
}

// AppendJSON writes an object without long members.
func (o *Object) AppendJSON(out []byte) []byte {
	if o.Text != nil {
		return append(out, o.Text...)
	}
	return jsontext.AppendObject(out, o.Members, func(out []byte, m *Object) []byte {
		return m.AppendJSON(append(jsontext.Form{}.AppendText(out, m.Name), ':'))
	})
}

// Number is the whole number of a member.
func (o *Object) Number(name string) (int, bool) {
	v := o.Get(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(v.Text))
	return n, err == nil
}
