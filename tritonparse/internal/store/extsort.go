package store

import (
	"bufio"
	"cmp"
	"errors"
	"slices"

	"github.com/goproton/goproton/internal/ownfile"
)

// fanIn is how many files of about the same size are merged into one, so that few are open at a time: 32 of 8 MB, then 32
// of 256 MB.
const fanIn = 32

// Sorter takes texts, on one goroutine.
type Sorter struct {
	folder string
	room   int
	held   *batch
	spare  *batch        // the memory of the one before
	busy   chan struct{} // closed when what was held before is in a file; nil before the first
	writer writer        // of the last file, whose memory the next one uses; the storing goroutine owns it
	levels [][]*run      // files by how often they were merged, the oldest first; the storing goroutine owns them while busy

	firstError // of the files
}

// NewSorter makes a sorter that holds room bytes, twice that while it writes files. The files are in folder.
func NewSorter(folder string, room int) *Sorter {
	return &Sorter{folder: folder, room: room, held: &batch{}}
}

type batch struct {
	texts []byte
	items []item
}

type item struct{ number, at, size int }

// Add copies a text. Texts with the same number are read in the order in which they were added.
func (s *Sorter) Add(number int, text []byte) {
	if b := s.held; len(b.texts)+len(text) > s.room && len(b.items) > 0 {
		s.wait()
		s.held, s.spare = s.spare, nil
		if s.held == nil {
			s.held = &batch{}
		}
		done := make(chan struct{})
		s.busy = done
		go func() {
			defer close(done)
			s.Fail(s.store(b))
			b.texts, b.items = b.texts[:0], b.items[:0]
			s.spare = b
		}()
	}
	b := s.held
	b.items = append(b.items, item{number, len(b.texts), len(text)})
	if need := len(b.texts) + len(text); need > cap(b.texts) {
		b.texts = slices.Grow(b.texts, max(len(text), min(len(b.texts), s.room-len(b.texts))))
	}
	b.texts = append(b.texts, text...)
}

func (s *Sorter) wait() {
	if s.busy != nil {
		<-s.busy
	}
}

// store writes a batch to a file, and merges files when there are enough of them.
func (s *Sorter) store(b *batch) error {
	b.sort()
	r, err := s.write(&Reader{sources: []source{&memory{batch: b}}})
	if err != nil {
		return err
	}
	for level := 0; ; level++ {
		if level == len(s.levels) {
			s.levels = append(s.levels, nil)
		}
		s.levels[level] = append(s.levels[level], r)
		if len(s.levels[level]) < fanIn {
			return nil
		}
		merged := s.levels[level]
		s.levels[level] = nil
		all := &Reader{}
		for _, m := range merged {
			all.sources = append(all.sources, m.open())
		}
		r, err = s.write(all)
		for _, m := range merged {
			m.remove()
		}
		if err != nil {
			return err
		}
	}
}

// write writes all texts of a reader to a file.
func (s *Sorter) write(from *Reader) (*run, error) {
	f, err := ownfile.NewTemporary(s.folder)
	if err != nil {
		return nil, err
	}
	r := &run{file: f}
	w := &s.writer
	if w.out == nil {
		w.out = bufio.NewWriterSize(nil, blockBytes)
	}
	w.out.Reset(f)
	w.block = w.block[:0]
	for err == nil && from.next() {
		err = w.add(from.number, from.text)
	}
	if err == nil {
		err = from.err
	}
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// Read returns a Reader of all texts. Nothing may be added after it.
func (s *Sorter) Read() (*Reader, error) {
	s.wait()
	if err := s.Failed(); err != nil {
		return nil, err
	}
	s.spare, s.writer = nil, writer{}
	r := &Reader{}
	for _, level := range slices.Backward(s.levels) { // the oldest are those that were merged most often
		for _, run := range level {
			r.sources = append(r.sources, run.open())
		}
	}
	s.held.sort()
	r.sources = append(r.sources, &memory{batch: s.held})
	return r, nil
}

// Close removes the files.
func (s *Sorter) Close() {
	s.wait()
	for _, level := range s.levels {
		for _, r := range level {
			r.remove()
		}
	}
	s.levels, s.held, s.spare = nil, nil, nil
}

func (b *batch) sort() {
	slices.SortStableFunc(b.items, func(a, b item) int { return cmp.Compare(a.number, b.number) })
}

// source has texts in the order of their numbers. next returns false at the end.
type source interface {
	next() (number int, text []byte, ok bool, err error)
}

// memory reads a sorted batch.
type memory struct {
	batch *batch
	at    int
}

func (m *memory) next() (int, []byte, bool, error) {
	if m.at == len(m.batch.items) {
		return 0, nil, false, nil
	}
	i := m.batch.items[m.at]
	m.at++
	return i.number, m.batch.texts[i.at : i.at+i.size], true, nil
}

// Reader returns texts in the order of their numbers.
type Reader struct {
	sources []source // the oldest first
	heads   []head   // of the sources that are not at their end
	begun   bool
	waiting bool // Each has read number and text and not passed them on

	number int
	text   []byte
	err    error
}

// head is the next text of a source.
type head struct {
	source source
	number int
	text   []byte
}

var errOrder = errors.New("BUG: a sorted file is read backwards")

// Each calls f with every text of a number; f may use it until it returns. Numbers must rise from call to call.
func (r *Reader) Each(number int, f func(text []byte) error) error {
	for r.waiting || r.next() {
		r.waiting = r.number > number
		if r.waiting {
			return nil
		}
		if r.number < number {
			continue // the caller did not ask for it
		}
		if err := f(r.text); err != nil {
			return err
		}
	}
	return r.err
}

// next reads the oldest text with the least number.
func (r *Reader) next() bool {
	switch {
	case r.err != nil:
		return false
	case !r.begun:
		r.begun = true
		for _, s := range r.sources {
			r.heads = append(r.heads, head{source: s})
		}
		for i := len(r.heads) - 1; i >= 0; i-- {
			r.advance(i)
		}
	case len(r.heads) > 0:
		r.advance(r.least())
	}
	if r.err != nil || len(r.heads) == 0 {
		return false
	}
	h := &r.heads[r.least()]
	if h.number < r.number {
		r.err = errOrder
	}
	r.number, r.text = h.number, h.text
	return r.err == nil
}

// least is the place of the head with the least number, or of the oldest of several.
func (r *Reader) least() int {
	least := 0
	for i := range r.heads {
		if r.heads[i].number < r.heads[least].number {
			least = i
		}
	}
	return least
}

// advance reads the next text of a source.
func (r *Reader) advance(i int) {
	h := &r.heads[i]
	number, text, ok, err := h.source.next()
	if err != nil {
		r.err = err
	}
	if !ok {
		r.heads = slices.Delete(r.heads, i, i+1)
		return
	}
	h.number, h.text = number, text
}
