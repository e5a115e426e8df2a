package idle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

// drawn is a timeline of one character per ns: a thread's scopes (letters, nested rows below each other), its launches (l), copies (c)
// and waits (s), and a GPU's work (#). Launch number n starts the n-th work of the drawing, from left to right over all streams.
func drawn(rows string) *profile.Timeline {
	t := &profile.Timeline{}
	thread, stream := -1, -1
	var launches, work []profile.Slice
	var path []string
	for row := range strings.Lines(strings.TrimLeft(rows, "\n")) {
		name, cells, _ := strings.Cut(strings.TrimRight(row, "\n"), "|")
		switch name = strings.TrimSpace(name); {
		case strings.HasPrefix(name, "thread"):
			thread = len(t.Lanes)
			t.Lanes = append(t.Lanes, profile.Lane{ID: thread, Kind: profile.ThreadLane, Name: name})
			path = []string{"ROOT"}
		case strings.HasPrefix(name, "gpu"):
			stream = len(t.Lanes)
			t.Lanes = append(t.Lanes, profile.Lane{ID: stream, Kind: profile.StreamLane, Name: name, Device: strings.Fields(name)[1]})
		}
		for from := 0; from < len(cells); {
			to := from
			for to < len(cells) && cells[to] == cells[from] {
				to++
			}
			s := profile.Slice{Lane: thread, Start: int64(1000 + from), Duration: int64(to - from)}
			switch c := cells[from]; {
			case c == ' ':
			case c == '#':
				s.Lane, s.Kind, s.Name = stream, profile.KernelSlice, "kernel"
				work = append(work, s)
			case c == 's':
				s.Kind, s.Name, s.Path = profile.SyncSlice, "cuStreamSynchronize", scopesAround(t, &s)
				t.Slices = append(t.Slices, s)
			case c == 'l' || c == 'c':
				s.Kind, s.Name = profile.LaunchSlice, map[byte]string{'l': "cuLaunchKernel", 'c': "cuMemcpyAsync"}[c]
				launches = append(launches, s)
			default:
				s.Kind, s.Name, s.Path = profile.ScopeSlice, string(c), append(slices.Clone(path), string(c))
				t.Slices = append(t.Slices, s)
			}
			from = to
		}
	}
	byTime := func(a, b profile.Slice) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
	}
	slices.SortStableFunc(launches, byTime)
	slices.SortStableFunc(work, byTime)
	for i := range work {
		if i < len(launches) {
			work[i].ID, launches[i].ID = uint64(i+1), uint64(i+1)
			launches[i].Path = scopesAround(t, &launches[i])
		}
	}
	t.Slices = append(append(t.Slices, launches...), work...)
	return t
}

// scopesAround is the path of the innermost scope around a launch.
func scopesAround(t *profile.Timeline, s *profile.Slice) []string {
	path := []string{"ROOT"}
	for i := range t.Slices {
		if o := &t.Slices[i]; o.Kind == profile.ScopeSlice && o.Lane == s.Lane && o.Start <= s.Start && o.End() > s.Start {
			path = o.Path
		}
	}
	return path
}

// causes are a report's causes in lines, in order.
func causes(r *Report) string {
	var b strings.Builder
	for _, c := range r.Causes {
		fmt.Fprintf(&b, "%d %s %s gaps=%d longest=%d\n", c.Nanos, c.Doing, strings.Join(c.Path.Frames(), ">"), c.Gaps, c.Longest)
	}
	return b.String()
}

