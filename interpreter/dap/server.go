// Package dap serves the debugger of interpreted kernels to editors, by the Debug Adapter Protocol: the threads are the program instances of a
// launch, of which one has begun and not ended.
//
//	s := dap.New(d)
//	d.UI = s
//	go s.Serve(connection)
package dap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-dap"

	"github.com/goproton/goproton/interpreter/debug"
)

// Server is the user interface of a debugger whose user is an editor. One editor is connected at a time; the first launch waits for it.
type Server struct {
	d     *debug.Debugger
	ready chan struct{} // closed when an editor has set its breakpoints

	mu      sync.Mutex // of what follows, and of messages
	once    sync.Once
	client  io.Writer // nil without one
	seq     int
	stop    *debug.Stop // nil while a launch moves
	resume  chan debug.Resume
	leaving *debug.Resume // what an editor has left behind: how all stops go on
	handles []any         // of frames and variables at this stop, from firstHandle

	set     map[string][]*debug.Breakpoint // by source; these two are for Do
	watched []*debug.Watch
}

// firstHandle is the number of the first handle, as editors take 0 for none.
const firstHandle = 1000

// Address is the host and the port of an address, of which the port alone suffices.
func Address(text string) (host string, port int, err error) {
	host, number := "127.0.0.1", text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		host, number = strings.Trim(text[:i], "[]"), text[i+1:]
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || host == "" {
		return "", 0, fmt.Errorf("--dap %q: give a port, or HOST:PORT", text)
	}
	return host, int(n), nil
}

// New is a server that Serve connects.
func New(d *debug.Debugger) *Server {
	return &Server{d: d, ready: make(chan struct{}), set: map[string][]*debug.Breakpoint{}}
}

// Serve answers one editor until it leaves.
func (s *Server) Serve(c io.ReadWriter) {
	s.mu.Lock()
	if s.client != nil {
		s.mu.Unlock()
		return // another editor is connected
	}
	s.client, s.leaving = c, nil
	s.mu.Unlock()
	s.d.Do(func() { s.d.Detach(false) })
	r := bufio.NewReader(c)
	for {
		m, err := dap.ReadProtocolMessage(r)
		var field *dap.DecodeProtocolMessageFieldError
		switch {
		case errors.As(err, &field):
			s.fail(dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: field.Seq}, Command: field.FieldValue}, fmt.Errorf("%s is not a request that is known", field.FieldValue))
			continue
		case err != nil:
			s.left(debug.Detach)
			return
		}
		if request, ok := m.(dap.RequestMessage); ok {
			if s.handle(request); s.gone() {
				return
			}
		}
	}
}

func (s *Server) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client == nil
}

// left has launches go on without the editor, or end.
func (s *Server) left(how debug.Kind) {
	s.mu.Lock()
	s.client = nil
	to := debug.Resume{Kind: how}
	s.leaving = &to
	s.mu.Unlock()
	s.begin()
	switch {
	case s.goOn(to):
	case how == debug.Quit:
		s.d.Pause()
	default:
		s.d.Do(func() { s.d.Detach(true) })
	}
}

// Abort ends the wait for an editor, and the launch that an editor has stopped.
func (s *Server) Abort() {
	s.goOn(debug.Resume{Kind: debug.Quit})
	s.begin()
}

// begin lets the first launch begin.
func (s *Server) begin() { s.once.Do(func() { close(s.ready) }) }

// send writes a message, and numbers it.
func (s *Server) send(m dap.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return
	}
	s.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		m.GetResponse().Seq = s.seq
	case dap.EventMessage:
		m.GetEvent().Seq = s.seq
	}
	dap.WriteProtocolMessage(s.client, m) // a client that has gone is noticed when it is read from
}

// Event is the head of an event.
func Event(name string) dap.Event {
	return dap.Event{ProtocolMessage: dap.ProtocolMessage{Type: "event"}, Event: name}
}

