package tree

import (
	"math"
	"reflect"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// members are the keys of an object in the order in which files have them, and where the value of each is. One list serves the writer and
// the reader.
type members []member

type member struct {
	key   string
	value any // one of the types of writeValue and readValue
}

type (
	capped int              // a number that a larger one is cut to
	losses []profile.Figure // of which those that are 0 are left out
	// part has a way of its own to be written and read.
	part struct {
		write func(w Writer)
		read  func(r Reader)
	}
)

// figureMembers are the figures of a struct.
func figureMembers(list []profile.Figure) (all members) {
	for _, f := range list {
		all = append(all, member{f.Name, f.Value})
	}
	return all
}

// has reports whether a value is written: sketches and sources only where there are some.
func (m *member) has() bool {
	switch v := m.value.(type) {
	case **profile.Sketch:
		return hasTimes(*v)
	case *[]profile.SourceText:
		return len(*v) > 0
	}
	return true
}

// write writes an object.
func (all members) write(w Writer) {
	n := 0
	for i := range all {
		n += figures.OneIf[int](all[i].has())
	}
	w.Object(n)
	for i := range all {
		if m := &all[i]; m.has() {
			w.Key(m.key)
			writeValue(w, m.value)
		}
	}
	w.EndObject()
}

// read reads an object, and skips the keys that are not known. Nearly all files have the keys in the order of the list, so each is
// looked for behind the one before.
func (all members) read(r Reader, what string) {
	next := 0
	for c := r.Object(what); c.More; c = r.Next(c) {
		if at := all.find(r.Key(), next); at >= 0 {
			next = at + 1
			readValue(r, all[at].value)
		} else {
			r.Skip()
		}
	}
}

func (all members) find(key []byte, next int) int {
	if next < len(all) && all[next].key == string(key) {
		return next
	}
	return slices.IndexFunc(all, func(m member) bool { return m.key == string(key) })
}

func writeValue(w Writer, value any) {
	switch v := value.(type) {
	case *string:
		w.Text(*v)
	case *uint64:
		w.Unsigned(*v)
	case *int:
		w.Unsigned(uint64(max(*v, 0)))
	case *capped:
		w.Unsigned(uint64(max(*v, 0)))
	case *bool:
		w.Unsigned(figures.OneIf[uint64](*v))
	case *float64:
		w.Float(*v)
	case part:
		v.write(w)
	case *[]profile.SourceText:
		sources(w, *v)
	case *[]profile.InsideBuild:
		objects(w, *v, buildMembers)
	case **profile.Sketch:
		times(w, *v)
	default:
		before := w.Wrap(false)
		switch v := value.(type) {
		case *[]string:
			list(w, *v, w.Text)
		case *[]uint64:
			list(w, *v, w.Unsigned)
		case *[]profile.InsideShare:
			list(w, *v, func(s profile.InsideShare) { tuple(w, uint64(s.At), s.Count, s.Amount) })
		case *[]profile.InsideLine:
			list(w, *v, func(l profile.InsideLine) {
				w.List(2)
				w.Next()
				w.Text(l.File)
				w.Next()
				w.Unsigned(uint64(max(l.Line, 0)))
				w.EndList()
			})
		case losses:
			figureMembers(seen(v)).write(w)
		default:
			panic("BUG: a member of a file is a " + reflect.TypeOf(value).String())
		}
		w.Wrap(before)
	}
}

func readValue(r Reader, value any) {
	switch v := value.(type) {
	case *string:
		*v = str(r)
	case *uint64:
		*v = unsigned(r)
	case *int:
		*v = whole(r)
	case *capped:
		*v = capped(min(unsigned(r), math.MaxInt32))
	case *bool:
		*v = unsigned(r) != 0
	case *float64:
		*v = finite(r)
	case part:
		v.read(r)
	case *[]string:
		*v = texts(r, "a list of texts")
	case *[]uint64:
		*v = numbers(r, "a list of numbers")
	case **profile.Sketch:
		*v = readTimes(r)
	case *[]profile.InsideShare:
		*v = readShares(r)
	case *[]profile.InsideLine:
		*v = readLines(r)
	case *[]profile.SourceText:
		*v = readSources(r)
	case *[]profile.InsideBuild:
		*v = readObjects(r, "builds", "a build", buildMembers)
	case losses:
		figureMembers(v).read(r, "losses")
	default:
		panic("BUG: a member of a file is a " + reflect.TypeOf(value).String())
	}
}

// objects writes a list of objects, a line each.
func objects[T any](w Writer, all []T, of func(*T) members) {
	w.List(len(all))
	for i := range all {
		w.Next()
		before := w.Wrap(false)
		of(&all[i]).write(w)
		w.Wrap(before)
	}
	w.EndList()
}

// readObjects is the reverse of objects.
func readObjects[T any](r Reader, what, one string, of func(*T) members) []T {
	all := []T{}
	for c := r.List(what); c.More; c = r.Next(c) {
		var v T
		r.Keep(entrySize)
		of(&v).read(r, one)
		all = append(all, v)
	}
	return all
}

// seen are the figures that are not 0.
func seen(list []profile.Figure) (some []profile.Figure) {
	for _, f := range list {
		if *f.Value != 0 {
			some = append(some, f)
		}
	}
	return some
}

// tuple writes a list of numbers.
func tuple(w Writer, numbers ...uint64) {
	w.List(len(numbers))
	for _, n := range numbers {
		w.Next()
		w.Unsigned(n)
	}
	w.EndList()
}

// readTuple reads as many numbers as there is room for, and returns how many the list has.
func readTuple(r Reader, what string, into []uint64) (n int) {
	for c := r.List(what); c.More; c = r.Next(c) {
		if v := unsigned(r); n < len(into) {
			into[n] = v
		}
		n++
	}
	return n
}
