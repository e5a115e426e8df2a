package chrometrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

const upstream = "../../testdata/upstream"

func read(t *testing.T, text string) *profile.Profile {
	t.Helper()
	p, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}

func readFile(t *testing.T, path string) *profile.Profile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, string(text))
}

func written(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRoundTrip(t *testing.T) {
	want := profiletest.SampleTimeline()
	got := read(t, written(t, want))
	if w := profiletest.Renumber(want.Timeline); !reflect.DeepEqual(got.Timeline, w) {
		t.Errorf("the timeline came back as\n%+v\nwant\n%+v", got.Timeline, w)
	}
	if !reflect.DeepEqual(got.Info, want.Info) || !reflect.DeepEqual(got.Devices, want.Devices) {
		t.Errorf("came back: %+v %+v", got.Info, got.Devices)
	}
	for name, kind := range map[string]profile.Kind{"loss": profile.Property, "tokens": profile.Inclusive, "flops": profile.Inclusive} {
		if got.Kinds[name] != kind {
			t.Errorf("%s is of kind %d, want %d", name, got.Kinds[name], kind)
		}
	}
}

// A timeline of any shape comes back as it was, to the nanosecond.
func TestRandomTimelinesRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		want := profiletest.RandomTimeline(rand.New(rand.NewPCG(seed, 1)))
		if seed%10 == 0 {
			want = profiletest.Many(rand.New(rand.NewPCG(seed, 1))) // overlaps
		}
		text := written(t, want)
		got := read(t, text)
		if w := profiletest.Renumber(want.Timeline); !reflect.DeepEqual(got.Timeline, w) {
			t.Fatalf("seed %d came back as\n%+v\nwant\n%+v\nfrom\n%s", seed, got.Timeline, w, text)
		}
		second := written(t, got) // has the kinds that the reader made up
		if third := written(t, read(t, second)); third != second {
			t.Fatalf("seed %d: the third file differs:\n%s\nwant\n%s", seed, third, second)
		}
	}
}

func TestUpstreamFiles(t *testing.T) {
	for _, test := range []struct {
		file                   string
		lanes, slices, flows   int
		kernels, scopes, calls int
	}{
		{"triton-3.6.0/trace.chrome_trace", 3, 11, 0, 11, 0, 0},
		{"triton-3.6.0/tracehook.chrome_trace", 3, 11, 0, 11, 0, 0},
		{"triton-3.9.0/trace.chrome_trace", 6, 22, 9, 11, 11, 0},
		{"triton-3.9.0/tracehook.chrome_trace", 6, 26, 9, 15, 11, 0},
		{"torch-2.11.kineto.json", 4, 21, 3, 2, 8, 3},
	} {
		p := readFile(t, filepath.Join(upstream, test.file))
		count := map[profile.SliceKind]int{}
		for _, s := range p.Timeline.Slices {
			count[s.Kind]++
		}
		got := []int{len(p.Timeline.Lanes), len(p.Timeline.Slices), len(p.Timeline.Flows), count[profile.KernelSlice], count[profile.ScopeSlice],
			count[profile.LaunchSlice]}
		want := []int{test.lanes, test.slices, test.flows, test.kernels, test.scopes, test.calls}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: lanes, slices, arrows, kernels, scopes, launches are %v, want %v", test.file, got, want)
		}
		testkit.Golden(t, "testdata/"+strings.ReplaceAll(test.file, "/", ".")+".txt", describe(p))
	}
}

// describe prints what was read, for people and golden files.
func describe(p *profile.Profile) string {
	var b strings.Builder
	for _, l := range p.Timeline.Lanes {
		fmt.Fprintf(&b, "lane %d %s: %q device %q context %d stream %d thread %d process %q\n", l.ID,
			[]string{"thread", "graph", "stream"}[l.Kind], l.Name, l.Device, l.Context, l.Stream, l.Thread, l.Process)
	}
	first := p.Timeline.First()
	fmt.Fprintf(&b, "from %d ns\n", first)
	for _, s := range p.Timeline.Slices {
		fmt.Fprintf(&b, "%12d ns +%d lane %d %s %s id %d %v\n", s.Start-first, s.Duration, s.Lane, lanes.Categories[s.Kind], clip(s.Name), s.ID, metricsText(s.Metrics))
	}
	for _, f := range p.Timeline.Flows {
		fmt.Fprintf(&b, "flow %d lane %d at %d -> lane %d at %d\n", f.ID, f.From, f.Start-first, f.To, f.End-first)
	}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%s %v\n", strings.Repeat("  ", depth), clip(n.Name), metricsText(n.Metrics))
		return true
	})
	return b.String()
}

