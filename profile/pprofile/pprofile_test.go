package pprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	rpprof "runtime/pprof"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// dump is everything about a profile that a pprof file keeps, as text.
func dump(p *profile.Profile) string {
	var b strings.Builder
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%q", strings.Repeat("  ", depth), n.Name)
		metrics := slices.Clone(n.Metrics)
		slices.SortFunc(metrics, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
		for i := range metrics {
			m := &metrics[i]
			if depth == 0 && isKindZero(m, p.Kinds) {
				continue
			}
			if f, number := m.Value.Float(); number && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				m.Value = profile.IntValue(int64(f)) // a metric of whole and other floats has one type in a file
			}
			fmt.Fprintf(&b, " %s=%s:%s", m.Name, kindOfType[m.Value.Type()], labelText(m.Value))
		}
		b.WriteByte('\n')
		return true
	})
	fmt.Fprintf(&b, "kinds %v\ndevices %v\ninfo %v\n", p.Kinds, p.Devices, p.Info)
	return b.String()
}

func encode(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reread(t testing.TB, p *profile.Profile) *profile.Profile {
	t.Helper()
	back, err := Read(bytes.NewReader(encode(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// examples are profiles that programs wrote.
func examples(t testing.TB) map[string]*profile.Profile {
	t.Helper()
	list := map[string]*profile.Profile{}
	for _, pattern := range []string{"../../viewer/testdata/profiles/*.hatchet", "../../testdata/upstream/*/*.hatchet"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			p, err := hatchet.Read(strings.NewReader(testkit.Read(t, path)))
			if err != nil {
				t.Fatal(err)
			}
			list[strings.TrimSuffix(strings.TrimPrefix(path, "../../"), ".hatchet")] = p
		}
	}
	return list
}

// What Loses does not name comes back.
func TestExamplesComeBack(t *testing.T) {
	for name, p := range examples(t) {
		if name == "viewer/testdata/profiles/duplicates" { // its siblings are merged: see TestLoses
			continue
		}
		have, want := dump(reread(t, p)), dump(p)
		if lost := Loses(p); len(lost) > 0 {
			t.Logf("%s loses %q", name, lost)
			continue
		}
		if have != want {
			t.Errorf("%s comes back as\n%s\nwas\n%s", name, have, want)
		}
	}
}

// randomProfile makes a profile of everything that a file can hold. Siblings of the same name have no children.
func randomProfile(r *rand.Rand) *profile.Profile {
	p := &profile.Profile{
		Root: &profile.Node{Name: pick(r, "ROOT", "all", "")}, Info: profile.Info{"host": "h", "rank": "3", "start": "1700000000000000000"},
		Kinds: profile.Kinds{
			"count": profile.Inclusive, "time (ns)": profile.Inclusive, "cpu_time (ns)": profile.Exclusive, "flops16": profile.Inclusive,
			"time (us)": profile.Exclusive, "device_id": profile.Property, "device_type": profile.Property, "note": profile.Property,
			"shape": profile.Exclusive, "weights": profile.Exclusive, "version": profile.Property, "util": profile.Exclusive,
		},
		Devices: []profile.Device{h200("0"), h200("1")},
	}
	grow(r, p.Root, 5)
	return p
}

func h200(id string) profile.Device {
	return profile.Device{Type: "CUDA", ID: id, Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 2619000, NumSMs: 132}
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func grow(r *rand.Rand, n *profile.Node, depth int) {
	metrics := []profile.Metric{
		{Name: "count", Value: profile.IntValue(r.Int64N(3))}, {Name: "time (ns)", Value: profile.IntValue(r.Int64N(1e9) - 1e8)},
		{Name: "cpu_time (ns)", Value: profile.IntValue(r.Int64N(1e9))}, {Name: "flops16", Value: profile.FloatValue(float64(r.Int64N(1 << 50)))},
		{Name: "time (us)", Value: profile.IntValue(7)}, {Name: "device_id", Value: profile.StringValue(pick(r, "0", "1", "GPU-7", "01"))},
		{Name: "device_type", Value: profile.StringValue("CUDA")}, {Name: "note", Value: profile.StringValue(pick(r, "a b", "ü", `"`, "-0", "12"))},
		{Name: "shape", Value: profile.IntsValue([]int64{1, -2, r.Int64()})}, {Name: "weights", Value: profile.FloatsValue([]float64{0.1, 1e300})},
		{Name: "version", Value: profile.IntValue(r.Int64N(2))}, {Name: "util", Value: profile.FloatValue(r.Float64())},
	}
	for _, m := range metrics {
		if r.IntN(3) == 0 {
			n.Set(m.Name, m.Value)
		}
	}
	if depth == 0 {
		return
	}
	names := []string{"forward", "/a/train.py:12@forward", "/a/train.py:13@forward", "/a/b@c/x.py:0@<module>", "x:007@f", "_ZN2at6native4gemmEv", "<captured_at>", "", "ROOT", "a;b"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:r.IntN(4)] {
		c := &profile.Node{Name: name}
		grow(r, c, depth-1)
		n.Children = append(n.Children, c)
	}
}

func TestRandomProfilesComeBack(t *testing.T) {
	for seed := range uint64(300) {
		p := randomProfile(rand.New(rand.NewPCG(seed, 1)))
		p.AddInnerSpans() // a scope has the CPU time of those within
		if lost := Loses(p); len(lost) > 0 {
			t.Fatalf("seed %d loses %q", seed, lost)
		}
		back := reread(t, p)
		if have, want := dump(back), dump(p); have != want {
			t.Fatalf("seed %d comes back as\n%s\nwas\n%s", seed, have, want)
		}
		if have, want := asPprof(t, encode(t, back)), asPprof(t, encode(t, p)); have != want {
			t.Fatalf("seed %d is written again as\n%s\nwas\n%s", seed, have, want)
		}
	}
}

// asPprof is what pprof says of a file.
func asPprof(t *testing.T, data []byte) string {
	t.Helper()
	pp, err := pprof.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	return pp.String()
}

// pprof may rewrite the file in between: a merge with itself doubles every number and loses nothing else.
func TestComesBackFromAMerge(t *testing.T) {
	p := examples(t)["testdata/upstream/triton-3.9.0/pytree"]
	pp, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := pprof.Merge([]*pprof.Profile{pp, pp})
	if err != nil {
		t.Fatal(err)
	}
	back, err := tree(twice, &inflate.Memory{}, mostBytes)
	if err != nil {
		t.Fatal(err)
	}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Children = slices.DeleteFunc(n.Children, idle) // pprof drops what has no values
		for i, m := range n.Metrics {
			if m.Value.Type() == profile.Int {
				n.Metrics[i].Value = profile.IntValue(2 * m.Value.Int())
			}
		}
		return true
	})
	if have, want := dump(back), dump(p); have != want {
		t.Errorf("a merge comes back as\n%s\nwant\n%s", have, want)
	}
}

func idle(n *profile.Node) bool {
	n.Children = slices.DeleteFunc(n.Children, idle)
	return len(n.Metrics) == 0 && len(n.Children) == 0
}

// Ranks that pprof merged stay apart by their label, and only common facts are kept.
func TestMergedRanks(t *testing.T) {
	var all []*pprof.Profile
	for _, rank := range []string{"0", "1"} {
		kernel := &profile.Node{Name: "gemm"}
		kernel.Set("time (ns)", profile.IntValue(5))
		kernel.Set("device_id", profile.StringValue("0"))
		pp, err := New(&profile.Profile{
			Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "step", Children: []*profile.Node{kernel}}}},
			Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "device_id": profile.Property}, Info: profile.Info{"rank": rank, "host": "a"},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pp)
	}
	merged, err := pprof.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	back, err := tree(merged, &inflate.Memory{}, mostBytes)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"ROOT"
  "step"
    "gemm" device_id=string:0 rank=string:0 time (ns)=int:5
    "gemm" device_id=string:0 rank=string:1 time (ns)=int:5
kinds map[device_id:property rank:property time (ns):inclusive]
devices []
info map[host:a]
`
	if have := dump(back); have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
}

// The columns of a merged profile are written as samples of their ranks, and read as columns.
func TestRankColumns(t *testing.T) {
	kernel := &profile.Node{Name: "gemm"}
	for name, v := range map[string]int64{
		"time (ns)": 100, "time@rank0 (ns)": 60, "time@rank12 (ns)": 30, "count": 4, "count@rank0": 3, "count@rank12": 1, "time@before (ns)": 10,
	} {
		kernel.Set(name, profile.IntValue(v))
	}
	kernel.Set("device_id", profile.StringValue("rank0-12:0"))
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "step", Children: []*profile.Node{kernel}}}},
		Kinds: profile.Kinds{
			"time (ns)": profile.Inclusive, "time@rank0 (ns)": profile.Inclusive, "time@rank12 (ns)": profile.Inclusive, "time@before (ns)": profile.Inclusive,
			"count": profile.Inclusive, "count@rank0": profile.Inclusive, "count@rank12": profile.Inclusive, "device_id": profile.Property,
		},
	}
	pp, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, s := range pp.Sample {
		have = append(have, fmt.Sprint(s.Value, s.Label, s.NumLabel))
	}
	slices.Sort(have)
	want := []string{
		"[0 10] map[device:[rank0-12:0] source:[before]] map[]",
		"[1 30] map[device:[rank0-12:0]] map[rank:[12]]",
		"[3 60] map[device:[rank0-12:0]] map[rank:[0]]",
	}
	if !slices.Equal(have, want) {
		t.Errorf("samples\n%q\nwant\n%q", have, want)
	}
	if have, want := dump(reread(t, p)), dump(p); have != want {
		t.Errorf("comes back as\n%s\nwas\n%s", have, want)
	}
}

// One rank merged with --by rank keeps its rank as a fact and has a column of its own.
func TestRankColumnOfOneRank(t *testing.T) {
	kernel := &profile.Node{Name: "gemm"}
	kernel.Set("time (ns)", profile.IntValue(100))
	kernel.Set("time@rank0 (ns)", profile.IntValue(100))
	kernel.Set("count", profile.IntValue(4))
	p := &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "time@rank0 (ns)": profile.Inclusive, "count": profile.Inclusive}, Info: profile.Info{"rank": "0"},
	}
	if have, want := dump(reread(t, p)), dump(p); have != want {
		t.Errorf("comes back as\n%s\nwas\n%s", have, want)
	}
}

// Names and texts with anything in them, and several zeros on a node.
func TestOddNames(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for i, text := range []string{"a\x00\x01b", "a", "ü", "a,b", "l"} {
		n := &profile.Node{Name: fmt.Sprint("n", i)}
		n.Set("x,y", profile.IntValue(0))
		n.Set("z", profile.IntValue(int64(i/3)))
		n.Set("note", profile.StringValue(text))
		n.Set(text, profile.StringValue("v"))
		root.Children = append(root.Children, n)
	}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{"note": profile.Property, "x,y": profile.Inclusive, "z": profile.Exclusive}}
	for _, n := range root.Children {
		for _, m := range n.Metrics[2:] {
			p.Kinds[m.Name] = profile.Property
		}
	}
	if have, want := dump(reread(t, p)), dump(p); have != want {
		t.Errorf("comes back as\n%s\nwas\n%s", have, want)
	}
}

// A few bytes must not ask for a lot of work: two locations of many inlined frames, called in turn. One by one these are
// 800 million steps, which the reader would refuse.
func TestInlinedFramesAreWalkedOnce(t *testing.T) {
	fn := &pprof.Function{ID: 1, Name: "f", Filename: "f.c"}
	pp := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "n", Unit: "count"}}, Function: []*pprof.Function{fn}}
	for id := range uint64(2) {
		l := &pprof.Location{ID: id + 1}
		for i := range int64(4000) {
			l.Line = append(l.Line, pprof.Line{Function: fn, Line: i})
		}
		pp.Location = append(pp.Location, l)
	}
	for i := range 200_000 {
		pp.Sample = append(pp.Sample, &pprof.Sample{Location: pp.Location[i%2 : i%2+1], Value: []int64{1}})
	}
	p, err := tree(pp, &inflate.Memory{}, mostBytes)
	if err != nil {
		t.Fatal(err)
	}
	leaf := p.Root
	for len(leaf.Children) > 0 {
		leaf = leaf.Children[0]
	}
	if n, _ := leaf.Metric("n"); n.Int() != 200_000 {
		t.Errorf("counts %d", n.Int())
	}
}

// The golden file shows what pprof sees: sample types, labels, functions, mappings, the comment.
func TestWhatPprofSees(t *testing.T) {
	scope := &profile.Node{Name: "/home/u/train.py:31@forward"}
	scope.Set("cpu_time (ns)", profile.IntValue(9000))
	kernel := &profile.Node{Name: "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_"}
	kernel.Set("time (ns)", profile.IntValue(1500))
	kernel.Set("count", profile.IntValue(3))
	kernel.Set("flops32", profile.FloatValue(2e12))
	kernel.Set("bytes", profile.IntValue(1<<20))
	kernel.Set("util", profile.FloatValue(0.5))
	kernel.Set("device_id", profile.StringValue("0"))
	kernel.Set("device_type", profile.StringValue("CUDA"))
	scope.Children = []*profile.Node{kernel, {Name: "idle"}}
	pp, err := New(&profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{scope}},
		Kinds: profile.Kinds{
			"time (ns)": profile.Inclusive, "count": profile.Inclusive, "flops32": profile.Inclusive, "bytes": profile.Inclusive,
			"device_id": profile.Property, "device_type": profile.Property,
		},
		Devices: []profile.Device{h200("0")},
		Info:    profile.Info{profile.InfoName: "train", profile.InfoRank: "2", profile.InfoHost: "node7"},
		Timeline: &profile.Timeline{Slices: []profile.Slice{
			{Start: 1700000000000000000, Duration: 2000}, {Start: 1700000000000001000, Duration: 8000},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if pp.TimeNanos != 1700000000000000000 || pp.DurationNanos != 9000 {
		t.Errorf("time %d, duration %d", pp.TimeNanos, pp.DurationNanos)
	}
	pp.TimeNanos = 0 // String prints it in the local zone
	testkit.Golden(t, "testdata/what_pprof_sees.txt", pp.String())
}

func TestLoses(t *testing.T) {
	n := &profile.Node{Name: "ROOT", Times: &profile.Sketch{}, Children: []*profile.Node{{Name: "a"}, {Name: "a"}}}
	n.Set("work", profile.FloatValue(1e6+0.25))
	n.Set("loss", profile.FloatValue(0.25))
	n.Set("odd", profile.FloatValue(math.Inf(1)))
	n.Set("elapsed (s)", profile.FloatValue(0.0123))
	n.Set("share/%", profile.FloatValue(0.25))
	n.Set("empty", profile.StringValue(""))
	p := &profile.Profile{Root: n, Timeline: &profile.Timeline{}}
	want := []string{
		"values of odd that are not a number",
		"fractions of work: 1 values are rounded to whole numbers, off by up to 0.25",
		"the difference between 1 siblings of the same name, unless their labels differ",
		"1 empty texts",
	}
	if have := Loses(p); !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
	if _, err := New(p); err != nil {
		t.Error(err)
	}
}

// pprof shows the metric first that the viewer shows: times and cycles, else what frames have with all below, such as instructions by line.
func TestDefaultSampleType(t *testing.T) {
	for want, metrics := range map[string][]string{
		"time":                     {"bytes", profile.CountMetric, profile.TimeMetric, profile.CPUTimeMetric},
		"cycles":                   {"alloc_bytes", profile.CountMetric, profile.CyclesMetric},
		"cpu_time":                 {"alloc_bytes", profile.CPUTimeMetric},
		"smsp__sass_inst_executed": {"launches_by_line", "smsp__sass_inst_executed", "smsp__sass_sectors_mem_global"},
	} {
		n := &profile.Node{Name: "k"}
		kinds := profile.Kinds{}
		for i, m := range metrics {
			n.Set(m, profile.IntValue(int64(i+1)))
			if kinds[m] = profile.Inclusive; m == "launches_by_line" {
				kinds[m] = profile.Exclusive
			}
		}
		p, err := New(&profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Kinds: kinds})
		if err != nil || p.DefaultSampleType != want {
			t.Errorf("of %q the default is %q, %v; want %q", metrics, p.DefaultSampleType, err, want)
		}
	}
}

// TestShownMetric: of a file of another program the metric is shown that go tool pprof shows, and a file made of it says the same.
func TestShownMetric(t *testing.T) {
	for byDefault, want := range map[string]string{"": "cpu (ns)", "gone": "cpu (ns)", "samples": "samples", "alloc_space": "alloc_space (bytes)"} {
		f := &pprof.Function{ID: 1, Name: "main.run"}
		l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
		pp := &pprof.Profile{
			SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "cpu", Unit: "nanoseconds"}}, DefaultSampleType: byDefault,
			Function: []*pprof.Function{f}, Location: []*pprof.Location{l}, Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{3, 0, 7}}, {Location: []*pprof.Location{l}, Value: []int64{1, 5, 7}}},
		}
		var file bytes.Buffer
		if err := pp.WriteUncompressed(&file); err != nil {
			t.Fatal(err)
		}
		p, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		if kept, _, _ := strings.Cut(want, " "); p.Shown != want || again.DefaultSampleType != kept {
			t.Errorf("default %q: shown is %q, and written as %q; want %q", byDefault, p.Shown, again.DefaultSampleType, want)
		}
	}
}

// A day of training has more flops than an int64: the unit grows, and the sums stay right.
func TestLargeSums(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for i := range 40 {
		n := &profile.Node{Name: fmt.Sprint(i)}
		n.Set("flops16", profile.FloatValue(1.25e18))
		n.Set("elapsed (s)", profile.FloatValue(0.5))
		n.Set("waited (s)", profile.IntValue(3))
		root.Children = append(root.Children, n)
	}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{"flops16": profile.Inclusive}}
	pp, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for i, st := range pp.SampleType {
		var sum int64
		for _, s := range pp.Sample {
			sum += s.Value[i]
		}
		have = append(have, fmt.Sprintf("%s/%s %d", st.Type, st.Unit, sum))
	}
	want := []string{"flops16/kiloflop 50000000000000000", "elapsed/nanoseconds 20000000000", "waited/seconds 120"}
	if !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
	if have, want := dump(reread(t, p)), dump(p); have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
}

// A profile of a compiled program: inlined frames, labels, a function without a file, and code without a name.
func TestForeignProfile(t *testing.T) {
	m := &pprof.Mapping{ID: 1, File: "/usr/bin/server", Start: 0x1000, Limit: 0x9000, Offset: 0x100}
	work := &pprof.Function{ID: 1, Name: "work()", SystemName: "_Z4workv", Filename: "w.cc"}
	inner := &pprof.Function{ID: 2, Name: "inner"}
	at := &pprof.Location{ID: 1, Mapping: m, Address: 0x1234, Line: []pprof.Line{{Function: inner, Line: 3}, {Function: work, Line: 7}}}
	bare := &pprof.Location{ID: 2, Mapping: m, Address: 0x2000}
	pp := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}, {Type: "alloc", Unit: "bytes"}},
		Mapping:    []*pprof.Mapping{m}, Function: []*pprof.Function{work, inner}, Location: []*pprof.Location{at, bare},
		Sample: []*pprof.Sample{
			{Location: []*pprof.Location{at, bare}, Value: []int64{1, 10, 64}, Label: map[string][]string{"who": {"a"}, "same": {"s"}}},
			{Location: []*pprof.Location{at, bare}, Value: []int64{2, 20, 0}, Label: map[string][]string{"who": {"b"}, "same": {"s"}}},
			{Location: []*pprof.Location{bare}, Value: []int64{4, 40, 0}, NumLabel: map[string][]int64{"size": {9}}},
		},
		TimeNanos: 17, PeriodType: &pprof.ValueType{}, Comments: []string{"not ours"},
	}
	var b bytes.Buffer
	if err := pp.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"ROOT"
  "server+0x1100" cpu (ns)=int:40 samples=int:4 size=int:9
    "w.cc:7@_Z4workv"
      "inner" alloc (bytes)=int:64 cpu (ns)=int:30 same=string:s samples=int:3
kinds map[alloc (bytes):inclusive cpu (ns):inclusive same:property samples:inclusive size:property who:property]
devices []
info map[name:server start:17]
`
	if have := dump(p); have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
}

