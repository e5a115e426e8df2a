package counters

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// node makes a node of a window: name, GPU or "", metrics by name, children.
func node(name, gpu string, metrics map[string]int64, children ...*profile.Node) *profile.Node {
	n := &profile.Node{Name: name, Children: children}
	if gpu != "" {
		n.Set(profile.DeviceIDMetric, profile.StringValue(gpu))
	}
	for metric, v := range metrics {
		n.Set(metric, profile.IntValue(v))
	}
	return n
}

func window(children ...*profile.Node) *profile.Profile {
	return &profile.Profile{Root: node("ROOT", "", nil, children...)}
}

func ran(nanos, launches int64) map[string]int64 {
	return map[string]int64{profile.TimeMetric: nanos, profile.CountMetric: launches}
}

func TestSumsByGPUScopeAndWork(t *testing.T) {
	s := NewSums(MostScopes)
	copied := ran(5, 1)
	copied[profile.BytesMetric] = 4096
	said := map[string]int64{"flops": 100, profile.BytesMetric: 8}
	sampled := ran(7, 1)
	sampled[profile.SamplesMetric] = 3
	s.Add(window(
		node("train", "", nil,
			node("forward", "", said, node("k", "0", ran(10, 2)), node("k", "1", ran(20, 1))), // of two GPUs: what is said is of neither
			node("backward", "", said, node("k", "1", sampled)),
			node("<memcpy HtoD>", "1", copied), node("<memset>", "1", ran(1, 1))),
		node("k", "0", ran(2, 2)),
	))
	s.Add(window(node("train", "", nil, node("k", "0", ran(1, 1)))))
	want := []Row{
		{Scope: "train", Work: "kernel", Bytes: 8, Flops: 100},
		{GPU: "0", Scope: "(none)", Work: "kernel", Nanos: 2, Launches: 2},
		{GPU: "0", Scope: "train", Work: "kernel", Nanos: 11, Launches: 3},
		{GPU: "1", Scope: "train", Work: "copy", Nanos: 5, Launches: 1, Bytes: 4096},
		{GPU: "1", Scope: "train", Work: "fill", Nanos: 1, Launches: 1},
		{GPU: "1", Scope: "train", Work: "kernel", Nanos: 27, Launches: 2, Samples: 3, Bytes: 8, Flops: 100},
	}
	if got := s.Rows(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A scope that has a row keeps it. What comes later is Other, and nothing is lost.
func TestScopesHaveALimit(t *testing.T) {
	s := NewSums(3)
	for round := range 2 {
		for i := range 50 {
			s.Add(window(node(fmt.Sprint("scope", (i+round*7)%50), "", nil, node("k", "0", ran(1, 1)))))
		}
	}
	got := map[string]uint64{}
	for _, r := range s.Rows() {
		got[r.Scope] = r.Launches
	}
	if want := map[string]uint64{Other: 94, "scope0": 2, "scope1": 2, "scope2": 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	none := NewSums(0)
	none.Add(window(node("scope", "", nil, node("k", "0", ran(1, 1)))))
	if rows := none.Rows(); len(rows) != 1 || rows[0].Scope != Other {
		t.Errorf("without scopes: %+v", rows)
	}
}

// Names that are the same as labels have one row.
func TestScopesAreLabels(t *testing.T) {
	s := NewSums(MostScopes)
	long := strings.Repeat("ä", 5000)
	for _, name := range []string{"a\x00b", "a\nb", "a b", "", long, long + "x"} {
		s.Add(window(node(name, "", nil, node("k", "0", ran(1, 1)))))
	}
	var got []string
	for _, r := range s.Rows() {
		got = append(got, fmt.Sprint(r.Scope, r.Launches))
	}
	if want := []string{"(none)1", "a b3", strings.Repeat("ä", 98) + "…2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFilesOfCounters(t *testing.T) {
	folder := t.TempDir()
	path, other := NewFile(folder), NewFile(folder)
	if path == other {
		t.Fatal("two files have one name")
	}
	want := State{PID: 12, Host: "h", Rank: "3", Rows: []Row{{GPU: "0", Scope: "a", Work: "kernel", Nanos: 1 << 63, Flops: 1e30}}, Dropped: 2}
	for range 2 {
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(folder)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if got, err := Read(files[0]); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Files(folder + "/gone"); err == nil {
		t.Error("a folder that is gone has files")
	}
}
