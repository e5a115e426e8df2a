package check

import (
	"slices"
	"sync"
)

// Shadow is what is known of the accesses to a launch's memory: for every byte who wrote it last, and who read it. Program instances are
// concurrent, whatever the order in which they run, unless an atomic operation of one releases what another one acquires. The caller holds
// Lock while it uses a Shadow.
//
// Each byte keeps its last plain write, and two reads and two atomic changes of different instances that nothing orders: where no
// instance acquires anything, this is enough to find every byte that has a race.
type Shadow struct {
	sync.Mutex
	Full bool // there was no room for more, and accesses were left out

	records []record
	buffers []shadowBuffer
	logs    map[place]*releases
	room    int64
}

// MaxShadow bounds the memory of a Shadow in bytes.
const MaxShadow = 4 << 30

// record is an operation as one instance executed it, between two of its releases.
type record struct {
	instance, clock uint32
	site            uint32
	atomic          bool
}

// last is an access: a record and the element of the operation's tensor; 0 is none.
type last uint64

func (l last) record() uint32 { return uint32(l >> 32) }
func (l last) lane() int      { return int(int32(uint32(l))) }

// cell is the accesses of one byte, or of several that all had the same.
type cell struct{ write, change, change2, read, read2 last }

// chunk is chunkBytes bytes with one cell for all of them, or one for each 4 bytes, or one for each.
type chunk struct {
	cell
	cells []cell // nil for one
}

const chunkBytes = 64

type shadowBuffer struct{ chunks []chunk }

// Instance is a program instance as the shadow sees it.
type Instance struct {
	number, clock uint32
	records       map[uint64]uint32
	lastKey       uint64
	lastRecord    uint32
	seen          []prefix
	memo          uint32 // a record that is known
	memoOrdered   bool
}

// Begin makes an instance of a number below 1<<32.
func (i *Instance) Begin(number uint32) {
	if i.records == nil {
		i.records = map[uint64]uint32{}
	}
	clear(i.records)
	*i = Instance{number: number, records: i.records}
}

// Use is how memory is accessed.
type Use uint8

const (
	Read         Use = iota
	Write            // not atomic
	AtomicRead       // of one value that is written as a whole
	AtomicChange     // reads and writes
)

func (u Use) atomic() bool { return u >= AtomicRead }
func (u Use) writes() bool { return u == Write || u == AtomicChange }

// Conflict is an earlier access that nothing orders with a later one.
type Conflict struct {
	Instance uint32
	Site     uint32
	Lane     int
	Writes   bool  // the earlier one
	Offset   int64 // of the byte in the buffer
}

// recordOf is the number of the record of an operation in an instance.
func (s *Shadow) recordOf(i *Instance, site uint32, u Use) uint32 {
	key := uint64(site)<<1 | 1
	if u.atomic() {
		key--
	}
	if i.lastRecord != 0 && i.lastKey == key {
		return i.lastRecord
	}
	n, ok := i.records[key]
	if !ok {
		if len(s.records) == 0 {
			s.records = append(s.records, record{})
		}
		n = uint32(len(s.records))
		s.records = append(s.records, record{i.number, i.clock, site, u.atomic()})
		i.records[key] = n
	}
	i.lastKey, i.lastRecord = key, n
	return n
}

// Access notes that an instance accesses n bytes of a buffer of so many, beginning at an offset, with elements of size bytes of which the
// first is that of lane. It returns the first conflict. Two writes do not conflict where same says that this one changes none of the bytes.
func (s *Shadow) Access(i *Instance, site uint32, u Use, buffer int, bytes, at, n int64, lane, size int, same func(from, to int64) bool) (c Conflict, found bool) {
	for buffer >= len(s.buffers) {
		s.buffers = append(s.buffers, shadowBuffer{})
	}
	b := &s.buffers[buffer]
	if b.chunks == nil {
		if !s.take((bytes/chunkBytes + 1) * 64) {
			return c, false
		}
		b.chunks = chunksFor(int(bytes/chunkBytes + 1))
	}
	a := access{s: s, i: i, u: u, record: uint64(s.recordOf(i, site, u)) << 32, same: same}
	for end := at + n; at < end; {
		k := &b.chunks[at/chunkBytes]
		from := at % chunkBytes
		if from == 0 && end-at >= chunkBytes && k.cells == nil && a.first(&k.cell, lane) {
			at, lane = at+chunkBytes, lane+chunkBytes/size
			continue
		}
		a.base = at - from
		to := min(chunkBytes, from+end-at)
		a.chunk(k, int(from), int(to), lane, size)
		at += to - from
		lane += int(to-from) / size
	}
	return a.conflict, a.found
}

// spare are chunks of earlier launches, of at most maxSpare in all: new memory costs more than what is done with it.
var spare struct {
	sync.Mutex
	lists [][]chunk
	total int
}

