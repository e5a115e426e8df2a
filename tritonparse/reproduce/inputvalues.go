package reproduce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// floats are TTIR's types of floating-point numbers by torch's names. Of whole numbers the names differ in their length alone.
var floats = map[string]ttir.Float{
	"float64": ttir.F64, "float32": ttir.F32, "float16": ttir.F16, "bfloat16": ttir.BF16, "float8_e4m3fn": ttir.F8E4M3FN, "float8_e5m2": ttir.F8E5M2,
	"float8_e4m3fnuz": ttir.F8E4M3FNUZ, "float8_e5m2fnuz": ttir.F8E5M2FNUZ, "float8_e8m0fnu": ttir.F8E8M0FNU,
}

// elementOf is the name that TTIR has for a type of torch's; "" if it has none.
func elementOf(dtype string) string {
	dtype = strings.TrimPrefix(dtype, "torch.")
	if f := floats[dtype]; f != ttir.NoFloat {
		return f.String()
	}
	if bits, whole := strings.CutPrefix(strings.TrimPrefix(dtype, "u"), "int"); whole {
		return "i" + bits
	}
	if dtype == "bool" {
		return "i1"
	}
	return ""
}

var errOtherTensor = errors.New("the file holds a tensor of another shape or type than the launch had")

// recordedValues are the elements of a tensor that the trace has, in the order of their indices; nil if it has none.
func (in *inputs) recordedValues(t *placed) ([]byte, error) {
	if t.Blob == nil || t.Blob.Path == "" {
		return nil, nil
	}
	b, found := in.findBlob(t.Blob.Path)
	if !found {
		in.noteGone(t.Name, t.Blob.Path)
		t.Blob = nil
		return nil, nil
	}
	return t.contentsOf(b.file, tensor.Recorded{Hash: t.Blob.Hash, Size: t.Blob.Uncompressed, Elements: t.Bytes})
}

// contentsOf are the elements in a file.
func (t *placed) contentsOf(path string, r tensor.Recorded) ([]byte, error) {
	file, err := tensor.Open(path, r)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !slices.Equal(file.Shape, t.Shape) || file.Dtype != strings.TrimPrefix(t.Dtype, "torch.") {
		return nil, errOtherTensor
	}
	if file.Elements() > mostMemory/t.ElementSize {
		return nil, fmt.Errorf("it has %d elements, more than can be read here", file.Elements())
	}
	return file.Contents()
}

// findLeft reads what a later launch found in tensors. Where elements lie with gaps, what is in the gaps was not recorded: kernels may read it.
func (in *inputs) findLeft() error {
	for i := range in.tensors {
		if t := &in.tensors[i]; layoutOf(t.Argument) != "" {
			in.note("the elements of %s have %s; what lies between them was not recorded and is 0", t.Name, layoutOf(t.Argument))
			return nil
		}
	}
	if err := in.findExpected(); err != nil {
		return err
	}
	for _, e := range in.result.Expected {
		i := slices.IndexFunc(in.tensors, func(t placed) bool { return t.Name == e.Argument })
		at := slices.IndexFunc(in.blobs, func(b blob) bool { return b.name == e.Blob })
		if i < 0 || at < 0 {
			continue
		}
		t := &in.tensors[i]
		values, err := t.contentsOf(in.blobs[at].file, tensor.Recorded{})
		if err != nil {
			return fmt.Errorf("the contents of %s, %s: %w", e.Argument, e.From, err)
		}
		in.Left = append(in.Left, Left{e.Argument, e.From, t.region, t.at, values})
	}
	return nil
}

// mostMadeUp bounds the elements of a tensor that are made one by one, in 35 ns each: they repeat in a larger one. No power of two, so that rows differ.
const mostMadeUp = 1<<20 - 3

// madeUp are values for the elements of a tensor: some like the recorded, if their statistics are known, else random ones, as in a script.
func (in *inputs) madeUp(t *tritonparse.Argument, stream uint64) []byte {
	r := rand.New(rand.NewPCG(uint64(in.plan.seed), stream))
	n, size := ttir.Count(t.Shape), int(t.ElementSize)
	values := make([]byte, n*int64(size))
	dtype := strings.TrimPrefix(t.Dtype, "torch.")
	element := in.maker(t, dtype, r)
	made := min(len(values), mostMadeUp*size)
	for i := 0; i < made; i += size {
		var bits [16]byte
		binary.LittleEndian.PutUint64(bits[:], element())
		if strings.HasPrefix(dtype, "complex") { // two numbers
			binary.LittleEndian.PutUint64(bits[size/2:], element())
		}
		copy(values[i:i+size], bits[:])
	}
	for ; made > 0 && made < len(values); made *= 2 {
		copy(values[made:], values[:made])
	}
	return values
}

// maker makes one element after another, as its bits.
func (in *inputs) maker(t *tritonparse.Argument, dtype string, r *rand.Rand) func() uint64 {
	like := func(v float64) float64 { return v }
	known := likeRecorded(t.Stats)
	if known {
		deviation := t.Stats.Std
		if !finite(deviation) {
			deviation = 0
		}
		like = func(v float64) float64 { return min(max(v*deviation+t.Stats.Mean, t.Stats.Min), t.Stats.Max) }
	}
	f := floats[dtype]
	switch {
	case strings.HasPrefix(dtype, "complex"):
		return func() uint64 {
			return map[bool]ttir.Float{true: ttir.F32, false: ttir.F64}[t.ElementSize == 8].Pattern(r.NormFloat64())
		}
	case f != ttir.NoFloat:
		return func() uint64 { return f.Pattern(like(r.NormFloat64())) }
	case dtype == "bool":
		share := 0.5
		if known {
			share = t.Stats.Mean
		}
		return func() uint64 {
			if r.Float64() < share {
				return 1
			}
			return 0
		}
	case known && strings.Contains(dtype, "int"):
		return func() uint64 {
			v := math.RoundToEven(like(r.NormFloat64()))
			if v >= math.MaxInt64 {
				return math.MaxInt64
			}
			return uint64(int64(v))
		}
	case t.ElementSize == 1: // quantized data, hardly ever an index
		return func() uint64 { return r.Uint64() & 0xFF }
	}
	least, limit := in.plan.intRange[0], in.plan.intRange[1]
	return func() uint64 { return uint64(least + r.Int64N(max(limit-least, 1))) }
}

// scatter puts elements, which are in the order of their indices, where the strides of a tensor have them.
func scatter(memory []byte, t *tritonparse.Argument, values []byte) {
	size := t.ElementSize
	row, inner := int64(1), len(t.Shape)
	for inner > 0 && (t.Shape[inner-1] == 1 || t.Stride[inner-1] == row) {
		inner--
		row *= t.Shape[inner]
	}
	at := make([]int64, inner)
	for from := int64(0); from < int64(len(values)); from += row * size {
		start := int64(0)
		for d, i := range at {
			start += i * t.Stride[d]
		}
		copy(memory[start*size:], values[from:from+row*size])
		for d := inner - 1; d >= 0; d-- {
			if at[d]++; at[d] < t.Shape[d] {
				break
			}
			at[d] = 0
		}
	}
}
