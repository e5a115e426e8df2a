package interpreter

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{
		"tt.get_program_id": programID, "tt.get_num_programs": programs, "tt.assert": assert, "llvm.intr.assume": assume, "tt.print": printed,
	})
}

// dimension is the axis of the grid.
func (c *compiler) dimension() int {
	axis := c.op.Keyword("axis", "")
	if n := strings.Index("xyz", axis); n >= 0 && axis != "" {
		return n
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
	return c.holds(check.Assertion, c.op.Keyword("message", "an assertion does not hold"))
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

// printed writes what Triton's GPU code writes: a line for each element, with the instance, the element's index, the text and the number.
func printed(c *compiler) step {
	prefix := c.op.Keyword("prefix", "")
	if strings.HasPrefix(prefix, marked) {
		return c.marker(prefix[len(marked):])
	}
	signs, isHex := c.op.Attribute("isSigned"), c.op.Flag("hex")
	var operands []*slot
	for i := range c.op.Operands {
		operands = append(operands, c.use(i))
	}
	m := c.m
	return func() {
		if m.launch.o.Output == nil {
			return
		}
		var b strings.Builder
		head := fmt.Sprintf("pid (%d, %d, %d) idx (", m.at[0], m.at[1], m.at[2])
		if len(operands) == 0 {
			fmt.Fprintf(&b, "%s)%s\n", head, prefix)
		}
		for n, s := range operands {
			text := prefix
			if len(operands) > 1 {
				text += fmt.Sprintf("(operand %d) ", n)
			}
			signed := signs == nil || n >= len(signs.Ints) || signs.Ints[n] != 0
			full := dims(s.t)
			ttir.Each(full, func(at []int) {
				b.WriteString(head)
				for d, i := range at {
					if d > 0 {
						b.WriteString(", ")
					}
					fmt.Fprintf(&b, "%*d", len(strconv.Itoa(full[d]-1)), i)
				}
				fmt.Fprintf(&b, ")%s%s\n", text, s.printed(int(storedAt(s, at)), isHex, signed))
			})
		}
		m.launch.mu.Lock()
		defer m.launch.mu.Unlock()
		_, _ = io.WriteString(m.launch.o.Output, b.String())
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
			parts[i] += v.s.text()
		}
	}
	return strings.Join(parts, "")
}

const shown = 3 // elements at each end of a dimension

func (s *slot) text() string {
	var b strings.Builder
	s.nested(&b, nil)
	return b.String()
}

func (s *slot) nested(b *strings.Builder, at []int) {
	full := dims(s.t)
	if len(at) == len(full) {
		b.WriteString(s.element(int(storedAt(s, at))))
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
		s.nested(b, append(slices.Clone(at), i))
	}
	b.WriteByte(']')
}

func (s *slot) element(i int) string {
	switch a := s.data.(type) {
	case []float32:
		return fmt.Sprintf("%g", a[i])
	case []float64:
		return fmt.Sprintf("%g", a[i])
	}
	return s.printed(i, false, true)
}

// printed is an element as C's printf writes it on a GPU.
func (s *slot) printed(i int, hex, signed bool) string {
	number := func(v int64, bits int) string {
		switch {
		case hex || s.t.Scalar().Kind == ttir.PointerType:
			return fmt.Sprintf("0x%0*x", bits/4, masked(uint64(v), bits))
		case signed:
			return strconv.FormatInt(v, 10)
		}
		return strconv.FormatUint(masked(uint64(v), bits), 10)
	}
	switch a := s.data.(type) {
	case []bit:
		return strconv.Itoa(int(a[i]))
	case []float32:
		if hex {
			return number(int64(patternOf(s.t.Scalar().Float, a[i])), s.t.Scalar().Bits)
		}
		return cFloat(float64(a[i]))
	case []float64:
		if hex {
			return number(int64(math.Float64bits(a[i])), 64)
		}
		return cFloat(a[i])
	case []int8, []int16, []int32, []int64:
		return number(reflect.ValueOf(a).Index(i).Int(), bitsOf(s))
	}
	return "?"
}

func cFloat(x float64) string {
	switch {
	case x != x:
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(fmt.Sprintf("%f", x)), "+")
	}
	return fmt.Sprintf("%f", x)
}
