package tritonparse

import (
	"regexp"
	"strings"
)

// Dot is how a TTIR multiplies matrices, by its first tt.dot.
type Dot struct {
	Type      string // element type of the operands: f16, f8E5M2, f32, f4E2M1; "" where nothing is multiplied
	Precision string // of f32, by which the GPU's units follow: ieee, tf32, tf32x3, bf16x3, bf16x6; "" for other types
}

// dotOf reads the first tt.dot of a TTIR.
func dotOf(ttir string) Dot {
	at := strings.Index(ttir, "tt.dot") // the expression alone would be tried at every word
	if at < 0 {
		return Dot{}
	}
	m := dotExpression.FindStringSubmatch(ttir[at:])
	if m == nil {
		return Dot{}
	}
	attributes, dot := m[1], Dot{Type: m[2]}
	if f := scaledFormats.FindStringSubmatch(attributes); f != nil {
		dot.Type = widerFormat(f[1], f[2], dot.Type)
	}
	if dot.Type == "f32" {
		dot.Precision = precisionOf(attributes)
	}
	return dot
}

var (
	dotExpression = regexp.MustCompile(`\btt\.dot(?:_scaled)?\b(.*?): *tensor<(?:\d+x)+(\w+)`)
	dotPrecision  = regexp.MustCompile(`\binputPrecision = (\w+)`)
	scaledFormats = regexp.MustCompile(`\blhs = (\w+) rhs = (\w+)`)
)

// precisionOf are the attributes of a tt.dot of f32. Triton does not print ieee, which is MLIR's default for the attribute and
// not tl.dot's; before 3.0 there was a switch instead.
func precisionOf(attributes string) string {
	switch m := dotPrecision.FindStringSubmatch(attributes); {
	case m != nil:
		return m[1]
	case strings.Contains(attributes, "allowTF32 = true"):
		return "tf32"
	}
	return "ieee"
}

// formats are what tt.dot_scaled calls the types of its operands, the narrowest first. Of two that differ the wider is
// multiplied.
var formats = []struct{ name, element string }{
	{"e2m1", "f4E2M1"}, {"e2m3", "f6E2M3"}, {"e3m2", "f6E3M2"}, {"e4m3", "f8E4M3FN"}, {"e5m2", "f8E5M2"}, {"fp16", "f16"}, {"bf16", "bf16"},
}

// widerFormat is the element type of the wider of two formats. Operands of four bits are packed in pairs as i8, which is what
// the operation's own types say.
func widerFormat(left, right, otherwise string) string {
	for i := len(formats) - 1; i >= 0; i-- {
		if f := formats[i]; f.name == left || f.name == right {
			return f.element
		}
	}
	return otherwise
}
