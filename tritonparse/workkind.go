package tritonparse

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// workKind is what launches have in common that do the same work.
type workKind struct {
	grid      []byte // as it was given
	dims      []int64
	arguments []boundArgument // numbers and descriptors
	positions int             // arguments in all
	fromArgs  int64           // bytes of tensors
	hasArgs   bool
}

// boundArgument is an argument that loops may depend on.
type boundArgument struct {
	position int
	name     string
	isNumber bool
	number   int64
	shape    []int64 // of a descriptor
	strides  []int64
}

// add takes the next argument.
func (k *workKind) add(name string, f *facts, compat bool) {
	bytes, ok := f.bytes, f.isTensor
	if !compat {
		bytes, ok = f.distinct, f.distinct >= 0
		if f.isNumber || f.shape != nil {
			k.arguments = append(k.arguments, boundArgument{k.positions, name, f.isNumber, f.number, f.shape, f.strides})
		}
	}
	k.positions++
	if !ok {
		return
	}
	k.hasArgs = true
	if strings.HasPrefix(name, "in_out_ptr") { // Inductor's name for what is read and written
		k.fromArgs += bytes
	}
	k.fromArgs += bytes
}

// programs is how many there are.
func (k *workKind) programs() (int64, bool) {
	if len(k.dims) == 0 {
		return 0, false
	}
	n := int64(1)
	for _, d := range k.dims {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// appendKind writes a kind for a log; equal kinds give equal bytes. Numbers that are idle are left out: nil if none are.
func appendKind(out []byte, k *workKind, idle []bool) []byte {
	numbers := func(list []int64) {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, n := range list {
			out = binary.AppendVarint(out, n)
		}
	}
	out = appendCounted(out, k.grid)
	out = binary.AppendVarint(out, int64(k.positions))
	out = binary.AppendVarint(out, k.fromArgs)
	out = append(out, oneIf(k.hasArgs))
	for i := range k.arguments {
		a := &k.arguments[i]
		out = binary.AppendVarint(out, int64(a.position))
		out = appendCounted(out, a.name)
		out = append(out, oneIf(a.isNumber))
		if idle != nil && idle[i] {
			out = binary.AppendVarint(out, 0)
		} else {
			out = binary.AppendVarint(out, a.number)
		}
		numbers(a.shape)
		numbers(a.strides)
	}
	return out
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// readKind reads what appendKind wrote.
func readKind(in []byte) (*workKind, error) {
	r := cursor{in: in}
	k := &workKind{grid: bytes.Clone(r.text())}
	k.dims = wholeNumbers(k.grid)
	k.positions, k.fromArgs, k.hasArgs = int(r.varint()), r.varint(), r.flag()
	for len(r.in) > 0 && !r.damaged {
		a := boundArgument{position: int(r.varint()), name: string(r.text()), isNumber: r.flag(), number: r.varint()}
		a.shape, a.strides = r.numbers(), r.numbers()
		k.arguments = append(k.arguments, a)
	}
	return k, r.err()
}
