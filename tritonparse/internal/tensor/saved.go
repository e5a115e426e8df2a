package tensor

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// mostPickle bounds the pickle that describes a tensor, which is some hundred bytes.
const mostPickle = 1 << 20

// read finds the tensor in a file that torch.save wrote: an archive of a pickle that describes it, and of its storage.
func read(file *os.File) (*Tensor, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("it is not a file of torch.save: %w", err)
	}
	folder := ""
	members := map[string]*zip.File{}
	for _, f := range archive.File {
		members[f.Name] = f
		if path.Base(f.Name) == "data.pkl" {
			folder = path.Dir(f.Name)
		}
	}
	text, err := member(members[folder+"/data.pkl"])
	if err != nil {
		return nil, err
	}
	if order, err := member(members[folder+"/byteorder"]); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("its numbers are %s-endian, and only little-endian ones are read", order)
	}
	value, err := unpickle(text)
	if err != nil {
		return nil, err
	}
	t, key, err := describe(value)
	if err != nil {
		return nil, err
	}
	return t, t.find(file, members[folder+"/data/"+key])
}

func member(f *zip.File) ([]byte, error) {
	if f == nil {
		return nil, fmt.Errorf("it is an archive, but not one of torch.save")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, mostPickle))
}

// find sets the storage, a member of the archive that is not compressed.
func (t *Tensor) find(file *os.File, f *zip.File) error {
	if f == nil || f.Method != zip.Store {
		return fmt.Errorf("it is an archive, but not one of torch.save")
	}
	from, err := f.DataOffset()
	if err != nil {
		return err
	}
	n := int64(f.UncompressedSize64)
	t.file, t.storage = file, io.NewSectionReader(file, from, n)
	return t.check(n)
}

// storages are the types of elements by the class of the storage. Newer types have no such class.
var storages = map[string]string{
	"DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
	"LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
	"ComplexDoubleStorage": "complex128", "ComplexFloatStorage": "complex64",
}

// describe reads the calls by which torch would rebuild the tensor. key is the name of the storage.
func describe(value any) (t *Tensor, key string, err error) {
	c, ok := value.(call)
	if !ok {
		return nil, "", fmt.Errorf("it holds %s, not a tensor", kind(value))
	}
	name, _ := c.function.(global)
	switch name.name {
	case "_rebuild_parameter": // a tensor, and whether it has a gradient
		if len(c.arguments) > 0 {
			return describe(c.arguments[0])
		}
	case "_rebuild_from_type_v2": // of a class of its own: function, class, arguments, state
		if len(c.arguments) > 2 {
			arguments, _ := c.arguments[2].([]any)
			return describe(call{c.arguments[0], arguments})
		}
	case "_rebuild_tensor_v2", "_rebuild_tensor_v3":
		return dense(c.arguments, name.name == "_rebuild_tensor_v3")
	}
	return nil, "", fmt.Errorf("it holds an object of %s.%s; only dense tensors are read", name.module, name.name)
}

// dense reads the arguments of the call that rebuilds a dense tensor: storage, offset, sizes, strides, whether it has a gradient,
// hooks, in version 3 (typed) the type, and a dictionary of other properties.
func dense(arguments []any, typed bool) (*Tensor, string, error) {
	last := 6
	if typed {
		last = 7
	}
	if len(arguments) < last {
		return nil, "", errPickle
	}
	id, _ := arguments[0].(persistent)
	storage, ok := id.id.([]any) // "storage", class, key, device, size
	if !ok || len(storage) < 3 {
		return nil, "", errPickle
	}
	class, _ := storage[1].(global)
	key, _ := storage[2].(string)
	t := &Tensor{Dtype: storages[class.name], Shape: integers(arguments[2]), Stride: integers(arguments[3])}
	if typed {
		dtype, _ := arguments[6].(global)
		t.Dtype = dtype.name
	}
	if t.Offset, ok = arguments[1].(int64); !ok || t.Shape == nil || t.Stride == nil {
		return nil, "", errPickle
	}
	if len(arguments) > last {
		if more, _ := arguments[last].(dict); more["conj"] == true || more["neg"] == true {
			return nil, "", fmt.Errorf("it is a conjugated or negated view, which is not supported; save a copy that is resolved")
		}
	}
	if t.size = elements[t.Dtype].size; t.size == 0 {
		return nil, "", fmt.Errorf("its elements are of type %s, whose size is not known", strings.TrimPrefix(t.Dtype+class.name, "torch."))
	}
	return t, key, nil
}

func integers(v any) []int64 {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]int64, 0, len(list))
	for _, e := range list {
		n, ok := e.(int64)
		if !ok {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func kind(value any) string {
	switch value.(type) {
	case dict:
		return "a dictionary"
	case []any:
		return "several values"
	case string, int64, bool, nil:
		return fmt.Sprintf("%v", value)
	}
	return "something else" // which may hold itself
}
