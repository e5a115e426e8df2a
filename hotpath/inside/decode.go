package inside

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Decoder turns buffers into pairs. Its scratch memory is that of one block. One drainer owns it.
type Decoder struct {
	kernel *Kernel // the kernel to which the fields below belong
	layout

	entries []entry // of one unit, the oldest first
	pairs   []Pair
	events  []event
	open    [256]opened // by scope
	opening uint32      // number of the unit, for open
	losses  profile.InsideLosses
}

// layout is what a kernel's table says of each of its slots.
type layout struct {
	valid bool
	warps int
	units []int // the warps that write
	known [256]bool
	sched bool // stores are moved, so that a start may lie after younger entries
	whole int  // the scope that is around everything; -1 if there is none
}

type entry struct {
	clock uint64
	head  uint32 // the first word
}

// event is a record that another warp may end.
type event struct {
	clock uint64
	warp  uint16
	scope uint8
	end   bool
}

// opened is the last start of a scope. It counts only if its unit is the one in Decoder.opening.
type opened struct {
	start   uint64
	opening uint32
	closed  bool
}

// maxWarps is more than any block has.
const maxWarps = 1024

// maxRate is how many cycles a clock makes in a ns at most.
const maxRate = 4

// Decode passes the blocks of a launch on, one after another, and returns what was lost. Whatever the bytes are, it returns.
func (d *Decoder) Decode(l *Launch, each func(*Block)) profile.InsideLosses {
	d.losses = profile.InsideLosses{}
	d.prepare(l.Kernel)
	rest := l.Buffer
	for i, blocks := uint64(0), l.Blocks(); i < blocks; i++ {
		if !d.valid || len(rest) < d.kernel.SlotSize {
			d.missing(blocks - i)
			break
		}
		var b Block
		if d.block(&b, rest[:d.kernel.SlotSize], i, l.Kernel.Clock32) {
			each(&b)
		}
		rest = rest[d.kernel.SlotSize:]
	}
	return d.losses
}

// Only passes on some blocks of a launch that was decoded before, by their numbers in the grid.
func (d *Decoder) Only(l *Launch, programs []uint32, each func(*Block)) {
	for _, program := range programs {
		var b Block
		from := uint64(program) * uint64(max(l.Kernel.SlotSize, 0))
		if d.prepare(l.Kernel); !d.valid || from+uint64(d.kernel.SlotSize) > uint64(len(l.Buffer)) {
			continue
		}
		if d.block(&b, l.Buffer[from:][:d.kernel.SlotSize], uint64(program), l.Kernel.Clock32) {
			each(&b)
		}
	}
}

// missing counts slots that cannot be read at all.
func (d *Decoder) missing(slots uint64) {
	if d.valid {
		d.losses.Missing += slots
	} else {
		d.losses.Invalid += slots
	}
}

// prepare reads the kernel's table, which most often is that of the launch before.
func (d *Decoder) prepare(k *Kernel) {
	if d.kernel == k {
		return
	}
	d.kernel, d.layout = k, layout{warps: k.Warps, units: k.Units, sched: strings.Contains(k.Mode, "sched_stores"), whole: k.whole()}
	if d.units == nil {
		for w := range min(max(k.Warps, 0), maxWarps) {
			d.units = append(d.units, w)
		}
	}
	d.valid = k.Warps > 0 && k.Warps <= maxWarps && len(d.units) > 0 && k.SlotSize >= headerSize+countSize*k.Warps
	for i, w := range d.units {
		d.valid = d.valid && w >= 0 && w < k.Warps && (i == 0 || w > d.units[i-1])
	}
	for _, s := range k.Scopes {
		if s.ID >= 0 && s.ID < len(d.known) {
			d.known[s.ID] = true
		}
	}
}

