package run

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/triton/ttir"
)

// Kernel is a compiled kernel that can be launched.
type Kernel struct {
	Name    string
	Text    string // its TTIR
	Module  *ttir.Module
	Program *interpreter.Program
	Sources map[string]string // texts of sources that are in no file, by path
	CTAs    int64             // thread blocks of a program instance; 0 is 1

	hasBreak bool // it calls breakpoint()

	function *ttir.Function
	nanos    atomic.Int64 // of one program instance in the last launch
}

// NewKernel reads a text of TTIR. Name says which function of the text is the kernel; "" is the text's own.
func NewKernel(name, text string) (*Kernel, error) {
	m := ttir.Parse(text)
	p, err := interpreter.Load(m)
	if err != nil {
		return nil, err
	}
	f := m.Kernel()
	if name != "" {
		f = m.Function(name)
	}
	if f == nil {
		return nil, fmt.Errorf("the kernel %s is not in its TTIR", name)
	}
	return &Kernel{Name: f.Name, Text: text, Module: m, Program: p, function: f, hasBreak: strings.Contains(text, `"\01break"`)}, nil
}

// parameter is the name and the type of an argument, as the TTIR has them.
func (k *Kernel) parameter(i int) (string, *ttir.Type) {
	f := k.function
	if i >= len(f.Arguments) {
		return fmt.Sprintf("argument %d", i), nil
	}
	v := f.Values[f.Arguments[i].Value]
	return v.Name, v.Type
}

// Launch is one call of a kernel, and in a folder what launch.json has.
type Launch struct {
	Version   int                `json:"version"`
	TTIR      string             `json:"ttir"` // the file
	Name      string             `json:"kernel,omitempty"`
	CTAs      int64              `json:"ctas,omitempty"` // thread blocks of a program instance, if there are several
	Grid      Grid               `json:"grid"`
	Arguments []Argument         `json:"args"`
	Buffers   map[string]*Buffer `json:"buffers"`

	Times  int           `json:"-"` // how many launches that do the same it stands for in counts; 0 is 1
	Of     counts.Kernel `json:"-"` // the kind that it is counted as
	Kernel *Kernel       `json:"-"`
	// List is the buffers in the order of the arguments.
	List []*Buffer `json:"-"`
}

// NewLaunch is a call of a kernel. Arguments name their buffers.
func NewLaunch(k *Kernel, grid [3]int32, arguments []Argument, buffers []*Buffer) (*Launch, error) {
	l := &Launch{Grid: grid, Arguments: arguments, Buffers: map[string]*Buffer{}, Kernel: k, List: buffers}
	for _, b := range buffers {
		l.Buffers[b.Name] = b
	}
	return l, l.bind()
}

// Grid is how many program instances there are in each dimension.
type Grid [3]int32

// UnmarshalJSON reads three numbers: an array of Go would take more or fewer in silence.
func (g *Grid) UnmarshalJSON(raw []byte) error {
	var list []int32
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != len(g) {
		return fmt.Errorf("its grid is %s: give three whole numbers, as in [8, 1, 1]", strings.Join(strings.Fields(string(raw)), " "))
	}
	*g = Grid(list)
	return nil
}

// bind finds the buffers of arguments by their names.
func (l *Launch) bind() error {
	for i := range l.Arguments {
		a := &l.Arguments[i]
		if a.Value != nil && (a.Buffer != "" || a.Descriptor != nil) {
			return fmt.Errorf("the argument %s (%d) has a value in addition to its buffer or descriptor: give one of them", a.Name, i)
		}
		if a.Buffer == "" {
			continue
		}
		if a.buffer = l.Buffers[a.Buffer]; a.buffer == nil {
			return fmt.Errorf("the argument %s (%d) is in the buffer %q, which there is not", a.Name, i, a.Buffer)
		}
	}
	return nil
}

// Argument is a number, an address in a buffer, or a descriptor.
type Argument struct {
	Name       string      `json:"name,omitempty"` // for people: arguments are given by their place
	Buffer     string      `json:"buffer,omitempty"`
	Offset     int64       `json:"offset,omitempty"` // bytes
	Value      *Number     `json:"value,omitempty"`
	Descriptor *Descriptor `json:"descriptor,omitempty"`
	Shape      []int64     `json:"shape,omitempty"` // of the tensor that a pointer is of, if it is known: findings name its elements by dimensions
	Strides    []int64     `json:"strides,omitempty"`
	buffer     *Buffer
}

