package tritonparse

import (
	"bytes"
	"slices"
	"strings"
)

// launchDiff finds what is the same in all launches of a kernel and what is not. It holds one record per distinct value,
// not per launch; a value that stays as it was costs nothing, not even a look. Values of which there are too many to be
// held, or for anybody to read, are only counted.
type launchDiff struct {
	n      int
	leaves []leafRuns // in the order of their first launch
	shape  *shape     // of the last launch
	places []int32    // of its leaves among ours
	base   *template  // of the last launch
	dirty  []int32    // its leaves that differed from the template's
	size   int        // bytes of what grows with the launches, about
	limit  int        // of size, before it is lightened; 0 before the first time
}

// leafRuns are the runs of equal values of one leaf.
type leafRuns struct {
	place   *place
	current []byte // value of the run that goes on
	owned   bool   // current may be written over
	from    int    // where that run began; -1 if the last launch had no such leaf
	values  *leafValues
}

// add takes the next launch.
func (d *launchDiff) add(l *launch) {
	if l.shape != d.shape {
		d.reshape(l.shape)
	}
	if l.template != d.base {
		next := 0
		for i := range l.leaves {
			text := l.leaves[i].text
			if next < len(l.changes) && int(l.changes[next].leaf) == i {
				text = l.changes[next].text
				next++
				d.set(int32(i), text, lasts(text))
			} else {
				d.set(int32(i), text, true)
			}
		}
		d.base = l.template
	} else {
		next := 0
		for _, i := range d.dirty {
			for next < len(l.changes) && l.changes[next].leaf < i {
				next++
			}
			if next == len(l.changes) || l.changes[next].leaf != i {
				d.set(i, l.leaves[i].text, true)
			}
		}
		for i := range l.changes {
			d.set(l.changes[i].leaf, l.changes[i].text, lasts(l.changes[i].text))
		}
	}
	d.dirty = d.dirty[:0]
	for i := range l.changes {
		d.dirty = append(d.dirty, l.changes[i].leaf)
	}
	d.n++
}

// set says what the i-th leaf of the shape is in the launch that is being added. A text that stays need not be copied.
func (d *launchDiff) set(i int32, text []byte, stays bool) {
	r := &d.leaves[d.places[i]]
	if r.from >= 0 {
		if bytes.Equal(r.current, text) {
			return
		}
		d.size += r.close(d.n)
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
func (d *launchDiff) reshape(s *shape) {
	if len(d.leaves) == 0 {
		d.begin(s)
		return
	}
	known := map[string]int32{}
	for i := range d.leaves {
		known[d.leaves[i].place.id] = int32(i)
	}
	present := make([]bool, len(d.leaves)+len(s.places))
	d.places = make([]int32, len(s.places))
	for i, p := range s.places {
		at, ok := known[p.id]
		if !ok {
			at = int32(len(d.leaves))
			d.leaves = append(d.leaves, leafRuns{place: p, from: -1})
		}
		d.places[i] = at
		present[at] = true
	}
	for i := range d.leaves {
		if !present[i] {
			d.size += d.leaves[i].close(d.n)
		}
	}
	d.shape, d.base, d.dirty = s, nil, d.dirty[:0]
}

// begin prepares for the first launches.
func (d *launchDiff) begin(s *shape) {
	d.leaves, d.places = slices.Grow(d.leaves, len(s.places)), slices.Grow(d.places, len(s.places))
	for i, p := range s.places {
		d.leaves = append(d.leaves, leafRuns{place: p, from: -1})
		d.places = append(d.places, int32(i))
	}
	d.shape = s
}

// close ends the run that goes on before the launch until. It returns how many bytes more there are to keep.
func (r *leafRuns) close(until int) int {
	if r.from < 0 {
		return 0
	}
	if r.values == nil {
		r.values = &leafValues{counted: r.place.counted}
	}
	from := r.from
	r.from = -1
	return r.values.add(r.current, from, until)
}

// flat is the name that tritonparse gives to a leaf.
func (p *place) flat() string {
	name := p.member
	if p.isArg {
		name += "." + p.argument
	}
	if len(p.path) > 0 {
		name += "." + strings.Join(p.path, ".")
	}
	return name
}

// ofEachLaunch are names of what differs so often that its values say nothing.
var ofEachLaunch = []string{"pid", "timestamp", "stream", "function", "data_ptr"}

// onlyCounted says whether a leaf is such. tritonparse also takes an argument stream_len for one.
func (p *place) onlyCounted(compat bool) bool {
	if compat {
		return containsAny(p.flat(), ofEachLaunch)
	}
	return !p.isArg && slices.Contains(ofEachLaunch, p.member) || slices.ContainsFunc(p.path, func(name string) bool { return slices.Contains(ofEachLaunch, name) })
}

// lighten makes it hold less than the room that there is for it: what launches have which value leaves memory, and the values
// of the leaf that has most are only counted from then on. tritonparse lists them all.
func (d *launchDiff) lighten(s *spill, room int, compat bool) {
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
	for d.size > room/2 && !compat {
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

// largest are the values of the leaf that could do without most, nil if none can.
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
