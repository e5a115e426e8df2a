package parse

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// tunedGroups are the distinct launches of a session; of equal launches the last one counts. The latest wait in memory for an equal
// one; the others are in a log, which goes to the sorter.
type tunedGroups struct {
	waiting map[launchtext.Group]*tunedGroup
	shapes  []*launchtext.Shape
	lastID  int

	// Once there are no more launches:
	log   store.Stream
	all   []tunedLast // by id; only the last of very many
	total distinct    // how many there are, if all does not have them all
}

type tunedGroup struct {
	last   int // occurrence id
	launch launchtext.Launch
}

type tunedLast struct {
	group launchtext.Group
	last  int
}

func (s *sites) keep(u *session, l *launchtext.Launch, id int) {
	t := &u.groups
	g := t.waiting[l.Group]
	if g == nil {
		if t.waiting == nil {
			t.waiting = map[launchtext.Group]*tunedGroup{}
			s.waiters = append(s.waiters, u)
			s.waiting += 8 * len(l.Raw) // a template
		}
		g = s.groups.Take()
		t.waiting[l.Group] = g
		s.waiting += 256 + 2*len(l.Changes)*64
	}
	if g.launch.Template != nil && g.launch.Template != l.Template {
		s.waiting += 8 * len(l.Raw)
	}
	g.last = id
	g.launch.Keep(l)
	if s.waiting > s.room {
		s.flushWaiting()
	}
}

// flushWaiting moves the waiting launches to the sorter.
func (s *sites) flushWaiting() {
	for _, u := range s.waiters {
		for _, g := range u.groups.waiting {
			s.groups = append(s.groups, g)
		}
		s.log = u.groups.flush(s.log[:0])
		s.sorter.Add(u.number, s.log)
	}
	for _, g := range s.groups {
		g.launch.Template = nil
	}
	clear(s.waiters)
	s.waiters, s.waiting = s.waiters[:0], 0
}

// flush writes the waiting launches to a log.
func (t *tunedGroups) flush(out []byte) []byte {
	groups := make([]*tunedGroup, 0, len(t.waiting))
	for _, g := range t.waiting {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *tunedGroup) int { return a.last - b.last })
	var base *launchtext.Launch
	for _, g := range groups {
		out = t.append(out, &g.launch, g.last, base)
		base = &g.launch
	}
	t.waiting = nil
	return out
}

// The first number of an entry of the log. What differs from the template stands at the end of each entry.
const (
	sameKernel   = iota // template and hash are those of the entry before
	sameTemplate        // a hash follows
	newShapes           // plus the number of a shape: the template's texts and a hash follow
)

// stackMark begins the stack of a site, which stands in the sorter before the logs of its first session. These begin with newShapes or a
// greater number.
const stackMark = 0

func (t *tunedGroups) append(out []byte, l *launchtext.Launch, id int, before *launchtext.Launch) []byte {
	switch {
	case before != nil && before.Template == l.Template && before.Hash == l.Hash:
		out = append(out, sameKernel)
	case before != nil && before.Template == l.Template:
		out = store.AppendCounted(append(out, sameTemplate), l.Hash)
	default:
		at := slices.Index(t.shapes, l.Shape)
		if at < 0 {
			at = len(t.shapes)
			t.shapes = append(t.shapes, l.Shape)
		}
		out = binary.AppendUvarint(out, uint64(newShapes+at))
		for i := range l.Leaves {
			out = store.AppendCounted(out, l.Leaves[i].Text)
		}
		out = store.AppendCounted(out, l.Hash)
	}
	out = append(out, l.Group[:]...)
	out = binary.AppendVarint(out, int64(id-t.lastID))
	t.lastID = id
	out = binary.AppendUvarint(out, uint64(len(l.Changes)))
	for i := range l.Changes {
		out = binary.AppendUvarint(out, uint64(l.Changes[i].Leaf))
		out = store.AppendCounted(out, l.Changes[i].Text)
	}
	return out
}

