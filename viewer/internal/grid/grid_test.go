package grid

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestLinesAreAligned(t *testing.T) {
	var b bytes.Buffer
	lines := []Line{
		{Cells: Plain("ms", "", "Δ%")},
		{Cells: []Cell{{"1", "\x1b[31m"}, {"left", ""}, {"+10.0%", ""}}, Name: "a"},
		{Cells: Plain("1000", "x"), Indent: Lines.Child, Name: "b"},
	}
	if err := (Layout{}).Write(&b, lines, 1); err != nil {
		t.Fatal(err)
	}
	want := "  ms            Δ%\n   \x1b[31m1\x1b[0m  left  +10.0%  a\n1000  x             ├─ b\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestLinesFitTheWidth(t *testing.T) {
	deep := strings.Repeat(Lines.Through, 20) + Lines.Last
	lines := []Line{
		{Cells: Plain("1.0"), Indent: Lines.Child, Name: "vectorized_elementwise_kernel", Mark: "  ▶ only in B"},
		{Cells: Plain("1.0"), Indent: deep, Name: "vectorized_elementwise_kernel"},
		{Cells: Plain("1.0"), Name: "short"},
	}
	for width, want := range map[int]string{
		40: "1.0  ├─ vectorized_element…  ▶ only in B\n1.0  …│  │  │  │  │  │  └─ vectorized_e…\n1.0  short\n",
		7:  "1.0  ├─ vectorized_e…  ▶ only in B\n1.0  …└─ vectorized_…\n1.0  short\n",
		0:  "1.0  ├─ vectorized_elementwise_kernel  ▶ only in B\n1.0  " + deep + "vectorized_elementwise_kernel\n1.0  short\n",
	} {
		var b bytes.Buffer
		if err := (Layout{Width: width}).Write(&b, lines); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("width %d: got\n%s\nwant\n%s", width, b.String(), want)
		}
	}
}

// A mark gives way to its brief form before a name loses what it is known by.
func TestBriefMarks(t *testing.T) {
	line := Line{Cells: Plain("1234567890"), Indent: "├─ ", Name: strings.Repeat("n", 40), Mark: "  > only in B", Brief: " > B"}
	for width, want := range map[int]string{
		0:  "1234567890  ├─ " + strings.Repeat("n", 40) + "  > only in B",
		50: "1234567890  ├─ " + strings.Repeat("n", 21) + "…  > only in B",
		36: "1234567890  ├─ " + strings.Repeat("n", 16) + "… > B",
	} {
		var out strings.Builder
		if err := (Layout{Width: width}).Write(&out, []Line{line}); err != nil || out.String() != want+"\n" {
			t.Errorf("width %d: %v\n%s%s", width, err, out.String(), want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Fixed(0), "0"}, {Fixed(1234.56), "1235"}, {Fixed(12.3456), "12.35"}, {Fixed(0.00012345), "0.000123"}, {Fixed(-1), "-1.000"},
		{Fixed(math.NaN()), Missing}, {Fixed(1000), "1000"}, {Fixed(999.96), "1000"}, {Time(999_960), "1.000 ms"}, {Time(999_940), "999.9 us"}, {Time(0), "0 ns"},
		{Signed(0.004, 2), "0.00"}, {Signed(-0.004, 2), "0.00"}, {Signed(1.5, 1), "+1.5"}, {Signed(-1.5, 1), "-1.5"}, {Signed(math.NaN(), 1), Missing},
		{Percent(0.05), "+5.0%"}, {Percent(-1), "-100.0%"}, {Percent(math.Inf(1)), "new"}, {Percent(math.NaN()), Missing},
		{Places(-0.004, 2), "0.00"}, {Places(-0.006, 2), "-0.01"},
		{Share(0.1234), "12.3%"}, {Share(-1e-9), "0.0%"}, {Share(math.NaN()), Missing}, {Share(math.Inf(1)), Missing},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
	for ns, want := range map[float64]string{0: "0 ns", 12: "12.00 ns", 1236: "1.236 us", -3e6: "-3.000 ms", 12.3e9: "12.30 s"} {
		if got := Time(ns); got != want {
			t.Errorf("%g ns: got %q, want %q", ns, got, want)
		}
	}
	for ns, want := range map[float64]string{12: "ns", 1200: "us", -3e6: "ms", 2e9: "s"} {
		if unit, _ := TimeUnit(ns); unit != want {
			t.Errorf("%g ns are printed in %s, want %s", ns, unit, want)
		}
	}
}

func TestBars(t *testing.T) {
	for part, want := range map[float64][2]string{
		0: {}, -1: {}, math.NaN(): {}, math.Inf(1): {},
		0.0125: {"▏", ""}, 0.05: {"▌", "#"}, 0.5: {"█████", "#####"}, 0.99: {"█████████▉", "##########"}, 2: {"██████████", "##########"},
	} {
		if got := [2]string{Lines.Bar(part), ASCII.Bar(part)}; got != want {
			t.Errorf("bar of %g: got %q, want %q", part, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text string
		room int
		want string
	}{{"kernel", 6, "kernel"}, {"kernel", 5, "kern…"}, {"kernel", 1, "…"}, {"kernel", 0, ""}, {"kernel", -3, ""}, {"内核", 3, "内…"}} {
		if got := Fit(test.text, test.room, Lines.Dots); got != test.want {
			t.Errorf("%q in %d columns: got %q, want %q", test.text, test.room, got, test.want)
		}
	}
}
