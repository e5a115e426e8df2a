package tritonparse

import (
	"encoding/binary"
	"strconv"
)

// runs is numbers that ascend, in a few bytes for each stretch without a gap.
type runs struct {
	log        []byte // stretches before the last: how far each begins behind the one before, and how long it is
	end        int    // of what is in log
	start, len int    // the last stretch
}

// add adds the numbers from start up to end.
func (r *runs) add(start, end int) {
	if r.len > 0 && r.start+r.len == start {
		r.len += end - start
		return
	}
	if r.len > 0 {
		r.log = binary.AppendUvarint(r.log, uint64(r.start-r.end))
		r.log = binary.AppendUvarint(r.log, uint64(r.len))
		r.end = r.start + r.len
	}
	r.start, r.len = start, end-start
}

// each calls f with the ends of every stretch; both belong to it.
func (r *runs) each(f func(first, last int)) {
	at := 0
	for log := r.log; len(log) > 0; {
		gap, n := binary.Uvarint(log)
		size, m := binary.Uvarint(log[n:])
		log = log[n+m:]
		at += int(gap)
		f(at, at+int(size)-1)
		at += int(size)
	}
	if r.len > 0 {
		f(r.start, r.start+r.len-1)
	}
}

// first is the least number, 0 if there is none.
func (r *runs) first() int {
	if len(r.log) > 0 {
		n, _ := binary.Uvarint(r.log)
		return int(n)
	}
	return r.start
}

// appendJSON writes the stretches as launch_index_map has them.
func (r *runs) appendJSON(out []byte) []byte {
	out = append(out, '[')
	begun := len(out)
	r.each(func(first, last int) {
		if len(out) > begun {
			out = append(out, ',')
		}
		out = append(out, `{"start":`...)
		out = strconv.AppendInt(out, int64(first), 10)
		out = append(out, `,"end":`...)
		out = append(strconv.AppendInt(out, int64(last), 10), '}')
	})
	return append(out, ']')
}

// text writes the numbers as 1-3, 5.
func (r *runs) text() string {
	var out []byte
	r.each(func(first, last int) {
		if len(out) > 0 {
			out = append(out, ", "...)
		}
		out = strconv.AppendInt(out, int64(first), 10)
		if last > first {
			out = strconv.AppendInt(append(out, '-'), int64(last), 10)
		}
	})
	return string(out)
}

// numbers writes them all as a list.
func (r *runs) numbers() []byte {
	out := []byte{'['}
	r.each(func(first, last int) {
		for n := first; n <= last; n++ {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(n), 10)
		}
	})
	return append(out, ']')
}
