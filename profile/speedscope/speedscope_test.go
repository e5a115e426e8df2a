package speedscope

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/collapsed"
	"github.com/goproton/goproton/profile/internal/profiletest"
	"github.com/goproton/goproton/profile/internal/union"
)

// held is what a file holds of the tree: stacks with the additive metrics that can be sizes.
func held(p *profile.Profile) *profile.Profile {
	t := union.NewTree()
	metrics := union.Additive(p)
	for _, m := range metrics { // one after the other, as in a file
		union.Each(p.Root, func(path []string, n *profile.Node) {
			v, ok := union.Size(n, m)
			if !ok {
				return
			}
			at := t.Root
			for _, name := range path {
				at = t.Child(at, profiletest.Valid(name))
			}
			union.Add(at, m, v)
		})
	}
	return t.Profile(false)
}

// timeline makes lanes with nested and with overlapping slices.
func timeline(seed uint64) *profile.Timeline {
	r := rand.New(rand.NewPCG(seed, 2))
	t := &profile.Timeline{Lanes: []profile.Lane{{ID: 3, Name: "CPU Thread 0"}, {ID: 5, Name: "GPU 0 Stream 7", Kind: profile.StreamLane, Process: "rank 1"}, {ID: 9, Name: "idle"}}}
	const now = 1_766_000_000_123_456_789
	for range r.IntN(60) {
		t.Slices = append(t.Slices, profile.Slice{Lane: 3 + 2*r.IntN(2), Name: fmt.Sprintf("op %d", r.IntN(9)), Start: now + r.Int64N(100), Duration: r.Int64N(30)})
	}
	return t
}

// times prints what a file holds of a timeline.
func times(t *profile.Timeline, valid func(string) string) string {
	if t == nil {
		return ""
	}
	names := map[int]string{}
	for _, l := range t.Lanes {
		name := l.Name
		if l.Process != "" {
			name = l.Process + ": " + name
		}
		names[l.ID], _, _ = strings.Cut(name, " (") // further rows of a lane are the lane
	}
	var lines []string
	for _, s := range t.Slices {
		lines = append(lines, fmt.Sprintf("%s %d +%d %q", names[s.Lane], s.Start, s.Duration, valid(s.Name)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestRoundTrip(t *testing.T) {
	written := 0
	for seed := range uint64(400) {
		p := profiletest.Random(seed)
		if seed%2 == 0 {
			p.Timeline = timeline(seed)
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			continue // no metric that adds up
		}
		written++
		back, err := Read(iotest.HalfReader(bytes.NewReader(out.Bytes())))
		if err != nil {
			t.Fatalf("profile %d: %v\n%s", seed, err, out.String())
		}
		if want := held(p); len(want.Kinds) > 0 {
			if got, want := profiletest.Text(back), profiletest.Text(want); got != want {
				t.Fatalf("profile %d:\n%s\nread back as\n%s\nwant\n%s", seed, out.String(), got, want)
			}
		}
		if got, want := times(back.Timeline, profiletest.Valid), times(p.Timeline, profiletest.Valid); got != want {
			t.Fatalf("profile %d:\n%s\ntimeline read back as\n%s\nwant\n%s", seed, out.String(), got, want)
		}
	}
	if written < 200 {
		t.Errorf("only %d of 400 profiles could be written", written)
	}
}

func TestFrames(t *testing.T) {
	for name, want := range map[string]frame{
		"gemm":                {Name: "gemm"},
		"dir/x.py:7@f":        {Name: "f", File: "dir/x.py", Line: 7},
		"C:/x.py:7@f@g":       {Name: "C:/x.py:7@f@g"}, // 7@f is not a line number
		"x.py:07@f":           {Name: "x.py:07@f"},
		"x.py:0@f":            {Name: "x.py:0@f"},
		":7@f":                {Name: ":7@f"},
		"a::b<int>@c":         {Name: "a::b<int>@c"},
		"dir/x.py:7@<module>": {Name: "<module>", File: "dir/x.py", Line: 7},
	} {
		if got := splitFrame(name); got != want || joinFrame(got) != name {
			t.Errorf("%q is written as %+v and read as %q", name, got, joinFrame(got))
		}
	}
}

func TestUnits(t *testing.T) {
	for metric, want := range map[string]string{"time (ns)": "nanoseconds", "cpu_time (ms)": "milliseconds", "x (us)": "microseconds",
		"x (s)": "seconds", "bytes": "bytes", "count": "none", "flops16": "none", "x (GB)": "none", "ns": "none"} {
		if got := unitOf(metric); got != want {
			t.Errorf("the unit of %q is %s, want %s", metric, got, want)
		}
	}
}

// TestOtherPrograms reads what others write: several threads, other units, events without samples.
func TestOtherPrograms(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"events": {`{"$schema":"x","shared":{"frames":[{"name":"a"},{"name":"f","file":"x.py","line":3}]},"profiles":[{"type":"evented","name":"main","unit":"microseconds","startValue":0,"endValue":10,
			"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2.5},{"type":"C","frame":1,"at":4},{"type":"O","frame":1,"at":4},{"type":"C","frame":1,"at":5},{"type":"C","frame":0,"at":10}]}]}`,
			"\"ROOT\"\n  \"a\" \"time (ns)\"=7500\n    \"x.py:3@f\" \"time (ns)\"=2500\nkind \"time (ns)\" 1\n[]\nmain 0 +10000 \"a\"\nmain 2500 +1500 \"x.py:3@f\"\nmain 4000 +1000 \"x.py:3@f\""},
		"threads": {`{"profiles":[{"type":"sampled","name":"t1","unit":"none","samples":[[0],[0,1]],"weights":[1,2.5]},{"type":"sampled","name":"t2","unit":"none","samples":[[1]],"weights":[4]}],
			"shared":{"frames":[{"name":"a"},{"name":"b"}]},"exporter":"other","activeProfileIndex":null}`,
			"\"ROOT\"\n  \"t1\"\n    \"a\" \"samples\"=1\n      \"b\" \"samples\"=2.5.\n  \"t2\"\n    \"b\" \"samples\"=4\nkind \"samples\" 1\n[]\n"},
		"bytes as events": {`{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","name":"","unit":"bytes","events":[{"type":"O","frame":0,"at":-1},{"type":"C","frame":0,"at":7}]}]}`,
			"\"ROOT\"\n  \"a\" \"bytes\"=8\nkind \"bytes\" 1\n[]\n"},
		"ns since 1970": {`{"shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"evented","name":"t","unit":"nanoseconds",
			"events":[{"type":"O","frame":0,"at":1782700000000000001},{"type":"O","frame":1,"at":1782700000000000003},{"type":"C","frame":1,"at":1782700000000000007},{"type":"C","frame":0,"at":1782700000000000010}]}]}`,
			"\"ROOT\"\n  \"a\" \"time (ns)\"=5\n    \"b\" \"time (ns)\"=4\nkind \"time (ns)\" 1\n[]\nt 1782700000000000001 +9 \"a\"\nt 1782700000000000003 +4 \"b\""},
		"one program": {`{"shared":{"frames":[{"name":"main"}]},"profiles":[{"type":"sampled","name":"p","unit":"seconds","samples":[[0]],"weights":[1.5]}]}`,
			"\"main\" \"time (ns)\"=1500000000\nkind \"time (ns)\" 1\n[]\n"},
	} {
		p, err := Read(strings.NewReader(test.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := profiletest.Text(p) + times(p.Timeline, profiletest.Valid); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	profiles := func(s string) string { return `{"shared":{"frames":[{"name":"a"}]},"profiles":[` + s + `]}` }
	events := func(s string) string {
		return profiles(`{"type":"evented","name":"n","unit":"none","events":[` + s + `]}`)
	}
	for name, test := range map[string]struct{ in, want string }{
		"empty":         {"", "byte 0: the file ends where '{' at the start of a speedscope file should be; it is cut off or empty"},
		"cut off":       {`{"shared":{`, "byte 11: the file ends where a key in quotes should be"},
		"no object":     {`[1]`, "byte 0: expected '{' at the start of a speedscope file"},
		"no profiles":   {`{"shared":{"frames":[]}}`, "holds no profiles"},
		"syntax":        {`{"shared":x}`, "byte 10: expected '{' at the start of shared, found 'x'"},
		"two documents": {profiles(`{"type":"sampled","unit":"none"}`) + "{}", "text behind"},
		"deep":          {`{"x":` + strings.Repeat("[", 1_000_000), "nested more than 10000 levels deep"},
		"frames":        {`{"shared":{"frames":{}}}`, "expected '[' at the start of frames"},
		"frame":         {`{"shared":{"frames":[{"name":7}]}}`, `byte 29: expected a text, found '7'`},
		"unit":          {profiles(`{"type":"sampled","name":"n","unit":"parsec"}`), `byte 48: profile 0 ("n"): the unit "parsec" is none`},
		"type":          {profiles(`{"type":"x","unit":"none"}`), `neither sampled nor evented`},
		"weights":       {profiles(`{"type":"sampled","unit":"none","samples":[[0]],"weights":[]}`), "1 samples and 0 weights"},
		"weight":        {profiles(`{"type":"sampled","unit":"none","samples":[[0]],"weights":["x"]}`), "expected a number, found"},
		"frame number":  {profiles(`{"type":"sampled","unit":"none","samples":[[1]],"weights":[1]}`), "sample 0 names frame 1 of 1"},
		"deep stack":    {profiles(`{"type":"sampled","unit":"none","samples":[[0` + strings.Repeat(",0", profile.MaxDepth) + `]],"weights":[1]}`), "10001 frames"},
		"event frame":   {events(`{"type":"O","frame":-1,"at":0}`), "event 0 names frame -1"},
		"event type":    {events(`{"type":"X","frame":0,"at":0}`), `event 0 is a "X"`},
		"event order":   {events(`{"type":"O","frame":0,"at":2},{"type":"C","frame":0,"at":1}`), "event 1 is at 1, after one at 2"},
		"event close":   {events(`{"type":"C","frame":0,"at":2}`), "not the innermost one open"},
		"never closed":  {events(`{"type":"O","frame":0,"at":2}`), "1 frames are never closed"},
		"far away":      {events(`{"type":"O","frame":0,"at":1e300}`), "event 0 is at"},
		"deep events":   {events(strings.Repeat(`{"type":"O","frame":0,"at":0},`, profile.MaxDepth) + `{"type":"O","frame":0,"at":0}`), "opens more than 10000"},
	} {
		p, err := Read(strings.NewReader(test.in))
		var bad *profile.FormatError
		if !errors.As(err, &bad) {
			t.Errorf("%s: read %+v, error %v", name, p, err)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got  %v\nwant …%s…", name, err, test.want)
		}
	}
	boom := errors.New("boom")
	if _, err := Read(io.MultiReader(strings.NewReader(`{"shared":`), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Errorf("error %v, want the stream's own", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	if err := Write(io.Discard, &profile.Profile{Root: &profile.Node{Name: "ROOT"}}); err == nil || !strings.Contains(err.Error(), "has neither") {
		t.Errorf("a profile without numbers: error %v", err)
	}
	if err := Write(io.Discard, &profile.Profile{}); err == nil {
		t.Error("a profile without a root was written")
	}
}

func TestLoses(t *testing.T) {
	n := &profile.Node{Name: "k"}
	n.Set("a", profile.IntValue(-1))
	n.Set("b", profile.FloatValue(math.NaN()))
	p := &profile.Profile{Root: &profile.Node{Children: []*profile.Node{n}}}
	p.Timeline = &profile.Timeline{Lanes: []profile.Lane{{}}, Flows: []profile.Flow{{}}}
	for i := range int64(mostRows) + 3 {
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Start: i, Duration: mostRows * 2})
	}
	got := Loses(p)
	want := []string{"2 values below zero or no number", "1 leaf without a number", "103 slices' kind, metrics, call path and device",
		"3 slices overlapping more than 100 others, cut where one of these ends", "1 arrow of the timeline"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("loses %q\nwant  %q", got, want)
	}
}

type imported struct {
	Schema   []string
	Profiles []struct {
		Name, Unit string
		Own        map[string]float64
	}
}

type document struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// askSpeedscope runs speedscope's own importer.
func askSpeedscope(t *testing.T, documents []document) []imported {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(root, ".venv/oracles/npm")
	node, err := exec.LookPath("node")
	if _, statErr := os.Stat(packages); err != nil || statErr != nil {
		t.Skipf("speedscope is missing (%v, %v): install node and npm and run tools/oracles.sh", err, statErr)
	}
	stdin, err := json.Marshal(documents)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "testdata/importer.js", packages)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("speedscope: %v\n%s", err, stderr.String())
	}
	var answers []imported
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(documents) {
		t.Fatalf("%d answers for %d files: %v\n%s", len(answers), len(documents), err, stderr.String())
	}
	return answers
}

// own adds up what every call path has of a metric.
func own(p *profile.Profile, metric string) map[string]float64 {
	sums := map[string]float64{}
	union.Each(p.Root, func(path []string, n *profile.Node) {
		if v, ok := union.Size(n, metric); ok {
			f, _ := v.Float()
			sums[pathKey(path)] += f
		}
	})
	return sums
}

func pathKey(path []string) string {
	var valid []string
	for _, name := range path {
		valid = append(valid, profiletest.Valid(name))
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(valid); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func near(a, b map[string]float64) bool {
	for _, key := range slices.Concat(slices.Collect(mapsKeys(a)), slices.Collect(mapsKeys(b))) {
		if math.Abs(a[key]-b[key]) > 1e-9*max(math.Abs(a[key]), math.Abs(b[key]), 1) {
			return false
		}
	}
	return true
}

func mapsKeys(m map[string]float64) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// readable makes a random profile whose numbers speedscope's arithmetic in floats can take, and whose names it
// does not replace by the file's.
func readable(seed uint64) *profile.Profile {
	p := profiletest.Random(seed)
	profiletest.Reduce(p, func(name string) string { return cmp.Or(strings.ReplaceAll(name, "\x00", ""), "x") }, func(name string, v profile.Value) (profile.Value, bool) {
		f, number := v.Float()
		if v.Type() == profile.Int {
			return profile.IntValue(v.Int() % 1_000_000), true
		}
		return v, name != "" && (!number || math.Abs(f) < 1e6 && math.Abs(f) > 1e-3)
	})
	return p
}

func TestSpeedscopeImportsIt(t *testing.T) {
	var documents []document
	var profiles []*profile.Profile
	for seed := range uint64(30) {
		p := readable(seed)
		p.Timeline = timeline(seed)
		var out strings.Builder
		if err := Write(&out, p); err != nil {
			t.Fatal(err)
		}
		documents, profiles = append(documents, document{"p.speedscope.json", out.String()}), append(profiles, p)
	}
	for i, answer := range askSpeedscope(t, documents) {
		if len(answer.Schema) > 0 {
			t.Fatalf("profile %d does not match speedscope's schema: %q\n%s", i, answer.Schema, documents[i].Text)
		}
		metrics := slices.DeleteFunc(union.Additive(profiles[i]), func(m string) bool { return !drawable(profiles[i].Root, m) })
		rows, _ := rowsOf(profiles[i].Timeline)
		if len(answer.Profiles) != len(metrics)+len(rows) {
			t.Fatalf("profile %d: speedscope has %d profiles, want %d metrics and %d rows", i, len(answer.Profiles), len(metrics), len(rows))
		}
		for j, got := range answer.Profiles {
			if j < len(metrics) {
				if want := own(profiles[i], metrics[j]); got.Name != metrics[j] || got.Unit != unitOf(metrics[j]) || !near(got.Own, want) {
					t.Errorf("profile %d: speedscope has %s in %s: %v\nwant %s: %v", i, got.Name, got.Unit, got.Own, metrics[j], want)
				}
				continue
			}
			r := rows[j-len(metrics)]
			var sum float64
			for _, v := range got.Own {
				sum += v
			}
			if want := covered(profiles[i].Timeline, r.Slices); got.Name != r.name || got.Unit != "nanoseconds" || sum != want {
				t.Errorf("profile %d: speedscope has %s with %v %s, want %s with %v", i, got.Name, sum, got.Unit, r.name, want)
			}
		}
	}
}

// covered is how long some slice of a row was open.
func covered(t *profile.Timeline, list []int32) (sum float64) {
	end := int64(math.MinInt64)
	for _, i := range list {
		s := &t.Slices[i]
		if s.Start >= end {
			sum += float64(s.Duration)
		}
		end = max(end, s.Start+s.Duration)
	}
	return sum
}

// TestSpeedscopeImportsCollapsed is here because the importer is.
func TestSpeedscopeImportsCollapsed(t *testing.T) {
	var documents []document
	var profiles []*profile.Profile
	for seed := range uint64(30) {
		p := readable(seed)
		var out strings.Builder
		if err := collapsed.WriteMetric(&out, p, "time (ns)"); err != nil {
			continue
		}
		documents, profiles = append(documents, document{"p.folded", out.String()}), append(profiles, p)
	}
	for i, answer := range askSpeedscope(t, documents) {
		want := map[string]float64{}
		for key, v := range own(profiles[i], "time (ns)") {
			var path []string
			if err := json.Unmarshal([]byte(key), &path); err != nil {
				t.Fatal(err)
			}
			for j := range path {
				path[j] = strings.NewReplacer(";", "%3B", "\n", "%0A", "\r", "%0D", "\t", "%09").Replace(path[j])
			}
			want[pathKey(path)] = v
		}
		if len(answer.Profiles) != 1 || !near(answer.Profiles[0].Own, want) {
			t.Errorf("profile %d: speedscope has %v\nwant %v\nof\n%s", i, answer.Profiles, want, documents[i].Text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range profiletest.Small {
		p := profiletest.Random(seed)
		p.Timeline = timeline(seed)
		p.Timeline.Slices = p.Timeline.Slices[:min(5, len(p.Timeline.Slices))]
		var out bytes.Buffer
		if err := Write(&out, p); err == nil {
			f.Add(out.Bytes())
		}
	}
	f.Add([]byte(`{"shared":{"frames":[{"name":"f","file":"x","line":3}]},"profiles":[{"type":"evented","unit":"seconds","events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":1.5}]}]}`))
	f.Add([]byte(`{"profiles":[{"type":"evented","unit":"seconds"}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Read(bytes.NewReader(in))
		if err != nil {
			var bad *profile.FormatError
			if !errors.As(err, &bad) || bad.Offset > int64(len(in)) {
				t.Fatalf("error %v", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, p); err != nil {
			return // no number above zero
		}
		if _, err := Read(bytes.NewReader(out.Bytes())); err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, out.String())
		}
	})
}
