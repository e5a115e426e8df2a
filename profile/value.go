package profile

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
// The zero Value is the integer 0.
type Value struct {
	typ  Type
	num  int64
	flt  float64
	str  string
	ints []int64
	flts []float64
}

// IntValue, FloatValue, StringValue, IntsValue and FloatsValue make values.
func IntValue(v int64) Value        { return Value{typ: Int, num: v} }
func FloatValue(v float64) Value    { return Value{typ: Float, flt: v} }
func StringValue(v string) Value    { return Value{typ: String, str: v} }
func IntsValue(v []int64) Value     { return Value{typ: Ints, ints: v} }
func FloatsValue(v []float64) Value { return Value{typ: Floats, flts: v} }

// Type returns the value's type.
func (v Value) Type() Type { return v.typ }

// Int returns an integer value, or a float truncated; 0 for other types.
func (v Value) Int() int64 {
	if v.typ == Float {
		return int64(v.flt)
	}
	return v.num
}

// Float returns a number as float64; ok is false for strings and vectors.
func (v Value) Float() (f float64, ok bool) {
	switch v.typ {
	case Int:
		return float64(v.num), true
	case Float:
		return v.flt, true
	}
	return 0, false
}

// Str returns a string value, "" for other types.
func (v Value) Str() string { return v.str }

// Ints and Floats return a vector; nil for other types.
func (v Value) Ints() []int64     { return v.ints }
func (v Value) Floats() []float64 { return v.flts }