func response(to *dap.Request) dap.Response {
	return dap.Response{ProtocolMessage: dap.ProtocolMessage{Type: "response"}, RequestSeq: to.Seq, Success: true, Command: to.Command}
}

// fail answers a request with an error.
func (s *Server) fail(to dap.Request, err error) { s.send(Refused(&to, err)) }

// Refused is the answer to a request that cannot be carried out.
func Refused(to *dap.Request, err error) *dap.ErrorResponse {
	m := &dap.ErrorResponse{Response: response(to)}
	m.Success, m.Message = false, err.Error()
	m.Body.Error = &dap.ErrorMessage{Id: 1, Format: strings.NewReplacer("{", "(", "}", ")").Replace(err.Error()), ShowUser: true}
	return m
}

// Launched waits for the first editor, and says where its breakpoints are.
func (s *Server) Launched(d *debug.Debugger) {
	<-s.ready
	d.Do(func() {
		s.watched = nil
		for _, list := range s.set {
			for _, b := range list {
				if file, line, ok := b.Place(); ok {
					s.send(&dap.BreakpointEvent{Event: Event("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: dap.Breakpoint{Id: b.Number, Verified: true, Line: line, Source: s.source(file)}}})
				}
			}
		}
	})
}

// Stopped reports the stop, and waits until the editor has the launch go on.
func (s *Server) Stopped(stop *debug.Stop) debug.Resume {
	s.mu.Lock()
	if s.leaving != nil {
		to := *s.leaving
		s.mu.Unlock()
		return to
	}
	s.stop, s.handles = stop, nil
	resume := make(chan debug.Resume, 1)
	s.resume = resume
	s.mu.Unlock()
	body := dap.StoppedEventBody{Reason: stop.Reason, Text: stop.Text, ThreadId: s.threadOf(stop.Program), AllThreadsStopped: true, HitBreakpointIds: stop.Numbers}
	switch {
	case stop.Finding != nil:
		body.Reason, body.Description = "exception", stop.Finding.Kind
	case stop.Reason == "watch":
		body.Reason, body.Description = "data breakpoint", stop.Text
	case stop.Text != "":
		body.Description = stop.Text
	}
	s.send(&dap.StoppedEvent{Event: Event("stopped"), Body: body})
	to := <-resume
	s.mu.Lock()
	s.stop, s.handles = nil, nil
	s.mu.Unlock()
	return to
}

// Print shows what a kernel prints.
func (s *Server) Print(place, text string) {
	s.send(&dap.OutputEvent{Event: Event("output"), Body: dap.OutputEventBody{Category: "stdout", Output: place + "  " + text}})
}

// Ended says that a launch has.
func (s *Server) Ended(_ *debug.Debugger, err error) {
	if err != nil && !errors.Is(err, debug.ErrQuit) {
		s.send(&dap.OutputEvent{Event: Event("output"), Body: dap.OutputEventBody{Category: "stderr", Output: err.Error() + "\n"}})
	}
}

// Finish says that the program has ended.
func (s *Server) Finish() {
	s.send(&dap.TerminatedEvent{Event: Event("terminated")})
}

// at is where a launch stands; nil while none does.
func (s *Server) at() *debug.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop
}

// threadOf is the number of a program instance as a thread.
func (s *Server) threadOf(at [3]int32) int {
	grid, _ := s.d.Grid()
	return 1 + int(at[0]) + int(grid[0])*(int(at[1])+int(grid[1])*int(at[2]))
}

func (s *Server) instanceOf(thread int) ([3]int32, bool) {
	grid, ok := s.d.Grid()
	if !ok || thread < 1 {
		return [3]int32{}, false
	}
	n, x, y := thread-1, int(grid[0]), int(grid[1])
	at := [3]int32{int32(n % x), int32(n / x % y), int32(n / x / y)}
	return at, n/x/y < int(grid[2])
}
