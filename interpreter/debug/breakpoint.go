package debug

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// Breakpoint stops a launch at a line, or prints there.
type Breakpoint struct {
	Number    int
	File      string // as the user wrote it; "" with a function
	Line      int
	Function  string
	Condition string
	Log       string // with {expressions}: printed, without a stop
	Ignore    int    // how often the line is reached before it stops

	condition expression
	log       []logPart
	at        *codeLine // where it is in the launch
	placed    bool      // a launch had it
	hits      int
}

// logPart is a text, or an expression between two texts.
type logPart struct {
	text    string
	compute expression
}

// Watch stops a launch when a value changes.
type Watch struct {
	Number int
	Text   string

	compute expression
	frame   string // the function whose variables it names; "" of memory, which outlives instances
	element *ttir.Type
	at      []int64 // addresses
	was     *value
}

// Break sets a breakpoint: FILE:LINE, LINE of the file that is shown, or a function, and "if" with a condition.
func (d *Debugger) Break(text string) (*Breakpoint, error) {
	place, condition, hasCondition := strings.Cut(strings.TrimSpace(text), " if ")
	b := &Breakpoint{Condition: strings.TrimSpace(condition)}
	place = strings.TrimSpace(place)
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		n, err := strconv.Atoi(place[i+1:])
		if err != nil || n < 1 || i == 0 {
			return nil, fmt.Errorf("%s is not a place: write FILE:LINE, as in add.py:11", place)
		}
		b.File, b.Line = place[:i], n
	} else if n, err := strconv.Atoi(place); err == nil {
		if b.Line = n; n < 1 {
			return nil, fmt.Errorf("lines are counted from 1, and %d is given", n)
		}
		if b.File = d.currentFile(); b.File == "" {
			return nil, fmt.Errorf("no source is shown yet: write FILE:%d", n)
		}
	} else if isName(place) {
		b.Function = place
	} else {
		return nil, fmt.Errorf("%q is not a place: write FILE:LINE, LINE, or the name of a function, and a condition behind \"if\"", place)
	}
	if hasCondition {
		var err error
		if b.condition, err = compileExpression(b.Condition); err != nil {
			return nil, err
		}
	}
	d.AddBreakpoint(b)
	return b, nil
}

func isName(s string) bool {
	return s != "" && !unicode.IsDigit(rune(s[0])) && strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// NewBreakpoint makes one of its parts, which AddBreakpoint adds.
func NewBreakpoint(b Breakpoint) (*Breakpoint, error) {
	var err error
	if b.Condition != "" {
		if b.condition, err = compileExpression(b.Condition); err != nil {
			return nil, err
		}
	}
	if b.Log != "" {
		b.log, err = logParts(b.Log)
	}
	return &b, err
}

// AddBreakpoint gives a breakpoint its number, and its line in the launch.
func (d *Debugger) AddBreakpoint(b *Breakpoint) {
	d.numbers++
	b.Number = d.numbers
	d.breakpoints = append(d.breakpoints, b)
	if d.run != nil {
		d.run.place(b)
	}
}

// Place is where a breakpoint is in the launch, and false if the launch has no such line.
func (b *Breakpoint) Place() (file string, line int, ok bool) {
	if b.at == nil {
		return "", 0, false
	}
	return b.at.file, b.at.line, true
}

// Delete removes a breakpoint or a watch.
func (d *Debugger) Delete(number int) bool {
	n := len(d.breakpoints) + len(d.watches)
	d.breakpoints = slices.DeleteFunc(d.breakpoints, func(b *Breakpoint) bool { return b.Number == number })
	d.watches = slices.DeleteFunc(d.watches, func(w *Watch) bool { return w.Number == number })
	return len(d.breakpoints)+len(d.watches) < n
}

// printAt sets a breakpoint that prints: FILE:LINE EXPRESSION.
func (d *Debugger) printAt(text string) error {
	place, expressionText, ok := strings.Cut(strings.TrimSpace(text), " ")
	i := strings.LastIndexByte(place, ':')
	n, err := 0, error(nil)
	if i > 0 {
		n, err = strconv.Atoi(place[i+1:])
	}
	if !ok || i < 1 || err != nil || n < 1 {
		return fmt.Errorf("%q does not say what is printed where: write 'FILE:LINE EXPRESSION', as in 'add.py:11 offsets'", text)
	}
	b, err := NewBreakpoint(Breakpoint{File: place[:i], Line: n})
	if err != nil {
		return err
	}
	e, err := compileExpression(expressionText)
	if err != nil {
		return err
	}
	b.log = []logPart{{text: strings.TrimSpace(expressionText), compute: e}}
	d.AddBreakpoint(b)
	return nil
}

// maxLog bounds the text of a log point.
const maxLog = 1 << 14

// logParts takes a log text apart: {x} is an expression, {{ and }} are braces.
func logParts(text string) ([]logPart, error) {
	if len(text) > maxLog {
		return nil, fmt.Errorf("a text that is printed may have %d bytes", maxLog)
	}
	var list []logPart
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			plain.WriteByte(c)
			i++
		case c == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf("a brace is not closed in %q", text)
			}
			e, err := compileExpression(text[i+1 : i+end])
			if err != nil {
				return nil, err
			}
			list = append(list, logPart{text: plain.String()}, logPart{compute: e})
			plain.Reset()
			i += end
		default:
			plain.WriteByte(c)
		}
	}
	return append(list, logPart{text: plain.String()}), nil
}

