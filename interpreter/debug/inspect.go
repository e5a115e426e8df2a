package debug

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/interpreter"
)

// Item is a value with its name, for interfaces that show values as trees.
type Item struct {
	Name, Text, Type string

	v value
	d *Debugger
}

func (d *Debugger) item(name string, v value, err error) Item {
	if err != nil {
		return Item{Name: name, Text: err.Error(), d: d}
	}
	i := Item{Name: name, Type: v.typeText(), v: v, d: d}
	if i.Text = d.style().inline(&v); v.isTensor() && v.len() > 4 {
		i.Text = i.Type + "  " + summary(&v)
	}
	return i
}

// Len is how many parts a value has: the first dimension of a tensor, the elements of a tuple; 0 for others.
func (i *Item) Len() int {
	switch {
	case i.v.kind == tuple:
		return len(i.v.items)
	case i.v.isTensor():
		return i.v.shape[0]
	}
	return 0
}

// Child is a part of a value.
func (i *Item) Child(n int) Item {
	name := fmt.Sprintf("[%d]", i.v.label(0, n))
	if i.v.kind == tuple {
		return i.d.item(name, i.v.items[n], nil)
	}
	v := i.v
	size := v.len() / v.shape[0]
	if v.kind == float {
		v.floats = v.floats[n*size : (n+1)*size]
	} else {
		v.ints = v.ints[n*size : (n+1)*size]
	}
	if v.shape = v.shape[1:]; len(v.axes) > 0 {
		v.axes = v.axes[1:]
	}
	return i.d.item(name, v, nil)
}

// Variables are those of a frame: its arguments, or the others.
func (d *Debugger) Variables(f *Frame, arguments bool) []Item {
	var list []Item
	for _, x := range f.variables {
		if x.argument == arguments {
			v, err := x.read()
			list = append(list, d.item(x.name, v, err))
		}
	}
	return list
}

// Evaluate computes an expression in a frame.
func (d *Debugger) Evaluate(f *Frame, text string) (Item, error) {
	if d.run == nil {
		return Item{}, fmt.Errorf("there is no launch")
	}
	v, err := d.compute(f, text)
	if err != nil {
		return Item{}, err
	}
	return d.item(strings.TrimSpace(text), v, nil), nil
}

// Table is a value as the terminal shows it.
func (i *Item) Table() string { return i.d.style().lines(i.Name, &i.v) }

// Buffers of the launch.
func (d *Debugger) Buffers() []*interpreter.Buffer {
	if d.run == nil {
		return nil
	}
	return d.run.buffers
}

// Grid of the launch, and its kernel; false without one.
func (d *Debugger) Grid() (grid [3]int32, ok bool) {
	if d.run == nil {
		return grid, false
	}
	return d.run.grid, true
}

// Begun says whether a program instance has begun in this launch.
func (d *Debugger) Begun(at [3]int32) bool { return d.run != nil && d.run.begun[at] }

// SourceText is the text of a source that is in no file; false for others.
func (d *Debugger) SourceText(file string) (string, bool) {
	text, ok := d.Source.given[file]
	return text, ok
}

// StopAtFindings chooses whether launches stop where a kernel does what it must not.
func (d *Debugger) StopAtFindings(yes bool) { d.settings.Findings = yes }

// StopOnEntry has the next launch stop at its first line.
func (d *Debugger) StopOnEntry(yes bool) { d.entry = yes }

// Detach has launches run without stopping.
func (d *Debugger) Detach(yes bool) { d.detached = yes }

// Command carries out a line as a terminal does, at a stop. It returns what the terminal shows and, if the launch is to go on, how.
func (d *Debugger) Command(s *Stop, level int, line string) (text string, to Resume, goesOn bool) {
	var out strings.Builder
	t := &Terminal{d: d, out: &out, stop: s, level: level}
	to, goesOn = t.command(strings.TrimSpace(line))
	return out.String(), to, goesOn
}

// Do carries out a function while no launch moves: at once, or between two operations of a launch.
func (d *Debugger) Do(f func()) {
	d.mu.Lock()
	if !d.moving {
		defer d.mu.Unlock()
		f()
		return
	}
	done := make(chan struct{})
	d.todo = append(d.todo, func() { defer close(done); f() })
	d.pending.Store(true)
	d.mu.Unlock()
	<-done
}

// move says whether a launch moves from now on. What was to be done meanwhile is done first.
func (d *Debugger) move(moving bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moving = moving
	for _, f := range d.todo {
		f()
	}
	d.todo = nil
	d.pending.Store(false)
}