// block decodes one slot; false if there is nothing to pass on.
func (d *Decoder) block(b *Block, slot []byte, index uint64, clock32 bool) bool {
	size, fault := readHeader(slot, index, b)
	if fault == none && !d.fits(slot, size) {
		fault = invalid
	}
	switch fault {
	case notStarted:
		d.losses.NotStarted++
		return false
	case unfinished:
		d.losses.Unfinished++
		return false
	case invalid:
		d.losses.Invalid++
		return false
	}
	d.pairs, d.events = d.pairs[:0], d.events[:0]
	clock := newUnwrapper(clock32, d.sched)
	b.Clock32, b.Rings = clock32, size
	rings := slot[headerSize+countSize*d.warps:][:size]
	segment := int(size) / len(d.units)
	for _, warp := range d.units {
		words := binary.LittleEndian.Uint32(slot[headerSize+countSize*warp:])
		d.unroll(rings[:segment], uint64(words/2), &clock)
		b.see(d.entries)
		before := len(d.pairs)
		d.pair(uint16(warp), int(words/2) > len(d.entries))
		if n := len(d.pairs); n > before && int(d.pairs[n-1].Scope) == d.whole { // the outermost ends last
			b.Enclosed = true
		}
		rings = rings[segment:]
	}
	d.pairEvents()
	b.entered = clock.first
	d.check(b, clock32)
	b.Pairs = d.pairs
	return true
}

// fits reports whether a slot's size and counts can be those of its kernel.
func (d *Decoder) fits(slot []byte, size uint32) bool {
	units := uint32(len(d.units))
	if uint64(size) > uint64(len(slot)-headerSize-countSize*d.warps) || size == 0 || size%(units*entrySize) != 0 {
		return false
	}
	next := 0 // of the units
	for w := range d.warps {
		words := binary.LittleEndian.Uint32(slot[headerSize+countSize*w:])
		if next < len(d.units) && d.units[next] == w {
			next++
		} else if words != 0 {
			return false
		}
		if words%2 != 0 {
			return false
		}
	}
	return true
}

// unroll copies the entries of one ring in the order in which they were written, and undoes the wraps of their clocks.
func (d *Decoder) unroll(ring []byte, written uint64, clock *unwrapper) {
	capacity := uint64(len(ring) / entrySize)
	from := uint64(0)
	if written > capacity {
		from = written % capacity * entrySize
		d.losses.Overwritten += written - capacity
		d.losses.FullRings++
		perUnit := uint64(1) << bits.Len64(written*entrySize-1)
		d.losses.Need = max(d.losses.Need, perUnit*uint64(len(d.units)))
	}
	kept := int(min(written, capacity))
	d.entries = slices.Grow(d.entries[:0], kept)[:kept]
	at, odd := 0, false
	clock.unit()
	for _, run := range [2][]byte{ring[from : from+min(uint64(kept)*entrySize, uint64(len(ring))-from)], ring[:from]} {
		for ; len(run) >= entrySize && at < kept; run = run[entrySize:] {
			word := binary.LittleEndian.Uint64(run)
			cycles, jump := clock.next(uint64(uint32(word)&highMask)<<32 | word>>32)
			d.entries[at] = entry{cycles, uint32(word)}
			odd = odd || jump
			at++
		}
	}
	if odd && clock.mask == clockMask {
		d.losses.Torn += mend(d.entries)
	}
}

// pair joins the starts and ends of one unit. full: the oldest entries are missing.
func (d *Decoder) pair(warp uint16, full bool) {
	d.opening++
	open := 0
	for i := range d.entries {
		e := &d.entries[i]
		scope := uint8(e.head >> scopeAt)
		if e.head&isEvent != 0 {
			d.events = append(d.events, event{e.clock, warp, scope, e.head&isEnd != 0})
			continue
		}
		o := &d.open[scope]
		mine := o.opening == d.opening
		switch end := e.head&isEnd != 0; {
		case end && mine && !o.closed:
			d.pairs = append(d.pairs, Pair{Start: o.start, End: e.clock, Warp: warp, EndWarp: warp, Scope: scope})
			o.closed = true
			open--
		case end && !mine && full: // its start was overwritten
			*o = opened{opening: d.opening, closed: true}
		case end:
			d.losses.Ends++
		default:
			if mine && !o.closed {
				d.losses.Starts++
			} else {
				open++
			}
			*o = opened{start: e.clock, opening: d.opening}
		}
	}
	if open > 0 {
		d.leaveOpen(warp)
	}
}

