package profile

import (
	"math"
	"reflect"
	"testing"
	"unsafe"
)

func TestValues(t *testing.T) {
	tests := []struct {
		v      Value
		typ    Type
		whole  int64
		number float64
		ok     bool
	}{
		{Value{}, Int, 0, 0, true},
		{IntValue(-7), Int, -7, -7, true},
		{IntValue(math.MinInt64), Int, math.MinInt64, -math.Exp2(63), true},
		{FloatValue(-2.5), Float, -2, -2.5, true},
		{FloatValue(math.Inf(1)), Float, int64(math.Inf(1)), math.Inf(1), true},
		{StringValue("CUDA"), String, 0, 0, false},
		{IntsValue([]int64{1, 2}), Ints, 0, 0, false},
		{FloatsValue([]float64{1, 2}), Floats, 0, 0, false},
	}
	for _, test := range tests[:4] { // the conversion of an infinity to an integer differs between machines
		if got := test.v.Int(); got != test.whole {
			t.Errorf("Int of %+v is %d, want %d", test.v, got, test.whole)
		}
	}
	for _, test := range tests {
		if got := test.v.Type(); got != test.typ {
			t.Errorf("type of %+v is %d, want %d", test.v, got, test.typ)
		}
		if f, ok := test.v.Float(); f != test.number || ok != test.ok {
			t.Errorf("Float of %+v is %v %v, want %v %v", test.v, f, ok, test.number, test.ok)
		}
	}
	if got := StringValue("CUDA").Str(); got != "CUDA" {
		t.Errorf("Str is %q", got)
	}
	if got := IntsValue([]int64{1, 2}).Ints(); !reflect.DeepEqual(got, []int64{1, 2}) {
		t.Errorf("Ints is %v", got)
	}
	if got := FloatsValue([]float64{0.5}).Floats(); !reflect.DeepEqual(got, []float64{0.5}) {
		t.Errorf("Floats is %v", got)
	}
	if v := IntValue(1); v.Str() != "" || v.Ints() != nil || v.Floats() != nil {
		t.Errorf("an integer has text or a vector: %+v", v)
	}
}

// A tree of a million kernels holds some five million values.
func TestValueIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Value{}); size > 24 {
		t.Errorf("a value takes %d bytes, want at most 24", size)
	}
}

func TestSetReplacesAndMetricFinds(t *testing.T) {
	var n Node
	n.Set("a", IntValue(1))
	n.Set("b", IntValue(2))
	n.Set("a", IntValue(3))
	if len(n.Metrics) != 2 || n.Metrics[0].Name != "a" {
		t.Errorf("metrics %+v, want a then b", n.Metrics)
	}
	if v, ok := n.Metric("a"); !ok || v.Int() != 3 {
		t.Errorf("a is %v %v, want 3", v, ok)
	}
	if _, ok := n.Metric("c"); ok {
		t.Error("c was found")
	}
	n.Children = []*Node{{Name: "x"}}
	if n.Child("x") == nil || n.Child("y") != nil {
		t.Error("Child finds by name")
	}
}
