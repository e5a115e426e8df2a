package ndjson

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/internal/jsontext"
)

// batchBytes is how much is handed to a worker at once.
const batchBytes = 256 << 10

// Parse makes a T of a record. into may hold what an earlier record became: its memory can be used again. room is what the
// previous call on the same goroutine returned. An error says that the record is none.
type Parse[T any] func(rec Record, into *T, room []jsontext.Member) ([]jsontext.Member, error)

// WithMembers is a Parse for callers that need the members of every record. They are valid while parse runs.
func WithMembers[T any](parse func(rec Record, members []jsontext.Member) T) Parse[T] {
	return func(rec Record, into *T, room []jsontext.Member) ([]jsontext.Member, error) {
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err == nil {
			*into = parse(rec, members)
		}
		return members, err
	}
}

// ReadFile parses the records of a file on all cores and hands the results to take on the caller's goroutine, in the order of the
// file. It returns the damages, among them the records that parse rejects, and how many there are. An error of take ends it.
func ReadFile[T any](path string, parse Parse[T], take func(*T) error) (damages []Damage, damaged int, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	err = Start(r, 2*runtime.GOMAXPROCS(0), func() Parse[T] { return parse }).Deliver(take, nil)
	damages, damaged = r.Damages()
	return damages, damaged, err
}

// Pipeline is a file that is being read: one goroutine reads it, one for each core parses its records, and that of the caller
// gets the results in the order of the file.
type Pipeline[T any] struct {
	reader        *Reader       // the reading goroutine's until Deliver returns
	todo, ordered chan *work[T] // the same batches: for any worker, and in the order of the file
	free          chan *work[T] // batches to use again
	workers       sync.WaitGroup
	stop          atomic.Bool
	readErr       error // valid after ordered was closed

	bad  []badRecord
	more int // bad records that are only counted
}

type badRecord struct {
	rec Record
	err error
}

// work is some records of the file on their way through a worker.
type work[T any] struct {
	batch    Batch
	position int64 // how far the file is read
	results  []T
	errs     []error
	done     chan struct{}
}

// Start begins to read and parse. At most depth batches wait for Deliver, which must be called. newParse is called once for each
// worker.
func Start[T any](r *Reader, depth int, newParse func() Parse[T]) *Pipeline[T] {
	workers := runtime.GOMAXPROCS(0)
	p := &Pipeline[T]{reader: r, todo: make(chan *work[T], workers), ordered: make(chan *work[T], depth), free: make(chan *work[T], depth+workers)}
	go p.read()
	for range workers {
		parse := newParse()
		p.workers.Go(func() {
			for w := range p.todo {
				w.parse(parse)
				close(w.done)
			}
		})
	}
	return p
}

// read fills batches until the file ends, or until stop.
func (p *Pipeline[T]) read() {
	defer close(p.ordered)
	defer close(p.todo)
	for !p.stop.Load() {
		w := p.next()
		err := p.reader.Fill(&w.batch, batchBytes)
		w.position = p.reader.Position()
		if len(w.batch.Records) > 0 {
			p.ordered <- w
			p.todo <- w
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.readErr = err
			}
			return
		}
	}
}

func (p *Pipeline[T]) next() *work[T] {
	select {
	case w := <-p.free:
		w.done = make(chan struct{})
		return w
	default:
		return &work[T]{done: make(chan struct{})}
	}
}

// Deliver passes the results to take. A result and its record are valid during the call. after, unless it is nil, is called behind
// each batch with the place in the file that is read. An error of either ends it. Records that are none are reported to the reader.
func (p *Pipeline[T]) Deliver(take func(*T) error, after func(position int64) error) (err error) {
	for w := range p.ordered {
		<-w.done
		for i := range w.results {
			if err != nil {
				break
			}
			if w.errs[i] != nil {
				p.note(w.batch.Records[i], w.errs[i])
			} else {
				err = take(&w.results[i])
			}
		}
		if err == nil && after != nil {
			err = after(w.position)
		}
		p.stop.Store(err != nil)
		p.recycle(w)
	}
	p.workers.Wait()
	for _, b := range p.bad { // the other goroutines have ended: the reader belongs to this one again
		p.reader.Report(b.rec, "not a record: "+b.err.Error())
	}
	p.reader.count += p.more
	if err != nil {
		return err
	}
	return p.readErr
}

// note keeps a bad record for the report. If there are very many, the file is probably not a trace, and they are counted only.
func (p *Pipeline[T]) note(rec Record, err error) {
	if len(p.bad) >= MaxDamages {
		p.more++
		return
	}
	rec.Text = nil
	p.bad = append(p.bad, badRecord{rec, err})
}

// recycle returns a batch for reuse, except for the memory of a long record.
func (p *Pipeline[T]) recycle(w *work[T]) {
	if w.batch.Size() > 4*batchBytes {
		return
	}
	select {
	case p.free <- w:
	default:
	}
}

func (w *work[T]) parse(parse Parse[T]) {
	n := len(w.batch.Records)
	w.results, w.errs = slices.Grow(w.results[:0], n)[:n], slices.Grow(w.errs[:0], n)[:n]
	var members []jsontext.Member
	for i, rec := range w.batch.Records {
		members, w.errs[i] = parse(rec, &w.results[i], members)
	}
}
