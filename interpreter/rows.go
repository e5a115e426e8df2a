package interpreter

// rows is an access to addresses that are a line, where the mask is a box: it is made by rows of the tensor, without the elements' addresses.
type rows struct {
	m     *machine
	site  *site
	shape []int
	size  int64
	line  *line // nil if the addresses never have one
	box   *box
	boxed []int // its stored shape
	all   bool  // the box has all elements

	from, to, at []int
	runs         []run
}

// run is a part of a row whose elements are at equal distances in memory.
type run struct {
	from, n      int
	offset, step int64
}

// rowsOf prepares an access; it has no line if elements are to be used one by one.
func (c *compiler) rowsOf(p, mask *slot, shape []int, s *site) *rows {
	r := &rows{m: c.m, site: s, shape: shape, size: int64(s.size), all: true}
	if len(p.shape) == len(shape) && (mask == nil || mask.box != nil && len(mask.shape) == len(shape)) {
		r.line = c.lineOf(p)
	}
	if r.line == nil {
		asked(nil, p, mask)
		return r
	}
	if mask != nil {
		r.box, r.boxed = mask.box, mask.shape
	}
	s.late = p.late
	r.from, r.to, r.at = make([]int, len(shape)), make([]int, len(shape)), make([]int, len(shape))
	return r
}

// set says whether the access is made by rows, this time.
func (r *rows) set() bool {
	if r.line == nil || !r.line.ok || r.box != nil && !r.box.ok {
		return false
	}
	r.all = true
	for d, n := range r.shape {
		r.from[d], r.to[d] = 0, n
		if r.box != nil {
			r.from[d], r.to[d] = r.box.along(d, r.boxed[d], n)
			r.all = r.all && r.from[d] <= 0 && r.to[d] >= n
		}
	}
	return true
}

// each calls use for all runs: with the first lane, the number of elements, the first address and the distance of the next.
func (r *rows) each(use func(lane, n int, address, step int64)) {
	last := len(r.shape) - 1
	lanes, active := 1, 1
	for d, n := range r.shape {
		lanes *= n
		active *= max(0, r.to[d]-r.from[d])
	}
	r.site.counts.operations++
	r.site.counts.lanes += int64(lanes)
	r.site.counts.active += int64(active)
	if active == 0 {
		return
	}
	r.split(&r.line.parts[last], r.from[last], r.to[last])
	copy(r.at, r.from)
	for {
		lane, address := 0, r.line.base
		for d, i := range r.at[:last] {
			lane = (lane + i) * r.shape[d+1]
			address += r.line.parts[d].at(i)
		}
		for i := range r.runs {
			k := &r.runs[i]
			use(lane+k.from, k.n, address+k.offset, k.step)
		}
		d := last - 1
		for ; d >= 0; d-- {
			if r.at[d]++; r.at[d] < r.to[d] {
				break
			}
			r.at[d] = r.from[d]
		}
		if d < 0 {
			return
		}
	}
}

// split finds the runs of a row.
func (r *rows) split(p *part, from, to int) {
	r.runs = r.runs[:0]
	if p.list == nil {
		r.runs = append(r.runs, run{from, to - from, p.step * int64(from), p.step})
		return
	}
	for i := from; i < to; {
		j := i + 1
		for j < to && p.list[j] == p.list[j-1]+r.size {
			j++
		}
		r.runs = append(r.runs, run{i, j - i, p.list[i], r.size})
		i = j
	}
}

// span is the memory from the first to the last element of a run, and where the first is in it; nil if they are not in one buffer.
func (r *rows) span(address, step int64, n int) (raw []byte, first int64) {
	length := step * int64(n-1)
	if length < 0 {
		first, length = -length, -length
	}
	if length > middle || r.site.watched { // which bytes are used is noted one by one
		return nil, 0
	}
	return r.m.memory.bytes(address-first, int(length+r.size)), first
}

// readRows loads the elements in the box.
func readRows[T any](r *rows, o []T, k codec[T]) {
	r.each(func(lane, n int, address, step int64) {
		if step == r.size {
			if raw := r.row(address, n); raw != nil {
				k.get(o[lane:lane+n], raw)
				return
			}
		} else if raw, first := r.span(address, step, n); raw != nil {
			for i := range n {
				k.get(o[lane+i:lane+i+1], raw[first+step*int64(i):])
			}
			return
		}
		for i := range n {
			k.get(o[lane+i:lane+i+1], r.one(address+step*int64(i), lane+i))
		}
	})
}

// writeRows stores the elements in the box.
func writeRows[T any](r *rows, values []T, k codec[T]) {
	r.each(func(lane, n int, address, step int64) {
		if step == r.size {
			if raw := r.row(address, n); raw != nil {
				k.put(raw, values[lane:lane+n])
				return
			}
		} else if raw, first := r.span(address, step, n); raw != nil {
			for i := range n {
				k.put(raw[first+step*int64(i):], values[lane+i:lane+i+1])
			}
			return
		}
		for i := range n {
			k.put(r.one(address+step*int64(i), lane+i), values[lane+i:lane+i+1])
		}
	})
}

// row is the memory of a run of neighbours; nil if they are not in one buffer.
func (r *rows) row(address int64, n int) []byte {
	raw := r.m.memory.bytes(address, n*int(r.size))
	if raw != nil && r.site.watched {
		r.site.touch(r.m.memory, address, len(raw))
	}
	return raw
}

// one is the memory of an element, which must be in a buffer.
func (r *rows) one(address int64, lane int) []byte {
	raw := r.m.memory.bytes(address, int(r.size))
	if raw == nil {
		r.m.bad(r.site, address, lane)
		return make([]byte, r.size) // it is not kept
	}
	if r.site.watched {
		r.site.touch(r.m.memory, address, len(raw))
	}
	return raw
}
