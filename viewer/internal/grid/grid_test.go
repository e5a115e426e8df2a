package grid

import (
	"bytes"
	"math"
	"testing"
)

func TestLinesAreAligned(t *testing.T) {
	var b bytes.Buffer
	lines := []Line{
		{Plain("ms", "", "Δ%"), ""},
		{[]Cell{{"1", "\x1b[31m"}, {"left", ""}, {"+10.0%", ""}}, "a"},
		{Plain("1000", "x"), Lines.Child + "b"},
	}
	if err := Write(&b, lines, 1); err != nil {
		t.Fatal(err)
	}
	want := "  ms            Δ%\n   \x1b[31m1\x1b[0m  left  +10.0%  a\n1000  x             ├─ b\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Fixed(0), "0"}, {Fixed(1234.56), "1235"}, {Fixed(12.3456), "12.35"}, {Fixed(0.00012345), "0.000123"}, {Fixed(-1), "-1.000"},
		{Fixed(math.NaN()), Missing}, {Fixed(1000), "1000"}, {Fixed(999.96), "1000.0"},
		{Signed(0.004, 2), "0.00"}, {Signed(-0.004, 2), "0.00"}, {Signed(1.5, 1), "+1.5"}, {Signed(-1.5, 1), "-1.5"}, {Signed(math.NaN(), 1), Missing},
		{Percent(0.05), "+5.0%"}, {Percent(-1), "-100.0%"}, {Percent(math.Inf(1)), "new"}, {Percent(math.NaN()), Missing},
		{Clean("a\x1b[2Jb\u202e"), "a\ufffd[2Jb\ufffd"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
	for ns, want := range map[float64]string{12: "ns", 1200: "us", -3e6: "ms", 2e9: "s"} {
		if unit, _ := TimeUnit(ns); unit != want {
			t.Errorf("%g ns are told in %s, want %s", ns, unit, want)
		}
	}
}
