package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/interpreter/debug"
)

// Service answers the control calls of Python whose names begin with "interpret.": runs, the kernels that Python has compiled, and launches.
type Service struct {
	Memory      func(address, bytes uint64) []byte // memory of the process
	Interrupted func() bool                        // whether a signal is to end a launch that Python's thread runs itself
	KeepScopes  func()                             // has open scopes kept from now on; nil if there are none
	Scopes      func(node uint32) []string         // the names of the scopes around a scope
	signed      atomic.Bool                        // memory was filled: see unwritten.go

	mu       sync.Mutex
	runs     []*Run
	kernels  []*Kernel
	launches map[int]*running
	last     int
}

// running is a launch on its way.
type running struct {
	done    chan struct{}
	stop    context.CancelFunc
	outcome *Outcome
	err     error
	begun   atomic.Int64
	all     int64
	printed printed

	ctx      context.Context
	question question
	asked    chan struct{} // has an element when the launch begins to wait for a command
}

// Ours says whether a control call is one of this service's.
func Ours(method string) bool { return strings.HasPrefix(method, "interpret.") }

// slice is how long a call waits for a launch, before Python may look after signals.
const slice = 50 * time.Millisecond

// Call does one control call. Arguments and answers are JSON, but for interpret.launch, whose arguments are words: see launchOf.
func (s *Service) Call(method string, request []byte) (any, error) {
	switch method {
	case "interpret.launch":
		l, r, err := s.launchOf(strings.Fields(string(request)))
		if err != nil {
			return nil, err
		}
		return s.begin(r, l)
	case "interpret.unwritten":
		return s.unwritten(request)
	case "interpret.kernel":
		return s.kernel(request)
	}
	var p struct {
		Settings  *Settings
		Run       int
		Launch    int
		Unmatched []string
		Others    []string
		Line      string
		End       bool

		Descriptor int
	}
	d := json.NewDecoder(bytes.NewReader(request))
	d.DisallowUnknownFields() // a setting that is misspelt
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("read the arguments of %s: %w", method, settingError(err))
	}
	switch method {
	case "interpret.begin":
		if p.Settings == nil {
			p.Settings = &Settings{}
		}
		return s.newRun(*p.Settings)
	case "interpret.editor":
		return nil, s.edit(p.Run, p.Descriptor)
	case "interpret.command":
		return s.command(p.Launch, line{p.Line, p.End})
	case "interpret.wait", "interpret.stop":
		return s.wait(p.Launch, method == "interpret.stop")
	case "interpret.report", "interpret.end":
		r, err := s.runOf(p.Run)
		if err != nil {
			return nil, err
		}
		if method == "interpret.end" {
			return r.End(p.Unmatched, p.Others)
		}
		return r.Report(), nil
	}
	return nil, fmt.Errorf("unknown control call %s", method)
}

func (s *Service) newRun(settings Settings) (any, error) {
	r, err := New(settings)
	if err != nil {
		return nil, err
	}
	if settings.Scopes && s.KeepScopes != nil {
		s.KeepScopes()
	}
	if settings.Order == "parallel" { // the library has fewer, which is enough for the profiler
		n := settings.Workers
		if n == 0 {
			n = runtime.NumCPU()
		}
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), n))
	}
	if err := r.writeStatus(); err != nil {
		return nil, err
	}
	if r.Status != "" {
		go r.answer()
	}
	editors, host, port := r.Editors()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r)
	return map[string]any{"run": len(s.runs) - 1, "editors": editors != nil, "host": host, "port": port}, nil
}

func (s *Service) runOf(n int) (*Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n >= len(s.runs) {
		return nil, fmt.Errorf("there is no run %d", n)
	}
	return s.runs[n], nil
}

func (s *Service) kernel(request []byte) (any, error) {
	var p struct {
		TTIR    string
		Sources map[string]string
		CTAs    int64
	}
	if err := json.Unmarshal(request, &p); err != nil {
		return nil, fmt.Errorf("read the arguments of interpret.kernel: %w", err)
	}
	k, err := NewKernel("", p.TTIR)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.Sources, k.CTAs = p.Sources, p.CTAs
	s.kernels = append(s.kernels, k)
	return map[string]any{"kernel": len(s.kernels) - 1, "addresses": k.takesAddresses()}, nil
}

