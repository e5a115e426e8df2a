package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
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
