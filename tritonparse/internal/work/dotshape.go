package work

import (
	"regexp"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

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