// leaveOpen passes the starts of a unit that have no end on to the events, one of which may end them.
func (d *Decoder) leaveOpen(warp uint16) {
	for scope := range d.open {
		if o := &d.open[scope]; o.opening == d.opening && !o.closed {
			d.events = append(d.events, event{clock: o.start, warp: warp, scope: uint8(scope)})
		}
	}
}

// pairEvents joins the events of a block, in order of time: an end takes the open start of its own warp, or the oldest one.
func (d *Decoder) pairEvents() {
	if len(d.events) == 0 {
		return
	}
	slices.SortStableFunc(d.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(figures.OneIf[int](a.end), figures.OneIf[int](b.end)))
	})
	open := map[uint8][]event{} // by scope, the oldest first
	for _, e := range d.events {
		waiting := open[e.scope]
		if !e.end {
			open[e.scope] = append(waiting, e)
			continue
		}
		if len(waiting) == 0 {
			d.losses.Ends++
			continue
		}
		at := max(slices.IndexFunc(waiting, func(s event) bool { return s.warp == e.warp }), 0)
		s := waiting[at]
		open[e.scope] = slices.Delete(waiting, at, at+1)
		d.pairs = append(d.pairs, Pair{Start: s.clock, End: e.clock, Warp: s.warp, EndWarp: e.warp, Scope: e.scope, Event: true})
	}
	for _, waiting := range open {
		d.losses.Starts += uint64(len(waiting))
	}
}

// see takes in the entries of one unit. Ring order is the order of time, but for starts that were moved to their ends: that of the outermost
// scope is the last but one.
func (b *Block) see(entries []entry) {
	if len(entries) == 0 {
		return
	}
	first := min(entries[0].clock, entries[max(0, len(entries)-2)].clock)
	if b.First == 0 || first < b.First {
		b.First = first
	}
	b.Last = max(b.Last, entries[len(entries)-1].clock)
}

// check leaves out what cannot be: a pair that ends before it starts, or that takes longer than its block ran. Half a clock
// that was read too late is repaired, and so is a step of more than half of 32 bits.
func (d *Decoder) check(b *Block, clock32 bool) {
	longest := b.longest()
	kept := 0
	for i := range d.pairs {
		p := &d.pairs[i]
		mended := p.End-p.Start > longest && d.mendPair(p, longest, clock32, b.entered)
		if p.End-p.Start > longest {
			d.losses.Broken++
			continue
		}
		if mended && clock32 {
			b.First, b.Last = min(b.First, p.Start), max(b.Last, p.End)
		}
		if !d.known[p.Scope] {
			d.losses.Unknown++
		}
		if kept != i {
			d.pairs[kept] = *p
		}
		kept++
	}
	d.pairs = d.pairs[:kept]
	if clock32 && b.PreFinal-b.Init > 1<<32/3 {
		d.losses.Unsure += uint64(kept)
	}
}

const carry = 1 << 32

// mendPair repairs a pair whose first or last clock no other entry showed to be wrong.
func (d *Decoder) mendPair(p *Pair, longest uint64, clock32 bool, entered uint64) bool {
	switch {
	case clock32:
		return p.lengthen(longest, entered)
	case p.Cycles()+carry <= longest: // the start is too late
		p.Start -= carry
	case p.Cycles()-carry <= longest: // the end is
		p.End -= carry
	default:
		return false
	}
	d.losses.Torn++
	return true
}

// lengthen repairs a pair of 32 bits that ends before it starts. Where stores are moved, a step of more than half a wrap is taken for one
// back: the step into the pair from younger entries, so that the start is a wrap too late, or the pair itself, and the end is a wrap too
// early. A scope of that length is around the block's first entry.
func (p *Pair) lengthen(longest, entered uint64) bool {
	if p.Cycles()+carry > longest {
		return false
	}
	if p.Start-carry <= entered && entered <= p.End {
		p.Start -= carry
	} else {
		p.End += carry
	}
	return true
}
