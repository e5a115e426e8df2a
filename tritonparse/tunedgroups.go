package tritonparse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/shelf"
)

// tunedGroups are the distinct launches of a session; of those that are alike the last counts. Some wait in memory, in case
// that they come again; the others are in a log, which goes to the shelf.
type tunedGroups struct {
	waiting map[group]*tunedGroup
	shapes  []*shape
	lastID  int

	// Once there are no more launches:
	log  stream
	all  []tunedLast // by id
	name string      // of the first one's kernel
	hash string
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
		g = &tunedGroup{}
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
		s.shelf.Put(u.number, u.groups.flush())
	}
	clear(s.waiters)
	s.waiters, s.waiting = s.waiters[:0], 0
}

// flush is a log of what waited.
func (t *tunedGroups) flush() []byte {
	groups := make([]*tunedGroup, 0, len(t.waiting))
	for _, g := range t.waiting {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *tunedGroup) int { return a.last - b.last })
	var out []byte
	var base *launch
	for _, g := range groups {
		out = t.append(out, &g.launch, g.last, base)
		base = &g.launch
	}
	t.waiting = nil
	return out
}

// append writes a launch to the log: a template's shape and texts where it is not that of the launch before, and what
// differs.
func (t *tunedGroups) append(out []byte, l *launch, id int, before *launch) []byte {
	text := func(s []byte) {
		out = binary.AppendUvarint(out, uint64(len(s)))
		out = append(out, s...)
	}
	if before != nil && before.template == l.template {
		out = binary.AppendUvarint(out, 0)
	} else {
		at := slices.Index(t.shapes, l.shape)
		if at < 0 {
			at = len(t.shapes)
			t.shapes = append(t.shapes, l.shape)
		}
		out = binary.AppendUvarint(out, uint64(at+1))
		text([]byte(l.hash))
		for i := range l.leaves {
			text(l.leaves[i].text)
		}
	}
	out = append(out, l.group[:]...)
	out = binary.AppendVarint(out, int64(id-t.lastID))
	t.lastID = id
	out = binary.AppendUvarint(out, uint64(len(l.changes)))
	for i := range l.changes {
		out = binary.AppendUvarint(out, uint64(l.changes[i].leaf))
		text(l.changes[i].text)
	}
	return out
}

// end gathers the log from the shelf, where it has that number, and finds the last launch of each group.
func (t *tunedGroups) end(number int, r *shelf.Reader, sp *spill) error {
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
	t.log.buffer = append(t.log.buffer, t.flush()...)
	if len(t.log.chunks) > 0 {
		sp.wg.Wait()
	}
	last := map[group]int{}
	err = t.replay(sp, func(l *launch, id int) { last[l.group] = id })
	if err != nil {
		return err
	}
	for g, id := range last {
		t.all = append(t.all, tunedLast{g, id})
	}
	slices.SortFunc(t.all, func(a, b tunedLast) int { return a.last - b.last })
	first := true
	return t.each(sp, func(l *launch) {
		if first {
			t.hash, t.name = l.hash, jsontext.Text(l.value("compilation_metadata", "name"))
		}
		first = false
	})
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

var errLog = errors.New("BUG: the log of a session is damaged")

// replay reads the log. A launch is valid during the call.
func (t *tunedGroups) replay(sp *spill, f func(l *launch, id int)) error {
	var base *template
	var changes []change
	id := 0
	return t.log.each(sp, func(in []byte) error {
		r := bytes.NewReader(in)
		number := func() int {
			n, _ := binary.ReadUvarint(r)
			return int(n)
		}
		text := func() []byte {
			n := number()
			at := len(in) - r.Len()
			_, _ = r.Seek(int64(n), 1)
			return in[at : at+n]
		}
		for r.Len() > 0 {
			if shape := number(); shape > 0 {
				base = &template{shape: t.shapes[shape-1]}
				base.hash = string(text())
				base.leaves = make([]leaf, len(base.shape.places))
				values := make([]value, len(base.leaves))
				for i := range base.leaves {
					values[i].text = bytes.Clone(text())
					base.leaves[i].value = &values[i]
				}
			}
			if base == nil {
				return errLog
			}
			l := launch{template: base, changes: changes[:0]}
			_, _ = r.Read(l.group[:])
			delta, _ := binary.ReadVarint(r)
			id += int(delta)
			for range number() {
				c := change{leaf: int32(number())}
				c.text = text()
				l.changes = append(l.changes, c)
			}
			changes = l.changes
			f(&l, id)
		}
		return nil
	})
}