// place finds the line of a breakpoint in the launch: the first with operations at that line or, in the same function, after it.
func (r *run) place(b *Breakpoint) {
	b.at = nil
	for i := range r.code {
		c := &r.code[i]
		if b.Function != "" {
			if c.function == b.Function && (b.at == nil || c.line < b.at.line) {
				b.at = c
			}
			continue
		}
		if matches(c.file, b.File) && c.line >= b.Line && (b.at == nil || c.line < b.at.line) {
			b.at = c
		}
	}
	if b.at != nil && b.Function == "" && b.at.line != b.Line && r.startsBetween(b) {
		b.at = nil
	}
	b.placed = b.placed || b.at != nil
}

// Nowhere are the breakpoints and prints of the settings whose place none of the launches had.
func (d *Debugger) Nowhere() (list []string) {
	for i, text := range append(slices.Clone(d.settings.Breakpoints), d.settings.Prints...) {
		if !d.given[i].placed {
			list = append(list, text)
		}
	}
	return list
}

// startsBetween says whether another function begins between a line without operations and the next one with some.
func (r *run) startsBetween(b *Breakpoint) bool {
	for n := b.Line + 1; n <= b.at.line; n++ {
		if text, ok := r.d.Source.line(b.at.file, n); ok && definition.MatchString(text) {
			return true
		}
	}
	return false
}

// reached looks for breakpoints at a line that a frame has come to.
func (r *run) reached(s *Stop, f *Frame) {
	for _, b := range r.d.breakpoints {
		if b.at == nil || b.at.line != f.Line || b.at.file != f.File {
			continue
		}
		e := r.environment(f)
		if b.condition != nil {
			v, err := b.condition(e)
			holds := false
			if err == nil {
				holds, err = v.holds()
			}
			if err != nil {
				s.Text = fmt.Sprintf("The condition %s cannot be computed: %v.", b.Condition, err)
			} else if !holds {
				continue
			}
		}
		if b.hits++; b.hits <= b.Ignore {
			continue
		}
		if b.log != nil {
			r.log(b, f, e)
			continue
		}
		s.Reason = "breakpoint"
		s.Numbers = append(s.Numbers, b.Number)
	}
}

