package tensor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The values of a pickle that torch.save wrote are int64, bool, string, nil, []any for tuples and lists, and these types.
type (
	global     struct{ module, name string }
	persistent struct{ id any }
	call       struct {
		function  any
		arguments []any
	}
	dict map[string]any
	mark struct{}
)

// errPickle is wrapped by the errors for what is not a pickle, or does more than a tensor's pickle does.
var errPickle = errors.New("the pickle of torch.save in it cannot be read")

// unpickle reads a pickle of protocol 2. It calls nothing: calls are part of the result.
func unpickle(text []byte) (any, error) {
	m := machine{in: bytes.NewBuffer(text), memo: map[uint32]any{}}
	for {
		op, err := m.in.ReadByte()
		if err != nil {
			return nil, errPickle
		}
		if op == '.' {
			return m.pop(), m.err
		}
		if m.step(op); m.err != nil {
			return nil, m.err
		}
	}
}

type machine struct {
	in    *bytes.Buffer
	stack []any
	memo  map[uint32]any
	err   error
}

func (m *machine) fail(what string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: "+what, append([]any{errPickle}, args...)...)
	}
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() any {
	if len(m.stack) == 0 {
		m.fail("it ends early")
		return nil
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

// popMark pops what was pushed since the last mark.
func (m *machine) popMark() []any {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			list := slices.Clone(m.stack[i+1:])
			m.stack = m.stack[:i]
			return list
		}
	}
	m.fail("a mark is missing")
	return nil
}

func (m *machine) popN(n int) []any {
	list := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		list[i] = m.pop()
	}
	return list
}

// number reads an unsigned number of so many bytes.
func (m *machine) number(bytes int) uint64 {
	b := m.in.Next(bytes)
	if len(b) < bytes {
		m.fail("it ends early")
		return 0
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:])
}

func (m *machine) line() string {
	l, err := m.in.ReadString('\n')
	if err != nil {
		m.fail("it ends early")
		return ""
	}
	return l[:len(l)-1]
}

func (m *machine) text(length uint64) string {
	if length > uint64(m.in.Len()) {
		m.fail("it ends early")
		return ""
	}
	return string(m.in.Next(int(length)))
}

func (m *machine) step(op byte) {
	switch op {
	case 0x80: // protocol
		m.number(1)
	case '(':
		m.push(mark{})
	case 'N':
		m.push(nil)
	case 0x88, 0x89:
		m.push(op == 0x88)
	case 'K':
		m.push(int64(m.number(1)))
	case 'M':
		m.push(int64(m.number(2)))
	case 'J':
		m.push(int64(int32(m.number(4))))
	case 0x8a:
		m.push(m.long())
	case 'G': // a float, which says nothing about a tensor
		m.push(m.number(8))
	case 'X':
		m.push(m.text(m.number(4)))
	case 'c':
		m.push(global{m.line(), m.line()})
	case 'Q':
		m.push(persistent{m.pop()})
	case 'q', 'r', 'h', 'j':
		m.remember(op)
	default:
		m.build(op)
	}
}

// long reads an integer that has more than 32 bits.
func (m *machine) long() int64 {
	n := int(m.number(1))
	if n > 8 {
		m.fail("a number has %d bytes", n)
		return 0
	}
	v, unused := m.number(n), 64-8*n
	return int64(v<<unused) >> unused
}

func (m *machine) remember(op byte) {
	width := 1
	if op == 'r' || op == 'j' {
		width = 4
	}
	key := uint32(m.number(width))
	if op == 'q' || op == 'r' {
		v := m.pop()
		m.push(v)
		m.memo[key] = v
		return
	}
	v, ok := m.memo[key]
	if !ok {
		m.fail("it refers to a missing entry of the memo")
	}
	m.push(v)
}

// build handles the instructions that make one value of several.
func (m *machine) build(op byte) {
	switch op {
	case ')', ']':
		m.push([]any{})
	case 't':
		m.push(m.popMark())
	case 0x85, 0x86, 0x87:
		m.push(m.popN(int(op) - 0x84))
	case '}':
		m.push(dict{})
	case 's':
		m.set(m.popN(2))
	case 'u':
		m.set(m.popMark())
	case 'R', 0x81: // a call, or a new object
		pair := m.popN(2)
		arguments, _ := pair[1].([]any)
		m.push(call{pair[0], arguments})
	case 'b': // the state of an object: a tensor's says nothing of its elements
		m.pop()
	default:
		m.fail("unknown instruction %#02x", op)
	}
}

func (m *machine) set(pairs []any) {
	into := m.pop()
	m.push(into)
	d, ok := into.(dict)
	for i := 0; ok && i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			d[name] = pairs[i+1]
		}
	}
}
