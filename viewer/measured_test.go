package viewer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// the metrics that the roofline of an H200 is measured with, by what they count
const (
	readBytes, writtenBytes = "dram__bytes_read.sum", "dram__bytes_write.sum"
	tensorOps               = "sm__ops_path_tensor_src_fp16.sum"
)

// count gives a kernel counters: bytes and flops of one of its launches, times so many measured ones. Negative amounts were not measured.
func count(n *profile.Node, launches int, bytes, flops float64) {
	if bytes < 0 && flops < 0 {
		return
	}
	n.Set(counters.Launches, profile.IntValue(int64(launches)))
	n.Set(counters.Time, profile.FloatValue(1000*float64(launches)))
	if bytes >= 0 {
		n.Set(readBytes, profile.FloatValue(bytes*float64(launches)*3/4))
		n.Set(writtenBytes, profile.FloatValue(bytes*float64(launches)/4))
	}
	if flops < 0 {
		return
	}
	set, err := counters.Set("roofline", "GH100")
	if err != nil {
		panic(err)
	}
	for _, m := range set[1:] {
		if !strings.HasPrefix(m, "dram") {
			n.Set(m, profile.FloatValue(0))
		}
	}
	n.Set(tensorOps, profile.FloatValue(flops*float64(launches)))
}

// TestMeasuredRooflineOfRandomTrees compares the roofline by counters with that of a profile that says the same in flops and bytes:
// its kernels, or the scopes that declare work around them, have what was measured and not what was declared.
func TestMeasuredRooflineOfRandomTrees(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 3))
	metrics := []string{"util", "coverage", "roof_time/s", "bound", "intensity", "flop/s", "byte/s", "attainable"}
	peaks := []string{"bytes=4T", "flops8=2P", "flops16=1P"}
	changed, whole, partly := 0, 0, 0
	for range 400 {
		p := randomWork(random)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			if profile.WorkOf(n.Name) == profile.KernelWork && n.Number("time (ns)") > 0 && random.IntN(4) > 0 {
				n.Set("count", profile.FloatValue(float64(6*(1+random.IntN(9)))))
				amounts := []float64{-1, float64(random.IntN(1_000_000)), float64(random.IntN(1_000_000))}
				count(n, 1+random.IntN(3), amounts[random.IntN(3)], amounts[random.IntN(3)])
			}
			return true
		})
		table, err := NewTable(p, Options{Metrics: metrics, BaseUnits: true, Peaks: peaks})
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprint(p.Root.Children)
		oracle := &profile.Profile{Root: clone(p.Root), Kinds: p.Kinds}
		moveWork(oracle.Root)
		say(oracle.Root)
		want, err := NewTable(withoutCounters(oracle), Options{Metrics: metrics, BaseUnits: true, Peaks: peaks})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(p.Root.Children) != before {
			t.Fatal("the profile was changed")
		}
		got, expected := slices.Collect(table.All()), map[string]*Row{}
		for r := range want.All() {
			expected[strings.Join(r.Path(), ">")] = r
		}
		for _, r := range got {
			w := expected[strings.Join(r.Path(), ">")]
			for i := range metrics {
				a, b := r.Values[i], missing
				if w != nil {
					b = w.Values[i]
				}
				if same := math.Abs(a-b) <= 1e-9*math.Abs(b) || math.IsNaN(a) == math.IsNaN(b) && math.IsNaN(a) || zero(a) == zero(b); !same {
					t.Fatalf("%s: %s is %g, want %g", strings.Join(r.Path(), " > "), metrics[i], a, b)
				}
				if w != nil && table.Text(r, i) != want.Text(w, i) {
					t.Fatalf("%s is bound by %q, want %q", strings.Join(r.Path(), " > "), table.Text(r, i), want.Text(w, i))
				}
			}
			switch {
			case r.Measured >= wholly:
				whole++
			case r.Measured > 0:
				partly++
			}
		}
		plain, err := NewTable(withoutCounters(p), Options{Metrics: metrics, BaseUnits: true, Peaks: peaks})
		if err != nil {
			t.Fatal(err)
		}
		said, err := NewTable(p, Options{Metrics: []string{"declared_util"}, BaseUnits: true, Peaks: peaks})
		if errors.Is(err, ErrUnknownMetric) && !slices.ContainsFunc(Metrics(p), func(m Metric) bool { return m.Name == "measured" }) {
			continue // nothing was measured
		}
		if err != nil {
			t.Fatal(err)
		}
		declared := map[string]float64{}
		for r := range said.All() {
			declared[strings.Join(r.Path(), ">")] = r.Values[0]
		}
		for r := range plain.All() {
			if got := declared[strings.Join(r.Path(), ">")]; math.Abs(got-r.Values[0]) > 1e-9*r.Values[0] || zero(got) != 0 != (zero(r.Values[0]) != 0) {
				t.Fatalf("%s: declared_util is %g, want %g", strings.Join(r.Path(), " > "), got, r.Values[0])
			}
		}
		if fmt.Sprint(plain.Root.Values) != fmt.Sprint(table.Root.Values) {
			changed++
		}
	}
	if changed < 200 || whole < 500 || partly < 200 {
		t.Errorf("counters changed %d of 400 rooflines; %d rows were measured, %d partly: the trees say too little", changed, whole, partly)
	}
}

