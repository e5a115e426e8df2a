package interpreter

import "math/bits"

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

func (s *byteSet) page(n int) *page {
	for len(*s) <= n {
		*s = append(*s, nil)
	}
	if (*s)[n] == nil {
		(*s)[n] = new(page)
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

// join adds what another set has, and returns how many bytes that are which this one had not.
func (s *byteSet) join(other byteSet) (added int64) {
	for n, from := range other {
		if from == nil {
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
	var all [2][]byteSet // of loads and of stores, by number of the buffer
	lines := make([][2][]byteSet, len(r.Lines))
	for i, s := range machines[0].sites {
		access := r.Lines[s.line].access(s.kind)
		for _, m := range machines {
			for which := range all {
				if s.kind == changing || int(s.kind) == which {
					joinAll(&lines[s.line][which], m.sites[i].touched)
					access.FirstBytes += joinAll(&all[which], m.sites[i].touched)
				}
			}
		}
	}
	for i := range lines {
		r.Lines[i].Touched = memory.touched(&lines[i])
	}
	r.Touched = memory.touched(&all)
}

func joinAll(to *[]byteSet, from []byteSet) (added int64) {
	for len(*to) < len(from) {
		*to = append(*to, nil)
	}
	for n, set := range from {
		added += (*to)[n].join(set)
	}
	return added
}

// touched are the buffers that have bytes in two lists of sets.
func (m *memory) touched(sets *[2][]byteSet) (list []Touched) {
	size := func(of []byteSet, n int) int64 {
		if n >= len(of) {
			return 0
		}
		return new(byteSet).join(of[n])
	}
	for n, b := range m.buffers {
		if t := (Touched{b, size(sets[0], n), size(sets[1], n)}); t.Loaded+t.Stored > 0 {
			list = append(list, t)
		}
	}
	return list
}
