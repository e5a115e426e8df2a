package figures

import "testing"

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		total      float64
		want       float64
		ok         bool
	}{
		{"5%", "ms", 200, 10, true}, {"5 %", "", 200, 10, true}, {"1ms", "us", 1, 1000, true}, {"2.5 us", "ns", 0, 2500, true},
		{"0.5", "ms", 200, 0.5, true}, {"1e6", "ns", 0, 1e6, true}, {"1s", "ms", 0, 1000, true}, {"3", "count", 0, 3, true}, {"1ms", "count", 100, 0, false},
	} {
		least, ok := ParseLeast(c.text)
		if got, isOne := least.Of(c.total, c.unit); !ok || got != c.want || isOne != c.ok {
			t.Errorf("%s of %g %s: %g %v %v", c.text, c.total, c.unit, got, isOne, ok)
		}
		if again, ok := ParseLeast(least.String()); !ok || again != least {
			t.Errorf("%s is printed as %s", c.text, least)
		}
	}
	for _, text := range []string{"", "%", "ms", "5parsec", "-1", "-1ms", "nan", "inf", "1m", "5%%", "1ms%", "1 2"} {
		if least, ok := ParseLeast(text); ok {
			t.Errorf("%q is read as %+v", text, least)
		}
	}
}
