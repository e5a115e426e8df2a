package tritonparse

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Argument is one argument of a launch, or a tensor within one.
type Argument struct {
	Name string
	Raw  json.RawMessage // all that the record says of it
	Type string          // tensor, int, float, bool, str, NoneType, dtype, TensorDescriptor, triton_kernels.tensor.Tensor, or a class

	// Of int, float, bool and str. A float may be the text "nan", "inf" or "-inf".
	Value json.RawMessage
	Repr  string // of arguments without a value: None, dtypes (fp16), and classes that no reader parses

	// Of tensors, and of what has a shape. Sizes, strides and the offset are in elements.
	Shape       []int64
	Stride      []int64
	Dtype       string // torch.float16
	Device      string // cuda:0
	Offset      int64  // of the first element in its storage
	Numel       int64
	ElementSize int64 // bytes
	Bytes       int64 // memory_usage
	Contiguous  bool
	DataPtr     uint64
	Stats       *Statistics // nil if they were not recorded
	StatsError  string      // why they could not be
	Blob        *Blob       // nil if the contents were not to be kept

	Base     *Argument // tensor of a TensorDescriptor, whose own Shape and Stride are above
	Block    []int64   // block_shape of a TensorDescriptor
	Padding  string    // of a TensorDescriptor
	ShapeMax []int64   // of triton_kernels' tensors
	Storage  *Storage  // of triton_kernels' tensors
}

// Statistics are of a tensor's values.
type Statistics struct{ Min, Max, Mean, Std float64 }

// Blob is a tensor's contents, as torch.save writes them, in a file.
type Blob struct {
	Path         string // as the program that recorded it named it
	Hash         string // BLAKE2b-512 of the uncompressed bytes, 128 hexadecimal digits
	Size         int64  // of the file, in bytes
	Uncompressed int64
	Compression  string // gzip or none
	Error        string // why it was not kept; nothing else is set then
}

// Find is the blob's file on this machine, "" if it is not there: where it was written, or below the folder of the trace, which may
// have been moved.
func (b *Blob) Find(trace string) string {
	places := []string{b.Path}
	if name := filepath.Base(b.Path); len(b.Hash) >= 2 {
		places = append(places, filepath.Join(filepath.Dir(trace), "saved_tensors", b.Hash[:2], name))
	}
	return firstFile(places)
}

// Storage is what a tensor of triton_kernels is kept in.
type Storage struct {
	Data   *Argument
	Layout json.RawMessage // type, initial_shape, name
}

// Tensor is the argument itself if it is a tensor, else the tensor within it, nil if there is none.
func (a *Argument) Tensor() *Argument {
	switch {
	case a.Base != nil:
		return a.Base
	case a.Storage != nil:
		return a.Storage.Data
	case a.Type == "tensor":
		return a
	}
	return nil
}

// Brief shows an argument in a few characters: float16[64,64], 64, "relu", fp16, None.
func (a *Argument) Brief() string {
	switch {
	case a.Value != nil:
		return string(jsontext.Form{}.Append(nil, a.Value))
	case a.Shape != nil:
		dtype := a.Dtype
		if t := a.Tensor(); dtype == "" && t != nil {
			dtype = t.Dtype
		}
		var b strings.Builder
		b.WriteString(strings.TrimPrefix(dtype, "torch."))
		for i, n := range a.Shape {
			b.WriteByte("[,"[min(i, 1)])
			b.WriteString(strconv.FormatInt(n, 10))
		}
		if len(a.Shape) == 0 {
			b.WriteByte('[')
		}
		b.WriteByte(']')
		return b.String()
	case a.Storage != nil: // whose shape was computed on the GPU, or which is a storage itself
		return a.Storage.Data.Brief()
	case a.Repr != "":
		return a.Repr
	case a.Type != "":
		return a.Type
	case len(a.Raw) > 0:
		return string(jsontext.Form{}.Append(nil, a.Raw))
	}
	return "-"
}

// noteName stands among the arguments and says why there are none: a graph is being captured.
const noteName = "_note"

