package interpreter

import (
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{"tt.elementwise_inline_asm": inlineAssembly})
}

// inRegisters is how elements of an operand or a result lie in registers: those of at most 16 bits share one, the first in the lowest bits.
type inRegisters struct {
	bits, perRegister int
	get               func(i int) uint64
	put               func(i int, v uint64)
}

func registersOf(t *ttir.Type, pack int) inRegisters {
	e := t.Scalar()
	l := inRegisters{bits: 64, perRegister: 1}
	if e.Kind == ttir.IntegerType || e.Kind == ttir.FloatType {
		l.bits = e.Bits
	}
	if l.bits < 32 {
		l.perRegister = min(32/l.bits, pack)
	}
	return l
}

// width is the size of a register. One that holds an element of few bits alone is cut where it is written.
func (l *inRegisters) width() int {
	if l.perRegister > 1 {
		return l.bits * l.perRegister
	}
	return max(l.bits, 8)
}

// inlineAssembly executes PTX for so many elements at a time as are packed.
func inlineAssembly(c *compiler) step {
	op := c.op
	text, constraints, packed := op.Attribute("asm_string"), op.Attribute("constraints"), op.Attribute("packed_element")
	if text == nil || constraints == nil || packed == nil || packed.Int < 1 || packed.Int > 64 || len(op.Results) == 0 {
		panic(failure("its text, constraints or number of packed elements is missing"))
	}
	pack := int(packed.Int)
	shape := dims(c.resultType(0))
	var fills []step
	var layouts []inRegisters // of results, then of operands
	for i := range op.Results {
		l := registersOf(c.resultType(i), pack)
		l.put = bitsInto(c.define(i, dims(c.resultType(i))))
		layouts = append(layouts, l)
	}
	for i := range op.Operands {
		s := c.use(i)
		l := registersOf(s.t, pack)
		get, fill := c.bitsOf(s, dims(s.t))
		l.get, fills = get, append(fills, fill)
		layouts = append(layouts, l)
	}
	var widths []int
	for _, l := range layouts {
		for range (pack + l.perRegister - 1) / l.perRegister {
			widths = append(widths, l.width())
		}
	}
	if n := len(operandsOf(constraints.String)); n < len(widths) || n > len(widths) && !strings.Contains(constraints.String, "~") {
		panic(failure("it has %d constraints, and its elements need %d registers", n, len(widths)))
	}
	code, err := readPTX(c.m, text.String, widths)
	if err != nil {
		panic(failure("%v", err))
	}
	n, results, r := ttir.Count(shape), len(op.Results), code.registers()
	c.block.cost += int64(n/pack*len(code.run)) / 64
	return chain(append(fills, func() {
		for from := 0; from < n; from += pack {
			at := 0
			for k := range layouts {
				l := &layouts[k]
				for i := 0; i < pack; i += l.perRegister {
					v := uint64(0)
					for j := 0; k >= results && j < l.perRegister && from+i+j < n; j++ {
						v |= l.get(from+i+j) << (j * l.bits)
					}
					r[at] = v
					at++
				}
			}
			for _, run := range code.run {
				run(r)
			}
			at = 0
			for k := range results {
				l := &layouts[k]
				for i := 0; i < pack; i += l.perRegister {
					for j := 0; j < l.perRegister && from+i+j < n; j++ {
						l.put(from+i+j, masked(r[at]>>(j*l.bits), l.bits))
					}
					at++
				}
			}
		}
	})...)
}

// bitsOf reads the elements of an operand as bits.
func (c *compiler) bitsOf(s *slot, shape []int) (func(i int) uint64, step) {
	e := s.t.Scalar()
	switch s.data.(type) {
	case []float32:
		a, fill := operand[float32](c, s, shape)
		return func(i int) uint64 { return uint64(patternOf(e.Float, a[i])) }, fill
	case []float64:
		a, fill := operand[float64](c, s, shape)
		return func(i int) uint64 { return wideBits(e.Float, a[i]) }, fill
	}
	get, fill := c.scalars(s, shape)
	bits := 64
	if e.Kind == ttir.IntegerType {
		bits = e.Bits
	}
	return func(i int) uint64 { return masked(uint64(get(i).i), bits) }, fill
}

// bitsInto writes the elements of a result from their bits.
func bitsInto(s *slot) func(i int, v uint64) {
	switch o := s.data.(type) {
	case []float32:
		f := s.t.Scalar().Float
		return func(i int, v uint64) { o[i] = valueOf(f, uint32(v)) }
	case []float64:
		f := s.t.Scalar().Float
		return func(i int, v uint64) { o[i] = f.Value(v) }
	}
	put := scalarsInto(s)
	return func(i int, v uint64) { put(i, scalar{i: int64(v)}) }
}