func TestCauses(t *testing.T) {
	for _, c := range []struct{ name, drawing, want string }{
		{"code, launch and latency", `
thread 1 |aaaaaaaaaaaaaaaaaaaa
         |ll      ll
gpu 0    |  ##        ######`, "4 code a gaps=1 longest=4\n2 launch a gaps=1 longest=2\n2 queued a gaps=1 longest=2\n"},
		{"a wait between two kernels", `
thread 1 |aaaaaaaaaaaaaaaaaaaa
         |ll  ssssssssss  ll
gpu 0    |  ######          ##`, "6 wait a gaps=1 longest=6\n2 code a gaps=1 longest=2\n2 launch a gaps=1 longest=2\n"},
		{"launched ahead", `
thread 1 |llaall
gpu 0    |   ### ####`, "1 queued  gaps=1 longest=1\n"},
		{"a copy", `
thread 1 |ll cccc
gpu 0    |  #    ###`, "4 copy  gaps=1 longest=4\n"},
	} {
		r := Find(drawn(c.drawing), 10)
		if got := causes(r); got != c.want {
			t.Errorf("%s:\ngot\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestTheThreadThatLaunchedCounts(t *testing.T) {
	r := Find(drawn(`
thread 1 |aaaaaaaaaaaaaaaaaaaa
         |ll
thread 2 |bbbbbbbbbbbbbbbbbbbb
         |            ll
gpu 0    |  ####          ####`), 10)
	if c := r.Causes[0]; c.Path.Frames()[0] != "b" || c.Doing != Code || c.Nanos != 6 {
		t.Errorf("the second thread's launch ended the gap, and the cause is %+v", c)
	}
	if g := r.Longest[0]; g.Nanos != 10 || g.Then != "kernel" || g.Doing != Code || g.Part != 6 {
		t.Errorf("the longest gap is %+v", g)
	}
}

// TestCallsCountForTheirScope: where the path of a call ends with the call, as in our timelines, idle time is at the scope around it.
func TestCallsCountForTheirScope(t *testing.T) {
	timeline := drawn(`
thread 1 |aaaaaaaaaaaaaaaaaaaa
         |ll  ssssssssss  ll
gpu 0    |  ######          ##`)
	for i := range timeline.Slices {
		if s := &timeline.Slices[i]; s.Kind == profile.SyncSlice || s.Kind == profile.LaunchSlice {
			s.Path = append(slices.Clone(s.Path), s.Name)
		}
	}
	if got, want := causes(Find(timeline, 10)), "6 wait a gaps=1 longest=6\n2 code a gaps=1 longest=2\n2 launch a gaps=1 longest=2\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAnUnknownLaunchIsSaid(t *testing.T) {
	timeline := drawn("thread 1 |ll        \ngpu 0    |  ##  ##")
	r := Find(timeline, 10)
	if got := causes(r); !strings.Contains(got, "2 unknown  gaps=1") {
		t.Errorf("got\n%s", got)
	}
}

// TestBusyAndIdleAreTheWall compares with a second derivation: every ns of random timelines by itself.
func TestBusyAndIdleAreTheWall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		timeline := randomTimeline(random)
		r := Find(timeline, 1000)
		first, last := int64(1)<<62, int64(0)
		for i := range timeline.Slices {
			first, last = min(first, timeline.Slices[i].Start), max(last, timeline.Slices[i].End())
		}
		for at, d := range r.Devices {
			var busy int64
			works := func(s profile.Slice) bool { return s.IsWork() && timeline.Lanes[s.Lane].Device == d.ID }
			from, to := last, first
			for _, s := range timeline.Slices {
				if works(s) {
					from, to = min(from, s.Start), max(to, s.End())
				}
			}
			for now := first; now < last; now++ {
				if slices.ContainsFunc(timeline.Slices, func(s profile.Slice) bool { return works(s) && s.Start <= now && now < s.End() }) {
					busy++
				}
			}
			caused, gapped := int64(0), int64(0)
			for _, c := range r.Causes {
				if c.Device == at {
					caused += c.Nanos
				}
			}
			for _, g := range r.Longest {
				if g.Device == at {
					gapped += g.Nanos
				}
			}
			if d.Wall != to-from || d.Before != from-first || d.After != last-to || d.Busy != busy || d.Busy+d.Idle != d.Wall || caused != d.Idle || gapped != d.Idle {
				t.Fatalf("GPU %s: %+v; counted: from %d to %d of %d to %d, busy %d; causes add up to %d, gaps to %d", d.ID, d, from, to, first, last, busy, caused, gapped)
			}
		}
	}
}

func randomTimeline(random *rand.Rand) *profile.Timeline {
	t := &profile.Timeline{}
	for i := range 2 {
		t.Lanes = append(t.Lanes, profile.Lane{ID: i, Kind: profile.ThreadLane})
	}
	for i := range 3 {
		t.Lanes = append(t.Lanes, profile.Lane{ID: 2 + i, Kind: profile.StreamLane, Device: fmt.Sprint(i / 2)})
	}
	kinds := []profile.SliceKind{profile.ScopeSlice, profile.LaunchSlice, profile.SyncSlice, profile.KernelSlice, profile.CopySlice}
	for id := range uint64(random.IntN(30) + 1) {
		kind := kinds[random.IntN(len(kinds))]
		s := profile.Slice{Kind: kind, Lane: random.IntN(2), ID: id/2 + 1, Start: 100 + random.Int64N(100), Duration: random.Int64N(20), Path: []string{"ROOT", "x"}}
		if s.IsWork() {
			s.Lane = 2 + random.IntN(3)
		}
		t.Slices = append(t.Slices, s)
	}
	return t
}

// TestStreamsThatOverlap: a stream does one thing after the other, give or take a microsecond. Two streams may work at once.
func TestStreamsThatOverlap(t *testing.T) {
	timeline := &profile.Timeline{Lanes: []profile.Lane{{ID: 0, Kind: profile.StreamLane, Name: "Stream 7", Device: "0"}, {ID: 1, Kind: profile.StreamLane, Name: "Stream 13", Device: "0"}}}
	add := func(lane int, start, duration int64) {
		timeline.Slices = append(timeline.Slices, profile.Slice{Lane: lane, Kind: profile.KernelSlice, Name: "k", Start: start, Duration: duration})
	}
	for i := range int64(40) {
		add(0, 10_000*i, 10_900) // older traces have whole microseconds
		add(1, 10_000*i+100, 9_000)
	}
	if r := Find(timeline, 0); len(r.Overlaps) != 0 {
		t.Errorf("%+v overlap", r.Overlaps)
	}
	add(1, 195_000, 205_000) // its end was recorded too late
	r := Find(timeline, 0)
	if want := (Overlap{Lane: "Stream 13", Work: 41, Early: 21, Nanos: 4_100 + 20*9_000}); len(r.Overlaps) != 1 || r.Overlaps[0] != want {
		t.Errorf("%+v overlap, want %+v", r.Overlaps, want)
	}
	golden(t, "overlap", &profile.Profile{Timeline: timeline})
}

// golden compares both forms of a report, for people and for programs.
func golden(t *testing.T, name string, p *profile.Profile) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p, Options{Terminal: viewer.Terminal{Width: 80}}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/"+name+".txt", b.String())
}

