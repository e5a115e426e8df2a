package term

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestOutput(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                               "plain\ttext\n",
		"größe 日本 └─ ██ 😀":                            "größe 日本 └─ ██ 😀",
		"\x1b[1mbold\x1b[0m \x1b[38;5;196mred\x1b[0m": "\x1b[1mbold\x1b[0m \x1b[38;5;196mred\x1b[0m",
		"\x1b[38;5;0;48;5;0mhidden\x1b[m":             `\u001b[38;5;0;48;5;0mhidden` + "\x1b[m",
		"\x1b[30;40mhidden\x1b[30m":                   `\u001b[30;40mhidden\u001b[30m`,
		"\x1b[38;5;16mhidden\x1b[48;5;22m":            `\u001b[38;5;16mhidden\u001b[48;5;22m`,
		"\x1b[8mhidden":                               `\u001b[8mhidden`,
		"\x1b[7;1m":                                   `\u001b[7;1m`,
		"\x1b[2J\x1b]0;title\a":                       `\u001b[2J\u001b]0;title\u0007`,
		"\u009b31m":                                   `\u009b31m`,
		"one\rtwo\x7f\x00":                            `one\u000dtwo\u007f\u0000`,
		"\u202egnp.exe\u200b\U000e0001":               `\u202egnp.exe\u200b\udb40\udc01`,
		"cut \xe6\x97 here \xff":                      `cut \xe6\x97 here \xff`,
		"\x1b[" + strings.Repeat("1;", 40) + "m":      `\u001b[` + strings.Repeat("1;", 40) + "m",
	} {
		for size := 1; size <= len(text); size++ { // however the text is cut
			var out bytes.Buffer
			o := NewOutput(&out)
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if wrote, err := o.Write([]byte(rest[:n])); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d is %q, want %q", text, size, out.String(), want)
			}
		}
	}
}

var allowed = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// FuzzOutput: nothing but text and colours comes out, JSON stays what it is, and text stays as it is.
func FuzzOutput(f *testing.F) {
	f.Add("a\x1b[1mb\x1b[0m", uint8(2))
	f.Add("\x1b[38;5;8m\x1b]52;c;x\a\u009b2J", uint8(1))
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		var out bytes.Buffer
		o := NewOutput(&out)
		at := min(int(cut), len(text))
		o.Write([]byte(text[:at]))
		o.Write([]byte(text[at:]))
		o.Write([]byte("."))
		shown := allowed.ReplaceAllString(out.String(), "")
		for i, r := range shown {
			if r == utf8.RuneError && shown[i] != 0xef || r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q: %q comes out", text, out.String())
			}
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		NewOutput(&written).Write(quoted)
		var before, after string
		if json.Unmarshal(quoted, &before); json.Unmarshal(written.Bytes(), &after) != nil || before != after {
			t.Fatalf("%q is %q", quoted, written.String())
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	line := []byte(strings.Repeat("0.0578   32.868  278.175     3.032    101   95.5% █████████▌ └─ matmul_kernel<float, 128>\n", 700))
	o := NewOutput(&bytes.Buffer{})
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		o.out.(*bytes.Buffer).Reset()
		o.Write(line)
	}
}
