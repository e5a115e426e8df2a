package tritonparse

import (
	"encoding/binary"
	"strconv"
)

// runs is numbers that ascend, in a few bytes for each stretch without a gap.
type runs struct {
	log        stream // stretches before the last: how far each begins behind the one before, and how long it is
	end        int    // of what is in log
	first      int    // the least number
	start, len int    // the last stretch
}

// add adds the numbers from start up to end.
func (r *runs) add(start, end int) {
	switch {
	case r.len > 0 && r.start+r.len == start:
		r.len += end - start
		return
	case r.len > 0:
		r.log.buffer = binary.AppendUvarint(r.log.buffer, uint64(r.start-r.end))
		r.log.buffer = binary.AppendUvarint(r.log.buffer, uint64(r.len))
		r.end = r.start + r.len
	default:
		r.first = start
	}
	r.start, r.len = start, end-start
}

// each calls f with the ends of every stretch; both belong to it.
func (r *runs) each(s *spill, f func(first, last int)) error {
	at := 0
	err := r.log.each(s, func(log []byte) error {
		for c := (cursor{in: log}); len(c.in) > 0; {
			at += c.uvarint()
			size := c.uvarint()
			if c.damaged {
				return errDamaged
			}
			f(at, at+size-1)
			at += size
		}
		return nil
	})
	if r.len > 0 {
		f(r.start, r.start+r.len-1)
	}
	return err
}

// list writes what add appends for every stretch, with the text between them.
func (r *runs) list(s *spill, w writer, between string, add func(out []byte, first, last int) []byte) error {
	p := pieces{put: w}
	begun := false
	err := r.each(s, func(first, last int) {
		if begun {
			p.write([]byte(between))
		}
		begun = true
		p.hold(add(p.held, first, last))
	})
	p.flush()
	return err
}

// writeJSON writes the stretches as launch_index_map has them.
func (r *runs) writeJSON(s *spill, w writer) error {
	w([]byte("["))
	err := r.list(s, w, ",", func(out []byte, first, last int) []byte {
		out = append(out, `{"start":`...)
		out = strconv.AppendInt(out, int64(first), 10)
		out = append(out, `,"end":`...)
		return append(strconv.AppendInt(out, int64(last), 10), '}')
	})
	w([]byte("]"))
	return err
}

// writeText writes the numbers as 1-3, 5.
func (r *runs) writeText(s *spill, w writer) error {
	return r.list(s, w, ", ", func(out []byte, first, last int) []byte {
		out = strconv.AppendInt(out, int64(first), 10)
		if last > first {
			out = strconv.AppendInt(append(out, '-'), int64(last), 10)
		}
		return out
	})
}

// writeNumbers writes them all as a list.
func (r *runs) writeNumbers(s *spill, w writer) error {
	p := pieces{put: w}
	p.write([]byte("["))
	begun := false
	err := r.each(s, func(first, last int) {
		for n := first; n <= last; n++ {
			if begun {
				p.write([]byte(","))
			}
			begun = true
			p.hold(strconv.AppendInt(p.held, int64(n), 10))
		}
	})
	p.write([]byte("]"))
	p.flush()
	return err
}