const maxSpare = 1 << 20

func chunksFor(n int) []chunk {
	spare.Lock()
	defer spare.Unlock()
	for i, list := range spare.lists {
		if cap(list) >= n && cap(list) <= 2*n+16 {
			spare.lists = slices.Delete(spare.lists, i, i+1)
			spare.total -= cap(list)
			return list[:n] // cleared by Close
		}
	}
	return make([]chunk, n)
}

// Close ends the use of a Shadow.
func (s *Shadow) Close() {
	spare.Lock()
	defer spare.Unlock()
	for _, b := range s.buffers {
		if b.chunks != nil && spare.total+cap(b.chunks) <= maxSpare {
			clear(b.chunks)
			spare.total += cap(b.chunks)
			spare.lists = append(spare.lists, b.chunks)
		}
	}
	s.buffers = nil
}

func (s *Shadow) take(bytes int64) bool {
	if s.room+bytes > MaxShadow {
		s.Full = true
		return false
	}
	s.room += bytes
	return true
}

// access is one that is being noted.
type access struct {
	s        *Shadow
	i        *Instance
	u        Use
	record   uint64 // in the upper half
	same     func(from, to int64) bool
	base     int64 // where the chunk begins in the buffer
	conflict Conflict
	found    bool
}

// first notes an access where there was none yet that matters, which is so for most.
func (a *access) first(c *cell, lane int) bool {
	switch {
	case c.write|c.change|c.change2|c.read2 != 0:
		return false
	case a.u == Write && c.read == 0:
		c.write = last(a.record | uint64(uint32(lane)))
	case a.u == Read && (c.read == 0 || c.read.record() == uint32(a.record>>32)):
		c.read = last(a.record | uint64(uint32(lane)))
	default:
		return false
	}
	return true
}

// chunk notes the bytes from..to of a chunk.
func (a *access) chunk(k *chunk, from, to, lane, size int) {
	if k.cells == nil && from == 0 && to == chunkBytes {
		a.cell(&k.cell, lane, 0, chunkBytes)
		return
	}
	if k.cells == nil || len(k.cells) < chunkBytes && (from|to)&3 != 0 {
		if !a.split(k, from, to) {
			return
		}
	}
	each := chunkBytes / len(k.cells)
	for at := from; at < to; at += each {
		a.cell(&k.cells[at/each], lane+(at-from)/size, at, each)
	}
	if a.u == Write && from == 0 && to == chunkBytes && !slices.ContainsFunc(k.cells, func(c cell) bool { return c.change|c.read != 0 }) {
		a.s.room -= int64(len(k.cells)) * 40
		*k = chunk{cell: cell{write: last(a.record | uint64(uint32(lane)))}}
	}
}

// split gives a chunk smaller cells.
func (a *access) split(k *chunk, from, to int) bool {
	n := chunkBytes / 4
	if (from|to)&3 != 0 {
		n = chunkBytes
	}
	if !a.s.take(int64(n) * 40) {
		return false
	}
	list := make([]cell, n)
	for i := range list {
		if k.cells == nil {
			list[i] = k.cell
			a.move(&list[i], i*chunkBytes/n)
		} else {
			list[i] = k.cells[i*len(k.cells)/n]
		}
	}
	k.cells = list
	return true
}

// move sets the lanes of a part of a chunk, so many bytes behind its beginning.
func (a *access) move(c *cell, bytes int) {
	for _, l := range []*last{&c.write, &c.change, &c.change2, &c.read, &c.read2} {
		if *l != 0 {
			*l = last(uint64(*l)&^(1<<32-1) | uint64(uint32(l.lane()+bytes/a.s.sizeOf(l.record()))))
		}
	}
}

// sizes of the elements are in the site: see Site.
func (s *Shadow) sizeOf(n uint32) int { return int(s.records[n].site & 15) }

// Site is the number of an operation with the size of its elements.
func Site(number, size int) uint32 { return uint32(number)<<4 | uint32(size) }

// Number is the number of the operation of a site.
func Number(site uint32) int { return int(site >> 4) }

// cell notes an access, and whether it conflicts with one before.
func (a *access) cell(c *cell, lane, at, n int) {
	now := last(a.record | uint64(uint32(lane)))
	if c.write != 0 && !a.free(c.write) && (a.u != Write || a.same == nil || !a.same(a.base+int64(at), a.base+int64(at+n))) {
		a.against(c.write, true, at)
	}
	if !a.u.atomic() {
		a.against(c.change, true, at)
		a.against(c.change2, true, at)
	}
	if a.u.writes() {
		a.against(c.read, false, at)
		a.against(c.read2, false, at)
	}
	switch a.u {
	case Write:
		c.write = now // reads and changes are kept: another write of the same value conflicts with them, and not with this one
	case AtomicChange:
		a.keep(&c.change, &c.change2, now)
	default:
		a.keep(&c.read, &c.read2, now)
	}
}

