package interpreter

import (
	"math/bits"
	"sync"
)

// Touched is how many different bytes of a buffer were loaded and stored. Bytes that are changed by an atomic operation are both.
type Touched struct {
	Buffer         *Buffer
	Loaded, Stored int64
}

// pageBits: a page has a bit for each of so many bytes of a buffer, as a power of two.
const pageBits = 15

type page [1 << pageBits / 64]uint64

// byteSet is a set of the bytes of one buffer: its pages, of which those without a byte may be missing.
type byteSet []*page

// add adds n bytes from at on.
func (s *byteSet) add(at, n int64) {
	for end := at + n; at < end; {
		p := s.page(int(at >> pageBits))
		stop := min(end, (at>>pageBits+1)<<pageBits)
		p.set(int(at&(1<<pageBits-1)), int(stop-at))
		at = stop
	}
}

// pages are those of accesses of earlier launches.
var pages sync.Pool

// forget gives the pages of an access back.
func (s *site) forget() {
	for _, set := range s.touched {
		for _, p := range set {
			if p != nil {
				pages.Put(p)
			}
		}
	}
	s.touched = nil
}

func (s *byteSet) page(n int) *page {
	for len(*s) <= n {
		*s = append(*s, nil)
	}
	if (*s)[n] == nil {
		p, used := pages.Get().(*page)
		if used {
			*p = page{}
		} else {
			p = new(page)
		}
		(*s)[n] = p
	}
	return (*s)[n]
}

func (p *page) set(at, n int) {
	word, bit := at/64, at%64
	if bit+n <= 64 {
		p[word] |= ^uint64(0) >> (64 - n) << bit
		return
	}
	p[word] |= ^uint64(0) << bit
	for n -= 64 - bit; n >= 64; n -= 64 {
		word++
		p[word] = ^uint64(0)
	}
	if n > 0 {
		p[word+1] |= ^uint64(0) >> (64 - n)
	}
}

// join adds what another set has, and returns how many bytes that are which this one had not. The other set is not used any more if its
// pages may be taken.
func (s *byteSet) join(other byteSet, take bool) (added int64) {
	for len(*s) < len(other) {
		*s = append(*s, nil)
	}
	for n, from := range other {
		if from == nil {
			continue
		}
		if (*s)[n] == nil && take {
			(*s)[n] = from
			added += from.count()
			continue
		}
		to := s.page(n)
		for i, w := range from {
			added += int64(bits.OnesCount64(w &^ to[i]))
			to[i] |= w
		}
	}
	return added
}

func (p *page) count() (n int64) {
	for _, w := range p {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// union is how many bytes are in several sets, each once.
func union(sets []byteSet) (n int64) {
	if len(sets) == 1 {
		for _, p := range sets[0] {
			if p != nil {
				n += p.count()
			}
		}
		return n
	}
	var all byteSet
	for _, s := range sets {
		n += all.join(s, false)
	}
	return n
}

// touching has an access note the bytes of the runs that it uses, if the kernel is compiled so.
func (c *compiler) touching(s *site, addresses []int64, use func(from, to int, raw []byte)) func(from, to int, raw []byte) {
	if !s.watched {
		return use
	}
	m := c.m
	return func(from, to int, raw []byte) {
		s.touch(m.memory, addresses[from], len(raw))
		use(from, to, raw)
	}
}

func (s *site) touch(m *memory, address int64, size int) {
	n, at := m.number(address)
	if n < 0 || at < 0 || at+int64(size) > int64(len(m.buffers[n].Data)) { // a finding, which did not end the launch
		return
	}
	for len(s.touched) <= n {
		s.touched = append(s.touched, nil)
	}
	s.touched[n].add(at, int64(size))
}

// countTouched counts bytes, each once: those of each line, and those of the launch. All machines have the same accesses, in the order of the
// program.
func (r *Result) countTouched(memory *memory, machines []*machine) {
	lines := make([]lineSets, len(r.Lines))
	for i, s := range machines[0].sites {
		for _, m := range machines {
			lines[s.line].add(m.sites[i])
		}
	}
	for i := range lines {
		r.Lines[i].Touched = lines[i].count(memory)
	}
	// Bytes of the launch count for the first line. Lines are counted: their pages may be taken.
	all := make([][2]byteSet, len(memory.buffers))
	r.Touched = []Touched{}
	sums := make([]Touched, len(memory.buffers))
	for i, s := range machines[0].sites {
		access := r.Lines[s.line].access(s.kind)
		for _, m := range machines {
			for n, set := range m.sites[i].touched {
				for which, sum := range []*int64{loading: &sums[n].Loaded, storing: &sums[n].Stored} {
					if s.kind == changing || int(s.kind) == which {
						added := all[n][which].join(set, s.kind != changing)
						access.FirstBytes += added
						*sum += added
					}
				}
			}
		}
	}
	for n, b := range memory.buffers {
		if sums[n].Buffer = b; sums[n].Loaded+sums[n].Stored > 0 {
			r.Touched = append(r.Touched, sums[n])
		}
	}
}

// lineSets are the sets of the accesses of a line, by number of the buffer: of what is loaded, and of what is stored.
type lineSets [2][][]byteSet

func (l *lineSets) add(s *site) {
	for which := range l {
		if s.kind != changing && int(s.kind) != which {
			continue
		}
		for n, set := range s.touched {
			for len(l[which]) <= n {
				l[which] = append(l[which], nil)
			}
			if set != nil {
				l[which][n] = append(l[which][n], set)
			}
		}
	}
}

func (l *lineSets) count(m *memory) (list []Touched) {
	for n, b := range m.buffers {
		t := Touched{Buffer: b}
		for which, to := range []*int64{&t.Loaded, &t.Stored} {
			if n < len(l[which]) {
				*to = union(l[which][n])
			}
		}
		if t.Loaded+t.Stored > 0 {
			list = append(list, t)
		}
	}
	return list
}
