package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/profile"
)

// value reads any JSON value with nothing but the scanner.
func value(s *Scanner) any {
	switch s.Peek() {
	case '{':
		m := map[string]any{}
		s.Object("", func(key string) { m[key] = value(s) })
		return m
	case '[':
		list := []any{}
		s.Array("", func() { list = append(list, value(s)) })
		return list
	case '"':
		return string(s.Str("a text"))
	}
	f, _ := s.Scalar().Float()
	return f
}

const sample = ` {"a": [1, -2.5e3, "x\ty\u00e9\ud83d\ude00", {}], "b": {"c": "` + "größer als acht Zeichen" + `", "d": []}, "e": 12345678901234567890}`

// The scanner agrees with encoding/json, whatever the pieces that the stream comes in.
func TestAgreesWithTheStandardLibrary(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(sample), &want); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(sample), "by the byte": iotest.OneByteReader(strings.NewReader(sample)), "by halves": iotest.HalfReader(strings.NewReader(sample)),
	} {
		s := New(r)
		if got := value(s); s.Err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, error %v, want %v", name, got, s.Err, want)
		}
		if s.Peek() != 0 || !s.Ended() || s.Offset() != int64(len(sample)) {
			t.Errorf("%s: stopped at %d of %d", name, s.Offset(), len(sample))
		}
	}
}

// An input that ends too early and a wrong one are different errors.
func TestCutAndWrongDiffer(t *testing.T) {
	for n := 1; n < len(sample); n++ {
		s := New(strings.NewReader(sample[:n]))
		value(s)
		var wrong *profile.FormatError
		if !errors.As(s.Err, &wrong) || !wrong.Cut {
			t.Errorf("cut to %d bytes: %v", n, s.Err)
		}
	}
	for _, text := range []string{`{"a" 1}`, `[1 2]`, `{"a":truth }`, `["\x" ]`, "[\"a\nb\"]"} {
		s := New(strings.NewReader(text))
		value(s)
		var wrong *profile.FormatError
		if !errors.As(s.Err, &wrong) || wrong.Cut {
			t.Errorf("%s: %v, want an error without Cut", text, s.Err)
		}
	}
	s := New(iotest.TimeoutReader(bytes.NewReader(bytes.Repeat([]byte(" "), 1<<20))))
	s.Peek()
	if s.Peek(); !errors.Is(s.Err, iotest.ErrTimeout) {
		t.Errorf("the stream's own error is lost: %v", s.Err)
	}
}

// TestLenientStrings: what programs write that do not escape names is read as they mean it, and counted.
func TestLenientStrings(t *testing.T) {
	for in, want := range map[string]struct {
		text  string
		odd   int
		first int64
	}{
		`"plain \"and\" \u00e9scaped\n"`: {"plain \"and\" éscaped\n", 0, 0},
		"\"a\x01b\x00c\nd\"":             {"a\x01b\x00c\nd", 3, 2},
		`"torch\cuda\__init__.py"`:       {`torch\cuda\__init__.py`, 2, 6},
		`"torch\nn\modules\linear.py"`:   {`torch\nn\modules\linear.py`, 2, 9}, // \n is a line break elsewhere
		`"C:\users\bin\a.py"`:            {`C:\users\bin\a.py`, 2, 3},
		`"\u12"`:                         {`\u12`, 1, 1},
		`"\ud83d\users"`:                 {"\uFFFD\\users", 1, 7},
		`"\ud83d\ude00"`:                 {"😀", 0, 0},
		`"a\\b\t"`:                       {"a\\b\t", 0, 0},
		`"\"`:                            {"", 0, 0},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "by the byte": iotest.OneByteReader(strings.NewReader(in))} {
			s := New(r)
			s.Lenient = true
			got := string(s.Str("a text"))
			if want.text == "" {
				if s.Err == nil {
					t.Errorf("%s, %s: read as %q", in, name, got)
				}
			} else if s.Err != nil || got != want.text || s.Odd != want.odd || s.FirstOdd != want.first {
				t.Errorf("%s, %s: %q, %d odd, first at %d, error %v; want %+v", in, name, got, s.Odd, s.FirstOdd, s.Err, want)
			}
		}
	}
	for _, in := range []string{`{"name":"Library("x", "y")"}`, `["a" , "b"c"]`, `{"a"b":1}`} {
		s := New(strings.NewReader(in))
		s.Lenient = true
		value(s)
		if s.Err == nil || !strings.Contains(s.Err.Error(), "a quote within the text before it seems to lack its backslash") {
			t.Errorf("%s: error %v", in, s.Err)
		}
	}
}

// FuzzLenient: JSON is read as without leniency, and what is more is counted.
func FuzzLenient(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"C:\users\bin": "\ud83d\u", "` + "\x00\n" + `": ["\q"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		strict, lenient := New(bytes.NewReader(in)), New(iotest.OneByteReader(bytes.NewReader(in)))
		lenient.Lenient = true
		want, got := value(strict), value(lenient)
		switch {
		case strict.Err == nil && (lenient.Err != nil || lenient.Odd != 0 || !same(got, want)):
			t.Fatalf("%q is %v, %d odd, error %v; strictly %v", in, got, lenient.Odd, lenient.Err, want)
		case strict.Err != nil && lenient.Err == nil && lenient.Odd == 0:
			t.Fatalf("%q is read without a word, strictly %v", in, strict.Err)
		case lenient.Odd > 0 && (lenient.FirstOdd < 1 || lenient.FirstOdd >= int64(len(in))):
			t.Fatalf("%q: the first is at %d", in, lenient.FirstOdd)
		}
	})
}

// same compares values; what is not a number is the same as itself.
func same(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }
