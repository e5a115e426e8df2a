package debug

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/term"
)

// Prompt is what a terminal asks for commands with.
const Prompt = "(proton) "

// Terminal is a user interface of commands and texts.
type Terminal struct {
	d      *Debugger
	ask    func(prompt string) (string, error) // the next command; an error ends the launch
	out    io.Writer
	before string // the command that an empty line repeats
	shown  string // the function and instance that were shown last

	stop   *Stop
	level  int // of the frame that is looked at: an index of the stack
	listed int // the line behind the last list
}

// NewTerminal makes a terminal.
func NewTerminal(d *Debugger, ask func(prompt string) (string, error), out io.Writer) *Terminal {
	return &Terminal{d: d, ask: ask, out: out}
}

// Connect has the terminal ask and write elsewhere.
func (t *Terminal) Connect(ask func(prompt string) (string, error), out io.Writer) {
	t.ask, t.out = ask, out
}

func (t *Terminal) say(format string, args ...any) { fmt.Fprintf(t.out, format, args...) }

// complain says what is wrong with a command.
func (t *Terminal) complain(err error) { t.sentence("*** " + err.Error()) }

// sentence writes a text that fits the terminal.
func (t *Terminal) sentence(text string) {
	t.say("%s", term.Broken(foreign.Printable(text), 2, t.d.settings.Width))
}

// Launched says nothing: a launch that does not stop is silent.
func (t *Terminal) Launched(d *Debugger) { t.shown = "" }

// Ended says where a launch ended that was stopped in.
func (t *Terminal) Ended(d *Debugger, err error) {
	if t.stop == nil || errors.Is(err, ErrQuit) {
		return
	}
	if t.stop = nil; err == nil && !d.detached {
		t.say("The launch has ended.\n")
	}
}

// Print writes what a kernel prints.
func (t *Terminal) Print(place, text string) { t.say("%s  %s", place, text) }

// Stopped shows where the launch stands, and carries out commands until one has it go on.
func (t *Terminal) Stopped(s *Stop) Resume {
	t.stop, t.level, t.listed = s, len(s.Stack)-1, 0
	t.where()
	for {
		line, err := t.ask(Prompt)
		if err != nil {
			t.say("\n")
			return Resume{Kind: Quit}
		}
		if line = strings.TrimSpace(line); line == "" {
			line = t.before
		}
		t.before = line
		if to, ok := t.command(line); ok {
			return to
		}
	}
}

func (t *Terminal) frame() *Frame { return t.stop.Stack[t.level] }

// where says why and where the launch stands: the function and the instance if they are others than before, and the line.
func (t *Terminal) where() {
	s := t.stop
	if s.Text != "" {
		t.sentence(s.Text)
	}
	reason := ""
	for _, n := range s.Numbers {
		if s.Reason == "breakpoint" {
			reason += fmt.Sprintf("breakpoint %d, ", n)
		} else {
			reason += fmt.Sprintf("watch %d, ", n)
		}
	}
	f := t.frame()
	shown := fmt.Sprintf("program %s, %s at %s:%d", instanceText(s.Program), f.Name, base(f.File), f.Line)
	if t.shown != instanceText(s.Program)+f.Name || reason != "" || s.Text != "" {
		t.say("%s%s\n", reason, shown)
	}
	t.shown = instanceText(s.Program) + f.Name
	t.sourceLine(f, f.Line, true)
	if s.Operation {
		t.say("         line %d of the TTIR: %s\n", s.Point.Op.Line, s.Point.Op.Name)
	}
}

func base(file string) string { return foreign.Printable(filepath.Base(file)) }

func (t *Terminal) sourceLine(f *Frame, n int, arrow bool) bool {
	text, ok := t.d.Source.line(f.File, n)
	mark := "  "
	if arrow {
		mark = "->"
	}
	if !ok {
		if arrow {
			t.say("%s %4d  (the source %s cannot be read)\n", mark, n, foreign.Printable(f.File))
		}
		return false
	}
	line := fmt.Sprintf("%s %4d  %s", mark, n, foreign.Printable(strings.ReplaceAll(text, "\t", "    ")))
	if all := []rune(line); len(all) > t.d.settings.Width {
		line = string(all[:max(t.d.settings.Width-1, 20)]) + "…"
	}
	t.say("%s\n", strings.TrimRight(line, " "))
	return true
}

