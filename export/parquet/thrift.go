package parquet

import "encoding/binary"

// Types of the compact protocol of Thrift, in which Parquet describes pages and files.
const (
	isTrue   = 1
	isI32    = 5
	isI64    = 6
	isBinary = 8
	isList   = 9
	isStruct = 12
)

// object appends the fields of a structure, in ascending order of their numbers.
type object struct {
	out  []byte
	last int
}

func (o *object) field(number, kind int) {
	o.out = append(o.out, byte((number-o.last)<<4|kind)) // the distance is never more than 15
	o.last = number
}

func (o *object) i32(number int, v int64) {
	o.field(number, isI32)
	o.out = binary.AppendVarint(o.out, v)
}
func (o *object) i64(number int, v int64) {
	o.field(number, isI64)
	o.out = binary.AppendVarint(o.out, v)
}

func (o *object) text(number int, v string) {
	o.field(number, isBinary)
	o.out = appendText(o.out, v)
}

func appendText(out []byte, v string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(v))), v...)
}

// yes sets a flag.
func (o *object) yes(number int) { o.field(number, isTrue) }

// within appends a structure that fill makes.
func (o *object) within(number int, fill func(*object)) {
	o.field(number, isStruct)
	o.out = appendObject(o.out, fill)
}

// empty is a fill of a structure without fields.
func empty(*object) {}

func appendObject(out []byte, fill func(*object)) []byte {
	inner := object{out: out}
	fill(&inner)
	return append(inner.out, 0)
}

// list appends the head of a list, whose elements the caller appends to out.
func (o *object) list(number, kind, length int) {
	o.field(number, isList)
	if length < 15 {
		o.out = append(o.out, byte(length<<4|kind))
		return
	}
	o.out = binary.AppendUvarint(append(o.out, byte(0xf0|kind)), uint64(length))
}

// objects appends a list of structures.
func (o *object) objects(number, length int, fill func(i int, o *object)) {
	o.list(number, isStruct, length)
	for i := range length {
		o.out = appendObject(o.out, func(inner *object) { fill(i, inner) })
	}
}
