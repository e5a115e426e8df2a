// Package tree describes once what a file holds that is a tree of frames: .hatchet (JSON) and .hatchet_msgpack
// (MessagePack). Both formats bring a Reader and a Writer of its syntax.
//
// A node has upstream's keys frame, metrics and children, and these of ours, each only where there is something to say.
// Upstream's readers skip them.
//
//	times         how long the kernels at this path ran, as a sketch
//	launches      sums of the traced launches at this path
//	samples       instruction samples at this path
//	info          of the root: facts of the run
//	kinds         of the root: the kinds of metrics that a reader would get wrong, see Seen
//	launch_kinds  of the root: what the launches refer to
//	sampling      of the root: what the samples refer to
//
// docs/formats.md describes the files field by field.
package tree

import (
	"math"

	"github.com/goproton/goproton/profile"
)

// Writer writes the tokens of a syntax. In an object each Key is followed by one value; in a list each value follows Next.
type Writer interface {
	Object(members int)
	EndObject()
	Key(name string)
	List(elements int)
	Next()
	EndList()

	Text(s string)
	Unsigned(n uint64)
	Integer(n int64)
	Float(f float64)

	// Wrap says whether each member and element gets a line of its own, where the syntax has lines, and returns what was said
	// before. A sketch has a hundred numbers, which stay on one line.
	Wrap(wrap bool) (before bool)
}

// Reader reads the tokens of a syntax. The first error sticks; after it no container has members, and every method returns a
// zero value.
//
//	for c := r.Object("a node"); c.More; c = r.Next(c) {
//		switch string(r.Key()) { … }
//	}
type Reader interface {
	Object(what string) Cursor
	List(what string) Cursor
	Next(Cursor) Cursor
	Key() []byte // valid until the next call

	AtText() bool                     // the next value is a text
	Text(what string) []byte          // valid until the next call, and not always valid UTF-8
	Number(what string) profile.Value // what has no value, such as null, is NaN
	Value() profile.Value             // a number or a list of numbers
	Skip()                            // a value of any shape

	Here() int64 // where the next value begins, from the start of the file
	Fail(at int64, format string, args ...any)
	Failed() bool
	Keep(bytes int)       // counts memory that the value takes beyond a small multiple of its text
	Intern([]byte) string // returns one copy of each text, as valid UTF-8
}

// Cursor is a place in an object or a list. Close and Left are the syntax's own: the closing bracket, or the members that are
// left.
type Cursor struct {
	More  bool // there is one more member
	Close byte
	Left  int
}

// Rough sizes of what a few bytes of a file can stand for, see inflate.Memory.
const (
	NodeSize   = 160
	MetricSize = 100 // with what is known of its name
	TextSize   = 100 // in addition to the text, which is kept twice
	NumberSize = 8
	entrySize  = 288 // of a device, a kind of launches, a sampled function
)

// Value writes the value of a metric.
func Value(w Writer, v profile.Value) {
	switch v.Type() {
	case profile.Int:
		w.Integer(v.Int())
	case profile.Float:
		f, _ := v.Float()
		w.Float(f)
	case profile.String:
		w.Text(v.Str())
	case profile.Ints:
		list(w, v.Ints(), w.Integer)
	case profile.Floats:
		list(w, v.Floats(), w.Float)
	}
}

func list[T any](w Writer, values []T, write func(T)) {
	w.List(len(values))
	for _, v := range values {
		w.Next()
		write(v)
	}
	w.EndList()
}

func number(w Writer, key string, n uint64) {
	w.Key(key)
	w.Unsigned(n)
}

func text(w Writer, key, s string) {
	w.Key(key)
	w.Text(s)
}

// unsigned reads a whole number. Beyond 63 bits it was read as a float, which holds every bucket's bound exactly.
func unsigned(r Reader) uint64 {
	at := r.Here()
	v := r.Number("a whole number of at least 0")
	f, _ := v.Float()
	switch {
	case r.Failed():
	case v.Type() == profile.Int && v.Int() >= 0:
		return uint64(v.Int())
	case f >= 0 && f < math.MaxUint64 && f == math.Trunc(f):
		return uint64(f)
	default:
		r.Fail(at, "expected a whole number of at least 0")
	}
	return 0
}

// whole reads a number that an int holds on every machine.
func whole(r Reader) int {
	at := r.Here()
	n := unsigned(r)
	if n > math.MaxInt32 {
		r.Fail(at, "expected a whole number below 2147483648")
		return 0
	}
	return int(n)
}

func str(r Reader) string { return r.Intern(r.Text("a string")) }

func finite(r Reader) float64 {
	at := r.Here()
	f, _ := r.Number("a number").Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.Fail(at, "expected a number")
	}
	return f
}

// grow counts the memory of a list that is about to grow.
func grow[T any](r Reader, list []T, size int) {
	if len(list) == cap(list) {
		r.Keep(size * max(len(list), 4))
	}
}

func numbers(r Reader, what string) (list []uint64) {
	for c := r.List(what); c.More; c = r.Next(c) {
		grow(r, list, NumberSize)
		list = append(list, unsigned(r))
	}
	return list
}

func texts(r Reader, what string) (list []string) {
	for c := r.List(what); c.More; c = r.Next(c) {
		grow(r, list, 2*NumberSize)
		list = append(list, str(r))
	}
	return list
}
