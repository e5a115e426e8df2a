package chrometrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func writtenUpstream(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteUpstream(&out, p); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Fatalf("not JSON:\n%s", out.Bytes())
	}
	return out.String()
}

func TestUpstreamGolden(t *testing.T) {
	text := writtenUpstream(t, profiletest.SampleTimeline())
	testkit.Golden(t, "testdata/step.upstream.chrome_trace", []byte(strings.ReplaceAll(text, `,{"ph"`, ",\n"+`{"ph"`)))
}

// events are those of a document, as the JSON that they hold, without the ids of scopes and arrows, which may be any.
func events(t *testing.T, text string) (base any, list []string) {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	for _, e := range document["traceEvents"].([]any) {
		event := e.(map[string]any)
		delete(event, "id")
		if args, ok := event["args"].(map[string]any); ok {
			delete(args, "scope_id")
		}
		canonical, _ := json.Marshal(event)
		list = append(list, string(canonical))
	}
	sort.Strings(list)
	return document["baseTimeNanoseconds"], list
}

// only lists what is in a and not in b.
func only(a, b []string) string {
	a = slices.DeleteFunc(slices.Clone(a), func(e string) bool { return slices.Contains(b, e) })
	return strings.Join(a, "\n")
}

// What Triton 3.9.0 wrote, read and written again, is what it was.
func TestUpstreamsOwnFilesStayThemselves(t *testing.T) {
	files, _ := filepath.Glob(upstream + "/triton-3.9.0/*.chrome_trace")
	if len(files) == 0 {
		t.Fatal("there is no file of Triton 3.9.0")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wantBase, want := events(t, string(text))
		base, got := events(t, writtenUpstream(t, read(t, string(text))))
		if base != wantBase || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: base %v, want %v; only in ours\n%s\nonly in upstream's\n%s", file, base, wantBase, only(got, want), only(want, got))
		}
	}
}

