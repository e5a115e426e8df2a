package interpreter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
)

func init() {
	register(map[string]func(c *compiler) step{
		"tt.get_program_id": programID, "tt.get_num_programs": programs, "tt.assert": assert, "llvm.intr.assume": assume, "tt.print": printed,
	})
}

// dimension is the axis of the grid.
func (c *compiler) dimension() int {
	if a := c.op.Attribute("axis"); a != nil {
		if n := strings.Index("xyz", c.op.Keyword("axis", "")); n >= 0 && c.op.Keyword("axis", "") != "" {
			return n
		}
	}
	panic(failure("there is no such axis"))
}

func programID(c *compiler) step {
	n, o, m := c.dimension(), dataOf[int32](c.define(0, nil)), c.m
	return func() { o[0] = m.at[n] }
}

func programs(c *compiler) step {
	n, o, m := c.dimension(), dataOf[int32](c.define(0, nil)), c.m
	return func() { o[0] = m.launch.grid[n] }
}

func assert(c *compiler) step {
	text := "an assertion does not hold"
	if a := c.op.Attribute("message"); a != nil {
		text = a.String
	}
	return c.holds(check.Assertion, text)
}

func assume(c *compiler) step {
	return c.holds(check.Assumption, "what the kernel assumes does not hold")
}

func (c *compiler) holds(kind, text string) step {
	s := c.use(0)
	list := dataOf[bit](s)
	all := places(s)
	c.named(s.t)
	m, op := c.m, c.op
	return func() {
		if i := slices.Index(list, 0); i >= 0 {
			for lane, p := range all {
				if int(p) == i {
					m.report(m.finding(op, kind, text, lane))
					return
				}
			}
		}
	}
}

// printed writes one line for each value: the instance, the text, and the elements, of which long lists have their ends only.
func printed(c *compiler) step {
	prefix := ""
	if a := c.op.Attribute("prefix"); a != nil {
		prefix = a.String
	}
	if strings.HasPrefix(prefix, marked) {
		return c.marker(prefix[len(marked):])
	}
	hex := c.op.Attribute("hex")
	isHex := hex != nil && hex.Int != 0
	var values []func() string
	for i := range c.op.Operands {
		s := c.use(i)
		values = append(values, func() string { return s.text(isHex) })
	}
	m := c.m
	write := func(text string) {
		m.launch.mu.Lock()
		defer m.launch.mu.Unlock()
		fmt.Fprintf(m.launch.o.Output, "pid (%d, %d, %d) %s%s\n", m.at[0], m.at[1], m.at[2], prefix, text)
	}
	return func() {
		if m.launch.o.Output == nil {
			return
		}
		if len(values) == 0 {
			write("")
		}
		for _, v := range values {
			write(" " + v())
		}
	}
}

// marked begins the texts of tt.print that goproton's handlers in Triton's code generator write: marks for a debugger, and what Python's print
// prints.
const marked = "\x01"

// Marks of a debugger, in the text of tt.print: what the kernel's source does there.
const (
	MarkBreak    = marked + "break"  // breakpoint() or pdb.set_trace()
	MarkVariable = marked + "var "   // and a name, which the operand is assigned to
	MarkConstant = marked + "const " // and a name and a text: a constant that is assigned
	markPrint    = "print "
)

// Printed is what a kernel prints with Python's print: a text in which each \x02 stands for a value.
type Printed struct {
	Program [3]int32
	Text    string
	Values  []Value
}

// marker is the step of a text that a handler wrote: only print does something.
func (c *compiler) marker(text string) step {
	text, ok := strings.CutPrefix(text, markPrint)
	if !ok {
		return nil
	}
	p := &Printed{Text: text}
	for i := range c.op.Operands {
		p.Values = append(p.Values, Value{c.use(i)})
	}
	m := c.m
	return func() {
		p.Program = m.at
		switch o := &m.launch.o; {
		case o.Print != nil:
			m.launch.mu.Lock()
			defer m.launch.mu.Unlock()
			o.Print(p)
		case o.Output != nil:
			m.launch.mu.Lock()
			defer m.launch.mu.Unlock()
			fmt.Fprintf(o.Output, "pid (%d, %d, %d) %s\n", m.at[0], m.at[1], m.at[2], p.text())
		}
	}
}

func (p *Printed) text() string {
	parts := strings.Split(p.Text, "\x02")
	for i, v := range p.Values {
		if i+1 < len(parts) {
			parts[i] += v.s.text(false)
		}
	}
	return strings.Join(parts, "")
}

const shown = 3 // elements at each end of a dimension

func (s *slot) text(hex bool) string {
	var b strings.Builder
	s.nested(&b, nil, hex)
	return b.String()
}

func (s *slot) nested(b *strings.Builder, at []int, hex bool) {
	full := dims(s.t)
	if len(at) == len(full) {
		b.WriteString(s.element(int(storedAt(s, at)), hex))
		return
	}
	b.WriteByte('[')
	n := full[len(at)]
	for i := 0; i < n; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if n > 2*shown+1 && i == shown {
			b.WriteString("…, ")
			i = n - shown
		}
		s.nested(b, append(slices.Clone(at), i), hex)
	}
	b.WriteByte(']')
}

func (s *slot) element(i int, hex bool) string {
	format := "%v"
	switch a := s.data.(type) {
	case []bit:
		return fmt.Sprint(a[i])
	case []float32:
		if hex {
			return fmt.Sprintf("%#x", patternOf(s.t.Scalar().Float, a[i]))
		}
		return fmt.Sprintf("%g", a[i])
	case []float64:
		return fmt.Sprintf("%g", a[i])
	case []int8:
		if hex {
			return fmt.Sprintf("%#x", uint8(a[i]))
		}
		return fmt.Sprintf(format, a[i])
	case []int16:
		if hex {
			return fmt.Sprintf("%#x", uint16(a[i]))
		}
		return fmt.Sprintf(format, a[i])
	case []int32:
		if hex {
			return fmt.Sprintf("%#x", uint32(a[i]))
		}
		return fmt.Sprintf(format, a[i])
	case []int64:
		if hex {
			return fmt.Sprintf("%#x", uint64(a[i]))
		}
		return fmt.Sprintf(format, a[i])
	}
	return "?"
}
