package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

func kernel(name string, device uint32, nanos uint64) *record.Activity {
	return &record.Activity{Name: name, Device: device, Start: 10, End: 10 + nanos}
}

func launched(set uint32, corr uint64) *callpath.Attribution {
	return &callpath.Attribution{Launch: callpath.Place{Set: set}, Order: corr}
}

// outline is a frozen tree in one line: name{metrics}(children).
func outline(n *profile.Node) string {
	s := n.Name
	var metrics []string
	for _, m := range n.Metrics {
		if n, ok := m.Value.Float(); ok {
			metrics = append(metrics, fmt.Sprintf("%s=%v", m.Name, n))
		} else if m.Name == profile.DeviceIDMetric {
			metrics = append(metrics, fmt.Sprintf("%s=%v", m.Name, m.Value.Str()))
		}
	}
	if metrics != nil {
		s += "{" + strings.Join(metrics, " ") + "}"
	}
	var children []string
	for _, c := range n.Children {
		children = append(children, outline(c))
	}
	if children != nil {
		s += "(" + strings.Join(children, " ") + ")"
	}
	return s
}

func frozen(t *testing.T, tree *Tree, want string) {
	t.Helper()
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	if got := outline(p.Root); got != want {
		t.Errorf("--- got\n%s\n--- want\n%s", got, want)
	}
}

// stage returns an aggregator with one session's tree, and the set of its launches.
func stage(t *testing.T) (*Aggregator, *Tree, uint32) {
	t.Helper()
	if err := hotpath.Init(); err != nil {
		t.Fatal(err)
	}
	a := New(NewSets())
	tree := a.Sets.NewTree(TreeOptions{})
	return a, tree, a.Sets.Launch([]*Tree{tree})
}

func TestKernelsOfOneNameMerge(t *testing.T) {
	a, tree, set := stage(t)
	a.Add(kernel("b", 0, 5), launched(set, 2)) // it ended first, but was launched second
	a.Add(kernel("a", 0, 1), launched(set, 1))
	a.Add(kernel("a", 0, 2), launched(set, 3))
	a.Add(kernel("no listener", 0, 2), launched(0, 4))
	frozen(t, tree, "ROOT(a{count=2 device_id=0 time (ns)=3} b{count=1 device_id=0 time (ns)=5})")
	if a.Kernels != 3 || a.Nanos != 8 {
		t.Errorf("%d kernels of %d ns, want 3 of 8", a.Kernels, a.Nanos)
	}
}

func TestANodeNamesTheDeviceItSpentMostTimeOn(t *testing.T) {
	a, tree, set := stage(t)
	a.Add(kernel("k", 0, 5), launched(set, 1))
	a.Add(kernel("k", 3, 50), launched(set, 2))
	frozen(t, tree, "ROOT(k{count=2 device_id=3 time (ns)=55})")
	if _, devices := a.Freeze(tree, "CUDA"); fmt.Sprint(devices) != "[0 3]" {
		t.Errorf("devices %v", devices)
	}
}

func TestKernelsWithoutALaunchOrATime(t *testing.T) {
	a, tree, set := stage(t)
	a.AddUnattributed(kernel("lost", 0, 5), set)
	a.Add(kernel("untimed", 0, 0), launched(set, 9))
	frozen(t, tree, "ROOT(untimed{count=1 device_id=0 time (ns)=0} <unattributed>(lost{count=1 device_id=0 time (ns)=5}))")
	if a.Unattributed != 1 || a.Untimed != 1 {
		t.Errorf("%d unattributed, %d untimed, want one of each", a.Unattributed, a.Untimed)
	}
}

// Above a dozen children names are found in a map: the switch must lose and double none.
func TestManyChildren(t *testing.T) {
	a, tree, set := stage(t)
	for round := range 3 {
		for i := range 40 {
			a.Add(kernel(fmt.Sprintf("k%02d", i), 0, 1), launched(set, uint64(40*round+i+1)))
			a.Reset()
		}
	}
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	if len(p.Root.Children) != 40 {
		t.Fatalf("%d children, want 40", len(p.Root.Children))
	}
	for i, c := range p.Root.Children {
		if n, _ := c.Metric(profile.CountMetric); c.Name != fmt.Sprintf("k%02d", i) || n.Int() != 3 {
			t.Errorf("child %d is %s", i, outline(c))
		}
	}
}

func TestVectors(t *testing.T) {
	_, tree, set := stage(t)
	at := callpath.Place{Set: set}
	add := func(name string, values []float64, whole bool) error {
		return tree.AddMetric(at, name, VectorMetric(values, whole))
	}
	add("v", []float64{1, 2}, true)
	add("v", []float64{10, 20}, true)
	add("last (pty)", []float64{1}, true)
	add("last (pty)", []float64{2, 3}, true)
	add("mixed (exc)", []float64{1}, true)
	add("mixed (exc)", []float64{0.5}, false)
	if err := add("v", []float64{1}, true); err == nil || err.Error() != "Vector metric size mismatch for v: current=2, new=1" {
		t.Errorf("a vector changed its length: %v", err)
	}
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	for name, want := range map[string]string{"v": "[11 22]", "last": "[2 3]"} {
		if v, _ := p.Root.Metric(name); fmt.Sprint(v.Ints()) != want {
			t.Errorf("%s is %v, want %s", name, v.Ints(), want)
		}
	}
	if v, _ := p.Root.Metric("mixed"); fmt.Sprint(v.Floats()) != "[1.5]" {
		t.Errorf("mixed is %v", v.Floats())
	}
	if k := p.Kinds; k["v"] != profile.Inclusive || k["last"] != profile.Property || k["mixed"] != profile.Exclusive {
		t.Errorf("kinds %v", k)
	}
}

