package ttir

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/triton/mlir"
)

// AttributeKind is what an attribute is.
type AttributeKind uint8

const (
	Other      AttributeKind = iota // of a kind that is not known: its Text is all
	Unit                            // there, without a value
	Bool                            // true or false: Int is 1 or 0
	Integer                         // Int, of Type
	Number                          // a floating-point number: Bits, of Type
	String                          // text in quotation marks
	Keyword                         // a word of an operation: slt, acq_rel
	Symbol                          // @f: String is its name
	TypeName                        // Type
	Integers                        // array<i32: 1, 0>: Ints
	List                            // [a, b]
	Dictionary                      // {a = 1}
	Dense                           // dense<…> of Type, see Elements
)

// Attribute is a value that is known when a kernel is compiled.
type Attribute struct {
	Kind   AttributeKind
	Text   string // as in a text
	Int    int64
	Bits   uint64
	String string
	Type   *Type
	Ints   []int64
	List   []Attribute
	Names  []NamedAttribute
}

// NamedAttribute is an attribute with its name.
type NamedAttribute struct {
	Name string
	Attribute
	property bool // in <{…}>, of the generic form
}

// maxAttributeDepth bounds how deep attributes may be nested.
const maxAttributeDepth = 32

// reader reads the parts of one operation.
type reader struct {
	*mlir.Lexer
	m   *Module
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// expect skips a token.
func (r *reader) expect(text string) {
	if r.err == nil && !r.Take(text) {
		r.fail("%q is expected where %s", text, r.here())
	}
}

func (r *reader) here() string {
	if t := r.Peek(); t.Kind != mlir.TokenEnd {
		return fmt.Sprintf("%q stands", t.Text)
	}
	return "the operation ends"
}

// attribute reads a value: of an attribute, or of a constant.
func (r *reader) attribute(depth int) (a Attribute) {
	from := r.Peek().At
	defer func() { a.Text = r.Text(from, max(from, r.Offset())) }()
	if depth > maxAttributeDepth {
		r.fail("attributes are nested deeper than %d", maxAttributeDepth)
		return a
	}
	switch t := r.Peek(); {
	case t.Kind == mlir.TokenNumber || t.Text == "-":
		r.number(&a)
	case t.Kind == mlir.TokenString:
		r.Next()
		a.Kind, a.String = String, unquote(t.Text)
		if r.Take(":") {
			a.Type = r.typ()
		}
	case t.Kind == mlir.TokenSymbol:
		r.Next()
		a.Kind, a.String = Symbol, unquote(t.Text[1:])
	case t.Text == "[":
		a.Kind = List
		r.list("[", "]", func() { a.List = append(a.List, r.attribute(depth+1)) })
	case t.Text == "{":
		a.Kind, a.Names = Dictionary, r.dictionary(depth+1)
	case t.Text == "true" || t.Text == "false":
		r.Next()
		a.Kind, a.Int = Bool, figures.OneIf[int64](t.Text == "true")
	case t.Text == "unit":
		r.Next()
		a.Kind = Unit
	case t.Text == "dense" || t.Text == "dense_resource" || t.Text == "sparse":
		r.Next()
		r.Brackets()
		if a.Kind = Other; t.Text == "dense" {
			a.Kind = Dense
		}
		if r.Take(":") {
			a.Type = r.typ()
		}
	case t.Text == "array":
		r.integers(&a)
	case t.Text == "loc":
		r.Next()
		r.Brackets()
	case t.Kind == mlir.TokenHash:
		r.Next()
		if strings.HasPrefix(r.Rest(), "<") {
			r.Brackets()
		}
	default:
		if text := r.Type(); text != "" {
			a.Kind, a.Type = TypeName, r.m.Type(text)
		} else {
			r.fail("an attribute is expected where %s", r.here())
			r.Next()
		}
	}
	return a
}

func (r *reader) typ() *Type {
	text := r.Type()
	if text == "" {
		r.fail("a type is expected where %s", r.here())
		return nil
	}
	return r.m.Type(text)
}

// number reads 1 : i32, -1.5 : f32, 0x7FC00000 : f32.
func (r *reader) number(a *Attribute) {
	text := r.Next().Text
	if text == "-" {
		text += r.Next().Text
	}
	if r.Take(":") {
		a.Type = r.typ()
	} else if strings.Contains(text, ".") {
		a.Type = r.m.Type("f64")
	} else {
		a.Type = r.m.Type("i64")
	}
	if r.err != nil {
		return
	}
	pattern, err := patternOf(text, a.Type)
	if err != nil {
		r.fail("%v", err)
		return
	}
	if a.Kind, a.Bits = Integer, pattern; a.Type.Kind == FloatType {
		a.Kind = Number
		return
	}
	a.Int = signed(pattern, a.Type.Bits)
}

// signed is the number that bits stand for in an integer type; of one bit it is 0 or -1.
func signed(pattern uint64, size int) int64 {
	if size <= 0 || size >= 64 {
		return int64(pattern)
	}
	return int64(pattern<<(64-size)) >> (64 - size)
}

// patternOf returns the bits of a number of a type.
func patternOf(text string, t *Type) (uint64, error) {
	switch {
	case text == "true" || text == "false":
		return figures.OneIf[uint64](text == "true"), nil
	case t.Kind == FloatType && isHex(text):
		v, err := strconv.ParseUint(text[2:], 16, 64)
		return v, err
	case t.Kind == FloatType && t.Float == F32:
		v, err := strconv.ParseFloat(text, 32)
		if v32 := float32(v); err == nil || v32 != 0 {
			return F32.Pattern(float64(v32)), nil
		}
		return 0, err
	case t.Kind == FloatType:
		v, err := strconv.ParseFloat(text, 64)
		return t.Float.Pattern(v), err
	case t.Kind != IntegerType && t.Kind != IndexType:
		return 0, fmt.Errorf("the number %s has the type %s", text, t.Text)
	}
	if t.Bits > 64 {
		return 0, fmt.Errorf("integers of %d bits are not read", t.Bits)
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		var u uint64
		if u, err = strconv.ParseUint(text, 0, 64); err != nil {
			return 0, fmt.Errorf("the number %s cannot be read", text)
		}
		v = int64(u)
	}
	if t.Bits < 64 && bits.Len64(uint64(v^v>>63)) > t.Bits {
		return 0, fmt.Errorf("%s does not fit into %s", text, t.Text)
	}
	if t.Bits < 64 {
		v &= 1<<t.Bits - 1
	}
	return uint64(v), nil
}

// integers reads array<i32: 1, 0>.
func (r *reader) integers(a *Attribute) {
	r.Next()
	a.Kind = Integers
	r.expect("<")
	a.Type = r.typ()
	if r.Take(":") {
		for r.err == nil {
			text := r.Next().Text
			n, err := strconv.ParseInt(text, 0, 64)
			switch {
			case text == "true" || text == "false":
				n = figures.OneIf[int64](text == "true")
			case err != nil: // floating-point numbers
				a.Kind = Other
			}
			a.Ints = append(a.Ints, n)
			if !r.Take(",") {
				break
			}
		}
	}
	r.expect(">")
}

// list reads elements between brackets, separated by commas.
func (r *reader) list(open, end string, element func()) {
	r.expect(open)
	if r.err != nil || r.Take(end) {
		return
	}
	for r.err == nil {
		element()
		if !r.Take(",") {
			break
		}
	}
	r.expect(end)
}

// dictionary reads {a = 1, b}.
func (r *reader) dictionary(depth int) (list []NamedAttribute) {
	r.list("{", "}", func() {
		t := r.Next()
		if t.Kind != mlir.TokenWord && t.Kind != mlir.TokenString || len(unquote(t.Text)) == 0 {
			r.fail("the name of an attribute is expected where %q stands", t.Text)
		}
		n := NamedAttribute{Name: unquote(t.Text)}
		if r.Take("=") {
			n.Attribute = r.attribute(depth)
		} else {
			n.Kind = Unit
		}
		list = append(list, n)
	})
	return list
}

func unquote(text string) string {
	if inside, ok := strings.CutPrefix(text, `"`); ok {
		return mlir.Unescape(strings.TrimSuffix(inside, `"`))
	}
	return text
}

// maxElements bounds how many elements of a list are read.
const maxElements = 1 << 24

// Elements returns the bits of the elements of a Dense attribute, in row-major order: one for all if they are equal in the text.
func (a *Attribute) Elements() ([]uint64, error) {
	if a.Kind != Dense || a.Type == nil || a.Type.Element == nil {
		return nil, fmt.Errorf("%.60s is not a tensor's constant", a.Text)
	}
	l := mlir.NewLexer(a.Text)
	l.Next()
	inside := l.Brackets()
	if len(inside) < 2 {
		return nil, fmt.Errorf("%.60s has no elements", a.Text)
	}
	l = mlir.NewLexer(inside[1 : len(inside)-1])
	all := a.Type.Elements()
	if t := l.Peek(); t.Kind == mlir.TokenString {
		return blob(unquote(t.Text), a.Type.Element, all)
	}
	var list []uint64
	for t := l.Next(); t.Kind != mlir.TokenEnd; t = l.Next() {
		if t.Kind == mlir.TokenMark && t.Text != "-" {
			continue
		}
		text := t.Text
		if text == "-" {
			text += l.Next().Text
		}
		pattern, err := patternOf(text, a.Type.Element)
		if err != nil {
			return nil, err
		}
		if list = append(list, pattern); len(list) > maxElements {
			return nil, fmt.Errorf("a constant has more than %d elements", maxElements)
		}
	}
	if n := int64(len(list)); n != all && n != 1 {
		return nil, fmt.Errorf("a constant of %s has %d elements", a.Type.Text, n)
	}
	return list, nil
}

// blob reads elements that are given by their bytes, the lowest first.
func blob(text string, element *Type, all int64) ([]uint64, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	size := (element.Bits + 7) / 8
	if err != nil || size == 0 || size > 8 || len(raw)%size != 0 || int64(len(raw)/size) != all && len(raw) != size {
		return nil, fmt.Errorf("a constant of %d bytes is not %d elements of %s", len(raw), all, element.Text)
	}
	list := make([]uint64, len(raw)/size)
	for i := range list {
		for k := range size {
			list[i] |= uint64(raw[i*size+k]) << (8 * k)
		}
	}
	return list, nil
}
