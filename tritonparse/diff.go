package tritonparse

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// launchDiff finds what is the same in all launches of a kernel and what is not. It holds one record per distinct value,
// not per launch; a value that stays as it was costs nothing, not even a look.
type launchDiff struct {
	n      int
	leaves []leafRuns // in the order of their first launch
	shape  *shape     // of the last launch
	places []int32    // of its leaves among ours
	base   *template  // of the last launch
	dirty  []int32    // its leaves that differed from the template's
	size   int        // bytes of what grows with the launches, about
}

// leafRuns are the runs of equal values of one leaf.
type leafRuns struct {
	place   *place
	current []byte // value of the run that goes on
	owned   bool   // current may be written over
	from    int    // where that run began; -1 if the last launch had no such leaf
	values  *leafValues
}

// leafValues are the distinct values of one leaf.
type leafValues struct {
	count  int
	values []*leafValue
	byText map[string]*leafValue
	seen   distinct // of leaves that are only counted
}

type leafValue struct {
	text   string
	count  int
	ranges runs
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

// distinct counts hashes. It keeps eight bytes of each.
type distinct struct {
	hashes []uint64
	sorted int // so many are sorted, each once
}

func (d *distinct) add(h uint64) {
	if len(d.hashes) == cap(d.hashes) {
		d.count()
		d.hashes = slices.Grow(d.hashes, max(8, len(d.hashes)/2))
	}
	d.hashes = append(d.hashes, h)
}

func (d *distinct) count() int {
	if d.sorted < len(d.hashes) {
		slices.Sort(d.hashes)
		d.hashes = slices.Compact(d.hashes)
		d.sorted = len(d.hashes)
	}
	return len(d.hashes)
}

// close ends the run that goes on before the launch until. It returns how many bytes more there are to keep.
func (r *leafRuns) close(until int) int {
	if r.from < 0 {
		return 0
	}
	if r.values == nil {
		r.values = &leafValues{}
	}
	from := r.from
	r.from = -1
	return r.values.add(r.current, from, until, r.place.counted)
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

var seed = maphash.MakeSeed()

func (v *leafValues) add(text []byte, from, until int, counted bool) int {
	v.count += until - from
	if counted && len(v.values) > 0 && v.values[0].text != string(text) {
		// Addresses may be new in every launch: 64 bits of each are enough to count them.
		if v.seen.hashes == nil {
			v.seen.add(maphash.String(seed, v.values[0].text))
		}
		v.seen.add(maphash.Bytes(seed, text))
		return hashBytes
	}
	n := len(v.values)
	u := v.find(text)
	u.count += until - from
	if !counted {
		u.ranges.add(from, until)
	}
	if len(v.values) > n {
		return valueBytes + len(text)
	}
	return rangeBytes
}

// What there is to keep of a value that is only counted, and of one more stretch of launches with the same value.
const hashBytes, rangeBytes = 12, 4

// find finds or makes a value. Most leaves have one or two.
func (v *leafValues) find(text []byte) *leafValue {
	const few = 4
	if v.byText == nil {
		for _, u := range v.values {
			if u.text == string(text) {
				return u
			}
		}
	} else if u := v.byText[string(text)]; u != nil {
		return u
	}
	u := &leafValue{text: string(text)}
	v.values = append(v.values, u)
	if v.byText != nil {
		v.byText[u.text] = u
	} else if len(v.values) > few {
		v.byText = map[string]*leafValue{}
		for _, u := range v.values {
			v.byText[u.text] = u
		}
	}
	return u
}

// same says whether all launches have one value. For tritonparse a leaf that some launches do not have is the same too.
func (v *leafValues) same(total int, compat bool) bool {
	return v.distinct() == 1 && (compat || v.count == total)
}

func (v *leafValues) distinct() int { return max(len(v.values), v.seen.count()) }

func (v *leafValues) appendJSON(out []byte, counted bool) []byte {
	if counted && v.distinct() > 1 {
		return fmt.Appendf(out, `{"diff_type":"summary","summary_text":"Varies across %d unique values"}`, v.distinct())
	}
	out = append(out, `{"diff_type":"distribution","values":[`...)
	slices.SortStableFunc(v.values, func(a, b *leafValue) int { return a.ranges.first() - b.ranges.first() })
	for i, u := range v.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"value":`...)
		out = append(out, u.text...)
		out = append(out, `,"count":`...)
		out = strconv.AppendInt(out, int64(u.count), 10)
		out = append(out, `,"launches":`...)
		out = append(u.ranges.appendJSON(out), '}')
	}
	return append(out, "]}"...)
}

// result puts what is the same and what differs into two objects.
func (d *launchDiff) result(compat bool) (diffs, sames *object) {
	diffs, sames = &object{}, &object{}
	for _, group := range d.members() {
		if group[0].place.isArg || !compat && slices.ContainsFunc(group, func(r *leafRuns) bool { return len(r.place.path) > 0 }) {
			d.parts(group, compat, diffs, sames)
			continue
		}
		for _, r := range group {
			if r.same(d.n, compat) {
				sames.at(r.place.route...).text = r.only()
			} else {
				diffs.at(r.place.route...).text = r.values.appendJSON(nil, r.place.counted)
			}
		}
	}
	return diffs, sames
}

// members are the leaves of each member or argument, all runs ended.
func (d *launchDiff) members() [][]*leafRuns {
	var firsts []*place // of the groups
	of := make([]int, len(d.leaves))
	sizes := make([]int, 0, 32)
	for i := range d.leaves {
		r := &d.leaves[i]
		if r.values != nil || r.from > 0 {
			r.close(d.n)
		}
		at := len(firsts) - 1 // mostly the one that the leaf before is in
		if at < 0 || !r.place.together(firsts[at]) {
			if at = slices.IndexFunc(firsts, r.place.together); at < 0 {
				at = len(firsts)
				firsts, sizes = append(firsts, r.place), append(sizes, 0)
			}
		}
		of[i] = at
		sizes[at]++
	}
	all := make([]*leafRuns, len(d.leaves))
	groups := make([][]*leafRuns, len(firsts))
	end := 0
	for at, n := range sizes {
		groups[at] = all[end : end : end+n]
		end += n
	}
	for i, at := range of {
		groups[at] = append(groups[at], &d.leaves[i])
	}
	return groups
}

// together says whether two places are below the same member or argument.
func (p *place) together(q *place) bool {
	return p.member == q.member && p.argument == q.argument && p.isArg == q.isArg
}

// same says whether all launches have one value. One that all have from the first on has no values.
func (r *leafRuns) same(total int, compat bool) bool {
	return r.values == nil || r.values.same(total, compat)
}

// only is the value of a leaf that is the same in all launches.
func (r *leafRuns) only() []byte {
	if r.values == nil {
		return r.current
	}
	return []byte(r.values.values[0].text)
}

// parts keeps what differs in an argument together with what does not; likewise in another member that is an object, which
// for tritonparse is against its own schema.
func (d *launchDiff) parts(group []*leafRuns, compat bool, diffs, sames *object) {
	p := group[0].place
	differs := slices.ContainsFunc(group, func(r *leafRuns) bool { return !r.same(d.n, compat) })
	if !differs {
		for _, r := range group {
			sames.at(r.place.route...).text = r.only()
		}
		return
	}
	o := diffs.at(p.member)
	if p.isArg {
		o = o.at(p.argument)
	}
	o.at("diff_type").text = []byte(`"argument_diff"`)
	o.at("sames")
	o.at("diffs")
	for _, r := range group {
		if compat && len(r.place.path) > 1 {
			continue // tritonparse looks one level deep
		}
		name := strings.Join(r.place.path, ".")
		if r.same(d.n, compat) {
			o.at("sames", name).text = r.only()
		} else {
			o.at("diffs", name).text = r.values.appendJSON(nil, r.place.counted)
		}
	}
}
