package work

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// Conforms compares what is counted without running the kernel, where nothing is unknown, with what it does when the interpreter runs it. It
// says whether there was something to compare.
func Conforms(t *testing.T, text string, grid [3]int32, arguments []interpreter.Argument, numbers []int64) bool {
	t.Helper()
	m := Parse(text)
	l := Launch{Arguments: map[string]int64{}, Grid: [3]int64{int64(grid[0]), int64(grid[1]), int64(grid[2])}}
	for i, p := range m.Parameters() {
		l.Arguments[p.Name] = numbers[i]
	}
	counted := m.Count(l)
	if counted.Dots > 1<<32 {
		testkit.OnlyInCheck(t, "it takes seconds")
	}
	p, err := interpreter.Load(ttir.Parse(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Launch("", grid, arguments, interpreter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ran Work
	for i := range r.Lines {
		of := &r.Lines[i]
		ran.Loaded += of.Loads.Bytes + of.Atomics.Bytes
		ran.Stored += of.Stores.Bytes + of.Atomics.Bytes
		for _, n := range of.DotFlops {
			ran.Dots += n
		}
		for _, n := range of.Flops {
			ran.Flops += n
		}
	}
	if counted.Exact && counted.Work != ran {
		t.Errorf("%+v is counted, and %+v executed", counted.Work, ran)
	}
	return counted.Exact
}

// TestConformance: kernels that Triton compiled, on zeros.
func TestConformance(t *testing.T) {
	exact := 0
	for _, l := range compiledLaunches() {
		for _, sm := range []string{"sm80", "sm90"} {
			t.Run(l.name+"."+sm, func(t *testing.T) {
				text := compiledText(t, l.name+"."+sm+".ttir")
				var list []interpreter.Argument
				var numbers []int64
				f := ttir.Parse(text).Kernel()
				for i, a := range l.arguments {
					numbers = append(numbers, a.value)
					switch kind := f.Type(f.Arguments[i].Value).Kind; {
					case kind == ttir.PointerType:
						list = append(list, interpreter.Pointer(&interpreter.Buffer{Name: a.name, Data: make([]byte, 4<<20)}, 0))
					case kind == ttir.FloatType:
						list = append(list, interpreter.Float(float64(a.value)))
					default:
						list = append(list, interpreter.Int(a.value))
					}
				}
				if Conforms(t, text, [3]int32{int32(l.grid[0]), int32(l.grid[1]), int32(l.grid[2])}, list, numbers) {
					exact++
				}
			})
		}
	}
	if exact < 30 {
		t.Errorf("%d launches were compared", exact)
	}
}

// TestConformanceOfOperations: launches with most operations of TTIR, in the front end's form and after Triton's passes.
func TestConformanceOfOperations(t *testing.T) {
	exact, all := 0, 0
	for d := json.NewDecoder(bytes.NewReader(testkit.Python(t, "triton-3.9.0", "interpreter/testdata/launches.py", nil))); d.More(); all++ {
		var m struct {
			Name, Form, TTIR string
			Grid             [3]int32
			Arguments        []struct {
				Buffer         string
				Int            int64
				Float          *float64
				Shape, Strides []int64
			}
			Buffers map[string]struct{ Before []byte }
		}
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		buffers := map[string]*interpreter.Buffer{}
		for name, b := range m.Buffers {
			buffers[name] = &interpreter.Buffer{Name: name, Data: b.Before}
		}
		var list []interpreter.Argument
		var numbers []int64
		for _, a := range m.Arguments {
			numbers = append(numbers, a.Int)
			switch {
			case a.Shape != nil:
				list = append(list, interpreter.Descriptor(buffers[a.Buffer], 0, a.Shape, a.Strides, false))
			case a.Buffer != "":
				list = append(list, interpreter.Pointer(buffers[a.Buffer], 0))
			case a.Float != nil:
				list = append(list, interpreter.Float(*a.Float))
			default:
				list = append(list, interpreter.Int(a.Int))
			}
		}
		t.Run(m.Name+"/"+m.Form, func(t *testing.T) {
			if Conforms(t, m.TTIR, m.Grid, list, numbers) {
				exact++
			}
		})
	}
	if t.Logf("%d of %d", exact, all); exact < all/2 {
		t.Errorf("%d of %d launches were compared", exact, all)
	}
}