// against notes an earlier access, if it is the first that conflicts.
func (a *access) against(l last, writes bool, at int) {
	if l == 0 || a.found || a.free(l) {
		return
	}
	r := &a.s.records[l.record()]
	a.found, a.conflict = true, Conflict{r.instance, r.site, l.lane(), writes, a.base + int64(at)}
}

// free says whether an earlier access does not conflict with this one.
func (a *access) free(l last) bool {
	n := l.record()
	return a.ordered(n) || a.u.atomic() && a.s.records[n].atomic
}

// keep keeps an access in one of two places: in that of the same instance, in an empty one, in that of an access which comes before this one
// anyway. A plain access conflicts with more than an atomic one: it takes the place of one, and is not replaced by one.
func (a *access) keep(first, second *last, now last) {
	weaker := func(l last) bool { return a.s.records[l.record()].atomic || !a.u.atomic() } // than this one, or equal
	places := [2]*last{first, second}
	for _, l := range places {
		if *l != 0 && a.s.records[l.record()].instance == a.i.number {
			if l.record() != now.record() && weaker(*l) {
				*l = now
			}
			return
		}
	}
	for _, l := range places {
		if *l == 0 || weaker(*l) && a.ordered(l.record()) {
			*l = now
			return
		}
	}
	for _, l := range places {
		if !a.u.atomic() && a.s.records[l.record()].atomic {
			*l = now
			return
		}
	}
}

// ordered says whether an access comes before everything that the instance does now.
func (a *access) ordered(n uint32) bool {
	if a.i.memo == n && n != 0 {
		return a.i.memoOrdered
	}
	r := &a.s.records[n]
	a.i.memo, a.i.memoOrdered = n, r.instance == a.i.number || a.i.after(r.instance, r.clock)
	return a.i.memoOrdered
}

// place is an address; for operations on large tensors, all of a buffer: at is -1.
type place struct {
	buffer int
	at     int64
}

// releases are what was released at one place, one after another.
type releases struct {
	seen  [][]prefix              // what the instance had acquired, with that of all releases before
	by    map[uint32][]releasedAt // instances
	count int
}

type releasedAt struct {
	clock uint32
	n     int
}

// prefix is the first n releases of a place.
type prefix struct {
	of *releases
	n  int
}

// after says whether the instance acquired what another one released at a clock or later.
func (i *Instance) after(instance, clock uint32) bool {
	for _, p := range i.seen {
		list := p.of.by[instance]
		k, _ := slices.BinarySearchFunc(list, clock, func(r releasedAt, c uint32) int { return int(int64(r.clock) - int64(c)) })
		if k < len(list) && list[k].n < p.n {
			return true
		}
	}
	return false
}

// joined is the larger prefixes of two lists. It returns a itself if b adds nothing, and never changes one.
func joined(a, b []prefix) []prefix {
	to, own := a, false
	for _, p := range b {
		k := slices.IndexFunc(to, func(q prefix) bool { return q.of == p.of })
		if k >= 0 && to[k].n >= p.n {
			continue
		}
		if !own {
			to, own = slices.Clone(to), true
		}
		if k >= 0 {
			to[k] = p
		} else {
			to = append(to, p)
		}
	}
	return to
}

// Wide stands for all addresses of a buffer in Acquire and Release.
const Wide = -1

// Acquire orders what the instance does from now on behind everything that was released at a place.
func (s *Shadow) Acquire(i *Instance, buffer int, at int64) {
	i.acquire(s.logs[place{buffer, at}])
	if at != Wide {
		i.acquire(s.logs[place{buffer, Wide}])
		return
	}
	for p, l := range s.logs {
		if p.buffer == buffer {
			i.acquire(l)
		}
	}
}

func (i *Instance) acquire(l *releases) {
	if l == nil || l.count == 0 {
		return
	}
	i.seen = joined(joined(i.seen, l.seen[l.count-1]), []prefix{{l, l.count}})
	i.memo = 0
}

// Release makes all that the instance did until now come before what acquires it at a place.
func (s *Shadow) Release(i *Instance, buffer int, at int64) {
	if s.logs == nil {
		s.logs = map[place]*releases{}
	}
	l := s.logs[place{buffer, at}]
	if l == nil {
		l = &releases{by: map[uint32][]releasedAt{}}
		s.logs[place{buffer, at}] = l
	}
	var before []prefix
	if l.count > 0 {
		before = l.seen[l.count-1]
	}
	l.seen = append(l.seen, joined(before, i.seen))
	l.by[i.number] = append(l.by[i.number], releasedAt{i.clock, l.count})
	l.count++
	i.clock++
	clear(i.records)
	i.lastRecord = 0
}
