package store

import (
	"encoding/binary"
	"strconv"
)

// Runs is ascending numbers, in a few bytes for each stretch without a gap.
type Runs struct {
	Log        Stream // of each stretch but the last: its distance from the one before, and its length
	end        int    // of the last stretch in Log
	First      int    // the least number
	start, len int    // the last stretch
}

// Add adds the numbers from start up to end.
func (r *Runs) Add(start, end int) {
	switch {
	case r.len > 0 && r.start+r.len == start:
		r.len += end - start
		return
	case r.len > 0:
		r.Log.Buffer = binary.AppendUvarint(r.Log.Buffer, uint64(r.start-r.end))
		r.Log.Buffer = binary.AppendUvarint(r.Log.Buffer, uint64(r.len))
		r.end = r.start + r.len
	default:
		r.First = start
	}
	r.start, r.len = start, end-start
}

// each calls f with the first and last number of every stretch.
func (r *Runs) each(s *Spill, f func(first, last int)) error {
	at := 0
	err := r.Log.Each(s, func(log []byte) error {
		for c := (Cursor{In: log}); len(c.In) > 0; {
			at += c.Uvarint()
			size := c.Uvarint()
			if c.Damaged {
				return ErrDamaged
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

// list writes what add appends for each stretch, and between between them.
func (r *Runs) list(s *Spill, w Writer, between string, add func(out []byte, first, last int) []byte) error {
	p := Pieces{Put: w, Held: make([]byte, 0, 64)}
	begun := false
	err := r.each(s, func(first, last int) {
		if begun {
			p.Write([]byte(between))
		}
		begun = true
		p.Hold(add(p.Held, first, last))
	})
	p.Flush()
	return err
}

// WriteJSON writes the stretches as in launch_index_map.
func (r *Runs) WriteJSON(s *Spill, w Writer) error {
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

// WriteText writes the stretches as 1-3, 5.
func (r *Runs) WriteText(s *Spill, w Writer) error {
	return r.list(s, w, ", ", func(out []byte, first, last int) []byte {
		out = strconv.AppendInt(out, int64(first), 10)
		if last > first {
			out = strconv.AppendInt(append(out, '-'), int64(last), 10)
		}
		return out
	})
}

// WriteNumbers writes a list of all numbers.
func (r *Runs) WriteNumbers(s *Spill, w Writer) error {
	p := Pieces{Put: w}
	p.Write([]byte("["))
	begun := false
	err := r.each(s, func(first, last int) {
		for n := first; n <= last; n++ {
			if begun {
				p.Write([]byte(","))
			}
			begun = true
			p.Hold(strconv.AppendInt(p.Held, int64(n), 10))
		}
	})
	p.Write([]byte("]"))
	p.Flush()
	return err
}