// command is one that a user can type.
type command struct {
	names []string
	usage string
	help  string
	run   func(t *Terminal, argument string) (Resume, bool, error)
}

func resume(k Kind) func(t *Terminal, argument string) (Resume, bool, error) {
	return func(t *Terminal, argument string) (Resume, bool, error) {
		if argument != "" {
			return Resume{}, false, fmt.Errorf("this command has no argument, and %q is given", argument)
		}
		return Resume{Kind: k}, true, nil
	}
}

func stay(run func(t *Terminal, argument string) error) func(t *Terminal, argument string) (Resume, bool, error) {
	return func(t *Terminal, argument string) (Resume, bool, error) { return Resume{}, false, run(t, argument) }
}

// commands in the order of help; init avoids that help refers to itself.
var commands []command

func init() {
	commands = []command{
		{[]string{"next", "n"}, "", "to the next line, over functions", resume(Next)},
		{[]string{"step", "s"}, "", "to the next line, into functions", resume(Step)},
		{[]string{"finish", "out"}, "", "to the end of this function", resume(Finish)},
		{[]string{"continue", "c", "cont"}, "", "to the next breakpoint", resume(Continue)},
		{[]string{"back"}, "", "to the line before", stepBack},
		{[]string{"op", "si"}, "", "to the next operation of TTIR", resume(Operation)},
		{[]string{"program", "pid"}, "[X,Y,Z]", "to the beginning of another instance", switchTo},
		{[]string{"restart", "run", "r"}, "", "the launch from its beginning", restart},
		{[]string{"break", "b"}, "[FILE:LINE] [if EXPR]", "stop at a line or function; alone: list", stay(setBreak)},
		{[]string{"watch", "w"}, "EXPR", "stop when it changes: n, y_ptr[5000]", stay(setWatch)},
		{[]string{"delete", "d"}, "NUMBER", "remove a breakpoint or a watch", stay(remove)},
		{[]string{"print", "p"}, "EXPR", "x, x[3, :], x.shape, any(x > 1)", stay(show)},
		{[]string{"all", "pa"}, "EXPR", "the same with all elements", stay(showAll)},
		{[]string{"locals", "info"}, "", "the variables of this function", stay(locals)},
		{[]string{"buffers"}, "", "the buffers of the launch", stay(buffers)},
		{[]string{"bt", "where"}, "", "the functions that have begun", stay(backtrace)},
		{[]string{"up", "u"}, "", "look at the caller", stay(func(t *Terminal, a string) error { return t.look(-1) })},
		{[]string{"down"}, "", "look at the function that is called", stay(func(t *Terminal, a string) error { return t.look(1) })},
		{[]string{"list", "l"}, "[LINE]", "the source around this line", stay(list)},
		{[]string{"detach"}, "", "run on, and stop nowhere any more", resume(Detach)},
		{[]string{"quit", "q", "exit"}, "", "end the launch", resume(Quit)},
		{[]string{"help", "h", "?"}, "", "this list", stay(help)},
	}
}

// command carries out one line. A line that is not a command is an expression.
func (t *Terminal) command(line string) (Resume, bool) {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	if line == "" {
		return Resume{}, false
	}
	for i := range commands {
		for _, n := range commands[i].names {
			if n != name || t.isVariable(name, argument) {
				continue
			}
			to, ok, err := commands[i].run(t, argument)
			if err != nil {
				t.complain(err)
				return Resume{}, false
			}
			return to, ok
		}
	}
	if isName(name) && argument == "" && t.frame().variable(name) == nil && name != "pid" && name != "grid" && !t.d.run.names[name] {
		t.complain(fmt.Errorf("%s is neither a command nor a variable of %s: help lists the commands, locals the variables", foreign.Printable(name), t.frame().Name))
		return Resume{}, false
	}
	if err := show(t, line); err != nil {
		t.complain(err)
	}
	return Resume{}, false
}