// unpackedProfile unpacks what the Go runtime wrote, which is recognised.
func unpackedProfile(t *testing.T, packed io.Reader) []byte {
	t.Helper()
	zip, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if !Sniff(data[:min(len(data), 4096)]) {
		t.Errorf("a profile of the Go runtime is not recognised: % x", data[:min(len(data), 32)])
	}
	return data
}

// What the Go runtime writes reads with the sums that pprof has.
func TestGoProfile(t *testing.T) {
	var b bytes.Buffer
	if err := rpprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	data := unpackedProfile(t, &b)
	p, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	pp, err := pprof.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, s := range pp.Sample {
		for i, st := range pp.SampleType {
			want[metricName(st)] += s.Value[i]
		}
	}
	have := map[string]int64{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			if p.Kinds[m.Name] == profile.Inclusive {
				have[m.Name] += m.Value.Int()
			}
		}
		return true
	})
	for name, sum := range want {
		if have[name] != sum {
			t.Errorf("%s sums to %d, pprof has %d", name, have[name], sum)
		}
	}
	if want["alloc_space (bytes)"] == 0 {
		t.Errorf("sums are %v: this test tests nothing", want)
	}
}

// The profiler of the Go runtime writes the time before everything else.
func TestGoCPUProfile(t *testing.T) {
	var b bytes.Buffer
	if err := rpprof.StartCPUProfile(&b); err != nil {
		t.Skipf("needs the CPU profiler, which go test -cpuprofile has taken: %v", err)
	}
	rpprof.StopCPUProfile()
	data := unpackedProfile(t, &b)
	p, err := Read(bytes.NewReader(data))
	if err != nil || p.Kinds["cpu (ns)"] != profile.Inclusive {
		t.Errorf("read %v, %v", p, err)
	}
}

