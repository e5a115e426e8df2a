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
		{Cells: []Cell{{Text: "1", Color: "\x1b[31m"}, {Text: "left"}, {Text: "+10.0%"}}, Name: "a"},
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
		40: "1.0  ├ vectorized_elementw…  ▶ only in B\n1.0  ││││││││││││││││││││└ vectorized_e…\n1.0  short\n",
		30: "1.0  ├ vectorized_el…  ▶ only in B\n1.0  …││││││││││└ vectorized_…\n1.0  short\n",
		7:  "1.0  ├ vectorized_el…  ▶ only in B\n1.0  …│└ vectorized_…\n1.0  short\n",
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
