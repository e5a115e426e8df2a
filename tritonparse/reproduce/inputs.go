package reproduce

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/triton/ttir"
	"github.com/goproton/goproton/tritonparse"
)

// Inputs is a recorded launch for a program that runs the kernel's TTIR itself: what a script of Generate has, as values.
type Inputs struct {
	Kernel    string // the function's name in the text
	TTIR      string
	Grid      [3]int32
	Arguments []Input // of the function, in its order
	Memory    []*Region
	Tensors   []Rebuilt // how the contents of each tensor were made
	Left      []Left    // what the recorded launch left in tensors, where a later launch recorded it
	Notes     []string
}

// Input is one argument of a function of TTIR: a number, a pointer, or with a shape a descriptor.
type Input struct {
	Name           string
	Int            int64
	Float          float64
	IsFloat        bool
	Region         *Region // nil for numbers
	Offset         int64   // bytes
	Shape, Strides []int64
	NaN            bool // elements outside of a descriptor's shape are NaN
}

// Region is memory that one tensor lies in, or several that overlap.
type Region struct {
	Name string // of the tensor, or of the first
	Type string // of its elements, as TTIR has it; "" if there are several
	Data []byte
}

// Left is the contents of a tensor after the recorded launch.
type Left struct {
	Name, From string
	Region     *Region
	Offset     int64
	Values     []byte
}

// ReadInputs makes the arguments of a launch. l must stay valid, as that of Pick does. Of the options Seed, IntRange, FilesFrom and MostMemory count.
func ReadInputs(t *tritonparse.Trace, l *tritonparse.LaunchRecord, o Options) (*Inputs, error) {
	w := &work{Options: o, trace: t, launch: l, result: &Result{Launch: l.Place(), Hash: l.Hash, Grid: l.Grid}}
	for _, step := range []func() error{w.findCompilation, w.checkLaunch, w.readSource} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	w.setRandom()
	in := &inputs{work: w, Inputs: &Inputs{TTIR: w.built.Texts["ttir"], Grid: [3]int32{1, 1, 1}}}
	for _, step := range []func() error{in.read, in.findLeft} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("record %d of %s: %w", l.Line, l.File, err)
		}
	}
	in.Notes = w.result.Notes
	return in.Inputs, nil
}

// inputs are being made.
type inputs struct {
	*work
	*Inputs
	tensors []placed
}

// placed is a tensor that has its place in memory.
type placed struct {
	*tritonparse.Argument
	begin, end uint64
	region     *Region
	at         int64
}

// mostMemory bounds the tensors of a launch together, unless Options.MostMemory does.
const mostMemory = 16 << 30

func (in *inputs) memory() int64 { return cmp.Or(in.MostMemory, mostMemory) }

func (in *inputs) read() error {
	if in.TTIR == "" {
		return errors.New("its compilation has no TTIR; with --launch of a folder that proton interpret --save has written it can be run")
	}
	for i, n := range in.launch.Grid {
		if i >= len(in.Grid) || n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("its grid %v cannot be launched", in.launch.Grid)
		}
		in.Grid[i] = int32(n)
	}
	module := ttir.Parse(in.TTIR)
	f := module.Kernel()
	if f == nil {
		return errors.New("its TTIR has no function")
	}
	in.Kernel = f.Name
	var list []Input
	var refused error
	for i, p := range in.params {
		raw, _ := in.recorded(i, p)
		if _, constant := constantsOf(in.built)[i]; constant || p.constexpr || raw == nil {
			continue // the text has its value
		}
		added, err := in.flatten(p.name, readArgument(p.name, raw))
		refused = cmp.Or(refused, err)
		list = append(list, added...)
	}
	if len(list) > len(f.Arguments) && jsontext.Get(in.built.Metadata, "src_constants") == nil { // compilers take 1 for a constant
		list = slices.DeleteFunc(list, func(a Input) bool { return a.Region == nil && !a.IsFloat && a.Int == 1 })
	}
	if refused != nil {
		return refused
	}
	if len(list) != len(f.Arguments) {
		return fmt.Errorf("the launch has %d arguments that are not constants, and %s has %d in its TTIR: the trace has the launch of another compilation, or its names are not complete; take another launch: %s",
			len(list), in.Kernel, len(f.Arguments), in.others())
	}
	for i := range list {
		if err := fits(&list[i], f.Type(f.Arguments[i].Value)); err != nil {
			return err
		}
	}
	in.Arguments = list
	return in.place()
}

// fits says whether an argument is of the kind that the text has in its place.
func fits(a *Input, t *ttir.Type) error {
	is := "an integer"
	switch {
	case a.Shape != nil:
		is = "a descriptor"
	case a.Region != nil:
		is = "a tensor"
	case a.IsFloat:
		is = "a number of floating point"
	}
	want := is
	switch {
	case t == nil:
	case t.Kind == ttir.PointerType:
		want = "a tensor"
	case t.Kind == ttir.DescriptorType:
		want = "a descriptor"
	case t.Kind == ttir.FloatType:
		want = "a number of floating point"
	default:
		want = "an integer"
	}
	if want != is {
		return fmt.Errorf("the argument %s was %s, and the TTIR takes %s (%s): the trace has the launch of another compilation", a.Name, is, want, t.Text)
	}
	return nil
}

