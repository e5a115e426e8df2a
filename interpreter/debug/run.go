package debug

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// run is a launch under the debugger: the observer of its program instances.
type run struct {
	d        *Debugger
	program  *interpreter.Program
	grid     [3]int32
	points   map[*interpreter.Point]*fact
	code     []codeLine
	marked   map[string]bool // functions that have marks of variables
	names    map[string]bool // of all variables
	hoisted  map[*ttir.Op]bool
	hasBreak bool

	buffers []*interpreter.Buffer
	kept    [][]byte
	notKept string

	instance    *interpreter.Instance
	activations []*activation
	before      *interpreter.Point // the operation that has run
	count       int64              // operations that have run
	furthest    int64              // in an earlier run of the same launch
	stoppedAt   int64              // the operation before which the user was asked last
	begun       map[[3]int32]bool
	ended       int
	history     []moment

	mode mode
}

// mode is when to stop.
type mode struct {
	kind  Kind
	frame *Frame    // in which Next and Finish were asked for
	to    *[3]int32 // the instance of Switch
	count moment    // of Back
}

// moment is a place in a launch: so many operations have run, and the stack is so deep.
type moment struct {
	count int64
	depth int
	frame *Frame
}

// Stop is where a launch stands.
type Stop struct {
	Reason    string // breakpoint, step, pause, entry, watch, or the kind of a finding
	Text      string // a sentence for the user; "" after a step
	Numbers   []int  // of breakpoints and watches
	Finding   *interpreter.Finding
	Ended     bool // by the finding: the instance does not go on
	Program   [3]int32
	Stack     []*Frame // the outermost first
	Point     *interpreter.Point
	Operation bool // it is after an operation, wherever that is in its line
}

// begin decides whether the launch stops at its first line.
func (r *run) begin() {
	r.begun = map[[3]int32]bool{}
	d := r.d
	if d.settings.Stop && !d.stopped && len(d.breakpoints) == 0 && !r.hasBreak || d.entry {
		d.entry = false
		r.mode = mode{kind: Step}
	}
}

// repeats says whether what happens now has happened before, when the launch ran the first time.
func (r *run) repeats() bool { return r.count <= r.furthest }

// Begin is called when a program instance begins.
func (r *run) Begin(i *interpreter.Instance) error {
	r.instance, r.before, r.activations = i, nil, nil
	r.begun[i.Program] = true
	r.activations = append(r.activations, r.activate(i.Kernel))
	for _, w := range r.d.watches {
		w.begin()
	}
	switch m := &r.mode; {
	case m.kind == Switch && *m.to == i.Program:
		r.mode = mode{kind: Step}
	case m.kind == Next || m.kind == Finish:
		r.mode = mode{kind: Step}
	}
	return nil
}

// End is called when it ends.
func (r *run) End(f *interpreter.Finding) (err error) {
	r.ended++
	if f == nil || !r.stopsAtFindings() {
		return nil
	}
	defer func() { // the user may want the launch to run again
		if e, ok := recover().(error); ok {
			err = e
		}
	}()
	r.ask(&Stop{Reason: f.Kind, Text: "The program instance ended: " + f.Error(), Finding: f, Stack: r.stack(len(r.current().stack) - 1), Ended: true})
	return nil
}

func (r *run) stopsAtFindings() bool {
	return (r.d.settings.Findings || r.hasBreak) && !r.d.detached && r.d.UI != nil
}

// Found is called for a finding after which the instance goes on.
func (r *run) Found(f *interpreter.Finding) {
	if r.stopsAtFindings() && !r.repeats() {
		r.ask(&Stop{Reason: f.Kind, Text: f.Error(), Finding: f, Stack: r.stack(len(r.current().stack) - 1), Point: r.before})
	}
}

// Enter is called when a function begins that an operation calls.
func (r *run) Enter(p *interpreter.Point, f *ttir.Function) {
	r.before = nil
	r.activations = append(r.activations, r.activate(f))
}

// Leave is called when it has ended.
func (r *run) Leave(p *interpreter.Point) {
	r.activations = r.activations[:len(r.activations)-1]
	r.before = p
}

// Before is called before each operation.
func (r *run) Before(p *interpreter.Point) {
	if r.count++; r.d.pending.Load() {
		r.d.move(true)
	}
	k := r.points[p]
	if k == nil {
		k = r.fact(p)
		r.points[p] = k
	}
	wrote := false
	if r.before != nil {
		r.commit(r.before)
		wrote = true
	}
	r.before = p
	a := r.current()
	if len(p.Frames) > 0 {
		a.locate(r, p.Frames)
	}
	if len(p.Op.Regions) > 0 {
		a.regions[p.Op] = last(a.stack)
	}
	r.bind(p)
	if w := p.Within; w != nil && (w.Name == "scf.for" || w.Name == "scf.while") && a.regions[w] != nil {
		a.regions[w].Line = 0 // another turn, which comes to the same line again
	}
	if wrote && len(r.d.watches) > 0 && !r.d.detached {
		r.watch(p)
	}
	if k.silent {
		return
	}
	for level, f := range a.stack {
		line := p.Frames[len(p.Frames)-1-level].Line
		if f.Line == line {
			continue
		}
		f.Line = line
		r.line(p, level)
	}
	if k.isBreak && !r.d.detached && r.stoppedAt != r.count && r.mode.kind != Switch && r.mode.kind != Back {
		r.ask(&Stop{Reason: "breakpoint", Text: "breakpoint() in the kernel.", Stack: r.stack(len(a.stack) - 1), Point: p})
	}
	if m := &r.mode; m.kind == Operation && r.stoppedAt != r.count {
		r.ask(&Stop{Reason: "step", Stack: r.stack(len(a.stack) - 1), Point: p, Operation: true})
	} else if m.kind == Finish && !slices.Contains(r.stack(len(a.stack)-1), m.frame) {
		r.ask(&Stop{Reason: "step", Stack: r.stack(len(a.stack) - 1), Point: p})
	}
}

