package hatchet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

func TestReadUpstreamFile(t *testing.T) {
	p, err := Read(strings.NewReader(testkit.Read(t, "testdata/scope.hatchet")))
	if err != nil {
		t.Fatal(err)
	}
	want := scopeProfile()
	delete(want.Kinds, "never recorded")
	if !reflect.DeepEqual(p.Kinds, want.Kinds) {
		t.Errorf("kinds %v, want %v", p.Kinds, want.Kinds)
	}
	if !reflect.DeepEqual(p.Devices, want.Devices) {
		t.Errorf("devices %+v, want %+v", p.Devices, want.Devices)
	}
	if got, want := dump(p), dump(want); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// dump prints what a file can hold of a profile: metrics by name, without the root's zeros.
func dump(p *profile.Profile) string {
	var b strings.Builder
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%q", strings.Repeat("  ", depth), n.Name)
		t := treeWriter{}
		for _, at := range t.sorted(n.Metrics) {
			m := n.Metrics[at]
			if v, ok := m.Value.Float(); ok && v == 0 && n == p.Root {
				continue
			}
			w := tree.JSON{}
			tree.Value(&w, m.Value)
			fmt.Fprintf(&b, " %s=%s", m.Name, w.Buf)
		}
		b.WriteByte('\n')
		return true
	})
	fmt.Fprintf(&b, "%+v\n", p.Devices)
	return b.String()
}

const root = `{"frame":{"name":"ROOT"}}`

func TestReadAccepts(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"one element":        {`[{"children":[],"frame":{"name":"ROOT","type":"function"},"metrics":{}}]`, "\"ROOT\"\n[]\n"},
		"any key order":      {`[{"metrics":{"a":1},"frame":{"type":"x","name":"r"},"children":[]},{}]`, "\"r\" a=1\n[]\n"},
		"unknown keys":       {`[{"x":[{"y":[1,"z",null,true]}],"frame":{"name":"r","file":{}}},{}]`, "\"r\"\n[]\n"},
		"null metric":        {`[{"frame":{"name":"r"},"metrics":{"a":null}}]`, "\"r\" a=null\n[]\n"},
		"python's NaN":       {`[{"frame":{"name":"r"},"metrics":{"a":NaN,"b":-Infinity}}]`, "\"r\" a=null b=null\n[]\n"},
		"bool":               {`[{"frame":{"name":"r"},"metrics":{"a":true}}]`, "\"r\" a=1\n[]\n"},
		"vectors":            {`[{"frame":{"name":"r"},"metrics":{"a":[1,2],"b":[1,2.5],"c":[]}}]`, "\"r\" a=[1,2] b=[1.0,2.5] c=[]\n[]\n"},
		"last key wins":      {`[{"frame":{"name":"r"},"metrics":{"a":1,"a":2}}]`, "\"r\" a=2\n[]\n"},
		"beyond int64":       {`[{"frame":{"name":"r"},"metrics":{"a":18446744073709551615,"b":-9223372036854775808}}]`, "\"r\" a=1.8446744073709552e+19 b=-9223372036854775808\n[]\n"},
		"escapes":            {`[{"frame":{"name":"\u0041\/\n\ud83d\ude00\ud83dx\udc00\"\\"}}]`, `"A/\n😀�x�\"\\"` + "\n[]\n"},
		"white space":        {"\n [ " + root + " \t, { } ]\r\n ", "\"ROOT\"\n[]\n"},
		"number as arch":     {`[` + root + `,{"CUDA":{"0":{"arch":90,"num_sms":1.0,"bus_width":null,"more":[]}}}]`, "\"ROOT\"\n[{Type:CUDA ID:0 Arch:90 BusWidth:0 ClockRate:0 MemoryClockRate:0 NumSMs:1 Name:}]\n"},
		"empty names":        {`[{"frame":{"name":""},"metrics":{"":1}}]`, "\"\" =1\n[]\n"},
		"no UTF-8":           {"[{\"frame\":{\"name\":\"a\xffb\"}}]", "\"a\uFFFDb\"\n[]\n"},
		"nothing but a root": {`[` + root + `]`, "\"ROOT\"\n[]\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				p, err := Read(r)
				if err != nil {
					t.Fatal(err)
				}
				if got := dump(p); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		at   int64
		want string
	}{
		"empty":              {"", 0, "cut off or empty"},
		"cut off":            {`[{"children":[`, 14, "the file ends"},
		"cut in a string":    {`[{"fra`, 2, "never ends"},
		"cut in an escape":   {`[{"frame":{"name":"\u00`, 19, "hexadecimal"},
		"other JSON":         {`{"traceEvents":[]}`, 0, "expected '['"},
		"no JSON":            {"PK\x03\x04", 0, "expected '['"},
		"binary":             {"\x92\x83\xa8children", 0, "found byte 0x92"},
		"no tree":            {"[]", 0, "no tree"},
		"no frame":           {`[{"children":[{"metrics":{}}]}]`, 14, "without a frame name"},
		"frame without name": {`[{"frame":{"type":"x"}}]`, 1, "without a frame name"},
		"name is a number":   {`[{"frame":{"name":1}}]`, 18, "expected a name"},
		"children is text":   {`[{"children":"x"}]`, 13, "expected '['"},
		"metric is object":   {`[{"frame":{"name":"r"},"metrics":{"a":{}}}]`, 38, "found '{'"},
		"list in a list":     {`[{"frame":{"name":"r"},"metrics":{"a":[[1]]}}]`, 39, "expected a number"},
		"bad word":           {`[{"frame":{"name":"r"},"metrics":{"a":nul}}]`, 38, `"nul"`},
		"bad number":         {`[{"frame":{"name":"r"},"metrics":{"a":01}}]`, 38, `"01"`},
		"missing comma":      {`[{"frame":{"name":"r"} "metrics":{}}]`, 23, "',' or '}'"},
		"missing value":      {`[{"frame":}]`, 10, "expected '{'"},
		"control character":  {"[{\"frame\":{\"name\":\"a\nb\"}}]", 20, "control character"},
		"three elements":     {`[` + root + `,{},{}]`, 30, "a second device table"},
		"trailing text":      {`[` + root + `]x`, 27, "the end of the file"},
		"device is a list":   {`[` + root + `,{"CUDA":[]}]`, 35, "expected '{'"},
		"device fact text":   {`[` + root + `,{"CUDA":{"0":{"num_sms":"x"}}}]`, 51, "num_sms"},
		"unknown escape":     {`[{"frame":{"name":"\x"}}]`, 19, "escape"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
				p, err := Read(r)
				var bad *profile.FormatError
				if !errors.As(err, &bad) {
					t.Fatalf("read %+v, error %v, want a FormatError", p, err)
				}
				if bad.Offset != test.at || !strings.Contains(bad.Reason, test.want) {
					t.Errorf("got %v\nwant byte %d: …%s…", bad, test.at, test.want)
				}
			}
		})
	}
}