// Descriptor is the shape of a tensor in a buffer.
type Descriptor struct {
	Shape   []int64 `json:"shape"`
	Strides []int64 `json:"strides"`
	NaN     bool    `json:"nan,omitempty"` // elements outside are NaN, not 0
}

// Buffer is the memory of one storage.
type Buffer struct {
	Name    string `json:"-"`
	Type    string `json:"type,omitempty"` // of the elements, as TTIR names it
	File    string `json:"file,omitempty"` // .npy, or the bytes alone
	Bytes   int64  `json:"bytes,omitempty"`
	Fill    *Fill  `json:"fill,omitempty"`    // without a file
	Address uint64 `json:"address,omitempty"` // where the program had it: addresses in memory are such
	After   string `json:"after,omitempty"`   // SHA-256 of the bytes after the launch
	memory  *interpreter.Buffer
}

// Data is the buffer's bytes.
func (b *Buffer) Data() []byte { return b.memory.Data }

// NewBuffer is a buffer over bytes that the caller has.
func NewBuffer(name string, address uint64, data []byte) *Buffer {
	return &Buffer{Name: name, Bytes: int64(len(data)), Address: address, memory: &interpreter.Buffer{Name: name, Data: data, Address: address}}
}

// Number is an integer or a floating-point number. In JSON, NaN and infinities are strings.
type Number struct {
	Int     int64
	Float   float64
	IsFloat bool
}

// MarshalJSON writes a number that UnmarshalJSON reads as the same.
func (n Number) MarshalJSON() ([]byte, error) {
	switch {
	case !n.IsFloat:
		return strconv.AppendInt(nil, n.Int, 10), nil
	case math.IsNaN(n.Float), math.IsInf(n.Float, 0):
		return json.Marshal(strconv.FormatFloat(n.Float, 'g', -1, 64))
	}
	return strconv.AppendFloat(nil, n.Float, 'e', -1, 64), nil // always with an exponent, which an integer does not have
}

// UnmarshalJSON reads a number, true, false, or a string with a number.
func (n *Number) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	return n.parse(text)
}

func (n *Number) parse(text string) error {
	switch text {
	case "true", "True":
		*n = Number{Int: 1}
		return nil
	case "false", "False":
		*n = Number{}
		return nil
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Number{Int: v}
		return nil
	}
	if v, err := strconv.ParseUint(text, 10, 64); err == nil { // the bits of an unsigned number
		*n = Number{Int: int64(v)}
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a number", text)
	}
	*n = Number{Float: v, IsFloat: true}
	return nil
}

// uses says whether an argument is in a buffer.
func (l *Launch) uses(b *Buffer) bool {
	return slices.ContainsFunc(l.Arguments, func(a Argument) bool { return a.buffer == b })
}

// given are the arguments as the interpreter takes them.
func (l *Launch) given() []interpreter.Argument {
	list := make([]interpreter.Argument, len(l.Arguments))
	for _, b := range l.List {
		b.memory.Views = nil
	}
	for i := range l.Arguments {
		a := &l.Arguments[i]
		var memory *interpreter.Buffer
		if a.buffer != nil {
			memory = a.buffer.memory
		}
		switch {
		case a.Descriptor != nil:
			if memory != nil {
				memory.Views = append(memory.Views, interpreter.View{At: a.Offset, Shape: a.Descriptor.Shape, Strides: a.Descriptor.Strides})
			}
			list[i] = interpreter.Descriptor(memory, a.Offset, a.Descriptor.Shape, a.Descriptor.Strides, a.Descriptor.NaN)
		case a.Value == nil:
			if list[i] = interpreter.Pointer(memory, a.Offset); memory != nil && len(a.Shape) > 1 {
				memory.Views = append(memory.Views, interpreter.View{At: a.Offset, Shape: a.Shape, Strides: a.Strides})
			}
		case a.Value.IsFloat:
			list[i] = interpreter.Float(a.Value.Float)
		default:
			list[i] = interpreter.Int(a.Value.Int)
			if _, t := l.Kernel.parameter(i); t != nil && t.Kind == ttir.FloatType {
				list[i] = interpreter.Float(float64(a.Value.Int))
			}
		}
	}
	return list
}