// line is called when a frame comes to a line.
func (r *run) line(p *interpreter.Point, level int) {
	if r.d.UI == nil {
		return
	}
	stack := r.stack(level)
	f := last(stack)
	if len(r.history) < maxHistory {
		r.history = append(r.history, moment{r.count, len(stack), f})
	}
	s := &Stop{Stack: stack, Point: p}
	running := false // to a place where the user wants to go on
	switch m := &r.mode; {
	case m.kind == Switch:
		running = true
	case m.kind == Back:
		if running = m.count.count != r.count || m.count.depth != len(stack); !running {
			s.Reason = "step"
		}
	case m.kind == Step && !isLibrary(f.File), m.kind == Next && r.isNext(stack):
		s.Reason = "step"
	}
	if r.d.paused.Swap(false) {
		s.Reason, s.Text = "pause", "The launch was asked to stop."
	}
	r.reached(s, f)
	if s.Reason != "" && !r.d.detached && !running {
		r.ask(s)
	}
}

// maxHistory bounds the lines that can be gone back to.
const maxHistory = 1 << 20

// isNext says whether a line comes after the one at which Next was asked for: in the same frame, or in one that was there before it.
func (r *run) isNext(stack []*Frame) bool {
	f := r.mode.frame
	return f == last(stack) || !slices.Contains(stack, f)
}

// isLibrary says whether a source belongs to Triton itself.
func isLibrary(file string) bool {
	return strings.Contains(strings.ReplaceAll(file, `\`, "/"), "/triton/language/")
}

// ask has the user decide.
func (r *run) ask(s *Stop) {
	s.Program = r.instance.Program
	if s.Reason == "step" && !r.d.stopped {
		s.Reason = "entry"
	}
	r.d.stopped = true
	r.stoppedAt = r.count
	if r.d.UI == nil {
		return
	}
	r.d.move(false)
	to := r.d.UI.Stopped(s)
	r.d.move(true)
	r.mode = mode{kind: to.Kind, frame: last(s.Stack)}
	switch to.Kind {
	case Quit:
		panic(ErrQuit)
	case Detach:
		r.d.detached, r.mode.kind = true, Continue
	case Restart:
		r.mode.kind = Step
		r.panicAgain()
	case Switch:
		r.mode.to = &to.Instance
		if r.begun[to.Instance] {
			r.panicAgain()
		}
	case Back:
		r.mode.count = r.lineBefore(s)
		r.panicAgain()
	}
	if s.Ended { // the instance has ended, and with it the launch
		r.mode.kind = Continue
	}
}

func (r *run) panicAgain() {
	if r.notKept != "" {
		panic(fmt.Errorf("%s", r.notKept))
	}
	panic(errAgain)
}

// CanSwitch says why a launch cannot go on at the beginning of another program instance; nil if it can.
func (d *Debugger) CanSwitch(to [3]int32) error {
	r := d.run
	if r == nil {
		return fmt.Errorf("there is no launch")
	}
	for axis, n := range to {
		if n < 0 || n >= r.grid[axis] {
			return fmt.Errorf("the program instance %s is not in the grid %s", instanceText(to), instanceText(r.grid))
		}
	}
	if r.begun[to] {
		return d.CanRepeat()
	}
	return nil
}

// CanRepeat says why a launch cannot run again; nil if it can.
func (d *Debugger) CanRepeat() error {
	if d.run == nil {
		return fmt.Errorf("there is no launch")
	}
	if d.run.notKept != "" {
		return fmt.Errorf("%s", d.run.notKept)
	}
	return nil
}

// CanGoBack says why there is no line before the present one; nil if there is one.
func (d *Debugger) CanGoBack(s *Stop) error {
	if err := d.CanRepeat(); err != nil {
		return err
	}
	if d.run.lineBefore(s).count == 0 {
		return fmt.Errorf("there is no line before this one")
	}
	return nil
}

// lineBefore is the last line before a stop that is not deeper in the stack.
func (r *run) lineBefore(s *Stop) moment {
	for _, m := range slices.Backward(r.history) {
		if (m.count < r.count || m.count == r.count && m.depth < len(s.Stack)) && m.depth <= len(s.Stack) {
			return m
		}
	}
	return moment{}
}

// instanceText is a program instance, or a grid.
func instanceText(at [3]int32) string { return fmt.Sprintf("(%d, %d, %d)", at[0], at[1], at[2]) }
