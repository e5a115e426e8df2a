package record

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Kinds of records in the ring. hooks/trace.c writes them.
const (
	recordLaunch = 1
	recordRank   = 2 // the rank of the process from here on
)

// Flags of a launch.
const (
	hasArguments   = 1 // grid, metadata and arguments are known
	noFunction     = 2 // Triton had no handle yet
	functionIsText = 4 // the handle is the number of a definition
	capturing      = 8 // a CUDA graph is being captured
)

// launch is a record, taken apart.
type launch struct {
	nanos    int64
	flags    byte
	function uint64
	stack    uint64
	template uint64
	sequence uint64
	stream   int64
	device   int64
	kind     []byte // what launches of one kind have in common: grid and arguments
	tensors  []byte // addresses, and what else belongs to this launch alone
}

// template is the definition of what the launches of a kernel share.
type template struct {
	Name     string          `json:"name"`
	Hash     string          `json:"hash"`
	Metadata json.RawMessage `json:"metadata"`
	Args     []string        `json:"args"`
	Inductor json.RawMessage `json:"inductor"`
}

// element is the definition of a torch.dtype.
type element struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func readLaunch(payload []byte) (launch, error) {
	c := store.Cursor{In: payload}
	l := launch{nanos: int64(c.Fixed()), function: c.Fixed(), flags: c.Byte()}
	l.stack, l.template, l.sequence = uint64(c.Uvarint()), uint64(c.Uvarint()), uint64(c.Uvarint())
	l.stream, l.device = c.Varint(), c.Varint()
	l.kind = c.Text()
	l.tensors = c.In
	if c.Damaged {
		return l, fmt.Errorf("%w: a launch of %d bytes", errDamaged, len(payload))
	}
	return l, nil
}

// arguments are grid and extracted_args of a launch, as JSON.
type arguments struct{ grid, args []byte }

// argumentWriter makes them from the two parts of a record.
type argumentWriter struct {
	kind, tensors store.Cursor
	d             *dictionary
	out           []byte
	err           error
}

func (d *dictionary) arguments(l launch, names []string) (arguments, error) {
	w := argumentWriter{kind: store.Cursor{In: l.kind}, tensors: store.Cursor{In: l.tensors}, d: d}
	w.grid()
	grid := w.out
	w.out = make([]byte, 0, 256*len(names)+2)
	if l.flags&capturing != 0 {
		w.out = append(w.out, `{"_note":"argument extraction skipped during CUDA graph capture"}`...)
	} else {
		w.out = jsontext.AppendObject(w.out, names, func(out []byte, name string) []byte {
			w.out = append(appendText(out, name), ':')
			w.argument()
			return w.out
		})
	}
	if w.kind.Damaged || w.tensors.Damaged {
		w.fail("its arguments are cut")
	}
	return arguments{grid, w.out}, w.err
}

func (w *argumentWriter) fail(what string) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: a launch: %s", errDamaged, what)
	}
}

func (w *argumentWriter) grid() {
	switch tag := w.kind.Byte(); tag {
	case 'G':
		w.list(w.kind.Numbers())
	case 'J':
		w.definition(w.kind.Uvarint())
	case 'j':
		w.json(w.kind.Text())
	default:
		w.fail(fmt.Sprintf("a grid of kind %q", tag))
	}
}

// argument writes the description of one argument.
func (w *argumentWriter) argument() {
	switch tag := w.kind.Byte(); tag {
	case 'i':
		w.out = append(w.out, `{"type":"int","value":`...)
		w.out = appendInt(w.out, w.kind.Varint())
		w.out = append(w.out, '}')
	case 'f':
		w.out = append(w.out, `{"type":"float","value":`...)
		w.out = appendFloat(w.out, math.Float64frombits(w.kind.Fixed()))
		w.out = append(w.out, '}')
	case 't':
		w.out = append(w.out, `{"type":"bool","value":true}`...)
	case 'F':
		w.out = append(w.out, `{"type":"bool","value":false}`...)
	case 'n':
		w.out = append(w.out, `{"type":"NoneType","repr":"None"}`...)
	case 'J': // defined, as the text of equal objects is
		w.definition(w.kind.Uvarint())
	case 'j': // here, as it may be another the next time
		w.json(w.kind.Text())
	case 'x':
		w.tensor()
	case 'd':
		w.descriptor()
	case 'c':
		w.parts(w.kind.Uvarint())
	default:
		w.fail(fmt.Sprintf("an argument of kind %q", tag))
	}
}

