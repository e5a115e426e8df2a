package tritonparse

import (
	"math"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
)

// facts are what the work of a launch depends on, of one argument.
type facts struct {
	isTensor bool // tritonparse's view: numel and element_size are whole numbers
	bytes    int64
	distinct int64 // bytes that are different memory, also of descriptors and wrapped tensors; -1 for what is no memory
	isNumber bool
	number   int64
	shape    []int64 // of a descriptor
	strides  []int64
}

// readFacts looks at the description of an argument.
func readFacts(raw []byte) facts {
	f := facts{distinct: -1}
	if len(raw) == 0 || raw[0] != '{' {
		return f
	}
	f.bytes, f.isTensor = tensorBytes(raw, false)
	if n, ok := tensorBytes(raw, true); ok {
		f.distinct = n
		return f
	}
	switch jsontext.Text(jsontext.Get(raw, "type")) {
	case "int":
		f.number, f.isNumber = wholeNumber(jsontext.Get(raw, "value"))
	case "bool":
		f.isNumber = true
		if string(jsontext.Get(raw, "value")) == "true" {
			f.number = 1
		}
	case "TensorDescriptor":
		f.shape, f.strides = wholeNumbers(jsontext.Get(raw, "shape")), wholeNumbers(jsontext.Get(raw, "strides"))
		if n, ok := tensorBytes(jsontext.Get(raw, "base"), true); ok {
			f.distinct = n
		}
	default: // triton_kernels' tensors keep theirs in a storage
		if n, ok := tensorBytes(jsontext.Get(raw, "storage", "data"), true); ok {
			f.distinct = n
		}
	}
	return f
}

// tensorBytes is the size of a tensor; distinct leaves out what a stride of 0 repeats.
func tensorBytes(raw []byte, distinct bool) (int64, bool) {
	numel, ok := wholeNumber(jsontext.Get(raw, "numel"))
	size, okSize := wholeNumber(jsontext.Get(raw, "element_size"))
	if !ok || !okSize || numel < 0 || size < 0 || size > 0 && numel > math.MaxInt64/size {
		return 0, false
	}
	if !distinct {
		return numel * size, true
	}
	shape, strides := wholeNumbers(jsontext.Get(raw, "shape")), wholeNumbers(jsontext.Get(raw, "stride"))
	if len(shape) == len(strides) && slices.Contains(strides, 0) {
		for i, s := range strides {
			if s == 0 && shape[i] > 0 {
				numel /= shape[i]
			}
		}
	}
	return numel * size, true
}