// A launch that the hook named has a slice of its own with the path of its kernel, as have the calls, copies and waits around it;
// upstream shows the kernel.
func TestUpstreamLeavesOut(t *testing.T) {
	thread, graph, stream := 0, 1, 2
	op, scope := []string{"ROOT", "s", "op"}, []string{"ROOT", "s"}
	inGraph := []string{"ROOT", "s", capturedAt, "captured op"}
	p := &profile.Profile{Kinds: profile.Kinds{"a": profile.Property, "b": profile.Exclusive}, Timeline: &profile.Timeline{
		Lanes: []profile.Lane{{ID: thread, Kind: profile.ThreadLane}, {ID: graph, Kind: profile.GraphLane, Device: "0", Stream: 7}, {ID: stream, Kind: profile.StreamLane, Device: "0", Stream: 7}, {ID: 3, Kind: profile.StreamLane, Device: "1", Stream: 7}},
		Slices: []profile.Slice{
			{Lane: thread, Kind: profile.ScopeSlice, Name: "s", Start: 1000, Duration: 900, Path: scope, ID: 1, Metrics: []profile.Metric{
				{Name: "a", Value: profile.StringValue(`"x"`)}, {Name: "b", Value: profile.FloatValue(math.Inf(1))}, {Name: "c", Value: profile.FloatsValue([]float64{0.5, 2})}}},
			{Lane: thread, Kind: profile.ScopeSlice, Name: "op", Start: 1100, Duration: 100, Path: op, ID: 2},
			{Lane: thread, Kind: profile.ScopeSlice, Name: "captured op", Start: 1100, Duration: 10, Path: []string{"ROOT", "captured op"}, ID: 3},
			{Lane: thread, Kind: profile.ScopeSlice, Name: "__proton_launch_metadata", Start: 1300, Duration: 10, Path: []string{"ROOT", "__proton_launch_metadata"}, ID: 4},
			{Lane: thread, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: 1150, Duration: 20, Path: op, ID: 5},
			{Lane: thread, Kind: profile.SyncSlice, Name: "cuCtxSynchronize", Start: 1400, Duration: 20, Path: scope},
			{Lane: stream, Kind: profile.KernelSlice, Name: "op", Start: 1500, Duration: 10, Path: op, ID: 5},
			{Lane: stream, Kind: profile.KernelSlice, Name: "captured op", Start: 1600, Duration: 10, Path: inGraph},
			{Lane: graph, Kind: profile.ScopeSlice, Name: capturedAt, Start: 1600, Duration: 10, Path: inGraph[:3]},
			{Lane: 3, Kind: profile.CopySlice, Name: "<memcpy HtoD>", Start: 1700, Duration: 10, Path: scope},
		},
		Flows: []profile.Flow{{ID: 1, From: thread, To: stream, Start: 1160, End: 1500}, {ID: 2, From: thread, To: 3, Start: 1650, End: 1700}},
	}}
	const want = `{"baseTimeNanoseconds":1000,"displayTimeUnit":"us","traceEvents":[` +
		`{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"Trace"}},` +
		`{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"args":{"sort_index":0}},` +
		`{"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"CPU Thread 0"}},` +
		`{"ph":"M","name":"thread_sort_index","pid":0,"tid":0,"args":{"sort_index":0}},` +
		`{"ph":"M","name":"thread_name","pid":0,"tid":100007,"args":{"name":"Graph: Stream 7"}},` +
		`{"ph":"M","name":"thread_sort_index","pid":0,"tid":100007,"args":{"sort_index":100007}},` +
		`{"ph":"M","name":"thread_name","pid":0,"tid":200007,"args":{"name":"GPU Stream 7"}},` +
		`{"ph":"M","name":"thread_sort_index","pid":0,"tid":200007,"args":{"sort_index":200007}},` +
		`{"ph":"X","cat":"metric","name":"s: <a (pty), \"x\">, <b (exc), inf>, <c, [0.500000,2.000000]>","pid":0,"tid":0,"ts":0,"dur":0.9,` +
		`"args":{"call_stack":["ROOT","s"],"scope_id":1,"metrics":{"a (pty)":"\"x\"","b (exc)":"inf","c":"[0.500000,2.000000]"}}},` +
		`{"ph":"X","cat":"scope","name":"<captured_at>","pid":0,"tid":100007,"ts":0.6,"dur":0.01},` +
		`{"ph":"s","cat":"flow","name":"launch->kernel","pid":0,"tid":0,"ts":0,"id":1,"bp":"e"},` +
		`{"ph":"f","cat":"flow","name":"launch->kernel","pid":0,"tid":200007,"ts":0.5,"id":1,"bp":"e"},` +
		`{"ph":"X","cat":"kernel","name":"op","pid":0,"tid":200007,"ts":0.5,"dur":0.01,"args":{"call_stack":["ROOT","s","op"],"metrics":{}}},` +
		`{"ph":"X","cat":"kernel","name":"captured op","pid":0,"tid":200007,"ts":0.6,"dur":0.01,"args":{"call_stack":["ROOT","s","<captured_at>","captured op"]}}` +
		"]}\n"
	if got := writtenUpstream(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An arrow leaves from the start of the innermost scope that holds its launch, found here by looking at all.
func TestUpstreamArrowsLeaveFromTheInnermostScope(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := &profile.Profile{Timeline: &profile.Timeline{Lanes: []profile.Lane{{Kind: profile.ThreadLane}, {ID: 1, Kind: profile.StreamLane, Device: "0"}}}}
		var nest func(path []string, start, end int64)
		nest = func(path []string, start, end int64) {
			for at := start; end-at > 20 && len(path) < 6; {
				from := at + r.Int64N((end-at)/2)
				to := from + r.Int64N(end-from)
				inner := append(path[:len(path):len(path)], "s")
				p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Kind: profile.ScopeSlice, Name: "s", Start: from, Duration: to - from, Path: inner})
				nest(inner, from+1, to-1)
				at = to + 1
			}
		}
		nest([]string{"ROOT"}, 0, 1000)
		scopes := p.Timeline.Slices
		want := map[int64]int64{}
		for i, at := range r.Perm(1000) {
			kernel := int64(2000 + i)
			p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 1, Kind: profile.KernelSlice, Name: "k", Start: kernel, Path: []string{"ROOT", "k"}})
			p.Timeline.Flows = append(p.Timeline.Flows, profile.Flow{ID: uint64(i + 1), To: 1, Start: int64(at), End: kernel})
			want[kernel] = int64(at)
			deepest := 0
			for _, s := range scopes {
				if s.Start <= int64(at) && int64(at) <= s.Start+s.Duration && len(s.Path) > deepest {
					want[kernel], deepest = s.Start, len(s.Path)
				}
			}
		}
		for _, f := range newUpstream(p).flows {
			if f.Start != want[f.End] {
				t.Fatalf("seed %d: the arrow to %d leaves at %d, want %d", seed, f.End, f.Start, want[f.End])
			}
		}
	}
}

