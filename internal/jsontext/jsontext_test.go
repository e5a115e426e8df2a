package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestForms has values as Python's json.dumps(sort_keys=True, separators=(",", ":")) and orjson write them.
func TestForms(t *testing.T) {
	for _, c := range []struct{ in, python, orjson string }{
		{`{"b":1,"a":{"d":null,"c":[true,false]}}`, `{"a":{"c":[true,false],"d":null},"b":1}`, ``},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`, ``},
		{`"é😀\u00e9\ud83d\ude00\/\u0007"`, `"\u00e9\ud83d\ude00\u00e9\ud83d\ude00/\u0007"`, `"é😀é😀/\u0007"`},
		{`[1, 1.0, 1e5, 1E-7, 0.0001, 1e16, -0, -0.0, 123456789012345680.0]`, `[1,1.0,100000.0,1e-07,0.0001,1e+16,0,-0.0,1.2345678901234568e+17]`, ``},
		{`[9223372036854775808, 18446744073709551615, 18446744073709551616]`, `[9223372036854775808,18446744073709551615,1.8446744073709552e+19]`, ``},
		{`{"\uffff":1,"😀":2}`, `{"\uffff":1,"\ud83d\ude00":2}`, "{\"\uffff\":1,\"😀\":2}"},
	} {
		if err := Valid([]byte(c.in)); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		if got := string(Form{ASCII: true}.Append(nil, []byte(c.in))); got != c.python {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.python)
		}
		if c.orjson == "" {
			c.orjson = c.python
		}
		if got := string(Form{}.Append(nil, []byte(c.in))); got != c.orjson {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.orjson)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, in := range []string{
		``, `{`, `{"a"}`, `{"a":1,}`, `[1,]`, `01`, `1.`, `.5`, `1e`, `NaN`, `Infinity`, `1e400`, `"\ud800"`, `"\ud800\u0041"`, `"\x"`,
		"\"a\nb\"", "\"\xff\"", `{} {}`, `nul`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		if Valid([]byte(in)) == nil {
			t.Errorf("%q is taken for JSON", in)
		}
	}
}

func TestGet(t *testing.T) {
	text := []byte(`{"a":{"b":[1,{"c":"x"}],"b":[2]}}`)
	if got := Get(text, "a", "b"); string(got) != "[2]" {
		t.Errorf("got %s", got)
	}
	if Get(text, "a", "z") != nil || Get(text, "a", "b", "c") != nil {
		t.Error("found what is not there")
	}
}

// FuzzForms compares with encoding/json: what we call valid it can read, and our canonical text means the same.
func FuzzForms(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.50,-0,1e5],"a":{"é":"\u00e9\ud83d\ude00"}}`))
	f.Add([]byte(`[{"a":1,"a":2},"\\\"\/",null]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if Valid(text) != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is not JSON", text)
		}
		for _, form := range []Form{{}, {ASCII: true}} {
			out := form.Append(nil, text)
			if err := Valid(out); err != nil {
				t.Fatalf("%q is written as %q: %v", text, out, err)
			}
			if again := form.Append(nil, out); !bytes.Equal(out, again) {
				t.Fatalf("%q, then %q", out, again)
			}
		}
	})
}

// Strings are looked at eight bytes at a time: a byte that may not be there is found wherever it stands.
func TestEveryByteOfAString(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for at := range n {
			for c := range 256 {
				text := []byte(`"` + strings.Repeat("~", n) + `"`)
				text[1+at] = byte(c)
				want := c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\'
				if err := Valid(text); (err == nil) != want {
					t.Fatalf("%q: %v", text, err)
				}
			}
		}
	}
}

// TestManyMembers: an object may have as many members as a kernel has lines, and of each name the last value counts.
func TestManyMembers(t *testing.T) {
	const n = 200_000
	text := []byte("{")
	for i := range n + n/2 {
		text = fmt.Appendf(text, "%q:%d,", strconv.Itoa(i%n), i)
	}
	text[len(text)-1] = '}'
	before := []Member{{Name: "7"}}
	members, err := AppendMembers(before, text)
	if err != nil || len(members) != n+1 {
		t.Fatalf("%d members, %v", len(members), err)
	}
	for i, m := range members[1:] {
		want := i
		if i < n/2 {
			want += n
		}
		if m.Name != strconv.Itoa(i) || string(m.Value) != strconv.Itoa(want) {
			t.Fatalf("member %d is %s: %s", i, m.Name, m.Value)
		}
	}
}

// TestEveryByteIsWritten writes strings with every byte at every place, and has encoding/json read them.
func TestEveryByteIsWritten(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for at := range n {
			for c := range 256 {
				text := []byte(strings.Repeat("~", n))
				text[at] = byte(c)
				var back string
				out := AppendString(nil, string(text))
				if err := json.Unmarshal(out, &back); err != nil || back != strings.ToValidUTF8(string(text), "\uFFFD") {
					t.Fatalf("%q is written as %s, error %v", text, out, err)
				}
				if ascii := (Form{ASCII: true}).AppendText(nil, string(text)); strings.IndexFunc(string(ascii), func(r rune) bool { return r >= 0x7f }) >= 0 {
					t.Fatalf("%q is written as %q", text, ascii)
				}
			}
		}
	}
}
