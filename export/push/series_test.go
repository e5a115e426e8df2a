package push

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
)

// one is the only series of a window.
func one(t *testing.T, p *profile.Profile) Series {
	t.Helper()
	list := series(t, "1-2-3", p)
	if len(list) != 1 {
		t.Fatalf("%d series, want 1", len(list))
	}
	return list[0]
}

// now is a time as a profile has it.
func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

// leaf returns a kernel with a time.
func leaf(name string, nanos int64) *profile.Node {
	n := &profile.Node{Name: name}
	n.Set(profile.TimeMetric, profile.IntValue(nanos))
	n.Set(profile.CountMetric, profile.IntValue(1))
	n.Set(profile.DeviceIDMetric, profile.StringValue("0"))
	return n
}

func total(p *pprof.Profile, column int) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[column]
	}
	return sum
}

// Of 50,000 call paths the heaviest stay, the others are added up below their frames, and nothing is lost.
func TestTooManyCallPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	root := &profile.Node{Name: "ROOT"}
	want := int64(0)
	for i := range 500 {
		scope := &profile.Node{Name: fmt.Sprint("scope", i)}
		for j := range 100 {
			nanos := int64(r.ExpFloat64()*1e4) + 1
			want += nanos
			scope.Children = append(scope.Children, leaf(fmt.Sprint("kernel", i, "_", j), nanos))
		}
		root.Children = append(root.Children, scope)
	}
	heaviest := leaf("heaviest", 1e9)
	root.Children[77].Children = append(root.Children[77].Children, heaviest)
	want += 1e9
	s := one(t, &profile.Profile{Root: root, Info: profile.Info{}})
	if n := len(s.Profile.Sample); n > 16_000 || n < 12_000 {
		t.Errorf("%d samples", n)
	}
	if got := total(s.Profile, 0); got != want {
		t.Errorf("%d ns, want %d", got, want)
	}
	if got := total(s.Profile, 1); got != 50_001 {
		t.Errorf("%d launches, want 50001", got)
	}
	sums := map[string]int64{}
	exporttest.Add(sums, "", s.Profile)
	if sums["/scope77/heaviest gpu_time"] != 1e9 || sums["/scope77/(other) gpu_time"] == 0 || s.Folded != 50_001-12_000 {
		t.Errorf("heaviest %d, others of its scope %d, %d folded", sums["/scope77/heaviest gpu_time"], sums["/scope77/(other) gpu_time"], s.Folded)
	}
}

// 20,000 scopes with one kernel each cannot have a frame (other) each: they share one above.
func TestTooManyParents(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	layer := &profile.Node{Name: "layer"}
	root.Children = []*profile.Node{layer}
	for i := range 20_000 {
		layer.Children = append(layer.Children, &profile.Node{Name: fmt.Sprint("scope", i), Children: []*profile.Node{leaf("k", int64(20_000-i))}})
	}
	s := one(t, &profile.Profile{Root: root, Info: profile.Info{}})
	sums := map[string]int64{}
	exporttest.Add(sums, "", s.Profile)
	if len(s.Profile.Sample) > 16_000 || total(s.Profile, 1) != 20_000 || sums["/layer/(other) launches"] != 8_000 {
		t.Errorf("%d samples, %d launches, %d in (other)", len(s.Profile.Sample), total(s.Profile, 1), sums["/layer/(other) launches"])
	}
}

// Of a call path that is too deep the outermost frames go: the kernel and what called it stay.
func TestTooDeep(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	n := root
	for i := range 3000 {
		c := &profile.Node{Name: fmt.Sprint("f", i)}
		n.Children = []*profile.Node{c}
		n = c
	}
	n.Children = []*profile.Node{leaf("kernel", 5)}
	s := one(t, &profile.Profile{Root: root, Info: profile.Info{}})
	stack := s.Profile.Sample[0].Location
	name := func(l *pprof.Location) string { return l.Line[0].Function.Name }
	if len(stack) != 1000 || name(stack[0]) != "kernel" || name(stack[1]) != "f2999" || name(stack[999]) != cutFrame || s.Cut != 1 {
		t.Errorf("%d frames, from %s %s to %s", len(stack), name(stack[0]), name(stack[1]), name(stack[len(stack)-1]))
	}
}