func TestWrite(t *testing.T) {
	p := &profile.Profile{Timeline: drawn(`
thread 1 |aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
         |ll  ssssssssss  ll  cc
gpu 0    |  ######          ##
gpu 1    |                       ####`)}
	golden(t, "idle", p)

	var b bytes.Buffer
	if err := WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema  string
		Devices []struct {
			Wall int64 `json:"wall_ns"`
			Busy int64 `json:"busy_ns"`
			Idle int64 `json:"idle_ns"`
		}
		Causes []struct {
			Nanos int64 `json:"idle_ns"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Schema != Schema || len(doc.Devices) != 2 {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	idle := doc.Devices[0].Idle + doc.Devices[1].Idle
	for _, c := range doc.Causes {
		idle -= c.Nanos
	}
	if idle != 0 {
		t.Errorf("causes differ from idle time by %d ns", idle)
	}
}

// TestTree: a tree has its idle time before each frame's work, and says no more.
func TestTree(t *testing.T) {
	at := func(name string, idle, busy, gaps int64, children ...*profile.Node) *profile.Node {
		n := &profile.Node{Name: name, Children: children}
		if busy > 0 {
			n.Set(profile.IdleMetric, profile.IntValue(idle))
			n.Set(profile.BusyMetric, profile.IntValue(busy))
			n.Set(profile.IdleGapsMetric, profile.IntValue(gaps))
		}
		return n
	}
	p := &profile.Profile{Root: at("ROOT", 0, 0, 0, at("step", 0, 0, 0, at("forward", 300, 500, 2), at("backward", 1000, 200, 1)), at("never", 0, 100, 0))}
	golden(t, "tree", p)
}

func TestErrors(t *testing.T) {
	if err := Write(&bytes.Buffer{}, &profile.Profile{Root: &profile.Node{Name: "ROOT"}}, Options{}); err != ErrNoTimeline {
		t.Errorf("a tree: %v", err)
	}
	if err := WriteJSON(&bytes.Buffer{}, &profile.Profile{Timeline: drawn("thread 1 |aaa\n")}); err != ErrNoWork {
		t.Errorf("a timeline without a GPU: %v", err)
	}
	for _, idle := range []int64{-5, 1 << 62} {
		root := &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "a"}, {Name: "b"}}}
		for _, n := range root.Children {
			n.Set(profile.IdleMetric, profile.IntValue(idle))
		}
		if err := Write(&bytes.Buffer{}, &profile.Profile{Root: root}, Options{}); err == nil || !strings.Contains(err.Error(), "the file is damaged") {
			t.Errorf("idle times of %d ns: %v", idle, err)
		}
	}
}

// TestTraceOfTorch: slices without call paths are placed by those around them.
func TestTraceOfTorch(t *testing.T) {
	p, err := formats.Read(bytes.NewReader([]byte(testkit.Read(t, "../../testdata/upstream/torch-2.11.kineto.json"))))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Of(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range r.Causes {
		got[c.Doing.String()+" "+strings.Join(c.Path.Frames(), ">")] = true
	}
	for _, want := range []string{"code step", "code step>aten::to>aten::_to_copy>aten::copy_>cudaStreamIsCapturing", "code step>aten::relu>aten::clamp_min", "copy step>aten::to>aten::_to_copy>aten::copy_"} {
		if !got[want] {
			t.Errorf("no idle time is %q, only %v", want, got)
		}
	}
}
