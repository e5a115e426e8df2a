package interpreter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/triton/ttir"
)

// made is a launch that testdata/launches.py makes.
type made struct {
	Name, Form, TTIR string
	Grid             [3]int32
	Arguments        []struct {
		Buffer         string
		Int            int64
		Float          *float64
		Shape, Strides []int64
	}
	Buffers map[string]struct {
		Before, After      []byte
		Type               string
		Absolute, Relative float64
	}
}

var allMade = struct {
	sync.Once
	list []made
}{}

func launches(t testing.TB) []made {
	allMade.Do(func() {
		d := json.NewDecoder(bytes.NewReader(testkit.Python(t, "triton-3.9.0", "interpreter/testdata/launches.py", nil)))
		for d.More() {
			var m made
			if err := d.Decode(&m); err != nil {
				t.Fatal(err)
			}
			allMade.list = append(allMade.list, m)
		}
	})
	if len(allMade.list) < 40 {
		t.Fatal("launches are missing")
	}
	return allMade.list
}

// arguments returns new buffers, and the arguments with them.
func (m *made) arguments() (map[string]*Buffer, []Argument) {
	buffers := map[string]*Buffer{}
	for name, b := range m.Buffers {
		buffers[name] = &Buffer{Name: name, Data: bytes.Clone(b.Before)}
	}
	var list []Argument
	for _, a := range m.Arguments {
		switch {
		case a.Shape != nil:
			list = append(list, Descriptor(buffers[a.Buffer], 0, a.Shape, a.Strides, false))
		case a.Buffer != "":
			list = append(list, Pointer(buffers[a.Buffer], 0))
		case a.Float != nil:
			list = append(list, Float(*a.Float))
		default:
			list = append(list, Int(a.Int))
		}
	}
	return buffers, list
}

func (m *made) run(t testing.TB, o Options) (map[string]*Buffer, *Result) {
	t.Helper()
	p, err := Load(ttir.Parse(m.TTIR))
	if err != nil {
		t.Fatal(err)
	}
	buffers, list := m.arguments()
	r, err := p.Launch("", m.Grid, list, o)
	if err != nil {
		t.Fatal(err)
	}
	return buffers, r
}

// numberAt is the element of a type of testdata/launches.py.
func numberAt(kind string, raw []byte, i int) float64 {
	switch kind {
	case "float64":
		return math.Float64frombits(little.Uint64(raw[8*i:]))
	case "float32", "fp32":
		return float64(math.Float32frombits(little.Uint32(raw[4*i:])))
	case "float16", "fp16":
		return float64(halfValue(little.Uint16(raw[2*i:])))
	case "bf16":
		return float64(valueOf(ttir.BF16, uint32(little.Uint16(raw[2*i:]))))
	}
	return math.NaN()
}

func sizeOfKind(kind string) int {
	for _, s := range []string{"64", "32", "16", "8"} {
		if strings.HasSuffix(kind, s) {
			return map[string]int{"64": 8, "32": 4, "16": 2, "8": 1}[s]
		}
	}
	return 1
}

// differences compares elements: bits, or numbers within a tolerance. NaN is NaN whatever its bits are.
func differences(kind string, got, want []byte, absolute, relative float64) string {
	size := sizeOfKind(kind)
	for i := range len(want) / size {
		if bytes.Equal(got[i*size:(i+1)*size], want[i*size:(i+1)*size]) {
			continue
		}
		a, b := numberAt(kind, got, i), numberAt(kind, want, i)
		if a != a && b != b && (kind == "bf16" || strings.HasPrefix(kind, "f")) || math.Abs(a-b) <= absolute+relative*math.Abs(b) {
			continue
		}
		return fmt.Sprintf("element %d of %d is %v (%x), and should be %v (%x)", i, len(want)/size, a, got[i*size:(i+1)*size], b, want[i*size:(i+1)*size])
	}
	return ""
}