func TestUpstreamWithoutKernels(t *testing.T) {
	lane := []profile.Lane{{Kind: profile.ThreadLane}}
	call := profile.Slice{Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: 1}
	scope := profile.Slice{Kind: profile.ScopeSlice, Name: "s", Start: 5, Path: []string{"ROOT", "s"}, ID: 1, Metrics: []profile.Metric{{Name: "foo", Value: profile.IntValue(1)}}}
	for want, slices := range map[string][]profile.Slice{
		`{"displayTimeUnit":"us","traceEvents":[]}`: {call},
		`{"baseTimeNanoseconds":5,"displayTimeUnit":"us","traceEvents":[{"ph":"X","cat":"metric","name":"s: <foo, 1>","pid":0,"tid":0,"ts":0,"dur":0,` +
			`"args":{"call_stack":["ROOT","s"],"scope_id":1,"metrics":{"foo":"1"}}}]}`: {call, scope},
	} {
		p := &profile.Profile{Timeline: &profile.Timeline{Lanes: lane, Slices: slices}}
		if got := strings.TrimSpace(writtenUpstream(t, p)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := WriteUpstream(&bytes.Buffer{}, &profile.Profile{}); !errors.Is(err, profile.ErrNoTimeline) {
		t.Errorf("a profile without a timeline: %v", err)
	}
}

// Whatever the timeline, each kernel is shown once, and every arrow leaves from a scope that is shown or from its launch.
func TestUpstreamOfRandomTimelines(t *testing.T) {
	for seed := range uint64(200) {
		p := profiletest.RandomTimeline(rand.New(rand.NewPCG(seed, 3)))
		kernels := 0
		for _, s := range p.Timeline.Slices {
			if s.Kind == profile.KernelSlice || s.Kind == profile.GraphSlice {
				kernels++
			}
		}
		back := read(t, writtenUpstream(t, p))
		for _, s := range back.Timeline.Slices {
			if s.Kind == profile.KernelSlice {
				kernels--
			}
		}
		if kernels != 0 {
			t.Errorf("seed %d: %d kernels are missing", seed, kernels)
		}
	}
}

func TestUpstreamSaysThatADiskIsFull(t *testing.T) {
	p := profiletest.SampleTimeline()
	full := errors.New("full")
	if err := WriteUpstream(failing{full}, p); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A launch after many scopes in one scope: finding the one around it must not take the square of the time.
func BenchmarkWriteUpstream(b *testing.B) {
	p := &profile.Profile{Timeline: &profile.Timeline{Lanes: []profile.Lane{{Kind: profile.ThreadLane}, {ID: 1, Kind: profile.StreamLane, Device: "0", Stream: 7}}}}
	t := p.Timeline
	t.Slices = append(t.Slices, profile.Slice{Kind: profile.ScopeSlice, Name: "train", Duration: 1e9, Path: []string{"ROOT", "train"}})
	for i := range int64(100_000) {
		path := []string{"ROOT", "train", fmt.Sprint("s", i%100)}
		t.Slices = append(t.Slices, profile.Slice{Kind: profile.ScopeSlice, Name: path[2], Start: 1000 * i, Duration: 200, Path: path, ID: uint64(i)},
			profile.Slice{Lane: 1, Kind: profile.KernelSlice, Name: "k", Start: 1000*i + 500, Duration: 400, Path: append(path[:2:2], "k")})
		t.Flows = append(t.Flows, profile.Flow{ID: uint64(i + 1), To: 1, Start: 1000*i + 300, End: 1000*i + 500})
	}
	for b.Loop() {
		if err := WriteUpstream(&bytes.Buffer{}, p); err != nil {
			b.Fatal(err)
		}
	}
}
