package hatchet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

func num(name string, v int64) profile.Metric {
	return profile.Metric{Name: name, Value: profile.IntValue(v)}
}
func flt(name string, v float64) profile.Metric {
	return profile.Metric{Name: name, Value: profile.FloatValue(v)}
}
func str(name, v string) profile.Metric {
	return profile.Metric{Name: name, Value: profile.StringValue(v)}
}

// scopeProfile is the profile of testdata/scope.hatchet, which has upstream's layout to the byte.
func scopeProfile() *profile.Profile {
	kernel := func(name string, more ...profile.Metric) *profile.Node {
		return &profile.Node{Name: name, Metrics: append(more, str("device_id", "0"), str("device_type", "CUDA"))}
	}
	return &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{
			Name:    "outer",
			Metrics: []profile.Metric{num("tokens", 10), num("cpu_time (ns)", 50411572)},
			Children: []*profile.Node{
				kernel("add_md", num("time (ns)", 864), num("count", 1), num("bytes", 49152), flt("flops32", 4096)),
				kernel("plain", num("time (ns)", 1760), num("count", 2)),
			},
		}}},
		Kinds: profile.Kinds{
			"time (ns)": profile.Inclusive, "count": profile.Inclusive, "bytes": profile.Inclusive,
			"flops32": profile.Inclusive, "tokens": profile.Inclusive, "never recorded": profile.Inclusive,
			"cpu_time (ns)": profile.Exclusive, "device_id": profile.Property, "device_type": profile.Property,
		},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000,
			MemoryClockRate: 3201000, NumSMs: 132}},
	}
}

func TestWriteMatchesUpstreamToTheByte(t *testing.T) {
	want, err := os.ReadFile("testdata/scope.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Write(&got, scopeProfile()); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestCompactIsTheSameOnOneLine(t *testing.T) {
	var pretty, compact, want bytes.Buffer
	if err := Write(&pretty, scopeProfile()); err != nil {
		t.Fatal(err)
	}
	if err := Compact(&compact, scopeProfile()); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&want, bytes.TrimSpace(pretty.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got := compact.String(); got != want.String() {
		t.Errorf("got %s\nwant %s", got, want.String())
	}
}

func TestEmptyProfile(t *testing.T) {
	var got bytes.Buffer
	if err := Compact(&got, &profile.Profile{Root: &profile.Node{Name: "ROOT"}}); err != nil {
		t.Fatal(err)
	}
	want := `[{"children":[],"frame":{"name":"ROOT","type":"function"},"metrics":{}},{}]`
	if got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
	for _, p := range []*profile.Profile{nil, {}} {
		if err := Write(&got, p); err == nil {
			t.Error("a profile without a root was written")
		}
	}
}

func TestRootZeros(t *testing.T) {
	vector := profile.Metric{Name: "v", Value: profile.IntsValue([]int64{1, 2})}
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Metrics: []profile.Metric{num("own", 7)}, Children: []*profile.Node{
			{Name: "a", Metrics: []profile.Metric{num("own", 1), num("inc", 1), num("exc", 1), str("pty", "x"), vector}},
		}},
		Kinds: profile.Kinds{"own": profile.Inclusive, "inc": profile.Inclusive, "pty": profile.Property,
			"v": profile.Inclusive, "absent": profile.Inclusive},
	}
	var out bytes.Buffer
	if err := Compact(&out, p); err != nil {
		t.Fatal(err)
	}
	if want := `"name":"ROOT","type":"function"},"kinds":{"v":"inclusive"},"metrics":{"inc":0,"own":7}}`; !strings.Contains(out.String(), want) {
		t.Errorf("root of %s\nshould hold %s", out.String(), want)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		v    float64
		want string
	}{
		{0, "0.0"}, {1, "1.0"}, {-3, "-3.0"}, {0.5, "0.5"}, {4096, "4096.0"}, {1e14, "100000000000000.0"},
		{1e15, "1e+15"}, {1.5e-7, "1.5e-07"}, {0.0001, "0.0001"}, {0.00001, "1e-05"}, {1e100, "1e+100"},
		{math.NaN(), "null"}, {math.Inf(1), "null"}, {math.Inf(-1), "null"},
	}
	for _, test := range tests {
		j := tree.JSON{}
		j.Float(test.v)
		if got := string(j.Buf); got != test.want {
			t.Errorf("%g is written as %s, want %s", test.v, got, test.want)
		}
	}
}

func TestStringsAreJSON(t *testing.T) {
	for _, s := range []string{"", "plain", `a"b\c`, "tab\tnl\ncr\rbs\bff\fnul\x00esc\x1b", "日本語 ├─", "del\x7f",
		"broken \xff\xfe end", "cut \xe6\x97"} {
		j := tree.JSON{}
		j.Text(s)
		var got string
		if err := json.Unmarshal(j.Buf, &got); err != nil {
			t.Errorf("%q is written as %s: %v", s, j.Buf, err)
		}
		if want := toValid(s); got != want {
			t.Errorf("%q reads back as %q", s, got)
		}
	}
}

// toValid is what JSON can hold of a string.
func toValid(s string) string { return string([]rune(s)) }

type brokenWriter struct{ left int }

var errFull = errors.New("disk full")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteReportsAFullDisk(t *testing.T) {
	for _, left := range []int{0, 100_000} {
		if err := Write(&brokenWriter{left}, bigProfile(2000)); !errors.Is(err, errFull) {
			t.Errorf("error %v after %d bytes, want %v", err, left, errFull)
		}
	}
}

// bigProfile has n kernels in scopes of ten, as a training step has.
func bigProfile(n int) *profile.Profile {
	p := scopeProfile()
	p.Root.Children = nil
	var step, scope *profile.Node
	for i := range n {
		if i%1000 == 0 {
			step = &profile.Node{Name: "step"}
			p.Root.Children = append(p.Root.Children, step)
		}
		if i%10 == 0 {
			scope = &profile.Node{Name: "layer " + string(rune('a'+i/10%26)), Metrics: []profile.Metric{num("tokens", 1)}}
			step.Children = append(step.Children, scope)
		}
		scope.Children = append(scope.Children, &profile.Node{
			Name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>" + string(rune('a'+i%10)),
			Metrics: []profile.Metric{num("time (ns)", int64(i)*17+864), num("count", 1), num("bytes", 1<<20), flt("flops32", 1e9),
				str("device_id", "0"), str("device_type", "CUDA")},
		})
	}
	return p
}

func BenchmarkWrite30k(b *testing.B) {
	p := bigProfile(30_000)
	for b.Loop() {
		var n counter
		if err := Write(&n, p); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(n))
	}
}

func BenchmarkWriteFile30k(b *testing.B) {
	p := bigProfile(30_000)
	path := filepath.Join(b.TempDir(), "p.hatchet")
	for b.Loop() {
		if err := ownfile.Replace(path, func(w io.Writer) error { return Write(w, p) }); err != nil {
			b.Fatal(err)
		}
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
