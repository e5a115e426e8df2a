package viewer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// TestUnknownWorkIsNotIdle: a fill of 3 µs says nothing of the matmuls around it, and copies over a link are not held
// against the memory of the GPU.
func TestUnknownWorkIsNotIdle(t *testing.T) {
	p := tree("train\n  gemm time=997000 count=10\n  X time=3000 count=1 bytes=4\ncopies\n  Y time=5000 count=1 bytes=1e6\n  Z time=1000 count=1 bytes=2e6\n")
	p.Root.Children[0].Children[1].Name = "<memset>"
	p.Root.Children[1].Children[0].Name = "<memcpy HtoD>"
	p.Root.Children[1].Children[1].Name = "<memcpy DtoD>"
	table, err := NewTable(p, Options{Metrics: []string{"util", "coverage", "bound"}, BaseUnits: true, Peaks: []string{"bytes=4T"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{ // a copy within the GPU reads and writes: 2 × 2 MB at 4 TB/s take 1 µs
		"ROOT": {"-", "0.004", ""}, "train": {"-", "0.003", ""}, "gemm": {"-", "0.000", ""}, "<memset>": {"0.000", "1.000", "memory"},
		"copies": {"-", "0.167", ""}, "<memcpy HtoD>": {"-", "0.000", ""}, "<memcpy DtoD>": {"1.000", "1.000", "memory"},
	}
	seen := 0
	for r := range table.All() {
		seen++
		got := []string{figures.Places(r.Values[0], 3), figures.Places(r.Values[1], 3), table.Text(r, 2)}
		if w := want[r.Name]; fmt.Sprint(got) != fmt.Sprint(w) {
			t.Errorf("%s: util, coverage and bound are %q, want %q", r.Name, got, w)
		}
	}
	if notes := strings.Join(table.Notes, "\n"); seen != len(want) || !strings.Contains(notes, "of only 0.4% of the time are known") {
		t.Errorf("%d rows, notes %q", seen, notes)
	}
}

// TestRooflineOfRandomTrees computes the roofline a second time, by recursion over the nodes instead of sums of columns.
func TestRooflineOfRandomTrees(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 2))
	const bandwidth, fp8, fp16 = 4e12, 2e15, 1e15
	for range 300 {
		p := randomWork(random)
		table, err := NewTable(p, Options{Metrics: []string{"util", "coverage", "roof_time/s", "bound", "intensity"}, BaseUnits: true,
			Peaks: []string{"bytes=4T", "flops8=2P", "flops16=1P"}})
		if err != nil {
			t.Fatal(err)
		}
		moveWork(p.Root)
		for r := range table.All() {
			said := false
			for up := r.Parent; up != nil; up = up.Parent {
				said = said || leastOf(up.Node, bandwidth, fp8, fp16) > 0
			}
			s := sumBelow(r.Node, said, bandwidth, fp8, fp16)
			util, bound, intensity := math.NaN(), "", s.flops/s.bytes
			if s.known >= s.time/2 && s.least > 0 { // where there is no time there is no util, but a bound
				util, bound = s.least/s.known, "compute"
				if s.memory > s.compute {
					bound = "memory"
				}
			}
			if s.time == 0 {
				util = math.NaN()
			}
			if s.flops == 0 || s.bytes == 0 {
				intensity = math.NaN()
			}
			for i, want := range []float64{util, s.known / s.time, s.least} {
				if want == 0 { // nothing of it
					want = math.NaN()
				}
				if got := r.Values[i]; math.Abs(got-want) > 1e-12*math.Abs(want) && !(got == 0 && math.IsNaN(want)) || math.IsNaN(got) != math.IsNaN(want) && got != 0 {
					t.Fatalf("%s: %s is %g, want %g", strings.Join(r.Path(), " > "), table.Columns[i].Name, got, want)
				}
			}
			if got := table.Text(r, 3); got != bound {
				t.Fatalf("%s is bound by %q, want %q", strings.Join(r.Path(), " > "), got, bound)
			}
			if got := r.Values[4]; s.flops > 0 && s.bytes > 0 && math.Abs(got-intensity) > 1e-12*intensity {
				t.Fatalf("%s: intensity is %g, want %g", strings.Join(r.Path(), " > "), got, intensity)
			}
		}
	}
}

// moveWork moves flops and bytes of a frame to the only kernel below it, where nothing else below the frame has any.
func moveWork(n *profile.Node) {
	var timed, working []*profile.Node
	n.Walk(func(at *profile.Node, _ int) bool {
		if at.Number("time (ns)") > 0 {
			timed = append(timed, at)
		}
		if at.Number("flops8") > 0 || at.Number("flops16") > 0 || at.Number("bytes") > 0 {
			working = append(working, at)
		}
		return true
	})
	if len(timed) == 1 && len(working) == 1 && working[0] == n && timed[0] != n && !strings.HasPrefix(timed[0].Name, "<memcpy") {
		var kept []profile.Metric
		for _, m := range n.Metrics {
			if strings.HasPrefix(m.Name, "flops") || m.Name == "bytes" {
				timed[0].Metrics = append(timed[0].Metrics, m)
			} else {
				kept = append(kept, m)
			}
		}
		n.Metrics = kept
	}
	for _, c := range n.Children {
		moveWork(c)
	}
}

// worked are the sums of a subtree.
type worked struct{ time, known, least, compute, memory, flops, bytes float64 }

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

func leastOf(n *profile.Node, bandwidth, fp8, fp16 float64) float64 {
	compute := zero(n.Number("flops8"))/fp8 + zero(n.Number("flops16"))/fp16
	return max(compute, trafficOf(n)/bandwidth)
}

func trafficOf(n *profile.Node) float64 {
	bytes := n.Number("bytes")
	switch {
	case math.IsNaN(bytes), strings.HasPrefix(n.Name, "<memcpy HtoD"):
		return 0
	case strings.HasPrefix(n.Name, "<memcpy DtoD"):
		return bytes + bytes
	}
	return bytes
}

func sumBelow(n *profile.Node, said bool, bandwidth, fp8, fp16 float64) (s worked) {
	flops8, flops16, time := zero(n.Number("flops8")), zero(n.Number("flops16")), zero(n.Number("time (ns)"))/1e9
	s = worked{time: time, least: leastOf(n, bandwidth, fp8, fp16), compute: flops8/fp8 + flops16/fp16, memory: trafficOf(n) / bandwidth,
		flops: flops8 + flops16, bytes: trafficOf(n)}
	if said = said || s.least > 0; said {
		s.known = time
	}
	for _, c := range n.Children {
		b := sumBelow(c, said, bandwidth, fp8, fp16)
		s.time, s.known, s.least, s.compute, s.memory = s.time+b.time, s.known+b.known, s.least+b.least, s.compute+b.compute, s.memory+b.memory
		s.flops, s.bytes = s.flops+b.flops, s.bytes+b.bytes
	}
	return s
}

// randomWork is a tree in which kernels, scopes and copies say all, some or nothing of their work.
func randomWork(random *rand.Rand) *profile.Profile {
	p := tree("first time=10 flops8=1 flops16=1 bytes=1\n")
	all := []*profile.Node{p.Root}
	for i := range 5 + random.IntN(20) {
		n := &profile.Node{Name: []string{"gemm", "norm", "scope", "<memcpy HtoD>", "<memcpy DtoD>"}[random.IntN(5)] + fmt.Sprint(i)}
		for m, chance := range []int{4, 1, 2, 2} { // in this order: a seed has one tree
			if random.IntN(5) < chance {
				n.Set([]string{"time (ns)", "flops8", "flops16", "bytes"}[m], profile.FloatValue(float64(1+random.IntN(1_000_000))))
			}
		}
		up := all[random.IntN(len(all))]
		up.Children = append(up.Children, n)
		all = append(all, n)
	}
	return p
}

// TestCPUTimeOfScopes: a scope that was not timed has the time of those within it; one that was includes theirs.
func TestCPUTimeOfScopes(t *testing.T) {
	p := tree("epoch\n  load cpu=300\n  train cpu=1000\n    step cpu=400\n    wait\n      sync cpu=100\n  save cpu=200\n    threads cpu=900\n")
	rename := func(n *profile.Node) {
		if v, ok := n.Metric("cpu"); ok {
			n.Metrics = nil
			n.Set("cpu_time (ns)", v)
		}
	}
	p.Root.Walk(func(n *profile.Node, _ int) bool { rename(n); return true })
	for _, c := range []struct {
		by   Grouping
		want string
	}{
		{ByPath, "ROOT 1500 epoch 1500 load 300/300 train 1000/500 step 400/400 wait 100 sync 100/100 save 200/0 threads 900/900"},
		{ByName, "ROOT 1500 epoch 1500 load 300/300 train 1000/500 step 400/400 wait 100 sync 100/100 save 200/0 threads 900/900"},
	} {
		table, err := NewTable(p, Options{Metrics: []string{"cpu_time/ns"}, BaseUnits: true, Group: c.by})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := range table.All() {
			text := fmt.Sprintf("%s %.0f", r.Name, r.Values[0])
			if own := r.Own[0]; !math.IsNaN(own) {
				text += fmt.Sprintf("/%.0f", own)
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, " "), c.want)
		}
		if math.Round(table.Total[0]) != 1500 {
			t.Errorf("the whole program took %g ns", table.Total[0])
		}
	}
}