// A text stands instead of what was there, whatever that was; a vector does so with a text.
func TestTexts(t *testing.T) {
	_, tree, set := stage(t)
	at := callpath.Place{Set: set}
	for _, add := range []struct {
		name string
		v    Metric
	}{
		{"kind (pty)", TextMetric("first")}, {"kind (pty)", TextMetric("\"second\"")}, {"empty (exc)", TextMetric("")},
		{"vector (pty)", VectorMetric([]float64{1}, true)}, {"vector (pty)", TextMetric("text")},
		{"text (pty)", TextMetric("text")}, {"text (pty)", VectorMetric(nil, true)},
	} {
		if err := tree.AddMetric(at, add.name, add.v); err != nil {
			t.Errorf("%s: %v", add.name, err)
		}
	}
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	for name, want := range map[string]string{"kind": "\"second\"", "empty": "", "vector": "text"} {
		if v, _ := p.Root.Metric(name); v.Type() != profile.String || v.Str() != want {
			t.Errorf("%s is %q, want %q", name, v.Str(), want)
		}
	}
	if v, _ := p.Root.Metric("text"); v.Type() != profile.Ints || len(v.Ints()) != 0 {
		t.Errorf("the vector after a text is %v", v.Ints())
	}
	if k := p.Kinds; k["kind"] != profile.Property || k["empty"] != profile.Exclusive {
		t.Errorf("kinds %v", k)
	}
}

func TestMetricName(t *testing.T) {
	for _, c := range []struct {
		raw, name string
		kind      profile.Kind
	}{
		{"bytes", "bytes", profile.Inclusive},
		{"time (ns)", "time (ns)", profile.Inclusive},
		{"loss (exc)", "loss", profile.Exclusive},
		{"(exc)loss", "loss", profile.Exclusive},
		{"best(pty) (ms)", "best (ms)", profile.Property},
		{"(pty)", "", profile.Property},
	} {
		if name, kind := MetricName(c.raw); name != c.name || kind != c.kind {
			t.Errorf("%q is %q of kind %v, want %q of kind %v", c.raw, name, kind, c.name, c.kind)
		}
	}
}

func sizes[T comparable](c combinations[T]) int { return len(c.runs) + len(c.whole) + len(c.rest) }

// What is left of many combinations is stored once, and the number of each is still known.
func TestSetsOfASessionThatStays(t *testing.T) {
	s := NewSets()
	stays := s.NewTree(TreeOptions{})
	var launches, scopes []uint32
	for i := range 1000 {
		comes := s.NewTree(TreeOptions{Session: i + 1})
		launches = append(launches, s.Launch([]*Tree{stays, comes}))
		scopes = append(scopes, s.Scope([]int{0, i + 1}))
		s.Drop(comes)
		s.End(i + 1)
	}
	alone := s.Launch([]*Tree{stays})
	for i := range launches {
		if !s.Has(launches[i], stays) || len(s.trees(launches[i])) != 1 || !s.Sees(scopes[i], 0) || s.Sees(scopes[i], i+1) || launches[i] == alone {
			t.Fatalf("session %d: its launches reach %d trees", i+1, len(s.trees(launches[i])))
		}
	}
	if n := len(s.launch.whole) + len(s.launch.rest) + len(s.scope.whole) + len(s.scope.rest); n != 3 {
		t.Errorf("%d combinations are stored, want 3", n)
	}
	if n := len(s.launch.runs) + len(s.scope.runs); n != 3 {
		t.Errorf("their numbers form %d runs, want 3", n)
	}
	s.Drop(stays)
	s.End(0)
	if n := sizes(s.launch) + sizes(s.scope); n != 0 {
		t.Errorf("%d sets are left when everybody has left", n)
	}
}

func TestSets(t *testing.T) {
	s := NewSets()
	one, other := s.NewTree(TreeOptions{}), s.NewTree(TreeOptions{Session: 1})
	both, alone := s.Launch([]*Tree{one, other}), s.Launch([]*Tree{one})
	if s.Launch([]*Tree{one, other}) != both || both == alone || s.Launch(nil) != 0 {
		t.Error("sets of the same trees, and only those, have the same number")
	}
	s.Drop(one)
	if s.Has(both, one) || !s.Has(both, other) || s.Has(alone, one) {
		t.Error("a dropped tree is in its sets, or took another along")
	}
	ab, b := s.Scope([]int{0, 1}), s.Scope([]int{1})
	s.End(0)
	if s.Sees(ab, 0) || !s.Sees(ab, 1) || !s.Sees(b, 1) || !s.Sees(0, 1) {
		t.Error("a session that ended took another's scopes along")
	}
	s.Drop(other)
	s.End(1)
	if n := sizes(s.launch) + sizes(s.scope); n != 0 {
		t.Errorf("%d sets are left when everybody has left", n)
	}
	New(s)
	if again := s.Launch([]*Tree{s.NewTree(TreeOptions{})}); again <= b {
		t.Errorf("after a clear the number %d was given out again", again)
	}
}
