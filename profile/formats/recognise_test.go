package formats

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/profile"
)

// TestJSONIsKnownByItsKeys, in any order, at any depth and however long what comes before them is.
func TestJSONIsKnownByItsKeys(t *testing.T) {
	long := strings.Repeat(`"a \"string\" with [brackets] and {braces}",`, 30_000) // 1.3 MB
	deep := strings.Repeat(`{"traceEvents":[`, 500) + strings.Repeat(`]}`, 500)
	for in, want := range map[string]string{
		"\n[\n  {\"children\": []": "hatchet", `[{"info":`: "hatchet", `[{"info":{"frame":{}},"frame":{"name":"ROOT"}}]`: "hatchet", `[{},{"frame":{"name":"x"}}]`: "hatchet",
		`[{"metrics":{"ph":1}}]`: "hatchet", `[{"ph":"X"`: "chrome_trace", `[ {"name":"x","children":3,"ph":"X"}`: "chrome_trace", `[{},{"tdur":1,"ph":"B"}]`: "chrome_trace",
		`[null,"x",[{"frame":{}}],{"args":{"frame":{"children":[]}},"ph":"X"}]`: "chrome_trace", `[{"name":"x","ts":1`: "chrome_trace", `[{"frame":"top","ph":"X"}]`: "chrome_trace",
		`{"metadata":[` + long + `1],"traceEvents":[]}`: "chrome_trace", `{"x":` + deep + `,"shared":{"frames":[]},"profiles":[]}`: "speedscope",
		`{"displayTimeUnit":"ms"`: "chrome_trace", `{"displayTimeUnit":"ms"} {"traceEvents":[]}`: "chrome_trace",
		`{"profiles":[` + long + `1],"$schema":"https://www.speedscope.app/file-format-schema.json"}`: "speedscope", `{"exporter":"x","profiles":[]}`: "speedscope",
		`{"$schema":"https://example.com/trace.json","traceEvents":[]}`: "chrome_trace", `{"$schema":{},"shared":{}}`: "speedscope",
		`[`: "", `[]`: "", `[{}]`: "", "[{'frame'": "", `[1`: "", `{`: "", `{}`: "", `{"frames":[],"traceevents":[]}`: "", `{"a":{"traceEvents":[]}}`: "", "x;y 1": "collapsed",
		`{"metadata":{"a":"x"y"},"traceEvents":[]}`: "",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "by halves": iotest.HalfReader(strings.NewReader(in))} {
			f, rest, err := recognise(r, []byte(in)[:min(len(in), headSize)])
			if want == "" {
				if err == nil {
					t.Errorf("%.60s is taken for %s", in, f.Name)
				}
				continue
			}
			if err != nil || f.Name != want {
				t.Errorf("%.60s, %s: %v, error %v, want %s", in, name, f, err, want)
				continue
			}
			if all, err := io.ReadAll(rest); err != nil || name == "whole" && string(all) != in {
				t.Errorf("%.60s, %s: %d of %d bytes are left to read, error %v", in, name, len(all), len(in), err)
			}
		}
	}
}

// TestPerfettoBeginsWithAnyPacket: also with one that is as long as the number of a bracket or a brace, behind a line feed.
func TestPerfettoBeginsWithAnyPacket(t *testing.T) {
	for _, field := range []byte{5, 6, 8, 33, 43, 44, 45, 51, 52, 53, 69, 82} {
		for _, size := range []byte{'[', '{'} {
			packet := append([]byte{field<<3 | 2, size - 2}, make([]byte, size-2)...)
			if field > 15 {
				packet = append([]byte{field<<3 | 0x82, field >> 4, size - 3}, make([]byte, size-3)...)
			} else if field == 8 {
				packet = append([]byte{field << 3, 0}, make([]byte, size-2)...)
			}
			head := append([]byte{'\n', size}, packet...)
			if f, _, err := recognise(bytes.NewReader(head), head); err != nil || f.Name != "perfetto" {
				t.Errorf("field %d, %d bytes: %v, error %v", field, size, f, err)
			}
		}
	}
}

// TestReadBehindAMark: a byte order mark changes nothing but the places of errors.
func TestReadBehindAMark(t *testing.T) {
	for name, text := range map[string]string{
		"hatchet":   `[{"frame":{"name":"ROOT"},"metrics":{"x":1},"children":[{"frame":{"name":"k"},"metrics":{"x":3}}]}]`,
		"events":    `[{"tdur":1,"ph":"X","name":"k","ts":1,"dur":3,"pid":1,"tid":1}]`,
		"collapsed": "a;b 1\na;c 2\n",
	} {
		want, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for packed, r := range map[string]io.Reader{"plain": strings.NewReader("\xef\xbb\xbf" + text), "gzip": gzipped(t, "\xef\xbb\xbf"+text)} {
			p, err := Read(r)
			if err != nil || !bytes.Equal(hatchetText(t, p), hatchetText(t, want)) {
				t.Errorf("%s, %s: %v, want it as without the mark", name, packed, err)
			}
		}
	}
	_, err := Read(strings.NewReader("\xef\xbb\xbf" + `[{"frame":{"name":3}}]`))
	_, plain := Read(strings.NewReader(`[{"frame":{"name":3}}]`))
	var at, plainAt int64
	fmt.Sscanf(fmt.Sprint(err), "byte %d:", &at)
	if fmt.Sscanf(fmt.Sprint(plain), "byte %d:", &plainAt); at != plainAt+3 {
		t.Errorf("got %v, and without the mark %v", err, plain)
	}
}

func gzipped(t *testing.T, text string) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return &out
}

func hatchetText(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	f, err := ByName("hatchet")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Write(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzRecognise: what is known as JSON, and what follows of it, is all of the file.
func FuzzRecognise(f *testing.F) {
	f.Add([]byte(`{"a":[{}],"traceEvents":[]}`))
	f.Add([]byte(`[{},3,{"ph":"X"}]`))
	f.Add([]byte("\x0a\x0d\x08\x01\x12\x09/host:CPU"))
	f.Fuzz(func(t *testing.T, in []byte) {
		format, rest, err := recognise(bytes.NewReader(in), in[:min(len(in), headSize)])
		if (format == nil) == (err == nil) {
			t.Fatalf("format %v, error %v", format, err)
		}
		if err == nil {
			if all, err := io.ReadAll(rest); err != nil || !bytes.Equal(all, in) {
				t.Fatalf("%d of %d bytes are left to read, error %v", len(all), len(in), err)
			}
		}
	})
}
