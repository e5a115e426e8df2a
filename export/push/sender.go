package push

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/profile/msgpack"
)

// Sender sends the windows of a spool, one after another, from a goroutine of its own, which Start begins and Finish ends. Each
// round of the goroutine is one of these:
//
//   - without the lock: another sender has the spool. This one takes the lock if it is free; until then it only asks the
//     holder to hurry if it is in a hurry itself (askHolder);
//   - sending: it has the lock, trims the spool and sends each window that is due. A request is taken or refused, and the
//     window leaves the spool after its last request;
//   - pausing: a request is to be repeated later. Nothing is sent until notUntil, and until busyUntil, which the server asked
//     for. The pause to notUntil is random, up to twice as long after each failure in a row, and Hurry ends it.
//
// A sender is in a hurry after Finish, after Hurry until the spool was empty once, and while other processes ask for it
// (heeds): windows are then not spread, and pauses are short.
type Sender struct {
	Target *Target
	Folder string // the spool
	Spread bool   // windows wait for a part of their length, by process and host: those of all ranks end at the same moment

	pace pace // of tests; zero: usual

	mu        sync.Mutex
	status    Status
	finishing bool
	asked     int           // calls of Hurry
	met       int           // calls of Hurry after which the spool was empty once
	heeds     bool          // other processes ask for a hurry
	failures  int           // failed requests in a row
	notUntil  time.Time     // end of our own pause after a failure
	busyUntil time.Time     // end of the pause that the server asked for; nothing shortens it
	wake      chan struct{} // of capacity 1
	stop      context.CancelFunc
	ended     chan struct{}

	// These belong to the goroutine.
	lock   *spool.Held // nil without it
	delays delays
	askers map[string]time.Time // files of processes that ask for a hurry, by when they were seen first
	asks   bool                 // this one has left such a file
}

// pace is how long a sender pauses.
type pace struct {
	first, most time.Duration // between attempts: at random up to first, then up to twice as much each time
	hurried     time.Duration // the longest at the end of a run, which waits for the sender
	look        time.Duration // between two looks at the spool
	asker       time.Duration // how long another process is believed to wait
}

var usual = pace{first: time.Second, most: time.Minute, hurried: 500 * time.Millisecond, look: time.Second, asker: 10 * time.Second}

// Start begins to send. The spool exists.
func (s *Sender) Start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.wake, s.ended = stop, make(chan struct{}, 1), make(chan struct{})
	s.delays = delays{}
	if s.pace == (pace{}) {
		s.pace = usual
	}
	s.status = Status{Sender: newName(), Target: s.Target.String(), PID: os.Getpid()}
	go s.run(ctx)
}

// Finish has everything that waits sent, without spreading it. It ends the sender when everything is sent, when no more can be
// sent, or when ctx ends. What is left waits for the next sender. If another sender has the lock, that one is asked to send it.
func (s *Sender) Finish(ctx context.Context) Status {
	s.mu.Lock()
	s.finishing = true
	s.mu.Unlock()
	s.Hurry()
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
	s.stop()
	<-s.ended
	return s.Status()
}

// Hurry has what waits sent now, without spreading it and with short pauses. If another sender has the lock, that one is asked
// to hurry.
func (s *Sender) Hurry() {
	s.mu.Lock()
	s.asked++
	s.notUntil = time.Time{}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// hurries reports whether a program waits for the sender. The lock is held.
func (s *Sender) hurries() bool { return s.finishing || s.asked > s.met || s.heeds }

// requests returns how often Hurry was called, and whether the sender ends when it is done.
func (s *Sender) requests() (asked int, finishes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.finishing
}

// meet notes that the first asked calls of Hurry are met if the spool was found empty. It returns the pause until the next look
// at the spool.
func (s *Sender) meet(asked int, empty bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if empty {
		s.met, s.heeds = asked, false // other processes that ask for a hurry find the spool empty, too
	}
	if s.hurries() {
		return s.pace.hurried / 10
	}
	return s.pace.look
}

// Status returns what the sender has done so far.
func (s *Sender) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Sender) change(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.status)
}

func (s *Sender) run(ctx context.Context) {
	defer close(s.ended)
	defer s.unlock()
	defer s.askHolder(false)
	for {
		asked, finishes := s.requests() // before the look at the spool: what is put there later is not waited for
		left := s.round(ctx)
		if ctx.Err() != nil || finishes && left == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-time.After(s.meet(asked, left == 0)):
		}
	}
}

