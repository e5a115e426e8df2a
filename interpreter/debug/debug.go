// Package debug stops kernels at lines of their source, and shows what their variables are.
//
//	d := debug.New(debug.Settings{Breakpoints: []string{"add.py:11 if pid[0] == 3"}})
//	d.UI = debug.NewTerminal(d, ask, os.Stdout)
//	result, err := d.Launch(program, "add_kernel", grid, arguments, interpreter.Options{})
//
// The user interface runs in the goroutine of the launch: while it decides what follows, nothing moves. Program instances run one after
// another. What has run is not undone: to go back, or to another instance that has begun, the buffers get what they had when the launch
// began, and the launch runs again up to that place, without printing anything twice.
//
// Frames are functions that a text calls, and those that Triton inlined, by the locations of operations. Variables are what the marks of
// goproton's handlers in Triton's code generator say; in texts without marks they are the last value that Triton named so.
package debug

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// Settings are what a debugger begins with.
type Settings struct {
	Breakpoints []string          // FILE:LINE, FILE:LINE if EXPRESSION, or the name of a function
	Prints      []string          // FILE:LINE EXPRESSION: printed when the line is reached
	Stop        bool              // at the first line of the first launch, if there is no breakpoint
	Findings    bool              // stop where a kernel does what it must not; a kernel that calls breakpoint() does so too
	Width       int               // of tables, in columns; 0 is 80
	Sources     map[string]string // texts of sources that are in no file
}

// UI is how a user decides.
type UI interface {
	Launched(d *Debugger)       // a launch begins: its lines are known
	Stopped(s *Stop) Resume     // nothing moves until it returns
	Print(place, text string)   // what a kernel, or a breakpoint that only prints, prints
	Ended(d *Debugger, e error) // a launch has ended
}

// Resume is what a user decides at a stop.
type Resume struct {
	Kind     Kind
	Instance [3]int32 // of Switch
}

// Kind of what follows a stop.
type Kind uint8

const (
	Continue  Kind = iota // to the next breakpoint
	Next                  // line of the same function, or of a caller
	Step                  // line, also of a function that is called
	Finish                // the function
	Operation             // the next one
	Back                  // to the line before
	Restart               // the launch
	Switch                // to the first line of another program instance
	Detach                // run on without stopping, in this launch and in later ones
	Quit                  // end the launch
)

// ErrQuit is the error of a launch that the user ended.
var ErrQuit = errors.New("the debugger was left, and the launch with it")

// Debugger runs launches.
type Debugger struct {
	UI     UI
	Source sources

	settings    Settings
	breakpoints []*Breakpoint
	watches     []*Watch
	numbers     int
	detached    bool
	stopped     bool // once
	entry       bool // the next launch stops at its first line
	paused      atomic.Bool
	run         *run // the launch

	mu      sync.Mutex    // of moving and todo: see Do
	given   []*Breakpoint // of the settings
	moving  bool
	todo    []func()
	pending atomic.Bool
}

// New makes a debugger. The error names what is wrong with a breakpoint.
func New(s Settings) (*Debugger, error) {
	d := &Debugger{settings: s, Source: sources{given: s.Sources}}
	if d.settings.Width <= 0 {
		d.settings.Width = 80
	}
	for _, text := range s.Breakpoints {
		if _, err := d.Break(text); err != nil {
			return nil, err
		}
	}
	for _, text := range s.Prints {
		if err := d.printAt(text); err != nil {
			return nil, err
		}
	}
	d.given = slices.Clone(d.breakpoints)
	return d, nil
}

// AddSources adds texts of sources that are in no file.
func (d *Debugger) AddSources(texts map[string]string) {
	for file, text := range texts {
		if d.Source.given[file] != text {
			if d.Source.given == nil {
				d.Source.given = map[string]string{}
			}
			d.Source.given[file] = text
			delete(d.Source.lines, file)
		}
	}
}

// Pause stops a running launch at its next line.
func (d *Debugger) Pause() { d.paused.Store(true) }

// style is how values are written here.
func (d *Debugger) style() *style {
	s := &style{width: d.settings.Width, rows: 16}
	if d.run != nil && d.run.instance != nil {
		s.name = (&environment{instance: d.run.instance}).address
	}
	return s
}

// errAgain is how a launch ends that runs again.
var errAgain = errors.New("the launch runs again")

// maxKept bounds the buffers that are kept as they were, to run a launch again.
const maxKept = 2 << 30

// Launch runs a kernel as Program.Launch does.
func (d *Debugger) Launch(p *interpreter.Program, kernel string, grid [3]int32, arguments []interpreter.Argument, o interpreter.Options) (*interpreter.Result, error) {
	r := &run{d: d, program: p, points: map[*interpreter.Point]*fact{}, marked: map[string]bool{}, names: map[string]bool{}, hoisted: map[*ttir.Op]bool{}, buffers: interpreter.Buffers(arguments), grid: grid}
	d.Do(func() { d.enter(r, p.Points(kernel)) })
	defer d.move(false)
	output := o.Output
	o.Observer, o.Print = r, r.printed
	if output != nil {
		o.Output = muting{r, output}
	}
	if d.UI != nil {
		d.UI.Launched(d)
	}
	d.Do(r.begin)
	d.move(true)
	for {
		result, err := p.Launch(kernel, grid, arguments, o)
		if errors.Is(err, errAgain) {
			r.again()
			continue
		}
		d.move(false)
		d.Do(func() { d.run = nil })
		if d.UI != nil {
			d.UI.Ended(d, err)
		}
		return result, err
	}
}

// enter makes a launch the present one.
func (d *Debugger) enter(r *run, points []*interpreter.Point) {
	d.run, d.watches = r, nil // watches name buffers and functions of another launch
	var function *ttir.Function
	for _, x := range points {
		if x.Function != function {
			function = x.Function
			r.hoist(&function.Body)
		}
	}
	for _, x := range points {
		r.add(x)
	}
	for _, b := range d.breakpoints {
		r.place(b)
	}
	r.keep()
}

// muting leaves out what was printed when the launch ran before.
type muting struct {
	r  *run
	to io.Writer
}

func (m muting) Write(p []byte) (int, error) {
	if m.r.repeats() {
		return len(p), nil
	}
	return m.to.Write(p)
}

// keep copies the buffers.
func (r *run) keep() {
	size := 0
	for _, b := range r.buffers {
		if size += len(b.Data); size > maxKept {
			r.kept = nil
			r.notKept = fmt.Sprintf("the launch cannot run again: its buffers have more than %d bytes, which are not kept as they were", maxKept)
			return
		}
	}
	for _, b := range r.buffers {
		r.kept = append(r.kept, append([]byte(nil), b.Data...))
	}
}

// again prepares the launch to run from its beginning.
func (r *run) again() {
	for i, b := range r.buffers {
		copy(b.Data, r.kept[i])
	}
	r.furthest = max(r.furthest, r.count)
	r.count, r.begun, r.ended = 0, map[[3]int32]bool{}, 0
	r.history = nil
	for _, b := range r.d.breakpoints {
		b.hits = 0
	}
	for _, w := range r.d.watches {
		w.reset()
	}
}
