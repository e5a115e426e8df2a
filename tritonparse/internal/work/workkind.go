// Package work counts the bytes that a launch moves and the operations that it computes, from the kernel's TTIR and the
// arguments of the launch: how often loops run, and what is loaded, stored and multiplied in them.
package work

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Inputs is what decides the work of a launch: its grid and its arguments. Launches of one kind do the same work.
type Inputs struct {
	Grid      []byte // as in the record
	Dims      []int64
	Arguments []boundArgument // numbers and descriptors
	Positions int             // how many arguments there are
	FromArgs  int64           // bytes of tensors
	HasArgs   bool            // FromArgs is known
}

// boundArgument is an argument that loops may depend on.
type boundArgument struct {
	Position int
	Name     string
	IsNumber bool
	number   int64
	Shape    []int64 // of a descriptor
	Strides  []int64
}

func (k *Inputs) Add(name string, f *Facts, q quirks.Set) {
	bytes, ok := f.Bytes, f.IsTensor
	if !q.Has(quirks.StaticWork) {
		bytes, ok = f.Distinct, f.Distinct >= 0
		if f.IsNumber || f.Shape != nil {
			k.Arguments = append(k.Arguments, boundArgument{k.Positions, name, f.IsNumber, f.Number, f.Shape, f.Strides})
		}
	}
	k.Positions++
	if !ok {
		return
	}
	k.HasArgs = true
	if strings.HasPrefix(name, "in_out_ptr") { // Inductor's name for what is read and written
		k.FromArgs += bytes
	}
	k.FromArgs += bytes
}

// programs is how many programs the launch has; false if the grid is not known.
func (k *Inputs) programs() (int64, bool) {
	if len(k.Dims) == 0 {
		return 0, false
	}
	n := int64(1)
	for _, d := range k.Dims {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// AppendKind writes a kind for a log. Kinds with the same work have the same bytes. irrelevant has, for each argument, whether its
// number is left out; nil: none is.
func AppendKind(out []byte, k *Inputs, irrelevant []bool) []byte {
	numbers := func(list []int64) {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, n := range list {
			out = binary.AppendVarint(out, n)
		}
	}
	out = store.AppendCounted(out, k.Grid)
	out = binary.AppendVarint(out, int64(k.Positions))
	out = binary.AppendVarint(out, k.FromArgs)
	out = append(out, figures.OneIf[byte](k.HasArgs))
	for i := range k.Arguments {
		a := &k.Arguments[i]
		out = binary.AppendVarint(out, int64(a.Position))
		out = store.AppendCounted(out, a.Name)
		out = append(out, figures.OneIf[byte](a.IsNumber))
		if irrelevant != nil && irrelevant[i] {
			out = binary.AppendVarint(out, 0)
		} else {
			out = binary.AppendVarint(out, a.number)
		}
		numbers(a.Shape)
		numbers(a.Strides)
	}
	return out
}

// Read reads what AppendKind wrote, in the memory of the kind before, which mostly has arguments of the same names.
func (k *Inputs) Read(in []byte) error {
	r := store.Cursor{In: in}
	before := k.Arguments
	*k = Inputs{Grid: bytes.Clone(r.Text()), Arguments: before[:0]}
	k.Dims = ndjson.WholeNumbers(k.Grid)
	k.Positions, k.FromArgs, k.HasArgs = int(r.Varint()), r.Varint(), r.Flag()
	for i := 0; len(r.In) > 0 && !r.Damaged; i++ {
		a := boundArgument{Position: int(r.Varint())}
		if name := r.Text(); i < len(before) && before[i].Name == string(name) {
			a.Name = before[i].Name
		} else {
			a.Name = string(name)
		}
		a.IsNumber, a.number = r.Flag(), r.Varint()
		a.Shape, a.Strides = r.Numbers(), r.Numbers()
		k.Arguments = append(k.Arguments, a)
	}
	return r.Err()
}
