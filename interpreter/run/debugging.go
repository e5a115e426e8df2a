package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/dap"
	"github.com/goproton/goproton/interpreter/debug"
)

// debugger is what stops the launches of a run, or prints at their lines. It has one launch at a time.
type debugger struct {
	mu       sync.Mutex
	d        *debug.Debugger
	terminal *debug.Terminal
	server   *dap.Server // of editors, instead of the terminal
}

// asker is an output that a user can be asked through.
type asker interface {
	io.Writer
	Ask(prompt string) (string, error)
}

// Debugging says whether launches are run by the debugger, whatever their kernels ask for.
func (s *Settings) Debugging() bool { return s.Debug || s.DAP != "" || len(s.Break)+len(s.Print) > 0 }

func (s *Settings) newDebugger() (*debugger, error) {
	d, err := debug.New(debug.Settings{Breakpoints: s.Break, Prints: s.Print, Stop: s.Debug, Findings: s.Debug || len(s.Break) > 0, Width: s.Width})
	if err != nil {
		return nil, err
	}
	return &debugger{d: d}, nil
}

// checkDebugging says what is wrong with the settings of the debugger.
func (s *Settings) checkDebugging() error {
	if s.Debugging() && (s.Order == "parallel" || s.Order == "cooperative") {
		return fmt.Errorf("--order %s runs several program instances at a time, and the debugger one after another: leave --order out", s.Order)
	}
	if s.DAP != "" {
		if _, _, err := dap.Address(s.DAP); err != nil {
			return err
		}
	}
	return nil
}

// stops says whether a launch may wait for the user.
func (r *Run) stops(l *Launch) bool { return r.Debugging() || l.Kernel.hasBreak }

// run runs a launch: by the debugger if settings or the kernel ask for it.
func (r *Run) run(l *Launch, o interpreter.Options, output io.Writer) (*interpreter.Result, error) {
	ask, _ := output.(asker)
	if !r.Debugging() && (!l.Kernel.hasBreak || ask == nil) {
		if output != nil {
			o.Print = debug.Printer(r.Width, func(text string) { io.WriteString(output, text) })
		}
		return l.Kernel.Program.Launch(l.Kernel.Name, l.Grid, l.given(), o)
	}
	if output == nil {
		output = io.Discard
	}
	g := r.debugger
	g.mu.Lock()
	defer g.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.report.Nowhere = g.d.Nowhere()
		r.mu.Unlock()
	}()
	if o.Order == interpreter.Cooperative || o.Workers > 1 { // --debug and its kind are refused with these, see checkDebugging
		r.warn(fmt.Sprintf("%s calls breakpoint(), and the debugger runs program instances one after another: its launches are not in the order %s", l.Kernel.Name, r.Order))
	}
	o.Order, o.Workers = onlySerial(o.Order), 1
	g.d.AddSources(l.Kernel.Sources)
	if g.server != nil {
		defer context.AfterFunc(o.Context, g.server.Abort)()
		return g.d.Launch(l.Kernel.Program, l.Kernel.Name, l.Grid, l.given(), o)
	}
	if g.terminal == nil {
		g.terminal = debug.NewTerminal(g.d, nil, nil)
		g.d.UI = g.terminal
	}
	g.terminal.Connect(func(prompt string) (string, error) {
		if ask == nil {
			return "", io.EOF
		}
		return ask.Ask(prompt)
	}, output)
	return g.d.Launch(l.Kernel.Program, l.Kernel.Name, l.Grid, l.given(), o)
}

// Editors is the server of editors, and where they connect; nil if the settings want none.
func (r *Run) Editors() (s *dap.Server, host string, port int) {
	if r.DAP == "" {
		return nil, "", 0
	}
	host, port, _ = dap.Address(r.DAP) // Check has looked at it
	g := r.debugger
	if g.server == nil {
		g.server = dap.New(g.d)
		g.d.UI = g.server
	}
	return g.server, host, port
}

// edit serves an editor whose connection Python has: the library has no network of its own.
func (s *Service) edit(n, descriptor int) error {
	r, err := s.runOf(n)
	if err != nil {
		return err
	}
	server, _, _ := r.Editors()
	if server == nil || descriptor < 0 {
		return errors.New("the run has no editors")
	}
	connection := os.NewFile(uintptr(descriptor), "editor")
	go func() {
		defer connection.Close()
		server.Serve(connection)
	}()
	return nil
}

func onlySerial(o interpreter.Order) interpreter.Order {
	if o == interpreter.Cooperative {
		return interpreter.Serial
	}
	return o
}

// question is a prompt of a launch that waits for the user's line.
type question struct {
	mu      sync.Mutex
	prompt  string
	waiting bool
	lines   chan line
}

type line struct {
	text string
	end  bool // there is none
}

// Ask waits for a line from Python.
func (w *running) Ask(prompt string) (string, error) {
	q := &w.question
	q.mu.Lock()
	q.prompt, q.waiting, q.lines = prompt, true, make(chan line, 1)
	lines := q.lines
	q.mu.Unlock()
	select {
	case w.asked <- struct{}{}:
	default:
	}
	select {
	case l := <-lines:
		if l.end {
			return "", io.EOF
		}
		return l.text, nil
	case <-w.ctx.Done():
		return "", w.ctx.Err()
	}
}

// Write is what the launch prints.
func (w *running) Write(p []byte) (int, error) { return w.printed.Write(p) }

// answerTo passes a line on to a launch that waits for one.
func (w *running) answerTo(l line) error {
	q := &w.question
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.waiting {
		return errors.New("the launch does not wait for a command")
	}
	q.waiting = false
	q.lines <- l
	return nil
}

// asks is the prompt of a launch that waits for a command.
func (w *running) asks() (string, bool) {
	w.question.mu.Lock()
	defer w.question.mu.Unlock()
	return w.question.prompt, w.question.waiting
}