// Names that the author of a program chose, and facts of its environment, reach the server as text that its protocol takes.
func TestHostileNames(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	hostile := []string{"", "\xff\xfe", "a\x00b\nc", strings.Repeat("é", 100_000), "x.py:3@", "_ZN3fooIiE3barEv", "/a/b.py:12@forward", "(other)", "\u202e"}
	for i, name := range hostile {
		root.Children = append(root.Children, &profile.Node{Name: name, Children: []*profile.Node{leaf(fmt.Sprint("k", i), 1)}})
	}
	info := profile.Info{profile.InfoHost: "h\x00st\xff", profile.InfoRank: strings.Repeat("9", 5000), profile.InfoStart: now(),
		runinfo.InfoLabel + "bad-name": "x", runinfo.InfoLabel + "__name__": "x", runinfo.InfoLabel + "empty": "", runinfo.InfoLabel + "1st": "x"}
	server := exporttest.New(t)
	to := target(t, "pyroscope+"+server.URL)
	p := &profile.Profile{Root: root, Info: info}
	s := one(t, p)
	for _, l := range s.Labels {
		if !utf8.ValidString(l.Value) || len(l.Value) > 2048 || strings.ContainsAny(l.Name, "-_") && l.Name != "service_name" {
			t.Errorf("label %s of %d bytes", l.Name, len(l.Value))
		}
	}
	if a, _ := to.post(t.Context(), s); a.outcome != taken {
		t.Fatalf("refused: %s", a.why)
	}
	sums := map[string]int64{}
	exporttest.Add(sums, "", server.Stored()[0].Profile)
	for _, path := range []string{"/(no name)/k0", "/a b c/k2", "/foo<int>::bar/k5", "/forward/k6"} {
		if sums[path+" launches"] != 1 {
			t.Errorf("%s is missing", path)
		}
	}
}

// The GPU of flops at a frame is that of the kernels below it, if it is one.
func TestSeriesByGPU(t *testing.T) {
	on := func(gpu string, nanos int64) *profile.Node {
		n := leaf("k", nanos)
		n.Set(profile.DeviceIDMetric, profile.StringValue(gpu))
		return n
	}
	flops := func(name string, children ...*profile.Node) *profile.Node {
		n := &profile.Node{Name: name, Children: children}
		n.Set("flops", profile.IntValue(100))
		return n
	}
	root := &profile.Node{Name: "ROOT", Children: []*profile.Node{
		flops("first", on("0", 1)), flops("second", on("1", 2)), flops("both", flops("inner", on("0", 4)), on("1", 8)), flops("none"),
	}}
	got := map[string]int64{}
	for _, s := range series(t, "x", &profile.Profile{Root: root, Info: profile.Info{}}) {
		gpu := ""
		for _, l := range s.Labels {
			if l.Name == "gpu" {
				gpu = l.Value
			}
		}
		exporttest.Add(got, gpu, s.Profile)
	}
	sameTotals(t, got, map[string]int64{
		"0/first flops": 100, "0/first/k gpu_time": 1, "0/first/k launches": 1, "1/second flops": 100, "1/second/k gpu_time": 2, "1/second/k launches": 1,
		"/both flops": 100, "0/both/inner flops": 100, "0/both/inner/k gpu_time": 4, "0/both/inner/k launches": 1, "1/both/k gpu_time": 8, "1/both/k launches": 1,
		"/none flops": 100,
	})
}

// A profile with names as long as they may be stays below what servers take.
func TestLargestWindow(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for i := range 16_000 {
		root.Children = append(root.Children, leaf(fmt.Sprint(strings.Repeat("template<", 400), i), 1))
	}
	server := exporttest.New(t)
	s := one(t, &profile.Profile{Root: root, Info: profile.Info{profile.InfoStart: now()}})
	if a, _ := target(t, "pyroscope+"+server.URL).post(t.Context(), s); a.outcome != taken {
		t.Errorf("refused: %s", a.why)
	}
	if total(s.Profile, 1) != 16_000 {
		t.Errorf("%d launches", total(s.Profile, 1))
	}
	if s.Folded == 0 || s.Folded == 16_000 {
		t.Errorf("%d call paths are folded", s.Folded)
	}
}

// The same window has the same ids whenever it is sent, and no two of its series share one.
func TestIDs(t *testing.T) {
	p := window(rand.New(rand.NewPCG(1, 1)), 6, time.Now())
	a, b, c := series(t, "1-2-3", p), series(t, "1-2-3", p), series(t, "1-2-4", p)
	if len(a) < 2 || a[0].ID != b[0].ID || a[0].ID == a[1].ID || a[0].ID == c[0].ID || len(a[0].ID) != 36 {
		t.Errorf("%s %s %s %s", a[0].ID, b[0].ID, a[1].ID, c[0].ID)
	}
}

func FuzzWindow(f *testing.F) {
	f.Add("kernel", "scope", "node7", int64(5))
	f.Add("\xff", "", "\x00", int64(-1))
	f.Fuzz(func(t *testing.T, kernel, scope, host string, nanos int64) {
		root := &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: scope, Children: []*profile.Node{leaf(kernel, nanos)}}}}
		for _, s := range series(t, "x", &profile.Profile{Root: root, Info: profile.Info{profile.InfoHost: host}}) {
			if _, err := encodePyroscope(s); err != nil {
				t.Fatal(err)
			}
			body, err := encodeOTLP(s)
			if err != nil {
				t.Fatal(err)
			}
			if _, why := exporttest.DecodeOTLP(body); why != "" {
				t.Fatal(why)
			}
			for _, fn := range s.Profile.Function {
				if fn.Name == "" || !utf8.ValidString(fn.Name) || len(fn.Name) > mostNameBytes {
					t.Fatalf("function %q", fn.Name)
				}
			}
		}
	})
}