// TestLaunches: kernels give what numpy gives, in the front end's form and after Triton's passes.
func TestLaunches(t *testing.T) {
	for _, m := range launches(t) {
		t.Run(m.Name+"/"+m.Form, func(t *testing.T) {
			buffers, _ := m.run(t, Options{})
			compared := strings.HasPrefix(m.Name, "big_") // for benchmarks
			for name, b := range m.Buffers {
				if b.After == nil {
					continue
				}
				compared = true
				if d := differences(b.Type, buffers[name].Data, b.After, b.Absolute, b.Relative); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
			if !compared {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestOrders: kernels without atomics give the same bits in every order of their instances, in parallel, and when they run again.
func TestOrders(t *testing.T) {
	for _, m := range launches(t) {
		if strings.Contains(m.TTIR, "atomic") || strings.Contains(m.TTIR, "descriptor_reduce") {
			continue
		}
		want, _ := m.run(t, Options{})
		for _, o := range []Options{{Order: Reverse}, {Order: Shuffled, Seed: 3}, {Workers: 3}} {
			if o.Workers > 1 && m.Name == "early" {
				continue // its instances write the same value to the same element, which Go's race detector does not allow
			}
			got, _ := m.run(t, o)
			for name := range want {
				if !bytes.Equal(got[name].Data, want[name].Data) {
					t.Errorf("%s/%s: %s differs in the order %+v", m.Name, m.Form, name, o)
				}
			}
		}
	}
}

// TestKnownCombinations: what is computed without the region of a reduction is what the region gives, bit for bit.
func TestKnownCombinations(t *testing.T) {
	defer func() { withoutKnown = false }()
	compared := 0
	for _, m := range launches(t) {
		if !strings.Contains(m.TTIR, "tt.reduce") {
			continue
		}
		withoutKnown = false
		want, fast := m.run(t, Options{})
		withoutKnown = true
		got, slow := m.run(t, Options{})
		if a, b := fmt.Sprint(flopsByLine(fast)), fmt.Sprint(flopsByLine(slow)); a != b {
			t.Errorf("%s/%s: flops %s, and by the regions %s", m.Name, m.Form, a, b)
		}
		for name := range want {
			compared++
			if !bytes.Equal(got[name].Data, want[name].Data) {
				t.Errorf("%s/%s: %s differs", m.Name, m.Form, name)
			}
		}
	}
	if compared == 0 {
		t.Error("no kernel has a reduction")
	}
}

// TestLines: kernels give the same bits and counts where the elements of all addresses and masks are made.
func TestLines(t *testing.T) {
	defer func() { withoutLines = false }()
	for _, m := range launches(t) {
		withoutLines = false
		want, fast := m.run(t, Options{})
		withoutLines = true
		got, slow := m.run(t, Options{})
		if a, b := fmt.Sprintf("%+v", fast.Lines), fmt.Sprintf("%+v", slow.Lines); a != b {
			t.Errorf("%s/%s: counts %s, and without lines %s", m.Name, m.Form, a, b)
		}
		for name := range want {
			if !bytes.Equal(got[name].Data, want[name].Data) {
				t.Errorf("%s/%s: %s differs", m.Name, m.Form, name)
			}
		}
		touched := func(without bool) (list []string) {
			withoutLines = without
			_, r := m.run(t, Options{Touched: true})
			for _, b := range r.Touched {
				list = append(list, fmt.Sprint(b.Buffer.Name, b.Loaded, b.Stored))
			}
			return list
		}
		if a, b := touched(false), touched(true); !slices.Equal(a, b) {
			t.Errorf("%s/%s: bytes %v, and without lines %v", m.Name, m.Form, a, b)
		}
	}
}

// TestWide: kernels whose numbers are kept as f64 give what numpy gives, but where they round on the way.
func TestWide(t *testing.T) {
	near := 0
	for _, m := range launches(t) {
		module := ttir.Parse(m.TTIR)
		module.Widen()
		p, err := Load(module)
		if err != nil {
			t.Fatal(err)
		}
		buffers, list := m.arguments()
		if _, err := p.Launch("", m.Grid, list, Options{}); err != nil && !strings.Contains(err.Error(), "tt.dot_scaled") {
			t.Errorf("%s/%s: %v", m.Name, m.Form, err)
			continue
		}
		for name, b := range m.Buffers {
			if b.After != nil && differences(b.Type, buffers[name].Data, b.After, max(b.Absolute, 1e-5), max(b.Relative, 1e-3)) == "" {
				near++
			}
		}
	}
	if near < 80 {
		t.Errorf("only %d buffers are near", near)
	}
}

// TestForms: the form of the front end and that after Triton's passes give the same bits.
func TestForms(t *testing.T) {
	list := launches(t)
	for i := 0; i+1 < len(list); i += 2 {
		front, _ := list[i].run(t, Options{})
		after, _ := list[i+1].run(t, Options{})
		if list[i].Name != list[i+1].Name || list[i].Form == list[i+1].Form {
			t.Fatal("the forms are not pairs")
		}
		for name := range front {
			if !bytes.Equal(front[name].Data, after[name].Data) {
				t.Errorf("%s: %s differs", list[i].Name, name)
			}
		}
	}
}

func flopsByLine(r *Result) map[string]int64 {
	sums := map[string]int64{}
	for _, l := range r.Lines {
		for of, n := range l.Flops {
			sums[of] += n
		}
	}
	return sums
}

// TestCorpus: every text of triton/ttir's corpus, of both versions, runs to its end or to a finding.
func TestCorpus(t *testing.T) {
	for _, version := range []string{"triton-3.6.0", "triton-3.9.0"} {
		t.Run(version, func(t *testing.T) {
			if version == "triton-3.6.0" {
				testkit.OnlyInCheck(t, "the newest version has most operations")
			}
			dir := t.TempDir()
			asked, _ := json.Marshal(map[string]string{"make": dir})
			testkit.Python(t, version, "triton/ttir/testdata/texts.py", asked)
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			ran := 0
			for _, file := range files {
				m := ttir.Parse(string(testkit.Read(t, file)))
				if strings.HasSuffix(file, ".ttgir") {
					if _, err := Load(m); err == nil || !strings.Contains(err.Error(), "it is TTGIR or Gluon's") {
						t.Errorf("%s: %v", file, err)
					}
					continue
				}
				if _, err := Load(m); err != nil {
					t.Errorf("%s: %v", file, err)
				} else if _, err := compile(m, m.Kernel(), features{}); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				launchAny(t, string(testkit.Read(t, file)))
				ran++
			}
			if ran < 60 {
				t.Errorf("%d texts", ran)
			}
		})
	}
}