func TestSniff(t *testing.T) {
	p := examples(t)["viewer/testdata/profiles/scope"]
	data := encode(t, p)
	for _, n := range []int{len(data), 4096, 64, 12} {
		if !Sniff(data[:min(n, len(data))]) {
			t.Errorf("the first %d bytes of our file are not recognised", n)
		}
	}
	for name, head := range map[string]string{
		"nothing":           "",
		"JSON":              "\n[\n    {\n        \"children\": [",
		"text":              "\n\nmain;work 12\n",
		"collapsed":         "main;work 12\nmain 1\n",
		"msgpack":           "\x92\x83\xa8children\x90",
		"a Perfetto trace":  "\x0a\x0b\x40\x80\x80\x80\x80\x10\x50\x01\x62\x02\x08\x01\x0a\x05\x40\x01\x50\x01\x18",
		"a Perfetto packet": "\x0a\x04\x0a\x02\x08\x01",
		"ELF":               "\x7fELF\x02\x01\x01",
		"zip":               "PK\x03\x04\x14\x00",
		"gzip":              "\x1f\x8b\x08\x00\x00",
	} {
		if Sniff([]byte(head)) {
			t.Errorf("%s is taken for a pprof profile", name)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	data := encode(t, examples(t)["viewer/testdata/profiles/scope"])
	whole := 0
	for n := range data {
		if _, err := Read(bytes.NewReader(data[:n])); err == nil {
			whole++
		}
	}
	if whole > 8 { // the format has no end: a file that ends between two fields after the strings is whole
		t.Errorf("%d of the %d files that are cut off were read", whole, len(data))
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty":                  {"", "byte 0: there is nothing in it"},
		"text":                   {"hello, world", "byte 2: field 13 of a profile goes past its end"},
		"cut label":              {"\x12\x04\x1a\x09\x08\x01", "byte 2: field 3 of a sample goes past its end"},
		"a number that is none":  {"\x12\x03\x0a\x01\x80", "byte 4: no number in field 1 of a sample"},
		"a string out of range":  {"\x0a\x02\x08\x63\x32\x00", "malformed"},
		"no string table":        {"\x0a\x02\x08\x01", "malformed"},
		"a location that is not": {"\x0a\x02\x08\x00\x12\x04\x08\x07\x10\x01\x32\x00", "sample has nil location"},
		"no sample types":        {"\x32\x00", "no sample types"},
	} {
		_, err := Read(strings.NewReader(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want …%s…", name, err, c.want)
		}
	}
	location := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: &pprof.Function{ID: 1, Name: "f"}}}}
	deep := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "count", Unit: "count"}}, Location: []*pprof.Location{location}, Function: []*pprof.Function{location.Line[0].Function},
		Sample: []*pprof.Sample{{Value: []int64{1}, Location: slices.Repeat([]*pprof.Location{location}, profile.MaxDepth+1)}},
	}
	if _, err := tree(deep, &inflate.Memory{}, mostBytes); err == nil || !strings.Contains(err.Error(), "more than 10000 frames") {
		t.Errorf("a very deep profile: error %v", err)
	}
	var bad *FormatError
	if _, err := Read(strings.NewReader("\xff")); !errors.As(err, &bad) {
		t.Errorf("error %v is not a FormatError", err)
	}
}

