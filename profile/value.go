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
// The zero Value is the integer 0. Values are copied freely and kept by the hundred thousand, so the rare
// vectors lie behind a pointer.
type Value struct {
	_    [0]func() // not comparable with ==
	typ  Type
	bits uint64 // of an Int or a Float
	str  string
	vec  *vector
}

type vector struct {
	ints []int64
	flts []float64
}

// IntValue, FloatValue, StringValue, IntsValue and FloatsValue make values.
func IntValue(v int64) Value        { return Value{typ: Int, bits: uint64(v)} }
func FloatValue(v float64) Value    { return Value{typ: Float, bits: math.Float64bits(v)} }
func StringValue(v string) Value    { return Value{typ: String, str: v} }
func IntsValue(v []int64) Value     { return Value{typ: Ints, vec: &vector{ints: v}} }
func FloatsValue(v []float64) Value { return Value{typ: Floats, vec: &vector{flts: v}} }

// Type returns the value's type.
func (v Value) Type() Type { return v.typ }

// Int returns an integer value, or a float truncated; 0 for other types.
func (v Value) Int() int64 {
	switch v.typ {
	case Int:
		return int64(v.bits)
	case Float:
		return int64(math.Float64frombits(v.bits))
	}
	return 0
}

// Float returns a number as float64; ok is false for strings and vectors.
func (v Value) Float() (f float64, ok bool) {
	switch v.typ {
	case Int:
		return float64(int64(v.bits)), true
	case Float:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Str returns a string value, "" for other types.
func (v Value) Str() string { return v.str }

// Ints and Floats return a vector; nil for other types.
func (v Value) Ints() []int64 {
	if v.vec == nil {
		return nil
	}
	return v.vec.ints
}

// Floats is described with Ints.
func (v Value) Floats() []float64 {
	if v.vec == nil {
		return nil
	}
	return v.vec.flts
}
