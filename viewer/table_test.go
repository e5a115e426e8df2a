package viewer

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

func load(t testing.TB, name string) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile(filepath.Join("testdata/profiles", name+".hatchet"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sketch prints a table in a form for tests: a line per row, indented by depth.
func sketch(t *Table) string {
	var b strings.Builder
	for r := range t.All() {
		fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", r.Depth), r.Name)
		for i, c := range t.Columns {
			if c.Text {
				fmt.Fprintf(&b, " %s=%s", c.Label, t.Text(r, i))
				continue
			}
			fmt.Fprintf(&b, " %s=%.4g%s", c.Label, r.Values[i], c.Unit)
			if r.Own[i] != r.Values[i] && !math.IsNaN(r.Own[i]) {
				fmt.Fprintf(&b, "(own %.4g)", r.Own[i])
			}
		}
		if len(r.Hidden) > 0 {
			fmt.Fprintf(&b, " +%d", len(r.Hidden))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// tree builds a profile of lines such as "  gemm time=5 count=1", indented by two blanks a level. Times are in ns.
func tree(lines string) *profile.Profile {
	root := &profile.Node{Name: "ROOT"}
	path := []*profile.Node{root}
	for line := range strings.Lines(lines) {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		words := strings.Fields(text)
		n := &profile.Node{Name: words[0]}
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			if name == "time" {
				name = "time (ns)"
			}
			var v float64
			if _, err := fmt.Sscan(value, &v); err != nil {
				n.Set(name, profile.StringValue(strings.Trim(value, "'")))
				continue
			}
			n.Set(name, profile.FloatValue(v))
		}
		up := path[depth]
		up.Children = append(up.Children, n)
		path = append(path[:depth+1], n)
	}
	return &profile.Profile{Root: root, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive}}
}

const network = `
forward
  attention
    gemm time=60 count=2
    softmax time=20 count=1
  mlp
    gemm time=100 count=2
backward
  attention
    gemm time=120 count=2 note=slow
  <clear> time=700 count=1
`

type tableTest struct {
	name string
	o    Options
	want string
}

func (test *tableTest) run(t *testing.T, text string) {
	t.Helper()
	table, err := NewTable(tree(text), test.o)
	if err != nil {
		t.Errorf("%s: %v", test.name, err)
		return
	}
	want := strings.ReplaceAll(test.want, "\t", "")[1:] + "\n"
	if got := sketch(table); got != want {
		t.Errorf("%s: got\n%swant\n%s", test.name, got, want)
	}
}

func TestTables(t *testing.T) {
	time := []string{"time"}
	tests := []tableTest{
		{"everything", Options{}, `
			ROOT time=1000ns
			 forward time=180ns
			  attention time=80ns
			   gemm time=60ns
			   softmax time=20ns
			  mlp time=100ns
			   gemm time=100ns
			 backward time=820ns
			  attention time=120ns
			   gemm time=120ns
			  <clear> time=700ns`},
		{"ratios derive from sums", Options{Metrics: []string{"avg_time", "time/%", "note"}, Exclude: "backward"}, `
			ROOT avg_time=36ns time=18% note=
			 forward avg_time=36ns time=18% note=
			  attention avg_time=26.67ns time=8% note=
			   gemm avg_time=30ns time=6% note=
			   softmax avg_time=20ns time=2% note=
			  mlp avg_time=50ns time=10% note=
			   gemm avg_time=50ns time=10% note=`},
		{"include", Options{Metrics: time, Include: "soft"}, `
			ROOT time=20ns
			 forward time=20ns
			  attention time=20ns
			   softmax time=20ns`},
		{"focus", Options{Metrics: time, Focus: "attention"}, `
			ROOT time=200ns
			 attention time=200ns
			  gemm time=180ns
			  softmax time=20ns`},
		{"trim", Options{Metrics: time, Trim: "ward"}, `
			ROOT time=1000ns
			 forward time=180ns
			 backward time=820ns`},
		{"hide", Options{Metrics: time, Hide: "ward"}, `
			ROOT time=1000ns
			 attention time=200ns
			  gemm time=180ns
			  softmax time=20ns
			 mlp time=100ns
			  gemm time=100ns
			 <clear> time=700ns`},
		{"threshold", Options{Metrics: time, Threshold: 100}, `
			ROOT time=1000ns
			 forward time=180ns +1
			  mlp time=100ns
			   gemm time=100ns
			 backward time=820ns
			  attention time=120ns
			   gemm time=120ns
			  <clear> time=700ns`},
		{"depth and sort", Options{Metrics: time, Depth: 3, Sort: "time"}, `
			ROOT time=1000ns
			 backward time=820ns
			  <clear> time=700ns
			  attention time=120ns +1
			 forward time=180ns
			  mlp time=100ns +1
			  attention time=80ns +2`},
	}
	for _, test := range tests {
		test.run(t, network)
	}
}

// A recorded number can be had in each unit of its quantity, whatever it is called, and a wrong unit is named.
func TestRecordedUnits(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for name, v := range map[string]float64{"idle (ns)": 2.5e6, "wait@rank3 (ms)": 40, "inuse (bytes)": 3e6, "energy (J)": 7} {
		root.Set(name, profile.FloatValue(v))
	}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{}}
	table, err := NewTable(p, Options{Metrics: []string{"idle/ms", "idle/us", "idle", "idle/%", "wait@rank3/s", "inuse/mb"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sketch(table), "ROOT idle=2.5ms idle=2500us idle=2.5e+06ns idle=100% wait@rank3=0.04s inuse=3MB\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
	for name, want := range map[string]string{"idle/mb": "idle/mb: unknown unit; use ns, us, ms, s", "energy/mj": `unknown unit "mj" of energy`} {
		if _, err := NewTable(p, Options{Metrics: []string{name}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want …%s…", name, err, want)
		}
	}
}

// The root has no value of a metric of the frames themselves: a share is of their sum, and the largest is one of them.
func TestThresholdOfOwnMetrics(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for name, v := range map[string]float64{"a": 90, "b": 10} {
		n := &profile.Node{Name: name}
		n.Set("idle (ns)", profile.FloatValue(v))
		root.Children = append(root.Children, n)
	}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{"idle (ns)": profile.Exclusive}}
	table, err := NewTable(p, Options{Metrics: []string{"idle"}, Threshold: 0.2, ThresholdUnit: "%"})
	if err != nil || len(table.Root.Children) != 1 || table.Root.Children[0].Name != "a" {
		t.Errorf("20%% of it: %v", err)
	}
	if _, err = NewTable(p, Options{Metrics: []string{"idle"}, Threshold: 91}); err == nil || !strings.Contains(err.Error(), "the largest has 90.00 ns") {
		t.Errorf("more than all have: %v", err)
	}
}

const recursive = `
main
  fib time=1 count=1
    fib time=2 count=1
      add time=5 count=1
    add time=7 count=1
other
  add time=10 count=1 tag=x
`

func TestGroupings(t *testing.T) {
	tests := []tableTest{
		{"by name, recursion once", Options{Group: ByName}, `
			ROOT time=25ns
			 main time=15ns
			 fib time=15ns(own 3)
			 add time=22ns
			 other time=10ns`},
		{"by caller", Options{Group: ByCaller}, `
			ROOT time=25ns
			 fib time=3ns
			  main time=1ns
			  fib time=2ns
			   main time=2ns
			 add time=22ns
			  fib time=12ns
			   fib time=5ns
			    main time=5ns
			   main time=7ns
			  other time=10ns`},
		{"by name after a filter", Options{Group: ByName, Exclude: "other", Sort: "time", Metrics: []string{"time", "avg_time", "count"}}, `
			ROOT time=15ns avg_time=3.75ns count=4
			 main time=15ns avg_time=3.75ns count=4
			 fib time=15ns(own 3) avg_time=3.75ns(own 1.5) count=4(own 2)
			 add time=12ns avg_time=6ns count=2`},
	}
	for _, test := range tests {
		test.run(t, recursive)
	}
}

// The root has all of the program in every column, however the rows are grouped: bytes of a row without time count for it, too.
func TestGroupingsHaveTheSameRoot(t *testing.T) {
	p := tree("main bytes=5 count=2\n  gemm time=10 count=1 bytes=7\nload bytes=100 count=1")
	o := Options{Metrics: []string{"time/ns", "bytes/b", "count", "avg_time/ns", "byte/s"}, BaseUnits: true}
	var want []float64
	for _, group := range []Grouping{ByPath, ByName, ByCaller} {
		o.Group = group
		table, err := NewTable(p, o)
		if err != nil {
			t.Fatal(err)
		}
		if group == ByPath {
			want = table.Root.Values
		}
		if got := table.Root.Values; want[1] != 112 || !slices.Equal(got, want) {
			t.Errorf("grouping %d: the root has %v, want %v", group, got, want)
		}
	}
}
