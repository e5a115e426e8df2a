package work

import (
	"math"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Facts are what the work of a launch depends on in one argument.
type Facts struct {
	IsTensor bool // tritonparse's view: numel and element_size are whole numbers
	Bytes    int64
	Distinct int64 // bytes that are different memory, also of descriptors and wrapped tensors; -1 for arguments without memory
	IsNumber bool
	Number   int64
	Shape    []int64 // of a descriptor
	Strides  []int64
}

// ReadFacts looks at the description of an argument.
func ReadFacts(raw []byte) Facts {
	f := Facts{Distinct: -1}
	if len(raw) == 0 || raw[0] != '{' {
		return f
	}
	f.Bytes, f.IsTensor = tensorBytes(raw, false)
	if n, ok := tensorBytes(raw, true); ok {
		f.Distinct = n
		return f
	}
	switch kind := jsontext.Get(raw, "type"); string(kind) {
	case `"int"`, `"bool"`:
		n := ScalarFacts(kind, jsontext.Get(raw, "value"))
		f.IsNumber, f.Number = n.IsNumber, n.Number
	case `"TensorDescriptor"`:
		f.Shape, f.Strides = ndjson.WholeNumbers(jsontext.Get(raw, "shape")), ndjson.WholeNumbers(jsontext.Get(raw, "strides"))
		if n, ok := tensorBytes(jsontext.Get(raw, "base"), true); ok {
			f.Distinct = n
		}
	default: // triton_kernels' tensors keep theirs in a storage
		if n, ok := tensorBytes(jsontext.Get(raw, "storage", "data"), true); ok {
			f.Distinct = n
		}
	}
	return f
}

// ScalarFacts are those of an argument that has nothing but a type and a value.
func ScalarFacts(kind, value []byte) Facts {
	f := Facts{Distinct: -1}
	switch string(kind) {
	case `"int"`:
		f.Number, f.IsNumber = ndjson.WholeNumber(value)
	case `"bool"`:
		f.IsNumber = true
		if string(value) == "true" {
			f.Number = 1
		}
	}
	return f
}

// tensorBytes is the size of a tensor; distinct leaves out what a stride of 0 repeats.
func tensorBytes(raw []byte, distinct bool) (int64, bool) {
	numel, ok := ndjson.WholeNumber(jsontext.Get(raw, "numel"))
	size, okSize := ndjson.WholeNumber(jsontext.Get(raw, "element_size"))
	if !ok || !okSize || numel < 0 || size < 0 || size > 0 && numel > math.MaxInt64/size {
		return 0, false
	}
	if !distinct {
		return numel * size, true
	}
	shape, strides := ndjson.WholeNumbers(jsontext.Get(raw, "shape")), ndjson.WholeNumbers(jsontext.Get(raw, "stride"))
	if len(shape) == len(strides) && slices.Contains(strides, 0) {
		for i, s := range strides {
			if s == 0 && shape[i] > 0 {
				numel /= shape[i]
			}
		}
	}
	return numel * size, true
}