// log prints what a breakpoint prints.
func (r *run) log(b *Breakpoint, f *Frame, e *environment) {
	if r.repeats() || r.d.UI == nil {
		return
	}
	st := r.d.style()
	var text strings.Builder
	for _, p := range b.log {
		if p.compute == nil {
			text.WriteString(p.text)
			continue
		}
		v, err := p.compute(e)
		switch {
		case err != nil && b.Log == "":
			fmt.Fprintf(&text, "%s: %v\n", p.text, err)
		case err != nil:
			fmt.Fprintf(&text, "{%v}", err)
		case b.Log == "":
			text.WriteString(st.lines(p.text, &v))
		default:
			text.WriteString(st.inline(&v))
		}
	}
	r.d.UI.Print(fmt.Sprintf("%s at %s:%d", instanceText(r.instance.Program), filepath.Base(f.File), f.Line), strings.TrimSuffix(text.String(), "\n")+"\n")
}

// printed is what a kernel prints with Python's print.
func (r *run) printed(p *interpreter.Printed) {
	if !r.repeats() && r.d.UI != nil {
		r.d.UI.Print(instanceText(p.Program), printedText(p, r.d.style()))
	}
}

// printedText puts small values into the text, and tables below it.
func printedText(p *interpreter.Printed, s *style) string {
	var b, tables strings.Builder
	parts := strings.Split(p.Text, "\x02")
	for i, part := range parts {
		b.WriteString(part)
		if i >= len(p.Values) || i == len(parts)-1 {
			continue
		}
		v, err := read(p.Values[i])
		switch {
		case err != nil:
			fmt.Fprintf(&b, "<%v>", err)
		case v.isTensor() && (len(v.shape) > 1 || v.len() > 8):
			text := s.lines("", &v)
			head, rest, _ := strings.Cut(text, "\n")
			b.WriteString(strings.TrimPrefix(head, ": "))
			tables.WriteString(rest)
		default:
			b.WriteString(s.inline(&v))
		}
	}
	return b.String() + "\n" + tables.String()
}

// Printer returns a function for interpreter.Options.Print of launches that no debugger runs.
func Printer(width int, write func(text string)) func(p *interpreter.Printed) {
	if width <= 0 {
		width = 80
	}
	s := &style{width: width, rows: 16}
	return func(p *interpreter.Printed) { write(instanceText(p.Program) + " " + printedText(p, s)) }
}

// environment is where expressions are computed in a frame.
func (r *run) environment(f *Frame) *environment {
	return &environment{instance: r.instance, names: func(name string) (value, error) { return r.lookup(f, name) }}
}

// lookup finds a name in a frame, or among those that every frame has.
func (r *run) lookup(f *Frame, name string) (value, error) {
	if x := f.variable(name); x != nil {
		return x.read()
	}
	switch name {
	case "pid", "program":
		return tupleOf(int(r.instance.Program[0]), int(r.instance.Program[1]), int(r.instance.Program[2])), nil
	case "grid":
		return tupleOf(int(r.grid[0]), int(r.grid[1]), int(r.grid[2])), nil
	}
	var names []string
	for _, x := range f.variables {
		names = append(names, x.name)
	}
	switch slices.Sort(names); {
	case r.names[name]:
		return value{}, fmt.Errorf("%s is not set yet in %s", name, f.Name)
	case len(names) == 0:
		return value{}, fmt.Errorf("there is no variable %s, and %s has set none yet", name, f.Name)
	}
	return value{}, fmt.Errorf("there is no variable %s; %s has set %s", name, f.Name, strings.Join(names, ", "))
}

func (x *variable) read() (value, error) {
	if !x.value.Known() && x.constant != "" {
		return constantValue(x.constant), nil
	}
	v, err := read(x.value)
	if err != nil {
		return v, fmt.Errorf("%s: %w", x.name, err)
	}
	if x.unsigned {
		v.unsigned()
	}
	return v, nil
}

// constantValue is a constexpr by its text.
func constantValue(s string) value {
	e, err := compileExpression(s)
	if err == nil {
		if v, err := e(&environment{}); err == nil {
			return v
		}
	}
	return value{kind: text, text: s}
}