func clip(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}

func metricsText(list []profile.Metric) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, " %s=%s", m.Name, appendValue(nil, m.Value))
	}
	return strings.TrimPrefix(b.String(), " ")
}

// What is cut off at any byte is read as far as it goes, and says so.
func TestCutOffAtAnyByte(t *testing.T) {
	for _, text := range []string{written(t, profiletest.SampleTimeline()), upstreamText(t, "triton-3.9.0/trace.chrome_trace"), upstreamText(t, "triton-3.6.0/trace.chrome_trace")} {
		end := len(strings.TrimRight(text, "\n"))
		most := 0
		for n := range end {
			p, err := Read(strings.NewReader(text[:n]))
			if err != nil {
				var wrong *profile.FormatError
				if most > 0 || n > 0 && errors.As(err, &wrong) && !wrong.Cut {
					t.Fatalf("cut to %d of %d bytes: %v", n, len(text), err)
				}
				continue
			}
			if p.Info[profile.InfoIncomplete] == "" && !strings.HasSuffix(text[:n], "}\n") && !strings.HasSuffix(text[:n], "}") {
				t.Fatalf("cut to %d bytes, and Info does not say so: %q", n, text[max(n-40, 0):n])
			}
			if len(p.Timeline.Slices) < most {
				t.Fatalf("cut to %d bytes, %d slices; there were %d in less", n, len(p.Timeline.Slices), most)
			}
			most = len(p.Timeline.Slices)
		}
		if most < 9 {
			t.Errorf("at most %d slices were read", most)
		}
	}
}