// parts writes a description with n tensors, which stand between the parts of its JSON.
func (w *argumentWriter) parts(n int) {
	begin := len(w.out)
	w.out = append(w.out, w.kind.Text()...)
	for ; n > 0 && !w.kind.Damaged && w.err == nil; n-- {
		w.argument()
		w.out = append(w.out, w.kind.Text()...)
	}
	if !json.Valid(w.out[begin:]) {
		w.fail("a value that is not JSON")
		w.out = append(w.out[:begin], "null"...)
	}
}

func (w *argumentWriter) json(text []byte) {
	if !json.Valid(text) {
		w.fail("a value that is not JSON")
		text = []byte("null")
	}
	w.out = append(w.out, text...)
}

func (w *argumentWriter) definition(id int) {
	text := w.d.text(uint64(id))
	if text == nil {
		w.fail(fmt.Sprintf("definition %d is missing", id))
		text = []byte("null")
	}
	w.out = append(w.out, text...)
}

// text writes a definition that is plain text and not JSON.
func (w *argumentWriter) text(id int) { w.out = appendText(w.out, string(w.d.text(uint64(id)))) }

func (w *argumentWriter) list(values []int64) {
	w.out = jsontext.AppendList(w.out, values, appendInt)
}

func (w *argumentWriter) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), name...), '"', ':')
}

func (w *argumentWriter) number(name string, v int64) {
	w.key(name)
	w.out = appendInt(w.out, v)
}

// tensor writes what torch says of a tensor, and what follows from it.
func (w *argumentWriter) tensor() {
	dtype, device := w.kind.Uvarint(), w.kind.Uvarint()
	offset := w.kind.Varint()
	shape, stride := w.kind.Numbers(), w.kind.Numbers()
	if len(shape) != len(stride) {
		w.fail("a tensor whose strides do not fit its shape")
		return
	}
	kind := w.d.element(uint64(dtype))
	numel := int64(1)
	for _, n := range shape {
		numel *= n
	}
	w.out = append(w.out, '{')
	w.key("type")
	w.out = append(w.out, `"tensor"`...)
	w.key("shape")
	w.list(shape)
	w.key("dtype")
	w.out = appendText(w.out, kind.Name)
	w.key("device")
	w.text(device)
	w.key("stride")
	w.list(stride)
	w.number("numel", numel)
	w.key("is_contiguous")
	w.out = appendBool(w.out, contiguous(shape, stride))
	w.number("element_size", kind.Size)
	w.number("storage_offset", offset)
	w.number("memory_usage", numel*kind.Size)
	w.key("data_ptr")
	w.out = append(w.out, '"')
	w.out = appendHex(w.out, w.tensors.Fixed())
	w.out = append(w.out, '"')
	if more := w.tensors.Text(); len(more) > 0 { // members: statistics, where its data are stored
		w.out = append(append(w.out, ','), more...)
	}
	w.out = append(w.out, '}')
}

// contiguous is torch's is_contiguous: strides of dimensions of one element do not count.
func contiguous(shape, stride []int64) bool {
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 0 {
			return true
		}
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 {
			if stride[i] != step {
				return false
			}
			step *= shape[i]
		}
	}
	return true
}

// descriptor writes a TensorDescriptor.
func (w *argumentWriter) descriptor() {
	w.out = append(w.out, '{')
	w.key("type")
	w.out = append(w.out, `"TensorDescriptor"`...)
	w.key("base")
	w.tensor()
	for _, name := range []string{"shape", "strides", "block_shape"} {
		w.key(name)
		w.list(w.kind.Numbers())
	}
	w.key("padding")
	w.text(w.kind.Uvarint())
	w.out = append(w.out, '}')
}