// isVariable says whether a word that is also a command names a variable: n alone is always the command, n + 1 is an expression.
func (t *Terminal) isVariable(name, argument string) bool {
	return argument != "" && t.frame().variable(name) != nil && strings.ContainsAny(argument[:1], "+-*/%<>=!&|[.,")
}

func stepBack(t *Terminal, _ string) (Resume, bool, error) {
	err := t.d.CanGoBack(t.stop)
	return Resume{Kind: Back}, err == nil, err
}

func restart(t *Terminal, _ string) (Resume, bool, error) {
	err := t.d.CanRepeat()
	return Resume{Kind: Restart}, err == nil, err
}

func switchTo(t *Terminal, argument string) (Resume, bool, error) {
	if argument == "" {
		t.say("program %s of the grid %s; %d have ended\n", instanceText(t.stop.Program), instanceText(t.d.run.grid), t.d.run.ended)
		return Resume{}, false, nil
	}
	at, err := ParseInstance(strings.Trim(argument, "()"))
	if err == nil {
		err = t.d.CanSwitch(at)
	}
	return Resume{Kind: Switch, Instance: at}, err == nil, err
}

// ParseInstance reads a program instance: 6,5,0, or 6, 5.
func ParseInstance(text string) (at [3]int32, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return at, fmt.Errorf("%q is not a program instance: write X,Y,Z, as in 6,5,0", text)
	}
	for i, p := range parts {
		n, err := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
		if err != nil || n < 0 {
			return at, fmt.Errorf("%q is not a program instance: write X,Y,Z, as in 6,5,0", text)
		}
		at[i] = int32(n)
	}
	return at, nil
}

func setBreak(t *Terminal, argument string) error {
	if argument == "" {
		return breakpoints(t)
	}
	b, err := t.d.Break(argument)
	if err != nil {
		return err
	}
	t.say("%s\n", t.d.describe(b))
	return nil
}

// describe is a breakpoint in one line.
func (d *Debugger) describe(b *Breakpoint) string {
	text := fmt.Sprintf("breakpoint %d at ", b.Number)
	wanted := b.Function
	if wanted == "" {
		wanted = fmt.Sprintf("%s:%d", base(b.File), b.Line)
	}
	file, line, ok := b.Place()
	switch {
	case !ok:
		text += foreign.Printable(wanted) + ", where this launch has no operation"
	case b.Function == "" && line == b.Line:
		text += fmt.Sprintf("%s:%d", base(file), line)
	case b.Function == "":
		text += fmt.Sprintf("%s:%d (line %d has no operation)", base(file), line, b.Line)
	default:
		text += fmt.Sprintf("%s:%d, the first line of %s", base(file), line, b.Function)
	}
	if b.Condition != "" {
		text += ", if " + foreign.Printable(b.Condition)
	}
	if b.log != nil {
		text += ", prints"
	}
	if b.hits > 0 {
		text += fmt.Sprintf(", reached %d×", b.hits)
	}
	return text
}

func breakpoints(t *Terminal) error {
	if len(t.d.breakpoints)+len(t.d.watches) == 0 {
		return fmt.Errorf("there are no breakpoints: set one with break FILE:LINE")
	}
	for _, b := range t.d.breakpoints {
		t.say("%s\n", t.d.describe(b))
	}
	for _, w := range t.d.watches {
		t.say("watch %d of %s\n", w.Number, foreign.Printable(w.Text))
	}
	return nil
}

func setWatch(t *Terminal, argument string) error {
	w, err := t.d.Watch(t.stop, t.frame(), argument)
	if err != nil {
		return err
	}
	t.say("watch %d of %s, which is %s\n", w.Number, foreign.Printable(w.Text), t.d.style().inline(w.was))
	return nil
}