func TestEveryPrefixIsAnError(t *testing.T) {
	whole, err := os.ReadFile("testdata/scope.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimSpace(whole)
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a whole file", n, len(whole))
		}
	}
}

func TestDeepFiles(t *testing.T) {
	nest := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	node, end := `{"frame":{"name":"f"},"children":[`, `]}`
	if _, err := Read(strings.NewReader("[" + nest(node, "", end, profile.MaxDepth) + "]")); err != nil {
		t.Errorf("%d frames: %v", profile.MaxDepth, err)
	}
	for name, in := range map[string]string{
		"frames":         "[" + nest(node, "", end, profile.MaxDepth+2) + "]",
		"a million [":    strings.Repeat("[", 1_000_000),
		"unknown values": `[{"x":` + strings.Repeat("[", 1_000_000),
		"unknown object": `[{"x":` + strings.Repeat(`{"a":`, 1_000_000),
	} {
		if _, err := Read(strings.NewReader(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadErrorsOfTheStreamPass(t *testing.T) {
	boom := errors.New("boom")
	r := io.MultiReader(strings.NewReader(`[{"frame":`), iotest.ErrReader(boom))
	if _, err := Read(r); !errors.Is(err, boom) {
		t.Errorf("error %v, want the stream's own", err)
	}
}

// randomProfile makes any profile that a file can hold.
func randomProfile(r *rand.Rand) *profile.Profile {
	names := []string{"time (ns)", "count", "größe", "a\"b", "flops16", "device_id", "\x01", "日本"}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}}
	for _, n := range names[:4] {
		p.Kinds[n] = profile.Inclusive
	}
	var grow func(n *profile.Node, depth int)
	grow = func(n *profile.Node, depth int) {
		for _, at := range r.Perm(len(names))[:r.Intn(4)] {
			n.Set(names[at], randomValue(r))
		}
		for i := 0; i < r.Intn(4) && depth < 6; i++ {
			c := &profile.Node{Name: fmt.Sprintf("<%c>\n%d", 'ä'+rune(r.Intn(300)), i)}
			n.Children = append(n.Children, c)
			grow(c, depth+1)
		}
	}
	grow(p.Root, 0)
	if r.Intn(2) == 0 {
		p.Devices = []profile.Device{
			{Type: "CUDA", ID: "0", Arch: "90", BusWidth: r.Int63(), ClockRate: 2, MemoryClockRate: 3, NumSMs: 4},
			{Type: "CUDA", ID: "10"}, {Type: "HIP", ID: "0", Arch: "gfx942", NumSMs: 304},
		}
	}
	return p
}

func randomValue(r *rand.Rand) profile.Value {
	switch r.Intn(6) {
	case 0:
		return profile.FloatValue(math.Float64frombits(r.Uint64()))
	case 1:
		return profile.FloatValue(float64(r.Intn(1000)))
	case 2:
		return profile.StringValue(string([]rune{rune(r.Intn(0x300)), '\\', '"'}))
	case 3:
		return profile.IntsValue([]int64{r.Int63(), -r.Int63()})
	case 4:
		return profile.FloatsValue([]float64{r.NormFloat64(), 2})
	}
	return profile.IntValue(int64(r.Uint64()))
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 500 {
		p := randomProfile(r)
		var first, second, compact bytes.Buffer
		if err := Write(&first, p); err != nil {
			t.Fatal(err)
		}
		if err := Compact(&compact, p); err != nil {
			t.Fatal(err)
		}
		back, err := Read(iotest.HalfReader(bytes.NewReader(first.Bytes())))
		if err != nil {
			t.Fatalf("profile %d: %v\n%s", i, err, first.String())
		}
		if got, want := dump(back), dump(p); got != want {
			t.Fatalf("profile %d: read back\n%s\nwant\n%s", i, got, want)
		}
		fromCompact, err := Read(&compact)
		if err != nil || dump(fromCompact) != dump(p) {
			t.Fatalf("profile %d: compact form: %v", i, err)
		}
		if err := Write(&second, back); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Fatalf("profile %d: a file that is read and written changes:\n%s\nbecame\n%s", i, first.String(), second.String())
		}
	}
}

func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.hatchet")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`[{"frame":{"name":"\ud83d\ude00"},"metrics":{"a":[1,2.5e-3],"b":null,"c":NaN}},{"HIP":{"0":{"arch":"gfx942"}}}]`))
	f.Add([]byte(`{"graph":[{"0":{"data":{"name":"a"},"children":[1,1]},"1":{"data":{"file":"b.c","line":3}}}],"dataframe":[{"node":0,"time (inc)":5,"x":[1]}],"inclusive_metrics":["time (inc)"]}`))
	f.Add([]byte(`[{"name":"a","frame":{},"metrics":{"_hatchet_nid":0}},{"frame":{"name":"b"},"duplicate":true,"metrics":{"_hatchet_nid":0}},{"HIP":{}}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Read(bytes.NewReader(in))
		slow, slowErr := Read(iotest.OneByteReader(bytes.NewReader(in)))
		if (err == nil) != (slowErr == nil) || err != nil && err.Error() != slowErr.Error() {
			t.Fatalf("whole: %v; byte by byte: %v", err, slowErr)
		}
		if starts := nodeStarts(in); len(starts) > 0 {
			compareWithRead(t, in, starts[len(starts)/2:])
		}
		if err != nil {
			return
		}
		if dump(p) != dump(slow) {
			t.Fatalf("whole:\n%s\nbyte by byte:\n%s", dump(p), dump(slow))
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, out.String())
		}
		if dump(again) != dump(p) {
			t.Fatalf("round trip:\n%s\nbecame\n%s", dump(p), dump(again))
		}
	})
}

func BenchmarkRead30k(b *testing.B) {
	benchmarkReading(b, func(file []byte) error {
		_, err := Read(bytes.NewReader(file))
		return err
	})
}

func benchmarkReading(b *testing.B, read func(file []byte) error) {
	var file bytes.Buffer
	if err := Write(&file, bigProfile(30_000)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := read(file.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