// launchOf reads a launch: run, kernel and grid, then the arguments: n NUMBER; p STORAGE OFFSET, a pointer into a storage; v RANK SHAPE STRIDES, the tensor that the
// pointer before is of; d RANK SHAPE STRIDES
// NAN STORAGE OFFSET, a descriptor, outside of which elements are NaN if NAN is 1; x STORAGE, which addresses in memory may point into; s NODE,
// a scope that was opened in those of the launch. A storage is where its memory is, how many bytes it has, and where the program has it: elsewhere, if it is a copy of memory of a GPU.
func (s *Service) launchOf(words []string) (*Launch, *Run, error) {
	in := reader{words: words}
	run, kernel := int(in.int()), int(in.int())
	l := &Launch{Buffers: map[string]*Buffer{}}
	for i := range l.Grid {
		n := in.int()
		if l.Grid[i] = int32(n); int64(l.Grid[i]) != n {
			in.fail(fmt.Errorf("a grid of %d in dimension %d cannot be launched: it has more than 31 bits", n, i))
		}
	}
	r, err := s.runOf(run)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	if kernel < 0 || kernel >= len(s.kernels) {
		in.fail(fmt.Errorf("there is no kernel %d", kernel))
	} else {
		l.Kernel = s.kernels[kernel]
	}
	s.mu.Unlock()
	var ranges []storage
	for in.err == nil && len(in.words) > 0 {
		switch word := in.word(); word {
		case "n":
			var n Number
			in.fail(n.parse(in.word()))
			l.Arguments = append(l.Arguments, Argument{Value: &n})
		case "p", "d":
			a := Argument{}
			if word == "d" {
				rank := int(in.int())
				a.Descriptor = &Descriptor{Shape: in.ints(rank), Strides: in.ints(rank), NaN: in.int() != 0}
			}
			ranges = append(ranges, storage{argument: len(l.Arguments), begin: in.uint(), bytes: in.uint(), address: in.uint()})
			a.Offset = in.int()
			l.Arguments = append(l.Arguments, a)
		case "v":
			if n := len(l.Arguments) - 1; n >= 0 {
				rank := int(in.int())
				l.Arguments[n].Shape, l.Arguments[n].Strides = in.ints(rank), in.ints(rank)
			}
		case "s":
			if node := uint32(in.uint()); node != 0 && s.Scopes != nil {
				l.Of.Path = s.Scopes(node)
			}
		case "x":
			ranges = append(ranges, storage{argument: -1, begin: in.uint(), bytes: in.uint(), address: in.uint()})
		default:
			in.fail(fmt.Errorf("%q is not the kind of an argument", word))
		}
	}
	if in.err != nil {
		return nil, nil, fmt.Errorf("read the arguments of interpret.launch: %w", in.err)
	}
	l.place(ranges, s.Memory)
	s.findUnwritten(r, l)
	return l, r, nil
}