func remove(t *Terminal, argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil || !t.d.Delete(n) {
		return fmt.Errorf("there is no breakpoint %q: break lists them by number", argument)
	}
	return nil
}

func show(t *Terminal, argument string) error { return t.show(argument, t.d.style()) }
func showAll(t *Terminal, argument string) error {
	s := t.d.style()
	s.rows = 0
	return t.show(argument, s)
}

func (t *Terminal) show(text string, s *style) error {
	v, err := t.d.compute(t.frame(), text)
	if err != nil {
		return err
	}
	t.say("%s", s.lines(strings.TrimSpace(text), &v))
	return nil
}

// compute computes an expression in a frame.
func (d *Debugger) compute(f *Frame, text string) (value, error) {
	e, err := compileExpression(text)
	if err != nil {
		return value{}, err
	}
	return e(d.run.environment(f))
}

func locals(t *Terminal, _ string) error {
	s := t.d.style()
	f := t.frame()
	if len(f.variables) == 0 {
		return fmt.Errorf("%s has no variables yet", f.Name)
	}
	for _, x := range f.variables {
		v, err := x.read()
		if err != nil {
			t.say("%v\n", err)
			continue
		}
		t.say("%s", s.short(x.name, &v))
	}
	return nil
}

func buffers(t *Terminal, _ string) error {
	if len(t.d.run.buffers) == 0 {
		return fmt.Errorf("the launch has no buffers")
	}
	for _, b := range t.d.run.buffers {
		t.say("%s: %d bytes\n", foreign.Printable(b.Name), len(b.Data))
	}
	return nil
}

func backtrace(t *Terminal, _ string) error {
	for i := len(t.stop.Stack) - 1; i >= 0; i-- {
		f, mark := t.stop.Stack[i], "  "
		if i == t.level {
			mark = "->"
		}
		t.say("%s %s at %s:%d\n", mark, f.Name, base(f.File), f.Line)
	}
	return nil
}

func (t *Terminal) look(by int) error {
	if n := t.level + by; n >= 0 && n < len(t.stop.Stack) {
		t.level, t.listed = n, 0
		f := t.frame()
		t.say("%s at %s:%d\n", f.Name, base(f.File), f.Line)
		t.sourceLine(f, f.Line, true)
		return nil
	}
	if by < 0 {
		return fmt.Errorf("%s is the kernel: Python called it", t.frame().Name)
	}
	return fmt.Errorf("%s is the innermost function", t.frame().Name)
}

// around is how many lines list shows before and after the present one.
const around = 5

func list(t *Terminal, argument string) error {
	f := t.frame()
	from := f.Line - around
	switch n, err := strconv.Atoi(argument); {
	case argument != "" && (err != nil || n < 1):
		return fmt.Errorf("%q is not the number of a line", argument)
	case argument != "":
		from = n - around
	case t.listed > 0:
		from = t.listed
	}
	from = max(1, from)
	for n := from; n <= from+2*around; n++ {
		if !t.sourceLine(f, n, n == f.Line) && n == from {
			return fmt.Errorf("%s has no line %d, or cannot be read", foreign.Printable(f.File), n)
		}
	}
	t.listed = from + 2*around + 1
	return nil
}

func help(t *Terminal, _ string) error {
	for _, c := range commands {
		names := strings.Join(c.names, ", ")
		t.say("  %-34s %s\n", strings.TrimSpace(names+" "+c.usage), c.help)
	}
	t.say("%s", term.Broken("Any other line is printed as an expression, and an empty one repeats the last command. Functions: "+functionNames()+"; pid (or program) and grid are the program instance and the grid.", 2, t.d.settings.Width))
	return nil
}

// currentFile is the source that is shown.
func (d *Debugger) currentFile() string {
	if d.run != nil && d.run.instance != nil && len(d.run.activations) > 0 {
		return last(d.run.current().stack).File
	}
	if d.run != nil && len(d.run.code) > 0 {
		return d.run.code[0].file
	}
	return ""
}
