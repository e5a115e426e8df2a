package push

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/atomicfile"
	"github.com/goproton/goproton/internal/spool"
	"github.com/goproton/goproton/profile/msgpack"
)

// Sender sends the windows of a spool, one after another, from a goroutine of its own. Of several senders with one spool the
// one with the lock sends, and another takes over when it ends.
type Sender struct {
	Target *Target
	Folder string        // the spool
	Spread time.Duration // windows wait up to so long, by rank and host: those of all ranks end at the same moment

	pace pace // of tests; zero: usual

	mu        sync.Mutex
	status    Status
	finishing bool
	wake      chan struct{} // of capacity 1
	stop      context.CancelFunc
	ended     chan struct{}

	release  func() // of the lock; nil without it
	failures int    // in a row
	notUntil time.Time
}

// Status is what a sender has done so far. The spool has it as status.json, for other programs.
type Status struct {
	Target       string `json:"target"`
	PID          int    `json:"pid"`
	Sending      bool   `json:"sending"`       // it has the lock
	Sent         int64  `json:"sent"`          // windows that the server took
	Bytes        int64  `json:"bytes"`         // of their requests
	Retries      int64  `json:"retries"`       // requests that were or will be repeated
	Refused      int64  `json:"refused"`       // windows, or GPUs of them, that the server will never take
	Unreadable   int64  `json:"unreadable"`    // windows whose files are damaged
	Evicted      int64  `json:"evicted"`       // windows deleted to make room in the spool, by this sender
	Folded       int64  `json:"folded"`        // call paths that were sent as (other)
	Waiting      int64  `json:"waiting"`       // windows in the spool
	WaitingBytes int64  `json:"waiting_bytes"` // of them
	LastError    string `json:"last_error,omitempty"`
	WhyRefused   string `json:"why_refused,omitempty"`
}

// pace is how long a sender pauses.
type pace struct {
	first, most time.Duration // between attempts: at random up to first, then up to twice as much each time
	hurried     time.Duration // the longest at the end of a run, which waits for the sender
	look        time.Duration // between two looks at the spool
}

var usual = pace{first: time.Second, most: time.Minute, hurried: 500 * time.Millisecond, look: time.Second}

// Start begins to send. The spool exists.
func (s *Sender) Start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.wake, s.ended = stop, make(chan struct{}, 1), make(chan struct{})
	if s.pace == (pace{}) {
		s.pace = usual
	}
	s.status = Status{Target: s.Target.String(), PID: os.Getpid()}
	go s.run(ctx)
}

// Finish has everything sent that waits, without spreading it, and ends the sender when that is done, when no more can be done or when ctx ends. What is
// left waits for the next sender.
func (s *Sender) Finish(ctx context.Context) Status {
	s.mu.Lock()
	s.finishing = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
	s.stop()
	<-s.ended
	return s.Status()
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
	for {
		left := s.round(ctx)
		s.mu.Lock()
		finishing := s.finishing
		s.mu.Unlock()
		if ctx.Err() != nil || finishing && left == 0 {
			return
		}
		pause := s.pace.look
		if finishing {
			pause = s.pace.hurried / 10
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-time.After(pause):
		}
	}
}

// round sends what can be sent now and returns how many windows wait.
func (s *Sender) round(ctx context.Context) (left int) {
	if s.release == nil {
		release, ok, err := spool.Lock(s.Folder)
		if err != nil {
			s.change(func(st *Status) { st.LastError = err.Error() })
		}
		if !ok {
			return s.count()
		}
		s.release = release
		s.change(func(st *Status) { st.Sending = true })
	}
	evicted := spool.Trim(s.Folder, spool.FolderLimit)
	s.change(func(st *Status) { st.Evicted += evicted })
	list, err := spool.List(s.Folder)
	if err != nil {
		s.change(func(st *Status) { st.LastError = err.Error() })
	}
	for i := range list {
		if ctx.Err() != nil || time.Now().Before(s.notUntil) {
			break
		}
		if s.due(&list[i]) {
			s.send(ctx, &list[i])
		}
	}
	left = s.count()
	s.leaveStatus()
	return left
}

func (s *Sender) count() int {
	list, _ := spool.List(s.Folder) //nolint:errcheck // a folder that is gone has none
	bytes := int64(0)
	for _, e := range list {
		bytes += e.Size
	}
	s.change(func(st *Status) { st.Waiting, st.WaitingBytes = int64(len(list)), bytes })
	return len(list)
}

func (s *Sender) unlock() {
	if s.release != nil {
		s.change(func(st *Status) { st.Sending = false })
		s.leaveStatus()
		s.release()
		s.release = nil
	}
}

func (s *Sender) leaveStatus() {
	text, err := json.Marshal(s.Status())
	if err != nil {
		return
	}
	_ = atomicfile.Write(filepath.Join(s.Folder, "status.json"), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// due reports whether a window has waited as long as its process has to: a part of Spread that differs between processes.
func (s *Sender) due(e *spool.Entry) bool {
	s.mu.Lock()
	finishing := s.finishing
	s.mu.Unlock()
	if s.Spread <= 0 || finishing {
		return true
	}
	host, _ := os.Hostname()
	h := fnv.New64a()
	fmt.Fprint(h, host, e.PID)
	waited := time.Since(e.End)
	return waited < 0 || waited >= time.Duration(h.Sum64()%uint64(s.Spread)) // a clock that was set back delays nothing
}

// send sends a window, series by series.
func (s *Sender) send(ctx context.Context, e *spool.Entry) {
	if !e.Claim() {
		return // its process has deleted it
	}
	list, err := readWindow(e)
	if err != nil {
		s.change(func(st *Status) { st.Unreadable++; st.LastError = err.Error() })
		_ = e.Remove()
		return
	}
	some, refusals := e.Sent > 0, int64(0)
	for e.Sent < len(list) {
		a, bytes := s.Target.post(ctx, list[e.Sent])
		switch a.outcome {
		case later:
			s.pause(a)
			e.Release()
			return
		case refused:
			refusals = 1
			s.change(func(st *Status) { st.WhyRefused = a.why })
		case taken:
			some = true
			s.change(func(st *Status) { st.Bytes += int64(bytes); st.Folded += int64(list[e.Sent].Folded) })
		}
		s.failures = 0
		e.SentPart()
	}
	s.change(func(st *Status) {
		if st.Refused, st.LastError = st.Refused+refusals, ""; some {
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
	if s.finishing {
		most = min(most, s.pace.hurried)
	}
	s.failures++
	s.notUntil = time.Now().Add(max(time.Duration(rand.Int64N(int64(most))), a.wait))
}

// readWindow reads a window from the spool and makes its series.
func readWindow(e *spool.Entry) ([]Series, error) {
	f, err := os.Open(e.Path)
	if err != nil {
		return nil, fmt.Errorf("read a window of the spool: %w", err)
	}
	defer f.Close()
	p, err := msgpack.Read(f)
	if err != nil {
		return nil, fmt.Errorf("read the window %s of the spool: %w", e.Name, err)
	}
	return NewSeries(e.Name, p), nil
}
