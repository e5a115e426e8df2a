package tritonparse

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/shelf"
)

// tunedGroups are the distinct launches of a session; of those that are alike the last counts. Some wait in memory, in case
// that they come again; the others are in a log, which goes to the shelf.
type tunedGroups struct {
	waiting map[group]*tunedGroup
	shapes  []*shape
	lastID  int

	// Once there are no more launches:
	log   stream
	all   []tunedLast // by id; only the last of very many
	total distinct    // how many there are, if all does not have them all
}

type tunedGroup struct {
	last   int // occurrence id
	launch launch
}

type tunedLast struct {
	group group
	last  int
}

// keep takes a launch of a session.
func (s *sessions) keep(u *session, l *launch, id int) {
	t := &u.groups
	g := t.waiting[l.group]
	if g == nil {
		if t.waiting == nil {
			t.waiting = map[group]*tunedGroup{}
			s.waiters = append(s.waiters, u)
			s.waiting += 8 * len(l.raw) // a template
		}
		g = s.groups.take()
		t.waiting[l.group] = g
		s.waiting += 256 + 2*len(l.changes)*64
	}
	if g.launch.template != nil && g.launch.template != l.template {
		s.waiting += 8 * len(l.raw)
	}
	g.last = id
	g.launch.keep(l)
	if s.waiting > s.room {
		s.putAway()
	}
}

// putAway moves what waits to the shelf.
func (s *sessions) putAway() {
	for _, u := range s.waiters {
		for _, g := range u.groups.waiting {
			s.groups = append(s.groups, g)
		}
		s.log = u.groups.flush(s.log[:0])
		s.shelf.Put(u.number, s.log)
	}
	for _, g := range s.groups {
		g.launch.template = nil
	}
	clear(s.waiters)
	s.waiters, s.waiting = s.waiters[:0], 0
}

// flush writes what waited to a log.
func (t *tunedGroups) flush(out []byte) []byte {
	groups := make([]*tunedGroup, 0, len(t.waiting))
	for _, g := range t.waiting {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *tunedGroup) int { return a.last - b.last })
	var base *launch
	for _, g := range groups {
		out = t.append(out, &g.launch, g.last, base)
		base = &g.launch
	}
	t.waiting = nil
	return out
}

// How an entry of the log begins: with sameKernel if template and hash are those of the entry before, with sameTemplate and a
// hash, or with the number of a shape behind these two, the template's texts, and a hash. Then comes what differs.
const (
	sameKernel = iota
	sameTemplate
	newShapes
)

// append writes a launch to the log.
func (t *tunedGroups) append(out []byte, l *launch, id int, before *launch) []byte {
	switch {
	case before != nil && before.template == l.template && before.hash == l.hash:
		out = append(out, sameKernel)
	case before != nil && before.template == l.template:
		out = appendCounted(append(out, sameTemplate), l.hash)
	default:
		at := slices.Index(t.shapes, l.shape)
		if at < 0 {
			at = len(t.shapes)
			t.shapes = append(t.shapes, l.shape)
		}
		out = binary.AppendUvarint(out, uint64(newShapes+at))
		for i := range l.leaves {
			out = appendCounted(out, l.leaves[i].text)
		}
		out = appendCounted(out, l.hash)
	}
	out = append(out, l.group[:]...)
	out = binary.AppendVarint(out, int64(id-t.lastID))
	t.lastID = id
	out = binary.AppendUvarint(out, uint64(len(l.changes)))
	for i := range l.changes {
		out = binary.AppendUvarint(out, uint64(l.changes[i].leaf))
		out = appendCounted(out, l.changes[i].text)
	}
	return out
}