func clone(n *profile.Node) *profile.Node {
	c := &profile.Node{Name: n.Name, Metrics: slices.Clone(n.Metrics)}
	for _, below := range n.Children {
		c.Children = append(c.Children, clone(below))
	}
	return c
}

func withoutCounters(p *profile.Profile) *profile.Profile {
	root := clone(p.Root)
	root.Walk(func(n *profile.Node, _ int) bool {
		n.Metrics = slices.DeleteFunc(n.Metrics, func(m profile.Metric) bool { return m.Name == counters.Launches })
		return true
	})
	return &profile.Profile{Root: root, Kinds: p.Kinds}
}

// say is the oracle: it writes measured work as declared, by recursion over the nodes.
func say(root *profile.Node) {
	declares := func(n *profile.Node) bool {
		return n.Number("bytes") > 0 || n.Number("flops8") > 0 || n.Number("flops16") > 0
	}
	var kernelsOf func(n, declarer *profile.Node, to map[*profile.Node][]*profile.Node)
	kernelsOf = func(n, declarer *profile.Node, to map[*profile.Node][]*profile.Node) {
		if declares(n) {
			declarer = n
		}
		if !strings.HasPrefix(n.Name, "<") && (n.Number("time (ns)") > 0 || n.Number(counters.Launches) > 0) {
			at := declarer
			if at == nil {
				at = n
			}
			to[at] = append(to[at], n)
		}
		for _, c := range n.Children {
			kernelsOf(c, declarer, to)
		}
	}
	targets := map[*profile.Node][]*profile.Node{}
	kernelsOf(root, nil, targets)
	maps.DeleteFunc(targets, func(at *profile.Node, _ []*profile.Node) bool { return isLined(at, declares) })
	for at, kernels := range targets {
		if k := kernels[0]; !declares(at) && (math.IsNaN(k.Number(tensorOps)) || math.IsNaN(k.Number(readBytes))) {
			continue // a half of its work
		}
		for _, dimension := range [][]string{{"bytes"}, {"flops8", "flops16"}} {
			sum, time, measured := 0.0, 0.0, 0.0
			for _, k := range kernels {
				v := k.Number(tensorOps)
				if dimension[0] == "bytes" {
					v = k.Number(readBytes) + k.Number(writtenBytes)
				}
				time += zero(k.Number("time (ns)"))
				if !math.IsNaN(v) {
					sum += v / k.Number(counters.Launches) * k.Number("count")
					measured += zero(k.Number("time (ns)"))
				}
			}
			if measured == 0 || measured < 0.99*time {
				continue
			}
			at.Metrics = slices.DeleteFunc(at.Metrics, func(m profile.Metric) bool { return slices.Contains(dimension, m.Name) })
			at.Set(dimension[len(dimension)-1], profile.FloatValue(sum))
		}
	}
}

