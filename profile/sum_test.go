package profile

import (
	"fmt"
	"math"
	"testing"
)

func TestSum(t *testing.T) {
	const most = math.MaxInt64
	nan := FloatValue(math.NaN())
	for _, test := range []struct {
		a, b Value
		want string
	}{
		{IntValue(2), IntValue(-5), "-3"},
		{IntValue(most), IntValue(-1), fmt.Sprint(most - 1)},
		{IntValue(most), IntValue(1), "float 9.223372036854776e+18"},
		{IntValue(math.MinInt64), IntValue(-1), "float -9.223372036854776e+18"},
		{IntValue(1), FloatValue(0.5), "float 1.5"},
		{nan, IntValue(3), "3"}, {IntValue(3), nan, "3"},
		{IntsValue([]int64{1, 2}), IntsValue([]int64{10, 20, 30}), "[11 22 30]"},
		{IntsValue([]int64{most}), IntsValue([]int64{1}), "floats [9.223372036854776e+18]"},
		{IntsValue([]int64{1}), FloatsValue([]float64{0.5, 2}), "floats [1.5 2]"},
		{StringValue("a"), StringValue("b"), `"b"`},
		{IntValue(1), StringValue("b"), `"b"`}, {IntsValue([]int64{1}), IntValue(7), "7"},
	} {
		if got := show(Sum(test.a, test.b)); got != test.want {
			t.Errorf("%s + %s = %s, want %s", show(test.a), show(test.b), got, test.want)
		}
	}
	x := []int64{1, 2}
	Sum(IntsValue(x), IntsValue([]int64{5, 5}))
	if x[0] != 1 || x[1] != 2 {
		t.Errorf("adding changed a vector that was added: %v", x)
	}
}

func show(v Value) string {
	switch f, _ := v.Float(); v.Type() {
	case Int:
		return fmt.Sprint(v.Int())
	case Float:
		return fmt.Sprintf("float %g", f)
	case String:
		return fmt.Sprintf("%q", v.Str())
	case Ints:
		return fmt.Sprint(v.Ints())
	}
	return fmt.Sprintf("floats %v", v.Floats())
}