// end gathers the log from the shelf, where it has that number, and finds the last launch of each group.
func (t *tunedGroups) end(number, most int, r *shelf.Reader, sp *spill) error {
	err := r.Each(number, func(text []byte) error {
		t.log.buffer = append(t.log.buffer, text...)
		if len(t.log.buffer) >= chunkSize {
			t.log.pack(sp)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.log.buffer = t.flush(t.log.buffer)
	found := lastGroups{most: most, last: map[group]int{}}
	if err := t.replay(sp, func(l *launch, id int) { found.add(l.group, id) }); err != nil {
		return err
	}
	found.keep(most)
	t.all, t.total = found.order, found.total
	return nil
}

// lastGroups are the groups of launches that come by, in the order of the last launch of each. Of more than so many, those are
// forgotten whose last launch is the longest ago.
type lastGroups struct {
	most  int
	last  map[group]int
	order []tunedLast // with launches that are not the last of their groups any more
	total distinct    // if some were forgotten
}

func (s *lastGroups) add(g group, id int) {
	s.last[g] = id
	if s.order = append(s.order, tunedLast{g, id}); len(s.order) > 4*len(s.last)+enough {
		s.compact()
	}
	if s.total.hashes != nil {
		s.total.add(hash64(g[:]))
	}
	if len(s.last)/2 > s.most {
		s.keep(s.most)
	}
}

// keep forgets all but so many groups.
func (s *lastGroups) keep(most int) {
	s.compact()
	n := len(s.order) - most
	if n <= 0 {
		return
	}
	if s.total.hashes == nil {
		for _, l := range s.order {
			s.total.add(hash64(l.group[:]))
		}
	}
	for s.total.spare() > 1<<18 {
		s.total.thin()
	}
	for _, l := range s.order[:n] {
		delete(s.last, l.group)
	}
	s.order = slices.Delete(s.order, 0, n)
}

// compact leaves only the last launch of each group.
func (s *lastGroups) compact() {
	s.order = slices.DeleteFunc(s.order, func(l tunedLast) bool { return s.last[l.group] != l.last })
}

// first is the hash and the name of the first of the distinct launches' kernel.
func (t *tunedGroups) first(sp *spill) (hash, name string, err error) {
	begun := false
	err = t.each(sp, func(l *launch) {
		if !begun {
			hash, name = l.hash, jsontext.Text(l.value("compilation_metadata", "name"))
		}
		begun = true
	})
	return hash, name, err
}

// each calls f with the last launch of each group, by id: so the log is.
func (t *tunedGroups) each(sp *spill, f func(*launch)) error {
	next := 0
	return t.replay(sp, func(l *launch, id int) {
		if next < len(t.all) && t.all[next].last == id {
			f(l)
			next++
		}
	})
}

// replay reads the log. A launch is valid during the call.
func (t *tunedGroups) replay(sp *spill, f func(l *launch, id int)) error {
	r := logReader{shapes: t.shapes}
	return t.log.each(sp, func(in []byte) error {
		r.in = in
		for len(r.in) > 0 {
			l, err := r.launch()
			if err != nil {
				return err
			}
			f(l, r.id)
		}
		return nil
	})
}

// logReader reads launches as append writes them. Pieces of a log are read one after the other, and each is left as it is.
type logReader struct {
	cursor
	shapes []*shape
	head   []byte // the last template's shape and texts
	l      launch
	id     int
}

func (r *logReader) launch() (*launch, error) {
	from := r.in
	switch begin := r.uvarint(); begin {
	case sameKernel:
	case sameTemplate:
		r.l.hash = string(r.text())
	default:
		r.template(from, begin-newShapes)
		r.l.hash = string(r.text())
	}
	copy(r.l.group[:], r.skip(len(r.l.group)))
	r.id += int(r.varint())
	r.l.changes = r.l.changes[:0]
	for n := r.uvarint(); n > 0 && !r.damaged; n-- {
		c := change{leaf: int32(r.uvarint())}
		c.text = r.text()
		r.l.changes = append(r.l.changes, c)
	}
	if r.damaged || r.l.template == nil {
		return nil, errDamaged
	}
	return &r.l, nil
}

// template reads a template, unless it is the one before once more: kernels share some.
func (r *logReader) template(from []byte, shape int) {
	if n := len(r.head); n > 0 && bytes.HasPrefix(from, r.head) {
		r.in = from[n:]
		return
	}
	t := &template{shape: r.shapes[shape]}
	t.leaves = make([]leaf, len(t.shape.places))
	values := make([]value, len(t.leaves))
	for i := range t.leaves {
		values[i].text = r.text()
		t.leaves[i].value = &values[i]
	}
	r.l.template = t
	r.head = from[:len(from)-len(r.in)]
}
