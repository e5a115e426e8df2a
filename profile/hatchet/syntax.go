package hatchet

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/tree"
)

// syntax is the tree.Reader of JSON.
type syntax struct{ *jsonscan.Scanner }

func (s syntax) Object(what string) tree.Cursor { return s.container('{', what) }
func (s syntax) List(what string) tree.Cursor   { return s.container('[', what) }

func (s syntax) container(bracket byte, what string) tree.Cursor {
	if s.Peek() != bracket {
		s.Expect(bracket, "at the start of "+what)
		return tree.Cursor{}
	}
	s.Expect(bracket, what)
	closing := bracket + 2 // '}' or ']'
	return tree.Cursor{More: s.Begin(closing), Close: closing}
}

func (s syntax) Next(c tree.Cursor) tree.Cursor {
	c.More = s.More(c.Close)
	return c
}

func (s syntax) AtText() bool                     { return s.Peek() == '"' }
func (s syntax) Text(what string) []byte          { return s.Str(what) }
func (s syntax) Number(what string) profile.Value { return s.Scalar() }
func (s syntax) Skip()                            { s.Scanner.Skip(0) }
func (s syntax) Failed() bool                     { return s.Err != nil }

func (s syntax) Here() int64 {
	s.Peek()
	return s.Offset()
}

// Value reads a number or a list of numbers; one float makes all of them floats.
func (s syntax) Value() profile.Value {
	switch s.Peek() {
	case '[':
	case '{':
		s.Unexpected("a number, a string or a list")
		return profile.Value{}
	default:
		return s.Scalar()
	}
	var list jsonscan.Vector
	for c := s.List("a list"); c.More; c = s.Next(c) {
		if c := s.Peek(); c == '"' || c == '[' || c == '{' {
			s.Unexpected("a number")
			break
		}
		list.Add(s.Scalar())
	}
	s.Rounded += list.Rounded
	return list.Value()
}
