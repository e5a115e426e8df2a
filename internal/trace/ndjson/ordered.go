package ndjson

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/internal/jsontext"
)

// ErrStop ends a reading early, without an error.
var ErrStop = errors.New("enough")

// batchBytes is how much is handed to a worker at once.
const batchBytes = 512 << 10

// Ordered reads on one goroutine, has parse take records apart on one for each core, and hands the results over in
// the order of the file on the caller's. A record is valid until take has returned, members only while parse runs. Records
// that are not JSON are reported to the reader. It ends early, without an error, when take returns ErrStop.
func Ordered[T any](r *Reader, parse func(rec Record, members []jsontext.Member) T, take func(*T) error) error {
	return OrderedRecords(r, func(rec Record, room []jsontext.Member) (T, []jsontext.Member, error) {
		var none T
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err != nil {
			return none, members, err
		}
		return parse(rec, members), members, nil
	}, take)
}

// Parse makes something of a record. room is what the call before returned, on the same goroutine: memory to use again. An
// error says that the record is none.
type Parse[T any] func(rec Record, room []jsontext.Member) (T, []jsontext.Member, error)

// OrderedRecords is Ordered for callers that do not need the members of most records.
func OrderedRecords[T any](r *Reader, parse Parse[T], take func(*T) error) error {
	workers := runtime.GOMAXPROCS(0)
	p := &pipeline[T]{
		reader: r, parse: parse,
		todo: make(chan *work[T], workers), ordered: make(chan *work[T], 2*workers), free: make(chan *work[T], 4*workers),
	}
	go p.read()
	var running sync.WaitGroup
	for range workers {
		running.Go(p.work)
	}
	err := p.deliver(take)
	running.Wait()
	for _, b := range p.bad { // the other goroutines have ended: the reader belongs to this one again
		r.Report(b.rec, "not a record: "+b.err.Error())
	}
	r.count += p.more
	if err != nil && !errors.Is(err, ErrStop) {
		return err
	}
	return p.readErr
}

// pipeline is one reading goroutine, workers, and the goroutine of the caller, which gets the results in order.
type pipeline[T any] struct {
	reader        *Reader
	parse         Parse[T]
	todo, ordered chan *work[T] // the same batches: for any worker, and in the order of the file
	free          chan *work[T] // batches to use again
	stop          atomic.Bool
	readErr       error // valid after ordered was closed

	bad  []badRecord
	more int // bad records that are only counted
}

type badRecord struct {
	rec Record
	err error
}

// work is some records of one file on their way through a worker.
type work[T any] struct {
	batch   Batch
	results []T
	errs    []error
	done    chan struct{}
}

// read fills batches until the file ends, or until stop.
func (p *pipeline[T]) read() {
	defer close(p.ordered)
	defer close(p.todo)
	for !p.stop.Load() {
		w := p.next()
		err := p.reader.Fill(&w.batch, batchBytes)
		if len(w.batch.Records) > 0 {
			p.ordered <- w
			p.todo <- w
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			p.readErr = err
			return
		}
	}
}

// work parses batches until there are no more.
func (p *pipeline[T]) work() {
	for w := range p.todo {
		w.parse(p.parse)
		close(w.done)
	}
}

// deliver passes the results to take, in order, until take returns an error. It empties the pipeline in any case.
func (p *pipeline[T]) deliver(take func(*T) error) (err error) {
	for w := range p.ordered {
		<-w.done
		for i := range w.results {
			if err != nil {
				break
			}
			if w.errs[i] != nil {
				p.note(w.batch.Records[i], w.errs[i])
			} else if err = take(&w.results[i]); err != nil {
				p.stop.Store(true)
			}
		}
		p.recycle(w)
	}
	return err
}

// note keeps a bad record for the report. If there are very many, the file is probably not a trace, and they are counted only.
func (p *pipeline[T]) note(rec Record, err error) {
	if len(p.bad) >= MaxDamages {
		p.more++
		return
	}
	rec.Text = nil
	p.bad = append(p.bad, badRecord{rec, err})
}

func (p *pipeline[T]) next() *work[T] {
	select {
	case w := <-p.free:
		w.done = make(chan struct{})
		return w
	default:
		return &work[T]{done: make(chan struct{})}
	}
}

// recycle returns a batch for reuse, except for the memory of a long record.
func (p *pipeline[T]) recycle(w *work[T]) {
	if w.batch.Size() > 4*batchBytes {
		return
	}
	clear(w.results)
	select {
	case p.free <- w:
	default:
	}
}

func (w *work[T]) parse(parse Parse[T]) {
	w.results, w.errs = w.results[:0], w.errs[:0]
	var members []jsontext.Member
	for _, rec := range w.batch.Records {
		var result T
		var err error
		result, members, err = parse(rec, members)
		w.results, w.errs = append(w.results, result), append(w.errs, err)
	}
}