func upstreamText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(upstream, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOtherTraces(t *testing.T) {
	p := read(t, `[
		{"ph":"B","name":"outer","pid":"host","tid":"main","ts":10},
		{"ph":"B","name":"inner","pid":"host","tid":"main","ts":"12.5"},
		{"ph":"i","name":"instant","pid":"host","tid":"main","ts":13},
		{"ph":"E","pid":"host","tid":"main","ts":1.35e1},
		{"ph":"C","name":"counter","pid":"host","ts":13,"args":{"n":1}},
		{"ph":"E","pid":"host","tid":"main","ts":20},
		{"ph":"E","pid":"host","tid":"main","ts":21},
		{"ph":"s","id":"0x1f","cat":"x","pid":"host","tid":"main","ts":11},
		{"ph":"f","id":"0x1f","cat":"x","pid":"host","tid":2,"ts":12.3456},
		"nonsense",
		{"ph":"B","name":"open","pid":"host","tid":"main","ts":22},
		{"ph":"X","name":"late","pid":"host","tid":"main","ts":23,"dur":-4,"args":"text"},
	]`)
	testkit.Golden(t, "testdata/other.txt", describe(p))
}

// TestIDsOfThreads: two threads are one if their ids are the same number, however it is written. IBM's traces of its AIU number threads by hashes of 64 bits.
func TestIDsOfThreads(t *testing.T) {
	for ids, want := range map[string]int{
		`15514734831341844875 15514734831341844874`: 2, `9223372036854775808 9223372036854775807`: 2, `-1 4294967295`: 2, `1.5 1`: 2, `"a" "b"`: 2,
		`7 "7"`: 1, `7 7.0`: 1, `7 0.7e1`: 1, `null 0`: 1, `NaN 0`: 1, `15514734831341844875 "15514734831341844875"`: 1,
	} {
		first, second, _ := strings.Cut(ids, " ")
		for _, key := range []string{"pid", "tid"} {
			p := read(t, fmt.Sprintf(`[{"ph":"X","name":"k","ts":1,"dur":2,%[1]q:%[2]s},{"ph":"X","name":"k","ts":1,"dur":2,%[1]q:%[3]s}]`, key, first, second))
			if len(p.Timeline.Lanes) != want || p.Rounded != 0 {
				t.Errorf("%s %s: %d lanes and %d rounded numbers, want %d and none", key, ids, len(p.Timeline.Lanes), p.Rounded, want)
			}
		}
	}
}

// TestEndsOfLists: a list that is the document needs no end, and DFTracer writes one without commas. Within an object, a list without its end is cut off.
func TestEndsOfLists(t *testing.T) {
	const a, b = `{"ph":"X","name":"a","ts":1,"dur":2}`, `{"ph":"X","name":"b","ts":4,"dur":2}`
	for text, incomplete := range map[string]bool{
		"[" + a + "," + b + "]": false, "[" + a + ",\n" + b + ",]": false, "[" + a + "," + b: false, "[\n" + a + ",\n" + b + ",\n": false, "[\n" + a + "\n" + b + "\n]": false,
		"[" + a + "," + b + `,{"ph":`: true, "[" + a + b + `,{"ph":"X"`: true, `{"traceEvents":[` + a + "," + b: true, `{"traceEvents":[` + a + "," + b + ",": true,
		"[" + a + "][" + b + "]": false, "[" + a + "\n][" + b + ",": false,
	} {
		if p := read(t, text); len(p.Timeline.Slices) != 2 || (p.Info[profile.InfoIncomplete] != "") != incomplete {
			t.Errorf("%q: %d slices, incomplete %q, want 2 and %v", text, len(p.Timeline.Slices), p.Info[profile.InfoIncomplete], incomplete)
		}
	}
	if _, err := Read(strings.NewReader("[" + a + " 5," + b + "]")); err == nil || !strings.Contains(err.Error(), "expected ',' or ']'") {
		t.Errorf("a number behind an event: %v", err)
	}
}

// TestBaseTime is a number or, of writers whose numbers have no 64 bits, a text.
func TestBaseTime(t *testing.T) {
	for _, base := range []string{`1743521598000000001`, `"1743521598000000001"`} {
		p := read(t, `{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2}],"baseTimeNanoseconds":`+base+`}`)
		if at := p.Timeline.Slices[0].Start; at != 1743521598000001001 {
			t.Errorf("%s: the slice begins at %d", base, at)
		}
	}
}

// Upstream traces warps inside a kernel in the same form: blocks are processes, warps are threads, and a call path leaves out the
// scope itself. Such times are not CPU time, and a sum over warps is not the time of a kernel.
func TestTraceOfWarps(t *testing.T) {
	p := read(t, `{"displayTimeUnit":"ns","traceEvents":[
		{"ph":"X","cname":"rail_idle","name":"load","cat":"matmul","pid":"matmul Core3 CTA0","tid":"warp 1 (line 0)","ts":0.018,"dur":0.240,
		 "args":{"Frequency (MHz)":1000.0,"call_stack":["ROOT","matmul"],"Init Time (ns)":17}}]}`)
	l, s := p.Timeline.Lanes[0], p.Timeline.Slices[0]
	if l.Kind != profile.StreamLane || l.Name != "matmul Core3 CTA0 warp 1 (line 0)" {
		t.Errorf("the lane is %+v", l)
	}
	if s.Start != 18 || s.Duration != 240 || !reflect.DeepEqual(s.Path, []string{"ROOT", "matmul", "load"}) {
		t.Errorf("the slice is %+v", s)
	}
	if len(p.Root.Children) != 0 {
		t.Errorf("the tree is\n%s", describe(p))
	}
}

// TestTextsThatAreNotJSON: torch writes names of operators and files without escapes. One note counts what JSON does not allow.
func TestTextsThatAreNotJSON(t *testing.T) {
	p := read(t, `[{"ph":"X","name":"torch\nn\modules.py","ts":1,"dur":2},{"ph":"X","name":"a`+"\x00\x1b"+`b","ts":4,"dur":2}]`)
	got := p.Timeline.Slices[0].Name + " " + p.Timeline.Slices[1].Name
	want := "texts have 3 characters that JSON does not allow in them (control characters, backslashes that escape nothing) and that are read as they are, the first at byte 27"
	if got != "torch\\nn\\modules.py a\x00\x1bb" || p.Info[profile.InfoNote] != want {
		t.Errorf("names %q, note %q", got, p.Info[profile.InfoNote])
	}
}

func TestBadTraces(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "there are no trace events",
		`{}`:                           "there are no trace events",
		`{"traceEvents":3}`:            "byte 15: expected '[' at the start of the events, found '3'",
		`[{"name":"f("a", 1)"}]`:       "byte 13: expected ',' or '}', found 'a': a quote within the text before it seems to lack its backslash",
		`7`:                            "byte 0: expected '{' or '[' at the start of a trace, found '7'",
		`{"traceEvents":[{"ph":1 2}]`:  "byte 24: expected ',' or '}', found '2'",
		`[{"ph":"X","ts":{}}]`:         "byte 16: expected a time in microseconds",
		`[{"ph":"X","ts":}]`:           "byte 16: expected a time in microseconds",
		`[{"ph":"X","tid":}]`:          "byte 17: expected an id",
		`[{"ph":"X","pid":1x,"ts":1}]`: `byte 17: expected a value, found "1x"`,
		`[{"ph":"X","args":{"call_stack":["` + strings.Repeat(`a","`, profile.MaxDepth) + `"]}}]`: "a call path of more than 10000 frames",
		`[{"x":` + strings.Repeat(`[`, 20_000):                                                    "nested more than 10000 levels deep",
	} {
		_, err := Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

// Writers shorten what readers refuse.
func TestPathsThatAreTooDeepAreShortened(t *testing.T) {
	s := read(t, written(t, profiletest.Deep())).Timeline.Slices
	if len(s) != 1 || len(s[0].Path) != profile.MaxDepth {
		t.Errorf("%d slices came back", len(s))
	}
}

func FuzzRead(f *testing.F) {
	var out bytes.Buffer
	if err := Write(&out, profiletest.SampleTimeline()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	for _, pattern := range []string{upstream + "/*/*.chrome_trace", upstream + "/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no files %s: %v", pattern, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte(`[{"ph":"B","name":"a","ts":1},{"ph":"E","ts":2},{"ph":"s","id":1,"ts":1},{"ph":"t","id":"1.2","ts":-1e99}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if text := writtenUpstream(t, p); len(p.Timeline.Slices) > 0 {
			read(t, text)
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := Read(&out); err != nil && len(p.Timeline.Slices) > 0 {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}

// bigTrace is a million events: kernels, launches, and arrows of two events each.
func bigTrace(b testing.TB, rounds int) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, profiletest.Start, nil)
	w.Lane(profile.Lane{ID: 1, Kind: profile.ThreadLane})
	w.Lane(profile.Lane{ID: 2, Kind: profile.StreamLane, Device: "0", Stream: 7})
	for i := range rounds {
		kernel := benchKernel(i)
		launch := kernel
		launch.Lane, launch.Kind, launch.Name, launch.Start, launch.Path = 1, profile.LaunchSlice, "cuLaunchKernel", kernel.Start-9000, kernel.Path[:5]
		w.Slice(&launch)
		w.Flow(profile.Flow{ID: kernel.ID, From: 1, To: 2, Start: launch.Start, End: kernel.Start})
		w.Slice(&kernel)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkRead(b *testing.B) {
	text := bigTrace(b, 50_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStandardLibrary decodes the same file into the fields that Read looks at, without making anything of them.
func BenchmarkStandardLibrary(b *testing.B) {
	text := bigTrace(b, 50_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var doc struct {
			TraceEvents []struct {
				Ph, Cat, Name string
				Pid, Tid, ID  int
				Ts, Dur       float64
				Args          struct {
					CallStack   []string `json:"call_stack"`
					Correlation uint64
				}
			}
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			b.Fatal(err)
		}
	}
}

// A million events are half a million slices and a quarter of a million arrows.
func TestMemoryOfAMillionEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("too large for -short: it reads 160 MB")
	}
	text := bigTrace(t, 250_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(text)
	kept := int64(after.HeapAlloc - before.HeapAlloc)
	t.Logf("%d slices of %d MB of JSON are kept in %d MB, after %d MB of allocations", len(p.Timeline.Slices), len(text)>>20, kept>>20,
		(after.TotalAlloc-before.TotalAlloc)>>20)
	if kept > 120<<20 {
		t.Errorf("a million events are kept in %d bytes, want at most 120 MB", kept)
	}
	runtime.KeepAlive(p)
}
