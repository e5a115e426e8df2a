package parse

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// leafValues are the distinct values of one leaf.
type leafValues struct {
	total   int          // launches that have a value
	list    []*leafValue // with counted only the first
	byText  map[string]*leafValue
	counted bool     // only the number of distinct values is kept
	seen    distinct // with counted
	bytes   int      // of list without the launches, about
	bases   []string // values that code refers to; the first value is the first of them
	room    []byte   // memory for code
}

type leafValue struct {
	text     string // see code
	count    int
	launches store.Runs // empty with counted
}

// Bytes for a value that is only counted, and for one more stretch of launches with the same value.
const hashBytes, rangeBytes = 12, 4

// add adds a stretch of launches with the same value. It returns by how many bytes the values grow.
func (v *leafValues) add(text []byte, from, until int) int {
	v.total += until - from
	if v.counted && len(v.list) > 0 && v.list[0].text != string(text) {
		// Every launch may have a new address: 64 bits of each are enough to count them.
		if v.seen.hashes == nil {
			v.seen.add(store.Hash64(v.list[0].text))
		}
		v.seen.add(store.Hash64(text))
		return hashBytes
	}
	n := len(v.list)
	u := v.find(v.code(text))
	u.count += until - from
	if !v.counted {
		u.launches.Add(from, until)
	}
	if len(v.list) > n {
		v.bytes += launchtext.ValueBytes + len(u.text)
		return launchtext.ValueBytes + len(u.text)
	}
	return rangeBytes
}

// code is a long text as it is kept: what is between its beginning and its end, which are those of an earlier value, and how long these
// are. Of stacks that differ in a line, a few bytes are kept. A short text, and a base, stay as they are; no text begins with a zero.
// The base is the first that is near, so that a text has the same code each time.
func (v *leafValues) code(text []byte) []byte {
	const near, most = 256, 8
	if len(v.list) > 0 && len(text) < launchtext.InternFrom {
		return text
	}
	for i, base := range v.bases {
		if base == string(text) {
			return text
		}
		if begin, end := sameEnds(text, base); len(text)-begin-end <= near || i == most-1 {
			v.room = binary.AppendUvarint(append(v.room[:0], 0), uint64(i))
			v.room = binary.AppendUvarint(v.room, uint64(begin))
			v.room = binary.AppendUvarint(v.room, uint64(end))
			v.room = append(v.room, text[begin:len(text)-end]...)
			return v.room
		}
	}
	v.bases = append(v.bases, string(text))
	return text
}

// sameEnds is how many bytes two texts have in common at their beginning, and then at their end.
func sameEnds(text []byte, base string) (begin, end int) {
	const stride = 64
	begin = store.SamePrefix(text, []byte(base))
	most := min(len(text), len(base)) - begin
	for end+stride <= most && string(text[len(text)-end-stride:len(text)-end]) == base[len(base)-end-stride:len(base)-end] {
		end += stride
	}
	for end < most && text[len(text)-1-end] == base[len(base)-1-end] {
		end++
	}
	return begin, end
}

// append writes a value.
func (v *leafValues) append(out []byte, u *leafValue) []byte {
	if u.text[0] != 0 {
		return append(out, u.text...)
	}
	c := store.Cursor{In: []byte(u.text[1:])}
	base, begin, end := v.bases[c.Uvarint()], c.Uvarint(), c.Uvarint()
	out = append(append(out, base[:begin]...), c.In...)
	return append(out, base[len(base)-end:]...)
}

// find finds or makes a value. Most leaves have one or two.
func (v *leafValues) find(text []byte) *leafValue {
	const few = 4
	if v.byText == nil {
		for _, u := range v.list {
			if u.text == string(text) {
				return u
			}
		}
	} else if u := v.byText[string(text)]; u != nil {
		return u
	}
	n := len(v.list)
	var u *leafValue
	if n < cap(v.list) {
		u = v.list[:n+1][n]
	}
	if u == nil {
		u = &leafValue{}
	}
	if last := v.bases[len(v.bases)-1]; last == string(text) {
		u.text = last
	} else {
		u.text = string(text)
	}
	v.list = append(v.list, u)
	if v.byText != nil {
		v.byText[u.text] = u
	} else if len(v.list) > few {
		v.byText = map[string]*leafValue{}
		for _, u := range v.list {
			v.byText[u.text] = u
		}
	}
	return u
}

// size is how many bytes grow with the launches, about.
func (v *leafValues) size() int {
	n := v.bytes + hashBytes*len(v.seen.hashes)
	for _, u := range v.list {
		n += u.launches.Log.Size()
	}
	return n
}

