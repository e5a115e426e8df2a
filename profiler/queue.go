package profiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

const (
	// queueLimit is how many windows wait for one sink. When another comes, the oldest is dropped.
	queueLimit = 32
	// attempts is how often a window is offered to a sink of the program before it is dropped. Files are tried until the
	// session ends: a disk that is full now may have room later.
	attempts = 3
	// retryEvery is the pause after a failure.
	retryEvery = time.Second
	// sinkPatience is how long the end of a session waits for the program's sinks.
	sinkPatience = 5 * time.Second
)

// queue hands windows to one sink, in order, from a goroutine of its own that begins with the first window.
type queue struct {
	sink     Sink
	what     string // for messages: "the files of p"
	noun     string // for messages: what is put, "phase"
	attempts int    // 0: without end
	retry    time.Duration
	ctx      context.Context
	stop     context.CancelFunc
	wake     chan struct{} // of capacity 1: there is something to do

	mu      sync.Mutex
	running bool
	waiting []*delivery     // oldest first
	flushes []chan struct{} // closed after the next attempt of everything that waits
	dropped int
	failure error // why the newest window was dropped; nil if there was no time to write it
}

// delivery is a window on its way to a sink.
type delivery struct {
	Window
	p       *profile.Profile
	tries   int
	err     error // of the last try
	writing bool  // the sink has it
}

func newQueue(sink Sink, what string, attempts int) *queue {
	q := &queue{sink: sink, what: what, noun: "phase", attempts: attempts, retry: retryEvery, wake: make(chan struct{}, 1)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q
}

// put adds a window and returns at once.
func (q *queue) put(w Window, p *profile.Profile) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		q.dropped++
		return
	}
	if len(q.waiting) >= queueLimit {
		oldest := slices.IndexFunc(q.waiting, func(d *delivery) bool { return !d.writing })
		if err := q.waiting[oldest].err; err != nil {
			q.failure = err
		}
		q.waiting = slices.Delete(q.waiting, oldest, oldest+1)
		q.dropped++
	}
	q.waiting = append(q.waiting, &delivery{Window: w, p: p})
	if !q.running {
		q.running = true
		go q.run()
	}
	q.ring()
}

// full reports whether the next window would have the oldest one dropped.
func (q *queue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) >= queueLimit
}

func (q *queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// flush has everything that waits attempted once more. The channel closes when that is done.
func (q *queue) flush() <-chan struct{} {
	done := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		close(done)
		return done
	}
	q.flushes = append(q.flushes, done)
	q.ring()
	return done
}

// end gives up what still waits. The goroutine ends when the sink returns.
func (q *queue) end() {
	q.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.waiting {
		if q.dropped++; d.err != nil {
			q.failure = d.err
		}
	}
	q.waiting = nil
}

func (q *queue) run() {
	failed := false
	for {
		var again <-chan time.Time
		if failed {
			again = time.After(q.retry)
		}
		select {
		case <-q.ctx.Done():
			return
		case <-q.wake:
		case <-again:
		}
		failed = q.round()
	}
}

// round offers the sink what waits. Windows behind one that fails wait with it, unless a flush wants every window tried.
func (q *queue) round() (failed bool) {
	q.mu.Lock()
	list, flushes := slices.Clone(q.waiting), q.flushes
	q.flushes = nil
	q.mu.Unlock()
	for _, d := range list {
		if !q.offer(d) {
			failed = true
			if len(flushes) == 0 {
				break
			}
		}
	}
	for _, done := range flushes {
		close(done)
	}
	return failed
}

// offer hands one window to the sink, and reports whether it no longer waits.
func (q *queue) offer(d *delivery) bool {
	q.mu.Lock()
	if !slices.Contains(q.waiting, d) { // dropped meanwhile
		q.mu.Unlock()
		return true
	}
	d.writing = true
	q.mu.Unlock()
	err := q.write(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	d.writing = false
	at := slices.Index(q.waiting, d)
	if at < 0 { // the queue ended meanwhile, and counted it
		if err == nil {
			q.dropped--
		}
		return true
	}
	if d.tries, d.err = d.tries+1, err; err != nil {
		if d.tries != q.attempts {
			return false
		}
		q.failure = err
		q.dropped++
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	return true
}

// write calls the sink. A sink that panics has failed.
func (q *queue) write(d *delivery) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the sink panicked: %v", r)
		}
	}()
	return q.sink.Write(q.ctx, d.Window, d.p)
}

// lost counts what was dropped.
func (q *queue) lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// state returns the windows that still wait, and why.
func (q *queue) state() (waiting []Window, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.waiting {
		waiting = append(waiting, d.Window)
		err = errors.Join(err, d.err)
	}
	return waiting, err
}

// problem says what the sink did not take, "" when it took everything.
func (q *queue) problem() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped := figures.Plural(q.dropped, q.noun+" was", q.noun+"s were") + " dropped"
	switch {
	case q.dropped == 0 && (len(q.waiting) == 0 || q.waiting[0].err == nil):
		return ""
	case q.dropped == 0:
		return fmt.Sprintf("%s: %v", q.what, q.waiting[0].err)
	case q.failure == nil:
		return fmt.Sprintf("%s: %s, because the sink did not take them in time", q.what, dropped)
	}
	return fmt.Sprintf("%s: %s: %v", q.what, dropped, q.failure)
}