// round sends what can be sent now and returns how many windows wait.
func (s *Sender) round(ctx context.Context) (left int) {
	if s.lock != nil && !s.lock.Stands() { // a user has deleted the spool, and another sender may have locked the new one
		s.unlock()
	}
	if s.lock == nil {
		lock, ok, err := spool.Lock(s.Folder)
		if err != nil {
			s.change(func(st *Status) { st.LastError = err.Error() })
		}
		if !ok {
			left = s.count()
			s.askHolder(left > 0)
			return left
		}
		s.lock = lock
		s.askHolder(false)
		s.change(func(st *Status) { st.Sending = true })
	}
	s.heed()
	evicted := spool.Trim(s.Folder, spool.FolderLimit)
	s.change(func(st *Status) { st.Evicted += evicted })
	list, err := spool.List(s.Folder)
	if err != nil {
		s.change(func(st *Status) { st.LastError = err.Error() })
	}
	for i := range list {
		if ctx.Err() != nil || s.mustWait() {
			break
		}
		if s.due(&list[i]) {
			s.send(ctx, &list[i])
		}
	}
	s.delays.forget()
	left = s.count()
	s.leaveStatus()
	return left
}

func (s *Sender) count() int {
	n, bytes := waiting(s.Folder)
	s.change(func(st *Status) { st.Waiting, st.WaitingBytes = n, bytes })
	return int(n)
}

// waiting counts the windows of a spool, with the one that a sender is sending.
func waiting(folder string) (n, bytes int64) {
	list, claimed, _ := spool.All(folder) //nolint:errcheck // a folder that is gone has none
	for _, e := range list {
		bytes += e.Size
	}
	return int64(len(list) + claimed), bytes
}

func (s *Sender) unlock() {
	if s.lock != nil {
		s.change(func(st *Status) { st.Sending = false; s.heeds = false })
		s.leaveStatus()
		s.lock.Release()
		s.lock = nil
	}
}

// due reports whether a window is to be sent now.
func (s *Sender) due(e *spool.Entry) bool {
	s.mu.Lock()
	hurries := s.hurries()
	s.mu.Unlock()
	return !s.Spread || hurries || s.delays.over(e)
}

// send sends a window, request by request.
func (s *Sender) send(ctx context.Context, e *spool.Entry) {
	if !e.Claim() {
		return // its process has deleted it
	}
	list, err := s.Target.requests(e)
	if err != nil {
		s.change(func(st *Status) { st.Unreadable++; st.WhyUnreadable = err.Error() })
		_ = e.Remove()
		return
	}
	some, refusedSome := e.Sent > 0, false
	for e.Sent < len(list) {
		a, bytes := list[e.Sent].send(ctx)
		switch a.outcome {
		case later:
			if ctx.Err() == nil || s.Status().LastError == "" { // else the former reason says more than that time was up
				s.pause(a)
			}
			e.Release()
			return
		case refused:
			s.change(func(st *Status) {
				if st.WhyRefused = a.why; !refusedSome { // counted at once: of the other GPUs one may have to be sent later
					st.Refused++
				}
			})
			refusedSome = true
		case taken:
			some = true
			s.change(func(st *Status) { st.Bytes += int64(bytes); st.Folded += int64(list[e.Sent].folded) })
		}
		s.succeeded()
		e.SentPart()
	}
	s.change(func(st *Status) {
		if st.LastError = ""; some {
			st.Sent++
		}
	})
	_ = e.Remove()
}

// pause decides when to try again.
func (s *Sender) pause(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Retries++
	s.status.LastError = a.why
	most := min(s.pace.first<<min(s.failures, 10), s.pace.most)
	if s.hurries() {
		most = min(most, s.pace.hurried)
	}
	s.failures++
	now := time.Now()
	s.notUntil, s.busyUntil = now.Add(time.Duration(rand.Int64N(int64(most)))), now.Add(a.wait)
}

func (s *Sender) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
}

func (s *Sender) mustWait() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return now.Before(s.notUntil) || now.Before(s.busyUntil)
}

// request is a part of a window that is sent at once.
type request struct {
	send   func(context.Context) (a answer, bytes int)
	folded int // call paths in it that stand below (other)
}

// requests reads a window from the spool. A server gets each series of it, and a folder all of it.
func (t *Target) requests(e *spool.Entry) (list []request, err error) {
	window, err := os.ReadFile(e.Path)
	if err != nil {
		return nil, fmt.Errorf("read a window of the spool: %w", err)
	}
	p, err := msgpack.Read(bytes.NewReader(window))
	if err != nil {
		return nil, fmt.Errorf("read the window %s of the spool: %w", e.Name, err)
	}
	if t.folder != nil {
		name := FileName(e.Name, p.Info)
		return []request{{send: func(ctx context.Context) (answer, int) { return t.folder.write(ctx, name, window) }}}, nil
	}
	series, err := NewSeries(e.Name, p)
	for _, s := range series {
		list = append(list, request{send: func(ctx context.Context) (answer, int) { return t.post(ctx, s) }, folded: s.Folded})
	}
	return list, err
}
