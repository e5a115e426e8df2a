package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/tritonparse"
)

// LaunchKind is what launches of one specialisation with the same arguments have in common.
type LaunchKind struct {
	ID       string // tritonparse.LaunchKind
	Kernel   string // as compiled
	Hash     string // Triton's compile hash
	Function uint64 // CUfunction
}

// Service is the trace of a process as Python controls it: method names and texts in, texts out.
type Service struct {
	Complain func(string)            // one line for the program's standard error
	Env      settings.Env            // the program's environment
	Register func(LaunchKind) uint32 // gives a kind its number in the profile; nil = there is no profile

	life  sync.Mutex // held while a trace begins or ends: the next one must not find the files of the last
	mu    sync.Mutex // guards log; taken after life
	log   *Log
	stuck *Log // whose end was not waited for; guarded by life
}

// Ours says whether a control call is one of this service's.
func Ours(method string) bool { return strings.HasPrefix(method, "trace.") }

var errNotBegun = errors.New("no trace was begun in this process: call goproton.trace.init first")

// Call does one control call. Arguments and answers are JSON, but for trace.define and trace.kind, which C calls while a
// kernel waits: bytes in, a decimal number out.
func (s *Service) Call(method string, request []byte) ([]byte, error) {
	switch method {
	case "trace.begin":
		return s.begin(request)
	case "trace.variables":
		given, remarks := FromVariables(s.Env)
		return json.Marshal(map[string]any{"given": given, "remarks": remarks})
	}
	s.mu.Lock()
	log := s.log
	s.mu.Unlock()
	if log == nil {
		return nil, errNotBegun
	}
	switch method {
	case "trace.define":
		return strconv.AppendUint(nil, log.Define(request), 10), nil
	case "trace.event":
		log.Event(request)
		return []byte("{}"), nil
	case "trace.kind":
		return strconv.AppendUint(nil, uint64(s.kind(log, request)), 10), nil
	case "trace.end":
		return s.end(log, request)
	}
	return nil, fmt.Errorf("unknown control call %s", method)
}

func (s *Service) begin(request []byte) ([]byte, error) {
	var o Options
	if err := json.Unmarshal(request, &o); err != nil {
		return nil, fmt.Errorf("read the arguments of trace.begin: %w", err)
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil {
		return nil, fmt.Errorf("a trace is being written into %s already: call goproton.trace.finalize first", s.log.header.Options.Folder)
	}
	if s.stuck != nil && !s.stuck.finished() {
		return nil, fmt.Errorf("the trace before this one is still being written: %s does not answer", s.stuck.header.Options.Folder)
	}
	log, err := Begin(o, s.Complain)
	if err != nil {
		return nil, err
	}
	s.log = log
	memory := log.Memory()
	return json.Marshal(map[string]uint64{"ring": uint64(uintptr(unsafe.Pointer(&memory[0]))), "size": uint64(len(memory))})
}

func (s *Service) end(log *Log, request []byte) ([]byte, error) {
	var p struct {
		Seconds float64 `json:"patience"`
	}
	if err := json.Unmarshal(request, &p); err != nil {
		return nil, fmt.Errorf("read the arguments of trace.end: %w", err)
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.mu.Lock()
	first := s.log == log
	if first {
		s.log = nil
	}
	s.mu.Unlock()
	if !first { // another thread ends it
		return nil, errNotBegun
	}
	counts := log.End(time.Duration(p.Seconds * float64(time.Second)))
	if !log.finished() {
		s.stuck = log
	}
	return json.Marshal(counts)
}

// kind gives the launch kind of a record its number.
func (s *Service) kind(log *Log, payload []byte) uint32 {
	if s.Register == nil || len(payload) == 0 {
		return 0
	}
	l, err := readLaunch(payload[1:])
	if err != nil || l.flags&hasArguments == 0 || l.flags&(noFunction|functionIsText) != 0 {
		return 0
	}
	var t template
	if json.Unmarshal(log.dictionary.text(l.template), &t) != nil {
		return 0
	}
	a, err := (&dictionary{shared: &log.dictionary}).arguments(l, t.Args)
	if err != nil {
		return 0
	}
	return s.Register(LaunchKind{ID: tritonparse.LaunchKind(t.Hash, a.grid, a.args), Kernel: t.Name, Hash: t.Hash, Function: l.function})
}
