package interpreter

import (
	"bytes"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// accessOf is what an operation has for its access to memory; what is nil it does not have.
type accessOf struct {
	p, mask, other  *slot
	value, compared *slot
	addresses       []int64
	masks           []bit
	fill            step // makes addresses and masks
	rows            *rows
	shape           []int
	padded          bool                           // what is not loaded has a value
	put             func(raw []byte, from, to int) // writes the elements that are stored
}

// watcher is an access as the checks see it.
type watcher struct {
	accessOf
	m        *machine
	site     *site
	number   uint32
	use      check.Use
	swaps    bool
	acquires bool
	releases bool

	races     bool
	unset     bool
	exchanges bool
	sunk      []*sunk
	others    *sunk // marks of what elements are that are not loaded
	out       *slot // marks of what is loaded
	left      bit   // marks of new elements without a value
	never     bit
	raw       []byte // the bytes of a run of elements
}

// watch prepares an access for the checks; nil if no check was asked for.
func (c *compiler) watch(s *site, a *accessOf) *watcher {
	checks := c.m.with.checks
	if checks == 0 {
		return nil
	}
	w := &watcher{accessOf: *a, m: c.m, site: s, number: check.Site(s.number, s.size), races: checks&check.Races != 0}
	w.swaps = c.op.Name == "tt.atomic_cas"
	order := c.op.Keyword("sem", "acq_rel")
	switch {
	case strings.HasPrefix(c.op.Name, "tt.atomic_"), c.op.Name == "tt.descriptor_reduce":
		if w.use = check.AtomicChange; s.kind == loading {
			w.use = check.AtomicRead
		}
		if c.op.Keyword("scope", "gpu") == "cta" { // of no meaning for other instances
			if w.use = check.Write; s.kind == loading {
				w.use = check.Read
			}
			break
		}
		w.acquires = (order == "acquire" || order == "acq_rel") && (c.isUsed() || c.op.Name == "tt.atomic_poll")
		w.releases = (order == "release" || order == "acq_rel") && s.kind != loading && c.op.Name != "tt.descriptor_reduce"
	case s.kind == storing:
		w.use = check.Write
	case c.op.Flag("isVolatile"):
		w.use = check.AtomicRead
	}
	w.exchanges = c.op.Name == "tt.atomic_store" || c.op.Keyword("atomic_rmw_op", "") == "exch"
	w.sinks(c)
	return w
}

// isUsed says whether a result of the operation is used: what an instance does not look at does not make it wait for another one.
func (c *compiler) isUsed() bool {
	if c.uses == nil {
		c.uses = map[ttir.Value]bool{}
		c.f.Walk(func(op *ttir.Op) {
			for _, v := range op.Operands {
				c.uses[v] = true
			}
			for _, s := range op.Successors {
				for _, v := range s.Arguments {
					c.uses[v] = true
				}
			}
		})
	}
	return slices.ContainsFunc(c.op.Results, func(v ttir.Value) bool { return c.uses[v] })
}

// before checks an access that is about to be made: by rows, or by its elements. Races are found by what is in memory, too, so that no other
// instance makes an access until after. w is nil if nothing is checked, here and below.
func (w *watcher) before(byRows bool) {
	if w == nil {
		return
	}
	w.used(byRows)
	if w.unset && w.m.memory.unwritten && w.site.kind != loading {
		w.written(byRows)
	}
	if w.put != nil && w.m.with.checks&check.Duplicates != 0 {
		w.duplicates(byRows)
	}
	if !w.races {
		return
	}
	shadow := w.m.launch.shadow
	shadow.Lock()
	w.m.shadowed = true
	if w.acquires {
		w.ordered(shadow.Acquire)
	}
	if w.swaps { // see swapped
		return
	}
	w.eachRun(byRows, func(lane, n int, address int64) { w.run(shadow, w.use, lane, n, address) })
	if w.releases {
		w.ordered(shadow.Release)
	}
}

// after ends an access.
func (w *watcher) after() {
	if w != nil {
		w.m.unshadow()
	}
}

// unshadow lets other instances make accesses.
func (m *machine) unshadow() {
	if m.shadowed {
		m.shadowed = false
		m.launch.shadow.Unlock()
	}
}

// loaded ends a load.
func (w *watcher) loaded(byRows bool) {
	if w != nil && w.out != nil {
		w.loadedMarks(byRows)
	}
	w.after()
}

// eachRun calls use for runs of elements that are neighbours in memory.
func (w *watcher) eachRun(byRows bool, use func(lane, n int, address int64)) {
	size := int64(w.site.size)
	if byRows {
		counts := w.site.counts
		w.rows.each(func(lane, n int, address, step int64) {
			if step == size {
				use(lane, n, address)
				return
			}
			for i := range n {
				use(lane+i, 1, address+step*int64(i))
			}
		})
		w.site.counts = counts
		return
	}
	for i := 0; i < len(w.addresses); {
		if w.masks != nil && w.masks[i] == 0 {
			i++
			continue
		}
		start, j := w.addresses[i], i+1
		for j < len(w.addresses) && w.addresses[j] == start+int64(j-i)*size && (w.masks == nil || w.masks[j] != 0) {
			j++
		}
		use(i, j-i, start)
		i = j
	}
}

// manyPlaces bounds how many addresses of an atomic operation are kept apart; of more, the whole buffer releases and acquires.
const manyPlaces = 16

// ordered releases or acquires at the addresses of an atomic operation.
func (w *watcher) ordered(do func(i *check.Instance, buffer int, at int64)) {
	active := len(w.addresses)
	if w.masks != nil {
		active -= bytes.Count(bytesOfBits(w.masks), []byte{0})
	}
	last := -1
	for i, address := range w.addresses {
		if w.masks != nil && w.masks[i] == 0 {
			continue
		}
		n, at := w.m.memory.number(address)
		if n < 0 {
			continue
		}
		if active <= manyPlaces {
			do(&w.m.as, n, at)
		} else if n != last {
			last = n
			do(&w.m.as, n, check.Wide)
		}
	}
}

// swapped notes an element of a comparison and exchange: where nothing was exchanged, it has only read.
func (w *watcher) swapped(lane int, exchanged bool) {
	if w == nil || !w.races {
		return
	}
	shadow, use := w.m.launch.shadow, w.use
	if !exchanged && use == check.AtomicChange {
		use = check.AtomicRead
	}
	w.run(shadow, use, lane, 1, w.addresses[lane])
	if n, at := w.m.memory.number(w.addresses[lane]); exchanged && w.releases && n >= 0 {
		shadow.Release(&w.m.as, n, at)
	}
}

// run notes n elements that are neighbours in memory.
func (w *watcher) run(shadow *check.Shadow, use check.Use, lane, n int, address int64) {
	number, at := w.m.memory.number(address)
	if number < 0 {
		return
	}
	data, size := w.m.memory.buffers[number].Data, w.site.size
	for n > 0 && at < 0 {
		lane, n, at = lane+1, n-1, at+int64(size)
	}
	length := min(int64(n*size), (int64(len(data))-at)/int64(size)*int64(size))
	if length <= 0 { // outside, as the access itself will say
		return
	}
	var same func(from, to int64) bool
	if w.put != nil {
		known := false
		same = func(from, to int64) bool {
			if !known {
				known = true
				w.raw = slices.Grow(w.raw[:0], int(length))[:length]
				w.put(w.raw, lane, lane+int(length)/size)
			}
			from, to = max(from, at), min(to, at+length)
			return bytes.Equal(w.raw[from-at:to-at], data[from:to])
		}
	}
	c, found := shadow.Access(&w.m.as, w.number, use, number, int64(len(data)), at, length, lane, size, same)
	if found {
		w.race(c, number, lane+int(c.Offset-at)/size)
	}
}

func (w *watcher) race(c check.Conflict, buffer, lane int) {
	m := w.m
	other := m.sites[check.Number(c.Site)]
	address := m.memory.addressOf(buffer, c.Offset)
	f := m.accessFinding(w.site, check.Race, w.site.kind.String()+" of "+m.memory.describe(address, w.site.size)+
		", which another program instance uses too, and nothing orders the two", address, lane)
	earlier := m.place(other.op, m.launch.programOf(int64(c.Instance)), c.Lane)
	earlier.Access = other.kind.String()
	f.Others = []check.Place{earlier}
	m.report(f)
}