// isLined says whether work is declared below a measured kernel, with no other measured one in between.
func isLined(kernel *profile.Node, declares func(*profile.Node) bool) bool {
	if math.IsNaN(kernel.Number(counters.Launches)) {
		return false
	}
	var below func(n *profile.Node) bool
	below = func(n *profile.Node) bool {
		for _, c := range n.Children {
			if declares(c) || math.IsNaN(c.Number(counters.Launches)) && below(c) {
				return true
			}
		}
		return false
	}
	return below(kernel)
}

// TestFiguresOfRows: totals are of all launches, shares are of sums, and the marks say what was measured.
func TestFiguresOfRows(t *testing.T) {
	p := tree(`step
  a time=3000 count=10 counted_launches=2 lts__t_sectors_lookup_hit.sum=90 lts__t_sectors.sum=100 dram__bytes_read.sum=400 dram__bytes_write.sum=100 sm__throughput.avg.pct_of_peak_sustained_elapsed=80
  b time=1000 count=1 counted_launches=1 lts__t_sectors_lookup_hit.sum=0 lts__t_sectors.sum=500 dram__bytes_read.sum=10 dram__bytes_write.sum=0 sm__throughput.avg.pct_of_peak_sustained_elapsed=95
  <memset> time=500 count=1 bytes=4
rest
  c time=4000 count=7
  d time=2000 count=4 counted_launches=4 lts__t_sectors_lookup_hit.sum=0 lts__t_sectors.sum=0 dram__bytes_read.sum=4000 dram__bytes_write.sum=8
`)
	p.Info = profile.Info{profile.InfoCounters: "set memory, 9 metrics in 5 passes: 7 launches of 3 kernels measured, in 1 s; left out: 7 launches, cooperative: c"}
	const mean = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
	metrics := []string{"dram_bytes/b", "l2_hit", "l2_hit/%", "lts__t_sector_hit_rate.pct", "dram_read/%", "dram__bytes_read.sum", mean, "measured"}
	table, err := NewTable(p, Options{Metrics: metrics, BaseUnits: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"~ROOT":    "6518.0 0.450 45.0 45.0 100.0 6010.0 45.000 0.600",
		"#step":    "2510.0 0.450 45.0 45.0 33.4 2010.0 45.000 1.000",
		"#a":       "2500.0 0.900 90.0 90.0 33.3 2000.0 40.000 1.000",
		"#b":       "10.0 0.000 0.0 0.0 0.2 10.0 95.000 1.000",
		"<memset>": "- - - - - - - -",
		"~rest":    "4008.0 - - - 66.6 4000.0 - 0.333",
		"c":        "- - - - - - - 0.000",
		"#d":       "4008.0 - - - 66.6 4000.0 - 1.000",
	}
	seen := 0
	for r := range table.All() {
		seen++
		var got []string
		for i, places := range []int{1, 3, 1, 1, 1, 1, 3, 3} {
			got = append(got, figures.Places(r.Values[i], places))
		}
		if w := want[r.Mark()+r.Name]; strings.Join(got, " ") != w {
			t.Errorf("%s: %s, want %q", r.Mark()+r.Name, strings.Join(got, " "), w)
		}
	}
	notes := strings.Join(table.Notes, "\n")
	for _, part := range []string{"# hardware counters measured the kernels of 4 rows, in 7 launches that stand for 15 launches of the same kernels", "~ and a part of those of 2 rows", "counters left out: 7 launches, cooperative: c"} {
		if !strings.Contains(notes, part) {
			t.Errorf("notes %q lack %q", notes, part)
		}
	}
	if seen != len(want) {
		t.Errorf("%d rows", seen)
	}
}

// TestCountersAreOffered: --list has the figures that the run measured and no others; a missing one says how it is measured, and so does any
// of a profile without counters.
func TestCountersAreOffered(t *testing.T) {
	with := tree("a time=30 count=2 bytes=100 counted_launches=1 dram__bytes_read.sum=40 dram__bytes_write.sum=30\n")
	without := tree("a time=30 count=2 bytes=100\n")
	offered := func(p *profile.Profile) (names []string) {
		for _, m := range Metrics(p) {
			names = append(names, m.Name)
		}
		return names
	}
	for _, name := range []string{"dram_read", "dram_write", "dram_bytes", "measured", "traffic_ratio", "dram__bytes_read.sum"} {
		if !slices.Contains(offered(with), name) || slices.Contains(offered(without), name) {
			t.Errorf("%s: with counters %v, without %v", name, offered(with), offered(without))
		}
	}
	if slices.Contains(offered(with), "l2_hit") {
		t.Error("l2_hit is offered and was not measured")
	}
	for name, p := range map[string]*profile.Profile{"l2_hit": with, "dram_read": without, "dram_bytes/%": without, "dram__bytes_read.sum": without} {
		_, err := NewTable(p, Options{Metrics: []string{name}})
		if err == nil || !strings.Contains(err.Error(), "-m counters:set=") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"dram_read/parsec", "measured/gb", "traffic_ratio/%"} {
		if _, err := NewTable(with, Options{Metrics: []string{name}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	table, err := NewTable(with, Options{Metrics: []string{"traffic_ratio"}})
	if err != nil || table.Root.Values[0] != 1.4 {
		t.Errorf("traffic_ratio: %v, %v", table, err)
	}
}

// TestPartlyMeasuredScopesKeepWhatTheyDeclare, and say so; kernels of which only bytes were measured have no util.
func TestPartlyMeasuredScopesKeepWhatTheyDeclare(t *testing.T) {
	p := tree("scope flops16=1e6 bytes=1e6\n  a time=1000 count=1\n  b time=1000 count=1\ncublas time=1000 count=3\nhalf time=1000 count=1\n")
	count(p.Root.Children[0].Children[0], 1, 8e6, -1)
	count(p.Root.Children[1], 1, 4e5, 1e7)
	count(p.Root.Children[2], 1, 4e5, -1)
	table, err := NewTable(p, Options{Metrics: []string{"util", "bound"}, BaseUnits: true, Peaks: []string{"bytes=4T", "flops16=1P"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := range table.All() {
		got[r.Name] = r.Mark() + " " + figures.Places(r.Values[0], 3) + " " + table.Text(r, 1)
	}
	for name, want := range map[string]string{"scope": "~ 0.125 memory", "cublas": "# 0.300 memory", "b": " - ", "half": "# - "} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for _, part := range []string{"util has what 1 scope has declared", "measured bytes or flops of 1 kernel, not both"} {
		if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, part) {
			t.Errorf("notes %q lack %q", notes, part)
		}
	}
}

// TestMeasuredBytesAreNotEstimates: where hardware counters measured what an operator's shapes said, there is no note.
func TestMeasuredBytesAreNotEstimates(t *testing.T) {
	p := tree("aten::mm bytes=3e6 operator_bytes=3e6 flops16=1e6 operator_flops16=1e6\n  gemm time=1000 count=2\naten::add bytes=1e6 operator_bytes=1e6\n  add time=1000 count=2\n")
	for _, measured := range []bool{false, true} {
		want := "100.0% of the bytes are estimates"
		if measured {
			want = ""
			for _, scope := range p.Root.Children {
				count(scope.Children[0], 1, 2e6, 1e6)
			}
		}
		table, err := NewTable(p, Options{Metrics: []string{"util"}, BaseUnits: true, Peaks: []string{"bytes=4T", "flops16=1P"}})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(table.Notes, " "); strings.Contains(notes, "estimates") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("measured %v: notes %q", measured, notes)
		}
	}
}
