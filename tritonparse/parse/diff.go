package parse

import (
	"bytes"
	"slices"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// launchDiff finds which values are the same in all launches of a kernel. It holds an entry for each distinct value, not for each
// launch, and does not look at values that stay as they were. Of too many distinct values only the number is kept.
type launchDiff struct {
	n      int                  // launches so far
	leaves []leafRuns           // in the order of their first launch
	shape  *launchtext.Shape    // of the last launch
	places []int32              // in leaves, of the last launch's leaves
	base   *launchtext.Template // of the last launch
	dirty  []int32              // the last launch's leaves that differed from the template's
	size   int                  // bytes of what grows with the launches, about
	limit  int                  // size at which lighten acts again; 0 before the first time

	diffs, sames store.Object // the last result
	spare        store.Spares[leafValues]
}

// leafRuns are the runs of equal values of one leaf.
type leafRuns struct {
	place   *launchtext.LeafPath
	current []byte // value of the run that goes on
	owned   bool   // current may be written over
	from    int    // where that run began; -1 if the last launch had no such leaf
	values  *leafValues
}

// reset empties it and keeps its memory.
func (d *launchDiff) reset() {
	for i := range d.leaves {
		if v := d.leaves[i].values; v != nil {
			v.clear()
			d.spare = append(d.spare, v)
		}
	}
	clear(d.leaves)
	*d = launchDiff{leaves: d.leaves[:0], places: d.places[:0], dirty: d.dirty[:0], diffs: d.diffs, sames: d.sames, spare: d.spare}
}

func (d *launchDiff) add(l *launchtext.Launch) {
	if l.Shape != d.shape {
		d.reshape(l.Shape)
	}
	if l.Template != d.base {
		next := 0
		for i := range l.Leaves {
			text := l.Leaves[i].Text
			if next < len(l.Changes) && int(l.Changes[next].Leaf) == i {
				text = l.Changes[next].Text
				next++
				d.set(int32(i), text, launchtext.Lasts(text))
			} else {
				d.set(int32(i), text, true)
			}
		}
		d.base = l.Template
	} else {
		next := 0
		for _, i := range d.dirty {
			for next < len(l.Changes) && l.Changes[next].Leaf < i {
				next++
			}
			if next == len(l.Changes) || l.Changes[next].Leaf != i {
				d.set(i, l.Leaves[i].Text, true)
			}
		}
		for i := range l.Changes {
			d.set(l.Changes[i].Leaf, l.Changes[i].Text, launchtext.Lasts(l.Changes[i].Text))
		}
	}
	d.dirty = d.dirty[:0]
	for i := range l.Changes {
		d.dirty = append(d.dirty, l.Changes[i].Leaf)
	}
	d.n++
}

// set sets the value of the shape's i-th leaf in the launch that is being added. stays says that the text need not be copied.
func (d *launchDiff) set(i int32, text []byte, stays bool) {
	r := &d.leaves[d.places[i]]
	if r.from >= 0 {
		if bytes.Equal(r.current, text) {
			return
		}
		d.size += d.close(r)
	}
	r.from = d.n
	switch {
	case stays:
		r.current, r.owned = text, false
	case r.owned:
		r.current = append(r.current[:0], text...)
	default:
		r.current, r.owned = bytes.Clone(text), true
	}
}

// reshape prepares for launches with other members than the last one.
func (d *launchDiff) reshape(s *launchtext.Shape) {
	if len(d.leaves) == 0 && s.Distinct {
		d.places = d.places[:0]
		for i, p := range s.Places {
			d.leaves = append(d.leaves, leafRuns{place: p, from: -1})
			d.places = append(d.places, int32(i))
		}
		d.shape, d.base, d.dirty = s, nil, d.dirty[:0]
		return
	}
	known := map[string]int32{}
	for i := range d.leaves {
		known[d.leaves[i].place.Id] = int32(i)
	}
	present := make([]bool, len(d.leaves)+len(s.Places))
	d.leaves = slices.Grow(d.leaves, len(s.Places))
	d.places = slices.Grow(d.places[:0], len(s.Places))[:len(s.Places)]
	for i, p := range s.Places {
		at, ok := known[p.Id]
		if !ok {
			at = int32(len(d.leaves))
			d.leaves = append(d.leaves, leafRuns{place: p, from: -1})
		}
		d.places[i] = at
		present[at] = true
	}
	for i := range d.leaves {
		if !present[i] {
			d.size += d.close(&d.leaves[i])
		}
	}
	d.shape, d.base, d.dirty = s, nil, d.dirty[:0]
}

// close ends the current run of a leaf. It returns by how many bytes the values grow.
func (d *launchDiff) close(r *leafRuns) int {
	if r.from < 0 {
		return 0
	}
	if r.values == nil {
		r.values = d.spare.Take()
		r.values.counted = r.place.Counted
	}
	from := r.from
	r.from = -1
	return r.values.add(r.current, from, d.n)
}

// lighten shrinks what is held below room: the lists of launches of each value move to the spill, and values of the leaves with the
// most are only counted from then on. tritonparse lists all values.
func (d *launchDiff) lighten(s *store.Spill, room int, q quirks.Set) {
	if d.size <= max(d.limit, room) {
		return
	}
	d.size = 0
	for i := range d.leaves {
		if v := d.leaves[i].values; v != nil {
			v.lighten(s)
			d.size += v.size()
		}
	}
	for d.size > room/2 && !q.Has(quirks.AllValues) {
		v := d.largest()
		if v == nil {
			break
		}
		before := v.size()
		v.countOnly()
		d.size -= before - v.size()
	}
	d.limit = 2 * d.size
}

// largest are the values of the leaf that would free the most memory if they were counted, nil if none would.
func (d *launchDiff) largest() *leafValues {
	var most *leafValues
	for i := range d.leaves {
		v := d.leaves[i].values
		if v != nil && v.spare() > 0 && (most == nil || v.spare() > most.spare()) {
			most = v
		}
	}
	return most
}
