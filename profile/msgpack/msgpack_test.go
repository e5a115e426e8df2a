package msgpack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		p := profiletest.Random(seed)
		first := Encode(p)
		back, err := Decode(first)
		if err != nil {
			t.Fatalf("profile %d: %v", seed, err)
		}
		want := profiletest.Random(seed)
		profiletest.Reduce(want, profiletest.Valid, profiletest.ValidText)
		if got, want := profiletest.Text(back), profiletest.Text(want); got != want {
			t.Fatalf("profile %d: read back\n%s\nwant\n%s", seed, got, want)
		}
		if again := Encode(back); !bytes.Equal(again, first) {
			t.Fatalf("profile %d: a file that is read and written changes:\n%x\nbecame\n%x", seed, first, again)
		}
		var written bytes.Buffer
		if err := Write(&written, p); err != nil || !bytes.Equal(written.Bytes(), first) {
			t.Fatalf("profile %d: Write gives other bytes than Encode (error %v)", seed, err)
		}
	}
}

// scope is the tree of hatchet/testdata/scope.hatchet: two kernels in a scope with metrics.
func scope(t testing.TB) *profile.Profile {
	t.Helper()
	p, err := hatchet.Read(strings.NewReader(testkit.Read(t, "../hatchet/testdata/scope.hatchet")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLayout spells out the bytes of a small tree in upstream's order of keys.
func TestLayout(t *testing.T) {
	kernel := &profile.Node{Name: "k"}
	kernel.Set("bytes", profile.IntValue(-200))
	kernel.Set("device_type", profile.StringValue("CUDA"))
	kernel.Set("count", profile.IntValue(300))
	kernel.Set("time (ns)", profile.IntValue(70000))
	kernel.Set("device_id", profile.StringValue("0"))
	kernel.Set("a", profile.FloatValue(1))
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "10"}, {Type: "CUDA", ID: "2", Arch: "90", BusWidth: 1, ClockRate: 2, MemoryClockRate: 3, NumSMs: 4}},
	}
	want := "\x92" +
		"\x83\xa5frame\x82\xa4name\xa4ROOT\xa4type\xa8function\xa7metrics\x82\xa9time (ns)\x00\xa5count\x00\xa8children\x91" +
		"\x83\xa5frame\x82\xa4name\xa1k\xa4type\xa8function\xa7metrics\x86" +
		"\xa9time (ns)\xce\x00\x01\x11\x70\xa5count\xcd\x01\x2c\xa9device_id\xa10\xabdevice_type\xa4CUDA" +
		"\xa1a\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa5bytes\xd1\xff\x38\xa8children\x90" +
		"\x81\xa4CUDA\x82" +
		"\xa12\x85\xaaclock_rate\x02\xb1memory_clock_rate\x03\xa9bus_width\x01\xa4arch\xa290\xa7num_sms\x04" +
		"\xa210\x85\xaaclock_rate\x00\xb1memory_clock_rate\x00\xa9bus_width\x00\xa4arch\xa0\xa7num_sms\x00"
	if got := string(Encode(p)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	node := "\x81\xa5frame\x81\xa4name\xa1r"
	var different strings.Builder
	for i := range 5000 {
		different.WriteString("\xa2" + string([]byte{byte(i >> 7), byte(i & 0x7f)}) + "\x00")
	}
	for name, test := range map[string]struct {
		in   string
		at   int64
		want string
	}{
		"empty":              {"", 0, "cut off or empty"},
		"no array":           {"\x81\xa1a\x01", 0, "expected a tree"},
		"three elements":     {"\x93" + node + "\x80\x80", 0, "an array of 3"},
		"no elements":        {"\x90", 0, "an array of 0"},
		"node is a number":   {"\x91\x05", 1, "expected a node"},
		"no frame":           {"\x91\x80", 1, "without a frame name"},
		"frame without name": {"\x91\x81\xa5frame\x81\xa4type\xa1x", 1, "without a frame name"},
		"trailing bytes":     {"\x91" + node + "\xc0", 16, "1 bytes behind"},
		"huge map":           {"\x91\xdf\xff\xff\xff\xff", 1, "4294967295 members"},
		"huge array":         {"\x91\x81\xa8children\xdd\x7f\xff\xff\xff", 11, "2147483647 members"},
		"huge string":        {"\x91\x81\xdb\xff\xff\xff\xff", 2, "4294967295 bytes"},
		"cut number":         {"\x91\x81\xa7metrics\x81\xa1a\xcb\x00\x00", 14, "cut off"},
		"metric is a map":    {"\x91\x81\xa7metrics\x81\xa1a\x80", 13, "expected a number"},
		"text in a vector":   {"\x91\x81\xa7metrics\x81\xa1a\x91\xa1x", 14, "expected a number"},
		"unused byte":        {"\x91\x81\xa1x\xc1", 4, "0xc1 is not valid MessagePack"},
		"no kind":            {"\x91\x82\xa5frame\x81\xa4name\xa1r\xa5kinds\x81\xa1a\xa1b", 25, `"b" is not a kind of metric`},
		"info is a number":   {"\x91\x81\xa4info\x81\xa1a\x01", 10, "expected a string of info"},
		"times out of order": {"\x91\x81\xa5times\x86\xa5count\x02\xa3min\x01\xa3max\x02\xa4mean\x01\xa2m2\x01\xa7buckets\x92\x92\x02\x01\x92\x01\x01", 8, "out of order"},
		"no such bucket":     {"\x91\x81\xa5times\x81\xa7buckets\x91\x92\xcc\x81\x01", 18, "begins at 129"},
		"binary bucket":      {"\x91\x81\xa5times\x81\xa7buckets\x91\x93\x01\x01\x01", 18, "not 3"},
		"metrics: 5000":      {"\x91\x81\xa7metrics\xde\x13\x88" + different.String(), 13 + 4096*4 + 3, "more than 4096 metrics on one node"},
	} {
		p, err := Decode([]byte(test.in))
		var bad *profile.FormatError
		if !errors.As(err, &bad) {
			t.Errorf("%s: read %+v, error %v", name, p, err)
		} else if bad.Offset != test.at || !strings.Contains(bad.Reason, test.want) {
			t.Errorf("%s: got %v\nwant byte %d: …%s…", name, bad, test.at, test.want)
		}
	}
}

func TestReadAccepts(t *testing.T) {
	in := "\x91\x85\xa1x\x92\xc4\x02ab\xd4\x01z\xa7metrics\x86\xa5count\x01\xa5count\x02\xa1n\xc0\xa1t\xc3\xa1f\xca\x3f\xc0\x00\x00\xa1u\xcf\xff\xff\xff\xff\xff\xff\xff\xff" +
		"\xa8children\x90\xa5frame\x82\xa1y\xa1z\xa4name\xa3a\xffb\xa1z\x81\x01\xc2"
	p, err := Decode([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := "\"a\uFFFDb\" \"count\"=2 \"f\"=1.5. \"n\"=NaN. \"t\"=1 \"u\"=1.8446744073709552e+19."
	if got := profiletest.Text(p); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEveryPrefixIsAnError(t *testing.T) {
	p := scope(t)
	p.Info = profile.Info{"host": "x"}
	p.Root.Children[0].Times = &profile.Sketch{}
	p.Root.Children[0].Times.Add(1000)
	whole := Encode(p)
	for n := range whole {
		if _, err := Decode(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a whole file", n, len(whole))
		}
	}
}

func TestDeepFiles(t *testing.T) {
	node := "\x82\xa5frame\x81\xa4name\xa1f\xa8children\x91"
	leaf := "\x81\xa5frame\x81\xa4name\xa1f"
	if _, err := Decode([]byte("\x91" + strings.Repeat(node, profile.MaxDepth) + leaf)); err != nil {
		t.Errorf("%d frames: %v", profile.MaxDepth, err)
	}
	for name, in := range map[string]string{
		"frames": "\x91" + strings.Repeat(node, profile.MaxDepth+1) + leaf,
		"arrays": "\x91\x81\xa1x" + strings.Repeat("\x91", 1_000_000),
		"maps":   "\x91\x81\xa1x" + strings.Repeat("\x81\x01", 1_000_000),
	} {
		if _, err := Decode([]byte(in)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestErrorsOfTheStreamPass(t *testing.T) {
	boom := errors.New("boom")
	if _, err := Read(io.MultiReader(strings.NewReader("\x92"), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Errorf("read: error %v, want the stream's own", err)
	}
	if err := Write(full{}, scope(t)); !errors.Is(err, errFull) {
		t.Errorf("write: error %v, want the stream's own", err)
	}
	if err := Write(io.Discard, &profile.Profile{}); err == nil {
		t.Error("a profile without a root was written")
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFiles(t *testing.T) {
	var file bytes.Buffer
	if err := Write(&file, scope(t)); err != nil {
		t.Fatal(err)
	}
	p, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil || profiletest.Text(p) != profiletest.Text(scope(t)) {
		t.Errorf("read back %v, %v", p, err)
	}
	head := file.Bytes()
	if !Sniff(head) {
		t.Errorf("a file of ours is not known by its head %x", head[:8])
	}
	for _, other := range []string{"", "\x92", "\x92\x80", "\x90\x81\xa5frame", "\x92\x81\xa4fram", "[{", "\x92\x81\x05\x00"} {
		if Sniff([]byte(other)) {
			t.Errorf("%q is taken for a file of ours", other)
		}
	}
}

// TestUpstreamWritesTheSameBytes lets libproton of a Triton wheel write one session in both forms. What we make
// of its JSON must be its MessagePack.
func TestUpstreamWritesTheSameBytes(t *testing.T) {
	var upstream struct{ JSON, MessagePack []byte }
	if err := json.Unmarshal(testkit.Python(t, "triton-3.9.0", "profile/msgpack/testdata/libproton.py", nil), &upstream); err != nil {
		t.Fatal(err)
	}
	p, err := hatchet.Read(bytes.NewReader(upstream.JSON))
	if err != nil {
		t.Fatal(err)
	}
	if got := Encode(p); !bytes.Equal(got, upstream.MessagePack) {
		t.Errorf("got  %q\nwant %q", got, upstream.MessagePack)
	}
	q, err := Decode(upstream.MessagePack)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := profiletest.Text(q), profiletest.Text(p); got != want {
		t.Errorf("upstream's MessagePack reads as\n%s\nits JSON as\n%s", got, want)
	}
}

// TestPythonReadsTheSameTree compares what Python's msgpack makes of our bytes with what its json makes of our JSON.
func TestPythonReadsTheSameTree(t *testing.T) {
	var input []map[string][]byte
	for seed := range uint64(60) {
		p := profiletest.Random(seed)
		profiletest.Reduce(p, profiletest.Valid, profiletest.Finite)
		var text bytes.Buffer
		if err := hatchet.Compact(&text, p); err != nil {
			t.Fatal(err)
		}
		input = append(input, map[string][]byte{"json": text.Bytes(), "msgpack": Encode(p)})
	}
	stdin, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	if out := testkit.Python(t, "", "profile/msgpack/testdata/compare.py", stdin); strings.TrimSpace(string(out)) != "60 equal" {
		t.Errorf("Python says %s", out)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range profiletest.Small {
		f.Add(Encode(profiletest.Random(seed)))
	}
	f.Add(Encode(scope(f)))
	sampled := profiletest.Random(4)
	profiletest.Sample(sampled, 4)
	f.Add(Encode(sampled))
	launched := profiletest.Random(4)
	profiletest.Launch(launched, 4)
	f.Add(Encode(launched))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Decode(in)
		if err != nil {
			var bad *profile.FormatError
			if !errors.As(err, &bad) || bad.Offset > int64(len(in)) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := Decode(Encode(p))
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v", err)
		}
		if got, want := profiletest.Text(again), profiletest.Text(p); got != want {
			t.Fatalf("round trip:\n%s\nbecame\n%s", want, got)
		}
	})
}

// many has n kernels in scopes of ten, as a training step has.
func many(n int) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive}}
	var scope *profile.Node
	for i := range n {
		if i%10 == 0 {
			scope = &profile.Node{Name: "layer"}
			p.Root.Children = append(p.Root.Children, scope)
		}
		k := &profile.Node{Name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>" + string(rune('a'+i%10))}
		k.Set("time (ns)", profile.IntValue(int64(i)*17+864))
		k.Set("count", profile.IntValue(1))
		k.Set("bytes", profile.IntValue(1<<20))
		k.Set("flops32", profile.FloatValue(1e9))
		k.Set("device_id", profile.StringValue("0"))
		k.Set("device_type", profile.StringValue("CUDA"))
		scope.Children = append(scope.Children, k)
	}
	return p
}

func BenchmarkEncode30k(b *testing.B) {
	p := many(30_000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(Encode(p))))
	}
}

func BenchmarkDecode30k(b *testing.B) {
	data := Encode(many(30_000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
