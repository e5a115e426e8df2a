package interpreter

import (
	"fmt"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// Hints are what a kernel promises of a value (tl.multiple_of, tl.max_contiguous, tl.max_constancy) and what a launch promises of an
// argument: the compiler reads and writes several elements at once where they hold. No instruction uses more than mostHinted of them, and
// promises of more are checked for so many.
const mostHinted = 16

// hint is the promises of one value, by dimensions; 1 promises nothing.
type hint struct{ divisible, contiguous, constant []int64 }

// hinted checks the hints of an operation's result.
func (c *compiler) hinted(op *ttir.Op) step {
	if c.m.with.checks&check.Hints == 0 || c.quiet || len(op.Results) != 1 {
		return nil
	}
	s := c.slots[op.Results[0]]
	full := dims(s.t)
	h := hint{promised(op, "tt.divisibility", len(full)), promised(op, "tt.contiguity", len(full)), promised(op, "tt.constancy", len(full))}
	if h.divisible == nil && h.contiguous == nil && h.constant == nil {
		return nil
	}
	if k := classOf(s.t); k != i8 && k != i16 && k != i32 && k != i64 {
		return nil
	}
	s.ask()
	list, fill := c.indices(s)
	c.named(s.t)
	unit := int64(1) // in which neighbours differ
	if to := s.t.Pointee(); to != nil {
		unit = int64(max(1, to.Bits/8))
	}
	m := c.m
	return chain(fill, func() {
		if lane, text := h.broken(m.memory, list, full, unit); text != "" {
			f := m.finding(op, check.WrongHint, text, lane)
			m.report(f)
		}
	})
}

// promised reads a hint; nil if there is none.
func promised(op *ttir.Op, name string, rank int) []int64 {
	a := op.Attribute(name)
	if a == nil {
		return nil
	}
	list := []int64{a.Int}
	if a.Kind == ttir.Dense {
		patterns, err := a.Elements()
		if err != nil || len(patterns) == 0 {
			return nil
		}
		list = list[:0]
		for _, p := range patterns {
			list = append(list, int64(int32(p)))
		}
	}
	for len(list) < rank {
		list = append(list, list[0])
	}
	for i := range list {
		list[i] = max(1, min(list[i], mostHinted))
	}
	return list
}

// broken is the first element for which a promise does not hold, and what it promises.
func (h *hint) broken(memory *memory, list []int64, full []int, unit int64) (lane int, text string) {
	if len(full) == 0 {
		if h.divisible != nil && memory.alignment(list[0])%h.divisible[0] != 0 {
			return 0, fmt.Sprintf("the kernel promises a multiple of %d, and the value is %s", h.divisible[0], memory.words(list[0]))
		}
		return 0, ""
	}
	strides := ttir.Strides(full)
	for at, v := range list {
		begins := true
		for d, n := range full {
			i := int64(at / strides[d] % n)
			before := v - unit - 1 // of the element before along the dimension; another one at the beginning
			if i > 0 {
				before = list[at-strides[d]]
			}
			switch {
			case h.contiguous != nil && h.contiguous[d] > 1 && i%h.contiguous[d] != 0 && v != before+unit:
				return at, fmt.Sprintf("the kernel promises that %d elements are contiguous, and %s follows %s", h.contiguous[d], memory.words(v), memory.words(before))
			case h.constant != nil && h.constant[d] > 1 && i%h.constant[d] != 0 && v != before:
				return at, fmt.Sprintf("the kernel promises that %d elements are equal, and %s follows %s", h.constant[d], memory.words(v), memory.words(before))
			}
			begins = begins && h.begins(d, i, v, before, unit)
		}
		for d := range full {
			if begins && h.divisible != nil && memory.alignment(v)%h.divisible[d] != 0 {
				return at, fmt.Sprintf("the kernel promises a multiple of %d where contiguous elements begin, and the value is %s", h.divisible[d], memory.words(v))
			}
		}
	}
	return 0, ""
}

// begins says whether an element is the first of contiguous ones: only that one is promised to be a multiple.
func (h *hint) begins(d int, i, v, before, unit int64) bool {
	if h.contiguous != nil && h.contiguous[d] > 1 {
		return i%h.contiguous[d] == 0
	}
	return v != before+unit
}

// alignment is a number that has the divisors up to 16 of a value: of an address, those of where the program has it.
func (m *memory) alignment(v int64) int64 {
	if b, at := m.find(v); b != nil {
		return int64(b.Address%mostHinted) + at
	}
	return v
}

// words is a value in words.
func (m *memory) words(v int64) string {
	if b, at := m.find(v); b != nil {
		return fmt.Sprintf("byte %d of %s", at, b.Name)
	}
	return fmt.Sprint(v)
}

// hintedArguments are what the launch promises of arguments.
func (m *machine) hintedArguments() *Finding {
	for i, s := range m.main.arguments {
		a := &m.kernel.Arguments[i]
		name := m.kernel.Values[a.Value].Name
		v := int64(0)
		switch data := s.data.(type) {
		case []int64:
			v = data[0]
		case []int32:
			v = int64(data[0])
		default:
			continue
		}
		if d := a.Attribute("tt.divisibility"); d != nil && d.Int > 0 && m.memory.alignment(v)%min(d.Int, mostHinted) != 0 {
			return m.argumentFinding(a.Value, fmt.Sprintf("the kernel was compiled for an argument %s that is a multiple of %d, and it is %s", name, d.Int, m.memory.words(v)))
		}
		if d := a.Attribute("tt.pointer_range"); d != nil && d.Int == 32 {
			if b, _ := m.memory.find(v); b != nil && int64(len(b.Data)) > 1<<31 {
				return m.argumentFinding(a.Value, fmt.Sprintf("the kernel was compiled for an argument %s of less than 2 GiB, and %s has %d bytes", name, b.Name, len(b.Data)))
			}
		}
	}
	return nil
}

func (m *machine) argumentFinding(v ttir.Value, text string) *Finding {
	f := m.finding(nil, check.WrongHint, text, -1)
	f.Op, f.Line, f.Frames = "tt.func", int(m.kernel.Line), m.module.File.Frames(m.kernel.Values[v].Location)
	return f
}
