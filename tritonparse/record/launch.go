package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
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

// cursor reads the binary fields of a record. After the first error everything is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) byte() byte {
	if len(c.b) < 1 {
		c.bad = true
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) uint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) int() int64 {
	v := c.uint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *cursor) fixed() uint64 {
	if len(c.b) < 8 {
		c.bad, c.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return v
}

func (c *cursor) bytes() []byte {
	n := c.uint()
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

// maxDimensions bounds what a damaged count can make us read.
const maxDimensions = 256

func (c *cursor) ints() []int64 {
	n := c.uint()
	if n > maxDimensions {
		c.bad, c.b = true, nil
		return nil
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = c.int()
	}
	return list
}

func readLaunch(payload []byte) (launch, error) {
	c := cursor{b: payload}
	l := launch{nanos: int64(c.fixed()), function: c.fixed(), flags: c.byte()}
	l.stack, l.template, l.sequence = c.uint(), c.uint(), c.uint()
	l.stream, l.device = c.int(), c.int()
	l.kind = c.bytes()
	l.tensors = c.b
	if c.bad {
		return l, fmt.Errorf("%w: a launch of %d bytes", errDamaged, len(payload))
	}
	return l, nil
}

// arguments are grid and extracted_args of a launch, as JSON.
type arguments struct{ grid, args []byte }

// argumentWriter makes them from the two parts of a record.
type argumentWriter struct {
	kind, tensors cursor
	d             *dictionary
	out           []byte
	err           error
}

func (d *dictionary) arguments(l launch, names []string) (arguments, error) {
	w := argumentWriter{kind: cursor{b: l.kind}, tensors: cursor{b: l.tensors}, d: d}
	w.grid()
	grid := w.out
	w.out = make([]byte, 0, 256*len(names)+2)
	if l.flags&capturing != 0 {
		w.out = append(w.out, `{"_note":"argument extraction skipped during CUDA graph capture"}`...)
	} else {
		w.out = append(w.out, '{')
		for i, name := range names {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.out = appendText(w.out, name)
			w.out = append(w.out, ':')
			w.argument()
		}
		w.out = append(w.out, '}')
	}
	if w.kind.bad || w.tensors.bad {
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
	switch tag := w.kind.byte(); tag {
	case 'G':
		w.list(w.kind.ints())
	case 'J':
		w.definition(w.kind.uint())
	case 'j':
		w.json(w.kind.bytes())
	default:
		w.fail(fmt.Sprintf("a grid of kind %q", tag))
	}
}

// argument writes the description of one argument.
func (w *argumentWriter) argument() {
	switch tag := w.kind.byte(); tag {
	case 'i':
		w.out = append(w.out, `{"type":"int","value":`...)
		w.out = appendInt(w.out, w.kind.int())
		w.out = append(w.out, '}')
	case 'f':
		w.out = append(w.out, `{"type":"float","value":`...)
		w.out = appendFloat(w.out, math.Float64frombits(w.kind.fixed()))
		w.out = append(w.out, '}')
	case 't':
		w.out = append(w.out, `{"type":"bool","value":true}`...)
	case 'F':
		w.out = append(w.out, `{"type":"bool","value":false}`...)
	case 'n':
		w.out = append(w.out, `{"type":"NoneType","repr":"None"}`...)
	case 'J': // defined, as the text of equal objects is
		w.definition(w.kind.uint())
	case 'j': // here, as it may be another the next time
		w.json(w.kind.bytes())
	case 'x':
		w.tensor()
	case 'd':
		w.descriptor()
	case 'c':
		w.parts(w.kind.uint())
	default:
		w.fail(fmt.Sprintf("an argument of kind %q", tag))
	}
}

// parts writes a description with n tensors, which stand between the parts of its JSON.
func (w *argumentWriter) parts(n uint64) {
	begin := len(w.out)
	w.out = append(w.out, w.kind.bytes()...)
	for ; n > 0 && !w.kind.bad && w.err == nil; n-- {
		w.argument()
		w.out = append(w.out, w.kind.bytes()...)
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

func (w *argumentWriter) definition(id uint64) {
	text := w.d.text(id)
	if text == nil {
		w.fail(fmt.Sprintf("definition %d is missing", id))
		text = []byte("null")
	}
	w.out = append(w.out, text...)
}

// text writes a definition that is plain text and not JSON.
func (w *argumentWriter) text(id uint64) { w.out = appendText(w.out, string(w.d.text(id))) }

func (w *argumentWriter) list(values []int64) {
	w.out = append(w.out, '[')
	for i, v := range values {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = appendInt(w.out, v)
	}
	w.out = append(w.out, ']')
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
	dtype, device := w.kind.uint(), w.kind.uint()
	offset := w.kind.int()
	shape, stride := w.kind.ints(), w.kind.ints()
	if len(shape) != len(stride) {
		w.fail("a tensor whose strides do not fit its shape")
		return
	}
	kind := w.d.element(dtype)
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
	w.out = appendHex(w.out, w.tensors.fixed())
	w.out = append(w.out, '"')
	if more := w.tensors.bytes(); len(more) > 0 { // members: statistics, where its data are stored
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
		w.list(w.kind.ints())
	}
	w.key("padding")
	w.text(w.kind.uint())
	w.out = append(w.out, '}')
}
