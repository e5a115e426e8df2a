package profile

import "math"

// Type is the type of a metric value.
type Type uint8

const (
	Int Type = iota
	Float
	String
	Ints
	Floats
)

// Value is one metric value: an integer, a float, a string, or a vector of numbers.
// The zero Value is the integer 0. Values are copied freely and kept by the million, so one takes three words:
// text and vectors lie behind ref.
type Value struct {
	_    [0]func() // not comparable with ==
	bits uint64    // of an Int or a Float
	ref  any       // nil: an Int; isFloat; a string; []int64; []float64
}

// isFloat takes no room and is never allocated.
type isFloat struct{}

// IntValue, FloatValue, StringValue, IntsValue and FloatsValue make values.
func IntValue(v int64) Value        { return Value{bits: uint64(v)} }
func FloatValue(v float64) Value    { return Value{bits: math.Float64bits(v), ref: isFloat{}} }
func StringValue(v string) Value    { return Value{ref: v} }
func IntsValue(v []int64) Value     { return Value{ref: v} }
func FloatsValue(v []float64) Value { return Value{ref: v} }

// Type returns the value's type.
func (v Value) Type() Type {
	switch v.ref.(type) {
	case nil:
		return Int
	case isFloat:
		return Float
	case string:
		return String
	case []int64:
		return Ints
	}
	return Floats
}

// Int returns an integer value, or a float truncated; 0 for other types.
func (v Value) Int() int64 {
	switch v.ref.(type) {
	case nil:
		return int64(v.bits)
	case isFloat:
		return int64(math.Float64frombits(v.bits))
	}
	return 0
}

// Float returns a number as float64; ok is false for strings and vectors.
func (v Value) Float() (f float64, ok bool) {
	switch v.ref.(type) {
	case nil:
		return float64(int64(v.bits)), true
	case isFloat:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Str returns a string value, "" for other types.
func (v Value) Str() string {
	s, _ := v.ref.(string)
	return s
}

// Ints and Floats return a vector; nil for other types.
func (v Value) Ints() []int64 {
	list, _ := v.ref.([]int64)
	return list
}

// Floats is described with Ints.
func (v Value) Floats() []float64 {
	list, _ := v.ref.([]float64)
	return list
}
