package ttir

import (
	"math"
	"strconv"
	"strings"
)

// TypeKind is what a type is.
type TypeKind uint8

const (
	OpaqueType TypeKind = iota // one that is not known
	IntegerType
	IndexType
	FloatType
	PointerType
	TensorType
	DescriptorType // !tt.tensordesc: a window of a tensor in global memory
	MemoryType     // !ttg.memdesc: a tensor in shared memory
)

// Type is a type of values. Equal types of a module are one pointer.
type Type struct {
	Kind     TypeKind
	Bits     int     // of a number; 64 of a pointer and an index
	Float    Float   // of a floating-point number
	Unsigned bool    // ui8, which only descriptors have
	Shape    []int64 // of a tensor or a window
	Element  *Type   // of a tensor or a window, and what a pointer points to
	Space    int     // of a pointer: 1 is global memory
	Layout   string  // of a tensor: what stands behind the comma; "" in TTIR
	Text     string  // as Triton writes it
	Wide     bool    // see Widen
}

// maxTypeDepth bounds how deep types may be nested.
const maxTypeDepth = 16

// Widen marks all floating-point types of the module: an interpreter keeps their numbers as f64, and rounds none.
func (m *Module) Widen() {
	for _, t := range m.types {
		t.Wide = t.Kind == FloatType
	}
}

// Elements is how many numbers a value of the type has: 1 for a scalar. It stays at the largest number where it would overflow.
func (t *Type) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return math.MaxInt64
		}
		n *= d
	}
	return n
}

// Scalar is the type of one element: that of a tensor, or the type itself.
func (t *Type) Scalar() *Type {
	if t.Kind == TensorType {
		return t.Element
	}
	return t
}

// Pointee is what a pointer, or each pointer of a tensor, points to; nil if the type has no pointers.
func (t *Type) Pointee() *Type {
	if s := t.Scalar(); s.Kind == PointerType {
		return s.Element
	}
	return nil
}

// Type returns the type that a text names; a text that is not understood is an OpaqueType.
func (m *Module) Type(text string) *Type { return m.typeAt(text, 0) }

func (m *Module) typeAt(text string, depth int) *Type {
	if t := m.types[text]; t != nil {
		return t
	}
	t := m.readType(text, depth)
	if t.Text == "" {
		t.Text = text
	}
	m.types[text] = t
	return t
}

// tensorOf returns the type of a tensor with the shape and layout of another one and other elements; of a scalar it is the element.
func (m *Module) tensorOf(like, element *Type) *Type {
	if like.Kind != TensorType || element == nil {
		return element
	}
	return m.Type(tensorText(like.Shape, element, like.Layout))
}

func tensorText(shape []int64, element *Type, layout string) string {
	b := []byte("tensor<")
	for _, d := range shape {
		b = append(strconv.AppendInt(b, d, 10), 'x')
	}
	b = append(b, element.Text...)
	if layout != "" {
		b = append(append(b, ", "...), layout...)
	}
	return string(append(b, '>'))
}

func (m *Module) readType(text string, depth int) *Type {
	if depth > maxTypeDepth {
		return &Type{}
	}
	inside := func(prefix string) (string, bool) {
		if strings.HasPrefix(text, prefix) && strings.HasSuffix(text, ">") {
			return text[len(prefix) : len(text)-1], true
		}
		return "", false
	}
	if s, ok := inside("tensor<"); ok {
		return m.shaped(TensorType, s, depth)
	}
	if s, ok := inside("!tt.ptr<"); ok {
		to, space := cutOutside(s)
		t := &Type{Kind: PointerType, Bits: 64, Element: m.typeAt(to, depth+1), Space: 1}
		if n, err := strconv.Atoi(space); err == nil {
			t.Space = n
		} else if space != "" {
			return &Type{}
		}
		return t
	}
	if s, ok := inside("!tt.tensordesc<"); ok {
		if w, ok := strings.CutPrefix(s, "tensor<"); ok && strings.HasSuffix(w, ">") { // as up to Triton 3.7
			s = w[:len(w)-1]
		}
		return m.shaped(DescriptorType, s, depth)
	}
	for _, dialect := range []string{"!ttg.memdesc<", "!triton_gpu.memdesc<"} {
		if s, ok := inside(dialect); ok {
			return m.shaped(MemoryType, s, depth)
		}
	}
	return number(text)
}

// shaped reads 4x8xf32, and a layout behind a comma.
func (m *Module) shaped(kind TypeKind, s string, depth int) *Type {
	t := &Type{Kind: kind}
	for {
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits == len(s) || s[digits] != 'x' {
			break
		}
		n, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil {
			return &Type{}
		}
		t.Shape = append(t.Shape, n)
		s = s[digits+1:]
	}
	element, layout := cutOutside(s)
	t.Element, t.Layout = m.typeAt(element, depth+1), layout
	return t
}

// cutOutside cuts a text at the first comma that is in no brackets.
func cutOutside(s string) (before, after string) {
	open := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			open++
		case '>', ')', ']', '}':
			open--
		case ',':
			if open == 0 {
				return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
			}
		}
	}
	return strings.TrimSpace(s), ""
}

func number(text string) *Type {
	if text == "index" {
		return &Type{Kind: IndexType, Bits: 64}
	}
	if f, ok := floats[text]; ok {
		return &Type{Kind: FloatType, Float: f, Bits: f.Bits()}
	}
	digits := strings.TrimLeft(text, "siu")
	switch text[:len(text)-len(digits)] {
	case "i", "si", "ui":
		if n, err := strconv.Atoi(digits); err == nil && n > 0 && n <= 1<<16 {
			return &Type{Kind: IntegerType, Bits: n, Unsigned: text[0] == 'u'}
		}
	}
	return &Type{}
}