// A deep spine with a bush below it is small in a tree and has no bounds in stacks.
func TestWriteRefusesEndlessStacks(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	n := root
	for range 9000 {
		n.Children = []*profile.Node{{Name: "f"}}
		n = n.Children[0]
	}
	for i := range 20_000 {
		n.Children = append(n.Children, &profile.Node{Name: fmt.Sprint(i)})
	}
	if err := Write(io.Discard, &profile.Profile{Root: root}); err == nil || !strings.Contains(err.Error(), "repeats the call path of each frame") {
		t.Errorf("error %v", err)
	}
	if err := Write(io.Discard, &profile.Profile{}); err == nil {
		t.Error("a profile without a root was written")
	}
}

func FuzzRead(f *testing.F) {
	for _, p := range examples(f) {
		f.Add(encode(f, p))
	}
	f.Add(encode(f, randomProfile(rand.New(rand.NewPCG(1, 1)))))
	f.Add([]byte("\x0a\x02\x08\x00\x12\x04\x08\x07\x10\x01\x32\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		Sniff(data)
		once := reread(t, p) // what we read we can write, and read again
		if have, want := dump(reread(t, once)), dump(once); have != want {
			t.Errorf("a second round trip changes it: %s\nthen %s", want, have)
		}
	})
}

// big is 60,000 call paths of 20 frames, as a training step with Python contexts has them.
func big() *profile.Profile {
	r := rand.New(rand.NewPCG(7, 7))
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "bytes": profile.Inclusive, "device_id": profile.Property}}
	for i := range 2000 {
		n := p.Root
		for depth := range 18 {
			c := &profile.Node{Name: fmt.Sprintf("/usr/lib/python3/site-packages/torch/nn/modules/module%d.py:%d@forward_%d", depth, i%97+depth, i%13)}
			n.Children = append(n.Children, c)
			n = c
		}
		for k := range 30 {
			leaf := &profile.Node{Name: fmt.Sprintf("_ZN2at6native18elementwise_kernelILi%dELi%dEEEvv", k, i%7)}
			leaf.Set("time (ns)", profile.IntValue(r.Int64N(1e6)))
			leaf.Set("count", profile.IntValue(r.Int64N(100)))
			leaf.Set("bytes", profile.IntValue(r.Int64N(1e9)))
			leaf.Set("device_id", profile.StringValue("0"))
			n.Children = append(n.Children, leaf)
		}
	}
	return p
}