// TestColourIsThatOfTheShare: a column of ratios has no colour of shares, so that a good kernel is not green by chance.
func TestColourIsThatOfTheShare(t *testing.T) {
	p := tree("small time=100 flops16=9e7 bytes=1\nlarge time=900 flops16=9e7 bytes=1\n")
	var b strings.Builder
	if _, err := Render(&b, p, "tree", Options{Metrics: []string{"util", "time"}, Peaks: []string{"flops16=1P", "bytes=1T"}}, Terminal{Color: true}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "large") || strings.Contains(line, "small") {
			if util, _, _ := strings.Cut(line, "  "); strings.Contains(util, "\x1b") {
				t.Errorf("util is coloured by the share of time: %q", line)
			}
			if !strings.Contains(line, "\x1b[38;5;") {
				t.Errorf("the time is not coloured: %q", line)
			}
		}
	}
}

// TestNoFlopsNoWarning: a profile whose work is all memory says nothing about the type of flops that it does not have.
func TestNoFlopsNoWarning(t *testing.T) {
	for flops, warned := range map[string]bool{"0": false, "5": true} {
		table, err := NewTable(tree("copy time=10 bytes=40 flops="+flops), Options{Metrics: []string{"util"}, Peaks: []string{"bytes=4G"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(table.Notes, " "), "type of their operands"); got != warned {
			t.Errorf("flops=%s: %q", flops, table.Notes)
		}
	}
}

// TestScopesNextToTheirKernels: with Python call paths, scopes with bytes and the kernels that they are of are different branches.
func TestScopesNextToTheirKernels(t *testing.T) {
	const says = "no kernel is below a frame with flops or bytes"
	for text, want := range map[string]bool{
		"a.py:1@main\n  gemm time=1000 count=1\n  scope bytes=1e6\n":   true,
		"a.py:1@main\n  scope bytes=1e6\n    gemm time=1000 count=1\n": false,
	} {
		table, err := NewTable(tree(text), Options{Metrics: []string{"util"}, BaseUnits: true, Peaks: []string{"bytes=4T"}})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(table.Notes, "\n"); strings.Contains(notes, says) != want {
			t.Errorf("%s: notes %q", text, notes)
		}
	}
}

// TestUtilAboveOneIsExplained: flops of a scope and of its kernel are one work that counts twice, and work of a lost launch has no time.
func TestUtilAboveOneIsExplained(t *testing.T) {
	const twice, lost = "util is above 1 in 3 rows, at most 1.012 of step: flops or bytes count twice", "the profiler lost 1 record of launches and scopes, so that kernels stand below <unattributed>, and 2 records of kernels or copies, which are missing; flops"
	for text, want := range map[string][]string{
		"train\n  step flops16=506\n    gemm time=1000 count=1 flops16=506\n":                                         {twice},
		"train\n  step\n    gemm time=1000 count=1 flops16=1004\n":                                                    nil,
		"train\n  step\n    gemm time=1000 count=1 flops16=506\n<unattributed> lost_records=1 dropped_activities=2\n": {lost},
	} {
		table, err := NewTable(tree(text), Options{Metrics: []string{"util"}, BaseUnits: true, Peaks: []string{"flops16=1G"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Notes) != len(want) || len(want) > 0 && !strings.HasPrefix(table.Notes[0], want[0]) {
			t.Errorf("%s: notes %q, want %q", text, table.Notes, want)
		}
	}
}

// TestScopeCountsOnItsBusiestGPU: the amounts of a scope count on the GPU that worked longest below it, in whatever order the kernels
// come, and a scope below which nothing ran counts on the GPU of its caller.
func TestScopeCountsOnItsBusiestGPU(t *testing.T) {
	const large, small = "    gemm time=9e6 count=1 device_id='0' device_type='CUDA'\n", "    cast time=1e3 count=1 device_id='1' device_type='CUDA'\n"
	for _, kernels := range []string{large + small, small + large} {
		p := tree("train\n  step flops16=5e11\n" + kernels + "  plan flops16=1e9\n")
		p.Devices = []profile.Device{
			{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132, ClockRate: 1_980_000}, {Type: "CUDA", ID: "1", Arch: "75", NumSMs: 40, ClockRate: 1_590_000},
		}
		table, err := NewTable(p, Options{Metrics: []string{"util", "roof_time/us"}, BaseUnits: true})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for r := range table.All() {
			got[r.Name] = figures.Places(r.Values[0], 3) + " " + figures.Places(r.Values[1], 2)
		}
		if got["step"] != "0.056 505.95" || got["plan"] != "- 1.01" { // 988.2 Tflop/s
			t.Errorf("util and µs at the roof are %q", got)
		}
	}
}

// TestLinesOfKernels: the least time of a kernel is that of the sums of its lines, which overlap; kernels do not.
func TestLinesOfKernels(t *testing.T) {
	p := tree("scope\n  k count=1\n    a.py:1 bytes=4e6\n    a.py:2 flops16=3e6\n      b.py:7 flops16=1e6 bytes=1e6\n    a.py:3 \n  m count=2 flops16=2e6\n    a.py:9 flops_bf16=5\n")
	table, err := NewTable(p, Options{Metrics: []string{"roof_time/us", "bound", "attainable"}, BaseUnits: true, Peaks: []string{"bytes=1T", "flops16=1T"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"ROOT": {"5.0", "memory"}, "scope": {"5.0", "memory"}, "k": {"5.0", "memory"}, "a.py:1": {"4.0", "memory"}, "a.py:2": {"4.0", "compute"}, "b.py:7": {"1.0", "compute"},
		"m": {"-", ""}, "a.py:9": {"-", ""},
	}
	seen := 0
	for r := range table.All() {
		seen++
		if got, w := []string{figures.Places(r.Values[0], 1), table.Text(r, 1)}, want[r.Name]; fmt.Sprint(got) != fmt.Sprint(w) {
			t.Errorf("%s: %q, want %q", r.Name, got, w)
		}
	}
	if seen != len(want) {
		t.Errorf("%d rows", seen)
	}
}
