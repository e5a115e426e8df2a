package work

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// compatWork is what tritonparse 0.6.0 makes of a kernel's TTIR: each tt.load and tt.store once, whatever loop it is in, and
// the first tt.dot.
type compatWork struct {
	known       bool // all lines could be read
	load, store int64
	gemm        bool
	flops       int64 // of the first dot; negative if there is none
	notes       []string
}

var pointerTensor = regexp.MustCompile(`^tensor<([0-9]+(?:x[0-9]+)*)x!tt\.ptr<([A-Za-z0-9_]+)>>$`)

func readCompatWork(text string) compatWork {
	w := compatWork{known: true, flops: -1}
	accesses := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !strings.Contains(line, "tt.load") && !strings.Contains(line, "tt.store") {
			continue
		}
		accesses = true
		w.access(line)
	}
	if strings.Contains(text, "tt.atomic") {
		w.notes = append(w.notes, "atomics present but not counted in bytes_moved_per_cta")
	}
	if !accesses {
		w.notes = append(w.notes, "no tt.load/tt.store found")
	}
	w.dot(text)
	return w
}

func (w *compatWork) access(line string) {
	parts := strings.Split(line, " : ")
	kind, _, _ := strings.Cut(parts[len(parts)-1], " loc")
	m := pointerTensor.FindStringSubmatch(strings.TrimSpace(kind))
	if m == nil {
		w.known = false
		w.notes = append(w.notes, "unparseable io line: "+cutRunes(strings.TrimSpace(line), 160))
		return
	}
	bits, ok := TypeBits(m[2])
	if !ok || bits%8 != 0 {
		w.known = false
		w.notes = append(w.notes, "unknown or sub-byte dtype on io line: "+m[2])
		return
	}
	size := int64(bits / 8)
	for _, d := range strings.Split(m[1], "x") {
		n, _ := strconv.ParseInt(d, 10, 64)
		size *= n
	}
	if strings.Contains(line, "tt.store") {
		w.store += size
	} else {
		w.load += size
	}
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func (w *compatWork) dot(text string) {
	dots := strings.Count(text, "tt.dot")
	if w.gemm = dots > 0; !w.gemm {
		return
	}
	shape := DotShape(text)
	m, okM := shape.Number("tile_m")
	n, okN := shape.Number("tile_n")
	k, okK := shape.Number("tile_k")
	if !okM || !okN || !okK {
		w.notes = append(w.notes, "tt.dot present but dot shape unextractable; flops_per_cta=null")
		return
	}
	if dots > 1 {
		w.notes = append(w.notes, fmt.Sprintf("%d tt.dot found; flops_per_cta counts first dot only", dots))
	}
	w.flops = 2 * int64(m) * int64(n) * int64(k)
	w.notes = append(w.notes, "gemm flops/intensity omit the runtime reduction-loop trip count (lower bound)")
}

func (w *compatWork) Summary() Summary {
	s := Summary{Gemm: w.gemm, Bytes: -1, Flops: w.flops, notes: w.notes}
	if w.known {
		s.load, s.store, s.Bytes = w.load, w.store, w.load+w.store
	}
	return s
}

func (w *compatWork) Estimate(k *Inputs) Estimate {
	e := newEstimate(k)
	n, ok := k.programs()
	if !ok {
		return e
	}
	e.programs = n
	if w.known {
		e.FromIR = n * (w.load + w.store)
	}
	if w.flops >= 0 {
		e.Flops = n * w.flops
	}
	return e
}

var dotOperation = regexp.MustCompile(`tt\.dot[^:]*:\s*tensor<(\d+)x(\d+)x([a-zA-Z0-9]+)[^*]*\*\s*tensor<(\d+)x(\d+)x([a-zA-Z0-9]+)[^-]*->\s*tensor<(\d+)x(\d+)x([a-zA-Z0-9]+)`)

// DotShape is the shape of the first tt.dot; empty if there is none.
func DotShape(text string) *store.Object {
	o := &store.Object{}
	if m := dotOperation.FindStringSubmatch(text); m != nil {
		o.At("tile_m").Text = []byte(m[7])
		o.At("tile_n").Text = []byte(m[8])
		o.At("tile_k").Text = []byte(m[2])
		o.At("input_dtype").Text = jsontext.Quote(m[3])
		o.At("output_dtype").Text = jsontext.Quote(m[9])
	}
	return o
}

// typeSizes are looked for in this order, as parts of the name: bf16 is found as f16.
var typeSizes = []struct {
	name string
	bits int
}{
	{"f16", 16}, {"bf16", 16}, {"f32", 32}, {"f64", 64}, {"fp16", 16}, {"bfloat16", 16}, {"fp32", 32}, {"fp64", 64},
	{"i8", 8}, {"i16", 16}, {"i32", 32}, {"i64", 64}, {"int8", 8}, {"int16", 16}, {"int32", 32}, {"int64", 64},
	{"f8e4m3fnuz", 8}, {"f8e5m2fnuz", 8}, {"f8e4m3fn", 8}, {"f8e5m2", 8},
}

// TypeBits is the size of an element type as tritonparse finds it.
func TypeBits(name string) (int, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, t := range typeSizes {
		if strings.Contains(name, t.name) {
			return t.bits, true
		}
	}
	return 0, false
}

// TTGIRWarps finds the number of warps that a module of TTGIR declares.
var TTGIRWarps = regexp.MustCompile(`"ttg\.num-warps"\s*=\s*(\d+)`)
