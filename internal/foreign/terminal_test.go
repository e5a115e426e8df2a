package foreign

import "testing"

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"":                         "",
		"gemm<float, 4>":           "gemm<float, 4>",
		"größe 日本語 😀 e\u0301":      "größe 日本語 😀 e\u0301",
		"\x1b[2J\x1b]0;title\a":    `\x1b[2J\x1b]0;title\a`,
		"\u009b31m":                `\u009b31m`,
		"a\r\nb\tc\x7f":            `a\r\nb\tc\x7f`,
		"\u202egnp.exe\u200b":      `\u202egnp.exe\u200b`,
		"cut \xe6\x97":             `cut \xe6\x97`,
		"\uFFFD is a mark already": "\uFFFD is a mark already",
		"\U000e0001":               `\U000e0001`,
	} {
		if got := Printable(name); got != want {
			t.Errorf("%q is printed as %s, want %s", name, got, want)
		}
	}
}