// BenchmarkWrite is the whole way of a file: tree to bytes, packed as package formats packs it.
func BenchmarkWrite(b *testing.B) {
	p := big()
	for b.Loop() {
		zip := gzip.NewWriter(io.Discard)
		if err := Write(zip, p); err != nil {
			b.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPprofWrite is pprof's own writer on the samples that BenchmarkWrite has to make first.
func BenchmarkPprofWrite(b *testing.B) {
	pp, err := New(big())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := pp.Write(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	p := big()
	for b.Loop() {
		if _, err := New(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	data := encode(b, big())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPprofParse is pprof's own reader, which stops where BenchmarkRead starts to make a tree.
func BenchmarkPprofParse(b *testing.B) {
	data := encode(b, big())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := pprof.ParseUncompressed(data); err != nil {
			b.Fatal(err)
		}
	}
}

// A file that the reader would refuse is not written.
func TestMoreMetricsThanAFileHolds(t *testing.T) {
	for _, metrics := range []int{profile.MaxMetrics, profile.MaxMetrics + 1} {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}}
		for i := range metrics {
			n := &profile.Node{Name: "k"}
			n.Set(fmt.Sprintf("m%d", i), profile.IntValue(1))
			p.Root.Children = append(p.Root.Children, n)
			p.Kinds[n.Metrics[0].Name] = profile.Inclusive
		}
		var file bytes.Buffer
		err := Write(&file, p)
		if metrics > profile.MaxMetrics {
			if err == nil || !strings.Contains(err.Error(), "4097 metrics, and a file for pprof has at most 4096") {
				t.Errorf("%d metrics: error %v", metrics, err)
			}
			continue
		}
		if _, readErr := Read(&file); err != nil || readErr != nil {
			t.Errorf("%d metrics: error %v, reading it %v", metrics, err, readErr)
		}
	}
}