// lighten moves long lists of launches out of memory.
func (v *leafValues) lighten(s *store.Spill) {
	const long = 16 << 10 // a chunk of less is not worth its place
	for _, u := range v.list {
		u.launches.Log.Lighten(s, long)
	}
}

// spare is how many bytes countOnly would free, about.
func (v *leafValues) spare() int {
	switch {
	case v.counted:
		return v.seen.spare() * hashBytes
	case len(v.list) > 1:
		return v.size()
	}
	return 0
}

// countOnly forgets which launches have which value. If values are only counted already, it forgets half of their hashes.
func (v *leafValues) countOnly() {
	if v.counted {
		v.seen.thin()
		return
	}
	for _, u := range v.list {
		v.room = v.append(v.room[:0], u)
		v.seen.add(store.Hash64(v.room))
	}
	first := v.list[0]
	v.counted, v.byText = true, nil
	v.list = []*leafValue{{text: first.text, count: first.count}}
	v.bytes = launchtext.ValueBytes + len(first.text)
}

// same says whether all launches have one value. For tritonparse a leaf that some launches do not have is the same too.
func (v *leafValues) same(total int, q quirks.Set) bool {
	return v.distinct() == 1 && (q.Has(quirks.SameWhereMissing) || v.total == total)
}

func (v *leafValues) distinct() int { return max(len(v.list), v.seen.count()) }

// writeJSON writes the values in the order of their first launch, each with its launches, or how many there are.
func (v *leafValues) writeJSON(s *store.Spill, w store.Writer) error {
	if v.counted && v.distinct() > 1 {
		about := ""
		if v.seen.thinned > 0 {
			about = "about "
		}
		w(fmt.Appendf(nil, `{"diff_type":"summary","summary_text":"Varies across %s%d unique values"}`, about, v.distinct()))
		return nil
	}
	slices.SortStableFunc(v.list, func(a, b *leafValue) int { return a.launches.First - b.launches.First })
	out := append(v.room[:0], `{"diff_type":"distribution","values":[`...)
	for i, u := range v.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(v.append(append(out, `{"value":`...), u), `,"count":`...)
		out = append(strconv.AppendInt(out, int64(u.count), 10), `,"launches":`...)
		w(out)
		if err := u.launches.WriteJSON(s, w); err != nil {
			return err
		}
		out = append(out[:0], '}')
	}
	v.room = append(out, "]}"...)
	w(v.room)
	return nil
}

// clear forgets all values and keeps the memory of the few that most leaves have.
func (v *leafValues) clear() {
	const few = 4
	for _, u := range v.list[:min(len(v.list), few)] {
		*u = leafValue{}
	}
	clear(v.bases)
	*v = leafValues{list: slices.Grow(v.list[:0], few)[:0:few], bases: v.bases[:0], room: v.room[:0]}
}

// distinct counts different hashes, of eight bytes each. After thin it keeps a share of them and estimates.
type distinct struct {
	hashes  []uint64
	sorted  int // how many of hashes are sorted and different
	thinned int // only hashes that end with so many zero bits are kept
}

func (d *distinct) add(h uint64) {
	if !d.keeps(h) {
		return
	}
	if len(d.hashes) == cap(d.hashes) {
		d.sort()
		d.hashes = slices.Grow(d.hashes, max(8, len(d.hashes)/2))
	}
	d.hashes = append(d.hashes, h)
}

func (d *distinct) keeps(h uint64) bool { return h&(1<<d.thinned-1) == 0 }

func (d *distinct) sort() {
	if d.sorted < len(d.hashes) {
		slices.Sort(d.hashes)
		d.hashes = slices.Compact(d.hashes)
		d.sorted = len(d.hashes)
	}
}

// count is exact before the first thin. Then it is an estimate, whose error with n hashes kept is a share of 1/√n: one percent with
// 10,000.
func (d *distinct) count() int {
	d.sort()
	return len(d.hashes) << d.thinned
}

// enough is how many hashes are kept at least.
const enough = 1 << 12

// spare is how many hashes thin would free.
func (d *distinct) spare() int {
	if d.sort(); len(d.hashes) < 2*enough {
		return 0
	}
	return len(d.hashes) / 2
}

// thin forgets half of the hashes.
func (d *distinct) thin() {
	d.sort()
	d.thinned++
	d.hashes = slices.Clip(slices.DeleteFunc(d.hashes, func(h uint64) bool { return !d.keeps(h) }))
	d.sorted = len(d.hashes)
}