// flatten returns the arguments that the function of the text has for one of Python's: none for a constant, several for a tuple or a
// descriptor.
func (in *inputs) flatten(name string, a tritonparse.Argument) (list []Input, err error) {
	switch {
	case a.Type == "TensorDescriptor" && a.Base != nil:
		d := Input{Name: name, Region: in.tensor(a.Base), Shape: a.Shape, Strides: a.Stride, NaN: strings.Contains(a.Padding, "nan")}
		list = append(list, d)
		for _, n := range slices.Concat(a.Shape, a.Stride) {
			list = append(list, Input{Name: name, Int: n})
		}
		return list, nil
	case a.Tensor() != nil:
		return []Input{{Name: name, Region: in.tensor(a.Tensor())}}, nil
	case a.Type == "int", a.Type == "bool":
		n, err := strconv.ParseInt(strings.NewReplacer("true", "1", "false", "0").Replace(string(a.Value)), 10, 64)
		if err != nil { // of 64 bits without a sign
			u, wide := strconv.ParseUint(string(a.Value), 10, 64)
			if n = int64(u); wide != nil {
				return nil, fmt.Errorf("the argument %s is %s, which has more than 64 bits", name, a.Value)
			}
		}
		return []Input{{Name: name, Int: n}}, nil
	case a.Type == "float":
		f, err := strconv.ParseFloat(jsontext.Text(a.Value), 64)
		if err != nil && len(a.Value) > 0 && a.Value[0] != '"' {
			f, err = strconv.ParseFloat(string(a.Value), 64)
		}
		if err != nil && !math.IsInf(f, 0) {
			return nil, fmt.Errorf("the argument %s is %s, which is not a number", name, a.Value)
		}
		return []Input{{Name: name, Float: f, IsFloat: true}}, nil
	case a.Type == "NoneType", a.Type == "str", a.Type == "dtype", a.Type == "constexpr":
		return nil, nil
	}
	items := jsontext.Elements(jsontext.Get(a.Raw, "items"))
	if fields, err := jsontext.Members(jsontext.Get(a.Raw, "fields")); err == nil {
		for _, f := range fields {
			items = append(items, f.Value)
		}
	}
	if items == nil {
		return nil, fmt.Errorf("the argument %s is %s, of which the trace has no values; take another launch: %s", name, a.Brief(), in.others())
	}
	for i, item := range items {
		added, err := in.flatten(fmt.Sprintf("%s.%d", name, i), readArgument(name, item))
		if err != nil {
			return nil, err
		}
		list = append(list, added...)
	}
	return list, nil
}

// tensor notes a tensor, whose region is a placeholder until all are known.
func (in *inputs) tensor(t *tritonparse.Argument) *Region {
	r := &Region{}
	copied := *t
	in.tensors = append(in.tensors, placed{Argument: &copied, begin: t.DataPtr, end: endOf(t), region: r})
	return r
}

// place gives tensors their memory. Those that overlap are in one region.
func (in *inputs) place() error {
	for i := range in.tensors {
		t := &in.tensors[i]
		for _, a := range in.Arguments {
			if a.Region == t.region {
				t.Name = a.Name
			}
		}
		if !canBeMade(t.Argument, float64(in.memory())) {
			return fmt.Errorf("the tensor %s has the shape %v, the strides %v and elements of %d bytes, which cannot be made", t.Name, t.Shape, t.Stride, t.ElementSize)
		}
	}
	order := make([]*placed, len(in.tensors))
	for i := range order {
		order[i] = &in.tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *placed) int { return cmp.Compare(a.begin, b.begin) })
	var sum uint64
	for i := 0; i < len(order); {
		first, end, k := order[i], order[i].end, i+1
		for ; k < len(order) && first.begin != 0 && order[k].begin < end; k++ {
			end = max(end, order[k].end)
		}
		if sum += end - first.begin; sum > uint64(in.memory()) {
			return fmt.Errorf("its tensors have more than %d bytes together, which is more than can be made here", in.memory())
		}
		r := &Region{Name: first.Name, Type: elementOf(first.Dtype), Data: make([]byte, end-first.begin)}
		for ; i < k; i++ {
			t := order[i]
			if t.at = int64(t.begin - first.begin); elementOf(t.Dtype) != r.Type {
				r.Type = ""
			}
			for n := range in.Arguments {
				if a := &in.Arguments[n]; a.Region == t.region {
					a.Region, a.Offset = r, t.at
				}
			}
			t.region = r
		}
		in.Memory = append(in.Memory, r)
	}
	return in.fill()
}

// canBeMade says whether a tensor has a memory that can be made here, and its elements one by one.
func canBeMade(t *tritonparse.Argument, most float64) bool {
	if t.ElementSize <= 0 || len(t.Stride) != len(t.Shape) {
		return false
	}
	extent, all := float64(t.ElementSize), float64(t.ElementSize)
	for d, n := range t.Shape {
		if n < 0 || t.Stride[d] < 0 {
			return false
		}
		extent += float64(n) * float64(t.Stride[d]) * float64(t.ElementSize)
		all *= float64(n)
	}
	return extent <= most && all <= most
}

// fill puts values into the tensors. What is recorded comes last, so that nothing made up is written over it.
func (in *inputs) fill() error {
	var recorded []func()
	for i := range in.tensors {
		t := &in.tensors[i]
		values, err := in.recordedValues(t)
		if err != nil {
			return fmt.Errorf("the contents of %s: %w", t.Name, err)
		}
		in.Tensors = append(in.Tensors, Rebuilt{Name: t.Name, Brief: t.Brief(), From: in.contents(t.Argument)})
		if values != nil {
			recorded = append(recorded, func() { scatter(t.region.Data[t.at:], t.Argument, values) })
			continue
		}
		one := *t.Argument // an element that is repeated is made once
		one.Shape = slices.Clone(t.Shape)
		for d, s := range t.Stride {
			if s == 0 {
				one.Shape[d] = min(t.Shape[d], 1)
			}
		}
		scatter(t.region.Data[t.at:], &one, in.madeUp(&one, uint64(i)))
	}
	for _, put := range recorded {
		put()
	}
	return nil
}