// end gathers the session's log from the sorter, and its site's stack, and finds the last launch of each group.
func (t *tunedGroups) end(u *session, most int, r *store.Reader, sp *store.Spill) error {
	err := r.Each(u.number, func(text []byte) error {
		if text[0] == stackMark {
			u.site.stack = bytes.Clone(text[1:])
			return nil
		}
		t.log.Buffer = append(t.log.Buffer, text...)
		if len(t.log.Buffer) >= store.ChunkSize {
			t.log.Pack(sp)
			t.log.Buffer = sp.Buffer()
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.log.Buffer = t.flush(t.log.Buffer)
	found := lastGroups{most: most, last: map[launchtext.Group]int{}}
	if err := t.replay(sp, &logReader{groupsOnly: true}, func(l *launchtext.Launch, id int) { found.add(l.Group, id) }); err != nil {
		return err
	}
	found.keep(most)
	t.all, t.total = found.order, found.total
	return nil
}

// lastGroups are groups of launches in the order of the last launch of each. Of more than most groups, those whose last launch is the
// longest ago are forgotten.
type lastGroups struct {
	most  int
	last  map[launchtext.Group]int
	order []tunedLast // also launches that are not the last of their group any more, until compact
	total distinct    // all groups, once some were forgotten
}

func (s *lastGroups) add(g launchtext.Group, id int) {
	s.last[g] = id
	if s.order = append(s.order, tunedLast{g, id}); len(s.order) > 4*len(s.last)+enough {
		s.compact()
	}
	if s.total.hashes != nil {
		s.total.add(store.Hash64(g[:]))
	}
	if len(s.last)/2 > s.most {
		s.keep(s.most)
	}
}

// keep forgets all but the last groups.
func (s *lastGroups) keep(most int) {
	s.compact()
	n := len(s.order) - most
	if n <= 0 {
		return
	}
	if s.total.hashes == nil {
		for _, l := range s.order {
			s.total.add(store.Hash64(l.group[:]))
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

// first is the hash and the name of the kernel of the first distinct launch.
func (t *tunedGroups) first(sp *store.Spill) (hash, name string, err error) {
	begun := false
	err = t.each(sp, &logReader{}, func(l *launchtext.Launch) {
		if !begun {
			hash, name = l.Hash, jsontext.Text(l.Value("compilation_metadata", "name"))
		}
		begun = true
	})
	return hash, name, err
}

// each calls f with the last launch of each group, in the order of ids, which is the log's.
func (t *tunedGroups) each(sp *store.Spill, r *logReader, f func(*launchtext.Launch)) error {
	next := 0
	return t.replay(sp, r, func(l *launchtext.Launch, id int) {
		if next < len(t.all) && t.all[next].last == id {
			f(l)
			next++
		}
	})
}

// replay reads the log with a reader that may have read others before. A launch is valid during the call, its template until the reader
// reads again.
func (t *tunedGroups) replay(sp *store.Spill, r *logReader, f func(l *launchtext.Launch, id int)) error {
	*r = logReader{shapes: t.shapes, groupsOnly: r.groupsOnly, templates: r.templates, l: launchtext.Launch{Changes: r.l.Changes}}
	return t.log.Each(sp, func(in []byte) error {
		r.In = in
		for len(r.In) > 0 {
			l, err := r.launch()
			if err != nil {
				return err
			}
			f(l, r.id)
		}
		return nil
	})
}

// logReader reads launches as append writes them.
type logReader struct {
	store.Cursor
	shapes     []*launchtext.Shape
	groupsOnly bool   // reads nothing but groups and ids
	head       []byte // the last template's shape and texts
	l          launchtext.Launch
	id         int
	templates  []*launchtext.Template // the first few of a log, whose memory is used again
	used       int                    // of templates
}

func (r *logReader) launch() (*launchtext.Launch, error) {
	from := r.In
	switch begin := r.Uvarint(); begin {
	case sameKernel:
	case sameTemplate:
		r.l.Hash = string(r.Text())
	default:
		r.template(from, begin-newShapes)
		r.l.Hash = string(r.Text())
	}
	copy(r.l.Group[:], r.Skip(len(r.l.Group)))
	r.id += int(r.Varint())
	r.l.Changes = r.l.Changes[:0]
	for n := r.Uvarint(); n > 0 && !r.Damaged; n-- {
		c := launchtext.Change{Leaf: int32(r.Uvarint())}
		c.Text = r.Text()
		r.l.Changes = append(r.l.Changes, c)
	}
	if r.Damaged || r.l.Template == nil {
		return nil, store.ErrDamaged
	}
	return &r.l, nil
}

var noTemplate = &launchtext.Template{}

// template reads a template, or keeps the last one if the text is the same: kernels share templates.
func (r *logReader) template(from []byte, shape int) {
	if n := len(r.head); n > 0 && bytes.HasPrefix(from, r.head) {
		r.In = from[n:]
		return
	}
	if r.groupsOnly {
		for range r.shapes[shape].Places {
			r.Text()
		}
		r.l.Template = noTemplate
		return
	}
	r.l.Template = r.room(r.shapes[shape])
	for i := range r.l.Leaves {
		r.l.Leaves[i].Value.Text = r.Text()
	}
	r.head = from[:len(from)-len(r.In)]
}

// room is a template to be filled.
func (r *logReader) room(s *launchtext.Shape) *launchtext.Template {
	const few = 16
	var t *launchtext.Template
	if r.used < len(r.templates) {
		t = r.templates[r.used]
	} else if t = (&launchtext.Template{}); r.used < few {
		r.templates = append(r.templates, t)
	}
	r.used++
	n := len(s.Places)
	if cap(t.Leaves) < n {
		t.Leaves = make([]launchtext.Leaf, n)
		values := make([]launchtext.Value, n)
		for i := range values {
			t.Leaves[i].Value = &values[i]
		}
	}
	t.Shape, t.Leaves = s, t.Leaves[:n]
	return t
}
