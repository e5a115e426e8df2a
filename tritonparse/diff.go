package tritonparse

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// launchDiff finds what is the same in all launches of a kernel and what is not. It holds one record per distinct value,
// not per launch: a value that stays as it was costs a pointer's comparison.
type launchDiff struct {
	n      int
	slots  []*slotRuns
	byName map[slotKey]*slotRuns
}

type slotKey struct {
	name, argument string
	isArg          bool
}

// slotRuns are the runs of equal values of one member or argument.
type slotRuns struct {
	key    slotKey
	value  *span // of the run that goes on
	from   int   // where that began
	until  int   // the launch after its last
	leaves []*leafValues
	byPath map[string]*leafValues
}

// leafValues are the distinct values of one leaf.
type leafValues struct {
	path   []string // below the member or argument
	count  int
	values []*leafValue
	byText map[string]*leafValue
	seen   map[uint64]struct{} // of leaves that are only counted
	only   bool                // such a leaf
}

type leafValue struct {
	text   string
	count  int
	ranges []valueRange
}

type valueRange struct{ start, end int }

// add takes the next launch.
func (d *launchDiff) add(slots []slot) {
	for _, s := range slots {
		key := slotKey{s.name, s.argument, s.isArg}
		r := d.byName[key]
		if r == nil {
			if d.byName == nil {
				d.byName = map[slotKey]*slotRuns{}
			}
			r = &slotRuns{key: key, byPath: map[string]*leafValues{}}
			d.byName[key] = r
			d.slots = append(d.slots, r)
		}
		if r.value == s.value && r.until == d.n {
			r.until++
			continue
		}
		r.close()
		r.value, r.from, r.until = s.value, d.n, d.n+1
	}
	d.n++
}

func (r *slotRuns) close() {
	if r.value == nil {
		return
	}
	for _, l := range r.value.leaves {
		id := strings.Join(l.path, "\x00")
		v := r.byPath[id]
		if v == nil {
			v = &leafValues{path: l.path, byText: map[string]*leafValue{}, only: onlyCounted(r.key.flat(l.path))}
			r.byPath[id] = v
			r.leaves = append(r.leaves, v)
		}
		v.add(l.text, r.from, r.until)
	}
	r.value = nil
}

// flat is the name that tritonparse gives to a leaf.
func (k slotKey) flat(path []string) string {
	name := k.name
	if k.isArg {
		name += "." + k.argument
	}
	if len(path) > 0 {
		name += "." + strings.Join(path, ".")
	}
	return name
}

// onlyCounted says which leaves differ so often that their values say nothing.
func onlyCounted(flat string) bool {
	for _, part := range []string{"pid", "timestamp", "stream", "function", "data_ptr"} {
		if strings.Contains(flat, part) {
			return true
		}
	}
	return false
}

var seed = maphash.MakeSeed()

func (v *leafValues) add(text string, from, until int) {
	v.count += until - from
	if v.only && len(v.values) > 0 && v.values[0].text != text {
		// Addresses may be new in every launch: 64 bits of each are enough to count them.
		if v.seen == nil {
			v.seen = map[uint64]struct{}{maphash.String(seed, v.values[0].text): {}}
		}
		v.seen[maphash.String(seed, text)] = struct{}{}
		return
	}
	u := v.byText[text]
	if u == nil {
		u = &leafValue{text: text}
		v.byText[text] = u
		v.values = append(v.values, u)
	}
	u.count += until - from
	if v.only {
		return
	}
	if n := len(u.ranges); n > 0 && u.ranges[n-1].end == from-1 {
		u.ranges[n-1].end = until - 1
	} else {
		u.ranges = append(u.ranges, valueRange{from, until - 1})
	}
}

// same says whether all launches have one value. For tritonparse a leaf that some launches do not have is the same too.
func (v *leafValues) same(total int, compat bool) bool {
	return v.distinct() == 1 && (compat || v.count == total)
}

func (v *leafValues) distinct() int { return max(len(v.values), len(v.seen)) }

func (v *leafValues) appendJSON(out []byte) []byte {
	if v.only && v.distinct() > 1 {
		return fmt.Appendf(out, `{"diff_type":"summary","summary_text":"Varies across %d unique values"}`, v.distinct())
	}
	out = append(out, `{"diff_type":"distribution","values":[`...)
	slices.SortStableFunc(v.values, func(a, b *leafValue) int { return a.first() - b.first() })
	for i, u := range v.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"value":`...)
		out = append(out, u.text...)
		out = append(out, `,"count":`...)
		out = strconv.AppendInt(out, int64(u.count), 10)
		out = append(out, `,"launches":`...)
		out = append(appendRanges(out, u.ranges), '}')
	}
	return append(out, "]}"...)
}

func (u *leafValue) first() int {
	if len(u.ranges) == 0 {
		return 0
	}
	return u.ranges[0].start
}

func appendRanges(out []byte, ranges []valueRange) []byte {
	out = append(out, '[')
	for i, r := range ranges {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"start":`...)
		out = strconv.AppendInt(out, int64(r.start), 10)
		out = append(out, `,"end":`...)
		out = strconv.AppendInt(out, int64(r.end), 10)
		out = append(out, '}')
	}
	return append(out, ']')
}

// object is JSON that is put together in the order of first use.
type object struct {
	names  []string
	values map[string]*object
	text   []byte
}

// at finds or makes the member that a path leads to.
func (o *object) at(path ...string) *object {
	for _, name := range path {
		if o.values == nil {
			o.values = map[string]*object{}
		}
		next := o.values[name]
		if next == nil {
			next = &object{}
			o.values[name] = next
			o.names = append(o.names, name)
		}
		o = next
	}
	return o
}

func (o *object) appendJSON(out []byte) []byte {
	if o.text != nil {
		return append(out, o.text...)
	}
	at := len(out)
	out = append(out, '{')
	for _, name := range o.names {
		if len(out) > at+1 {
			out = append(out, ',')
		}
		out = diffForm.AppendText(out, name)
		out = append(out, ':')
		out = o.values[name].appendJSON(out)
	}
	return append(out, '}')
}

// result puts what is the same and what differs into two objects.
func (d *launchDiff) result(compat bool) (diffs, sames *object) {
	diffs, sames = &object{}, &object{}
	for _, r := range d.slots {
		r.close()
		if r.key.isArg {
			r.argument(d.n, compat, diffs, sames)
			continue
		}
		for _, v := range r.leaves {
			path := append([]string{r.key.name}, v.path...)
			if v.same(d.n, compat) {
				sames.at(path...).text = []byte(v.values[0].text)
			} else {
				diffs.at(path...).text = v.appendJSON(nil)
			}
		}
	}
	return diffs, sames
}

// argument keeps what differs in an argument together with what does not.
func (r *slotRuns) argument(total int, compat bool, diffs, sames *object) {
	differs := slices.ContainsFunc(r.leaves, func(v *leafValues) bool { return !v.same(total, compat) })
	if !differs {
		for _, v := range r.leaves {
			sames.at(append([]string{r.key.name, r.key.argument}, v.path...)...).text = []byte(v.values[0].text)
		}
		return
	}
	o := diffs.at(r.key.name, r.key.argument)
	o.at("diff_type").text = []byte(`"argument_diff"`)
	o.at("sames")
	o.at("diffs")
	for _, v := range r.leaves {
		name := strings.Join(v.path, ".")
		if v.same(total, compat) {
			o.at("sames", name).text = []byte(v.values[0].text)
		} else {
			o.at("diffs", name).text = v.appendJSON(nil)
		}
	}
}
