package term

import (
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	const text = "one two three four\nfive\n\nshort lines\nstay\n  a, b    what these are\n  averylongword-of-its-own and more\n  proton viewer a-command stays"
	const want = "one two three\nfour five\n\nshort lines\nstay\n  a, b    what\n          these\n          are\n  averylongword-of-its-own\n  and more\n  proton viewer a-command stays"
	if got := Fit(text, 15); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := Fit(text, 0); got != text {
		t.Errorf("without a width:\n%s", got)
	}
}

// TestMessagesFit breaks the lines of messages on a terminal, and nowhere else.
func TestMessagesFit(t *testing.T) {
	const message = "proton: a message of several words\nproton: two\n"
	for width, want := range map[int]string{20: "proton: a message of\n  several words\nproton: two\n", 0: message} {
		var out strings.Builder
		o := &Output{out: &out, width: width}
		if n, err := o.Write([]byte(message)); n != len(message) || err != nil || out.String() != want {
			t.Errorf("width %d: %d, %v, %q", width, n, err, out.String())
		}
	}
}

// A Chinese or Japanese character takes two columns.
func TestBreakMeasuresColumns(t *testing.T) {
	if got := Broken("内核 内核 kernel", 2, 9); got != "内核 内核\n  kernel\n" {
		t.Errorf("%q", got)
	}
	if got := Legend(4, 8, [2]string{"a", "内核 b c"}, [2]string{"no", "d"}); got != "a   内核\n    b c\nno  d\n" {
		t.Errorf("%q", got)
	}
}

func TestBreakEndsWhereTheIndentIsWiderThanTheText(t *testing.T) {
	for width := 1; width < 6; width++ {
		if got := Break("  a few words", 4, width); len(got) > 4 {
			t.Errorf("width %d: %q", width, got)
		}
	}
}
