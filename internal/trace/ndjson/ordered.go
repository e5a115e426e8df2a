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

// work is some records of one file on their way through a worker.
type work[T any] struct {
	batch   Batch
	results []T
	errs    []error
	done    chan struct{}
}

// OrderedRecords is Ordered for callers that do not need the members of most records.
func OrderedRecords[T any](r *Reader, parse Parse[T], take func(*T) error) error {
	workers := runtime.GOMAXPROCS(0)
	todo, ordered := make(chan *work[T], workers), make(chan *work[T], 2*workers)
	free := make(chan *work[T], 4*workers)
	var stop atomic.Bool
	var readErr error
	go func() {
		defer close(ordered)
		defer close(todo)
		for !stop.Load() {
			w := next(free)
			err := r.Fill(&w.batch, batchBytes)
			if len(w.batch.Records) > 0 {
				ordered <- w
				todo <- w
			}
			if err != nil {
				if err != io.EOF {
					readErr = err
				}
				return
			}
		}
	}()
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for w := range todo {
				w.parse(parse)
				close(w.done)
			}
		})
	}
	type bad struct {
		rec Record
		err error
	}
	var wrong []bad
	more := 0 // that are only counted
	var taken error
	for w := range ordered {
		<-w.done
		for i := range w.results {
			if taken != nil {
				break
			}
			switch err := w.errs[i]; {
			case err != nil && len(wrong) >= MaxDamages: // the file is probably not a trace at all
				more++
				continue
			case err != nil:
				wrong = append(wrong, bad{w.batch.Records[i], err})
				wrong[len(wrong)-1].rec.Text = nil
				continue
			}
			if taken = take(&w.results[i]); taken != nil {
				stop.Store(true)
			}
		}
		w.recycle(free)
	}
	running.Wait()
	for _, b := range wrong { // the reader is ours again
		r.Report(b.rec, "not a record: "+b.err.Error())
	}
	r.count += more
	if taken != nil && !errors.Is(taken, ErrStop) {
		return taken
	}
	return readErr
}

func next[T any](free chan *work[T]) *work[T] {
	select {
	case w := <-free:
		w.done = make(chan struct{})
		return w
	default:
		return &work[T]{done: make(chan struct{})}
	}
}

// recycle gives back what has been taken, except for the memory of a long record.
func (w *work[T]) recycle(free chan *work[T]) {
	if w.batch.Size() > 4*batchBytes {
		return
	}
	clear(w.results)
	select {
	case free <- w:
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