// ReadArguments takes the arguments of a launch record apart (extracted_args, extracted_inductor_args), in their order.
// Arguments keep parts of raw.
func ReadArguments(raw json.RawMessage) []Argument {
	members, err := jsontext.Members(raw)
	if err != nil {
		return nil
	}
	args := make([]Argument, 0, len(members))
	for _, m := range members {
		if m.Name == noteName {
			continue
		}
		args = append(args, readArgument(m.Name, m.Value, 0))
	}
	return args
}

// maxInner bounds how deep tensors lie within arguments.
const maxInner = 4

func readArgument(name string, raw []byte, depth int) Argument {
	a := Argument{Name: name, Raw: raw}
	members, err := jsontext.Members(raw)
	if err != nil || depth > maxInner {
		return a
	}
	stats := Statistics{}
	blob := Blob{}
	known := 0
	for _, m := range members {
		v := m.Value
		switch m.Name {
		case "type":
			a.Type = jsontext.Text(v)
		case "value":
			a.Value = v
		case "repr":
			a.Repr = jsontext.Text(v)
		case "shape":
			a.Shape = ndjson.WholeNumbers(v)
		case "stride", "strides":
			a.Stride = ndjson.WholeNumbers(v)
		case "dtype":
			a.Dtype = jsontext.Text(v)
		case "device":
			a.Device = jsontext.Text(v)
		case "storage_offset":
			a.Offset = ndjson.Integer(v)
		case "numel":
			a.Numel = ndjson.Integer(v)
		case "element_size":
			a.ElementSize = ndjson.Integer(v)
		case "memory_usage":
			a.Bytes = ndjson.Integer(v)
		case "is_contiguous":
			a.Contiguous = string(v) == "true"
		case "data_ptr":
			a.DataPtr, _ = strconv.ParseUint(strings.TrimPrefix(ndjson.Bare(v), "0x"), 16, 64)
		case "min", "max", "mean", "std":
			if stats.set(m.Name, v) {
				known++
			}
		case "tensor_capture_error":
			a.StatsError = jsontext.Text(v)
		case "tensor_hash":
			blob.Hash = jsontext.Text(v)
		case "blob_path":
			blob.Path = jsontext.Text(v)
		case "blob_size":
			blob.Size = ndjson.Integer(v)
		case "blob_size_uncompressed":
			blob.Uncompressed = ndjson.Integer(v)
		case "compression":
			blob.Compression = jsontext.Text(v)
		case "error":
			blob.Error = jsontext.Text(v)
		case "base":
			inner := readTensor(v, depth)
			a.Base = &inner
		case "block_shape":
			a.Block = ndjson.WholeNumbers(v)
		case "padding":
			a.Padding = jsontext.Text(v)
		case "shape_max":
			a.ShapeMax = ndjson.WholeNumbers(v)
		case "storage":
			a.Storage = readStorage(v, depth)
		}
	}
	if a.Type == "triton_kernels.tensor.Storage" { // by itself
		a.Storage = readStorage(raw, depth)
	}
	if known == 4 {
		a.Stats = &stats
	}
	if blob != (Blob{}) {
		a.Blob = &blob
	}
	return a
}

func readStorage(raw []byte, depth int) *Storage {
	data := jsontext.Get(raw, "data")
	if data == nil {
		return nil
	}
	inner := readTensor(data, depth)
	return &Storage{&inner, jsontext.Get(raw, "layout")}
}

// readTensor takes a tensor within another argument, which does not say that it is one.
func readTensor(raw []byte, depth int) Argument {
	a := readArgument("", raw, depth+1)
	if a.Type == "" {
		a.Type = "tensor"
	}
	return a
}

// set sets a number, which is a text if JSON cannot write it.
func (s *Statistics) set(name string, raw []byte) bool {
	f, err := strconv.ParseFloat(ndjson.Bare(raw), 64)
	switch name {
	case "min":
		s.Min = f
	case "max":
		s.Max = f
	case "mean":
		s.Mean = f
	case "std":
		s.Std = f
	}
	return err == nil
}