// reader reads words.
type reader struct {
	words []string
	err   error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) word() string {
	if len(r.words) == 0 {
		r.fail(errors.New("words are missing"))
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

func (r *reader) int() int64 {
	n, err := strconv.ParseInt(r.word(), 10, 64)
	r.fail(err)
	return n
}

func (r *reader) uint() uint64 {
	n, err := strconv.ParseUint(r.word(), 10, 64)
	r.fail(err)
	return n
}

func (r *reader) ints(n int) (list []int64) {
	list = []int64{} // a descriptor has shapes, also of rank 0
	for range min(n, len(r.words)) {
		list = append(list, r.int())
	}
	return list
}

// short is how long a launch may be expected to take, by earlier ones of the kernel, for Python's thread to run it itself.
const short = 2 * time.Millisecond

// begin starts a launch and waits a while for its end.
func (s *Service) begin(r *Run, l *Launch) (any, error) {
	ctx, stop := context.WithCancel(context.Background())
	w := &running{done: make(chan struct{}), stop: stop, ctx: ctx, asked: make(chan struct{}, 1), all: int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2])}
	if per := l.Kernel.nanos.Load(); per > 0 && time.Duration(per)*time.Duration(min(w.all, 1<<20)) < short && !r.stops(l) {
		w.launch(&watched{Context: ctx, stop: stop, interrupted: s.Interrupted, next: time.Now().Add(slice).UnixNano()}, r, l) // a goroutine costs tens of microseconds in a program whose threads wait
		return w.answer()
	}
	go w.launch(ctx, r, l)
	t := time.NewTimer(slice)
	defer t.Stop()
	select {
	case <-w.done:
		return w.answer()
	case <-w.asked:
	case <-t.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launches == nil {
		s.launches = map[int]*running{}
	}
	s.last++
	s.launches[s.last] = w
	return w.progress(s.last), nil
}

// watched is the context of a launch on Python's own thread. It looks after signals when it is asked, now and then.
type watched struct {
	context.Context
	stop        context.CancelFunc
	interrupted func() bool
	next        int64
}

// Err is asked by the goroutine that runs the launch, and by others if program instances run in parallel.
func (w *watched) Err() error {
	if now, next := time.Now().UnixNano(), atomic.LoadInt64(&w.next); now > next && atomic.CompareAndSwapInt64(&w.next, next, now+int64(slice)) && w.interrupted != nil && w.interrupted() {
		w.stop()
	}
	return w.Context.Err()
}

func (w *running) launch(ctx context.Context, r *Run, l *Launch) {
	defer close(w.done)
	defer func() {
		if p := recover(); p != nil {
			w.err = fmt.Errorf("BUG: the launch of %s panicked: %v; please report this", l.Kernel.Name, p)
		}
	}()
	if w.outcome, w.err = r.Launch(ctx, l, w, &w.begun); w.err == nil && w.outcome.Programs > 0 {
		l.Kernel.nanos.Store(1 + int64(w.outcome.Seconds*1e9)/w.outcome.Programs)
	}
}

func (s *Service) launch(n int) (*running, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.launches[n]; w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("there is no launch %d", n)
}

// wait waits for a launch, until its end if it is to stop.
func (s *Service) wait(n int, stop bool) (any, error) {
	w, err := s.launch(n)
	if err != nil {
		return nil, err
	}
	after := time.After(slice)
	if stop {
		w.stop()
		after = nil
	}
	select {
	case <-w.done:
		s.mu.Lock()
		delete(s.launches, n)
		s.mu.Unlock()
		return w.answer()
	case <-w.asked:
		return w.progress(n), nil
	case <-after:
		return w.progress(n), nil
	}
}

// command passes a line on to a launch that a debugger has stopped, and waits for what follows.
func (s *Service) command(n int, l line) (any, error) {
	w, err := s.launch(n)
	if err == nil {
		err = w.answerTo(l)
	}
	if err != nil {
		return nil, err
	}
	return s.wait(n, false)
}

func (w *running) progress(n int) any {
	if prompt, ok := w.asks(); ok {
		return map[string]any{"launch": n, "ask": prompt, "printed": w.printed.take()}
	}
	return map[string]any{"launch": n, "begun": w.begun.Load(), "programs": w.all, "printed": w.printed.take()}
}

// answer is nil for a launch of which there is nothing to say.
func (w *running) answer() (any, error) {
	w.stop()
	text := w.printed.take()
	if w.err != nil {
		return map[string]any{"error_text": w.err.Error(), "printed": text, "left": errors.Is(w.err, debug.ErrQuit)}, nil
	}
	if len(w.outcome.Findings) == 0 && text == "" {
		return nil, nil
	}
	return map[string]any{"findings": w.outcome.Findings, "messages": messages(w.outcome), "printed": text}, nil
}

func messages(o *Outcome) []string {
	list := []string{}
	for _, f := range o.Findings {
		list = append(list, f.Error())
	}
	return list
}

// printed is what a kernel has printed and Python has not taken yet.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
	lost int
}

// maxPrinted bounds how much a kernel prints between two looks at it.
const maxPrinted = 64 << 20

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text.Len()+len(b) > maxPrinted {
		p.lost += bytes.Count(b, []byte("\n"))
		return len(b), nil
	}
	return p.text.Write(b)
}

func (p *printed) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text.String()
	p.text.Reset()
	if p.lost > 0 {
		text += fmt.Sprintf("(%d more lines were printed at once, and are left out)\n", p.lost)
		p.lost = 0
	}
	return text
}

// End ends the run of a program: the command reads its report.
func (r *Run) End(unmatched, others []string) (any, error) {
	r.mu.Lock()
	r.report.Finished, r.report.Unmatched, r.report.Others = true, unmatched, others
	r.mu.Unlock()
	if r.debugger.server != nil {
		r.debugger.server.Finish()
	}
	return r.Report(), r.writeStatus()
}

// asking is the file in the folder for reports with which the command asks for what was done.
const asking = "asked"

// AskForReports asks the processes whose reports go to a folder for what they have done.
func AskForReports(folder string) error {
	return os.WriteFile(filepath.Join(folder, asking), nil, 0o666)
}

// answer writes what was done when the command asks for it.
func (r *Run) answer() {
	for range time.Tick(slice) {
		if _, err := os.Stat(r.Status); err != nil {
			return // the command is gone
		}
		if _, err := os.Stat(filepath.Join(r.Status, asking)); err != nil {
			continue
		}
		r.mu.Lock()
		r.report.Asked = true
		r.mu.Unlock()
		_ = r.writeStatus() // which may be the last word of the process, or not
		return
	}
}

func (r *Run) writeStatus() error {
	if r.Status == "" {
		return nil
	}
	r.writing.Lock() // a later report replaces an earlier one
	defer r.writing.Unlock()
	report := r.Report()
	report.PID = os.Getpid()
	return ownfile.Replace(filepath.Join(r.Status, fmt.Sprintf("%d.json", report.PID)), func(w io.Writer) error { return json.NewEncoder(w).Encode(report) })
}
