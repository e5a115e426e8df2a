package ndjson

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// ErrStop ends a reading early and is no error.
var ErrStop = errors.New("enough")

// batchBytes is how much is handed to a worker at once.
const batchBytes = 512 << 10

// work is some records of one file on their way through a worker.
type work[T any] struct {
	text    []byte
	records []Record
	ends    []int
	results []T
	errs    []error
	done    chan struct{}
}

// Ordered reads on one goroutine, has parse take records apart on one for each core, and hands the results over in
// the order of the file on the caller's. A record is valid until take has returned, members only while parse runs. Records
// that are no JSON are reported to the reader. It ends early, without an error, when take returns ErrStop.
func Ordered[T any](r *Reader, parse func(rec Record, members []jsontext.Member) T, take func(*T) error) error {
	workers := runtime.GOMAXPROCS(0)
	todo, ordered := make(chan *work[T], workers), make(chan *work[T], 2*workers)
	var stop atomic.Bool
	var readErr error
	go func() {
		defer close(ordered)
		defer close(todo)
		for !stop.Load() {
			w := &work[T]{done: make(chan struct{})}
			err := w.read(r)
			if len(w.ends) > 0 {
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
	var taken error
	for w := range ordered {
		<-w.done
		for i := range w.results {
			if taken != nil {
				break
			}
			if w.errs[i] != nil {
				wrong = append(wrong, bad{w.records[i], w.errs[i]})
				continue
			}
			if taken = take(&w.results[i]); taken != nil {
				stop.Store(true)
			}
		}
	}
	running.Wait()
	for _, b := range wrong { // the reader is ours again
		r.Report(b.rec, "not a record: "+b.err.Error())
	}
	if taken != nil && !errors.Is(taken, ErrStop) {
		return taken
	}
	return readErr
}

func (w *work[T]) read(r *Reader) error {
	for len(w.text) < batchBytes {
		rec, err := r.Next()
		if err != nil {
			return err
		}
		w.text = append(w.text, rec.Text...)
		w.ends = append(w.ends, len(w.text))
		rec.Text = nil
		w.records = append(w.records, rec)
	}
	return nil
}

func (w *work[T]) parse(parse func(Record, []jsontext.Member) T) {
	w.results, w.errs = make([]T, len(w.ends)), make([]error, len(w.ends))
	var members []jsontext.Member
	from := 0
	for i, end := range w.ends {
		rec := w.records[i]
		rec.Text = w.text[from:end:end]
		from = end
		if members, w.errs[i] = jsontext.AppendMembers(members[:0], rec.Text); w.errs[i] == nil {
			w.results[i] = parse(rec, members)
		}
	}
}
