package fleet

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// run is a profile of one rank whose attention takes so many ns.
func run(rank int, attention int64) *profile.Profile {
	leaf := func(name string, v int64) *profile.Node {
		n := &profile.Node{Name: name}
		n.Set(profile.TimeMetric, profile.IntValue(v))
		return n
	}
	forward := &profile.Node{Name: "forward", Children: []*profile.Node{leaf("gemm", 500), leaf("attention", attention), leaf("gemm", 300)}}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{forward, leaf("backward", 1000)}},
		Info: profile.Info{profile.InfoRank: strconv.Itoa(rank), profile.InfoStart: "1000", profile.InfoJob: "train"}}
}

func TestTheSlowRankAndWhere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := New(Query{Top: 3})
	var files []*profile.Profile
	var totals []float64
	for rank := range 41 {
		attention := 900 + r.Int64N(20)
		if rank == 17 {
			attention += 600
		}
		p := run(rank, attention)
		files, totals = append(files, p), append(totals, float64(1800+attention))
		f.Add(p, strconv.Itoa(rank), "a")
	}
	again, median := f.Outliers()
	if len(again) != 1 || !again["17"] {
		t.Fatalf("the outliers are %v", again)
	}
	f.AddAgain(files[17], "17")
	report := f.Report(median)
	slices.Sort(totals)
	if median != totals[20] || report.Profiles != 41 || report.Ranks[0].Rank != "17" || !report.Ranks[0].Outlier || report.Ranks[1].Outlier {
		t.Errorf("median %g, want %g; first %+v", median, totals[20], report.Ranks[0])
	}
	where := report.Ranks[0].Where
	if where == nil || !slices.Equal(where.Path, []string{"forward", "attention"}) || where.Value < 1500 {
		t.Errorf("rank 17 differs at %+v", where)
	}
	if top := report.Frames[0]; !slices.Equal(report.PathOf(top), []string{"backward"}) || top.Value != 41_000 || len(report.Frames) != 3 {
		t.Errorf("the largest frames are %+v", report.Frames)
	}
	for _, frame := range report.Frames {
		if slices.Equal(report.PathOf(frame), []string{"forward", "gemm"}) && frame.Value != 41*800 {
			t.Errorf("frames of one path add up to %g", frame.Value)
		}
	}
}

func TestEqualRanksHaveNoOutlier(t *testing.T) {
	f := New(Query{Top: 3})
	for rank := range 8 {
		f.Add(run(rank, 900), strconv.Itoa(rank), "")
	}
	if again, _ := f.Outliers(); len(again) != 0 {
		t.Errorf("outliers %v of equal ranks", again)
	}
	f.Add(run(8, 2000), "8", "")
	if again, _ := f.Outliers(); len(again) != 1 || !again["8"] {
		t.Errorf("outliers %v, want the one that differs from equal ranks", again)
	}
	for _, r := range f.ranks {
		if math.IsNaN(r.Score) || math.IsInf(r.Score, 0) {
			t.Errorf("rank %s has the score %g", r.Rank, r.Score)
		}
	}
}

// TestMemoryIsOfThePaths: what is kept does not grow with the number of profiles, but by one entry per rank.
func TestMemoryIsOfThePaths(t *testing.T) {
	f := New(Query{Top: 3})
	for i := range 1000 {
		f.Add(run(i%10, int64(900+i)), fmt.Sprint(i%10), "")
	}
	if len(f.paths.ids) != 4 || len(f.ranks) != 10 || f.profiles != 1000 {
		t.Errorf("%d paths, %d ranks of %d profiles", len(f.paths.ids), len(f.ranks), f.profiles)
	}
}

// The text names frames as the viewer does. It has no row for zeros at the root of a file; other values there are the program's.
func TestTextOfFrames(t *testing.T) {
	for _, c := range []struct {
		root int64
		want string
	}{
		{0, "        time  call path\n    1.000 us  backward\n    1.000 us  vectorized_add<float, 4> < forward\n"},
		{5000, "        time  call path\n    5.000 us  the whole program\n    1.000 us  backward\n    1.000 us  vectorized_add<float, 4> < forward\n"},
	} {
		p := run(0, 0)
		p.Root.Set(profile.TimeMetric, profile.IntValue(c.root))
		p.Root.Children[0].Children = p.Root.Children[0].Children[:1]
		gemm := p.Root.Children[0].Children[0]
		gemm.Name = "_Z14vectorized_addIfLi4EEvPT_"
		gemm.Set(profile.TimeMetric, profile.IntValue(1000))
		f := New(Query{Top: 9, Metric: profile.TimeMetric})
		f.Add(p, "0", "a")
		_, median := f.Outliers()
		var out strings.Builder
		if err := f.Report(median).Write(&out, 9, 80); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), "\n"+c.want) {
			t.Errorf("root %d: got\n%swant at the end\n%s", c.root, out.String(), c.want)
		}
	}
}

// A straggler whose peers wait for it inside kernels has the total of its peers. Without these kernels it is an outlier.
func TestStragglerWhosePeersWait(t *testing.T) {
	totals := func(exclude *regexp.Regexp) map[string]bool {
		f := New(Query{Top: 3, Exclude: exclude})
		for rank := range 8 {
			attention := int64(900)
			if rank == 5 {
				attention = 1500
			}
			p := run(rank, attention)
			wait := &profile.Node{Name: "ncclDevKernel_AllReduce"}
			wait.Set(profile.TimeMetric, profile.IntValue(1600-attention))
			p.Root.Children[0].Children = append(p.Root.Children[0].Children, wait)
			f.Add(p, strconv.Itoa(rank), "")
		}
		outliers, _ := f.Outliers()
		return outliers
	}
	if all := totals(nil); len(all) != 0 {
		t.Errorf("with the time of waiting, outliers %v", all)
	}
	for _, pattern := range []string{"(?i)nccl", "^nccl.*AllReduce$"} {
		if without := totals(regexp.MustCompile(pattern)); len(without) != 1 || !without["5"] {
			t.Errorf("without %s, outliers %v", pattern, without)
		}
	}
	if nothing := totals(regexp.MustCompile("^forward$")); len(nothing) != 0 {
		t.Errorf("without all that is below the scope, outliers %v", nothing)
	}
}

// Where most ranks lack the metric, none is a share above or below their median, which is 0.
func TestMedianOfNothing(t *testing.T) {
	f := New(Query{Top: 3})
	for rank, attention := range []int64{0, 0, 900} {
		p := run(rank, attention)
		if attention == 0 {
			p.Root.Children = nil
		}
		f.Add(p, strconv.Itoa(rank), "")
	}
	_, median := f.Outliers()
	var out strings.Builder
	if err := f.Report(median).Write(&out, 3, 80); err != nil {
		t.Fatal(err)
	}
	if median != 0 || strings.Contains(out.String(), "%") || !strings.Contains(out.String(), "    2      2.700 us") {
		t.Errorf("median %g:\n%s", median, out.String())
	}
}

// scopes is a profile of nested scopes, of which the outer one has the time of the inner ones.
func scopes() *profile.Profile {
	scope := func(name string, v int64, below ...*profile.Node) *profile.Node {
		n := &profile.Node{Name: name, Children: below}
		n.Set("cpu_time (ns)", profile.IntValue(v))
		return n
	}
	step := scope("step", 100, scope("forward", 70, scope("attention", 50)), scope("backward", 20))
	thread := &profile.Node{Name: "thread", Children: []*profile.Node{scope("load", 30)}}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{step, thread}}, Kinds: profile.Kinds{"cpu_time (ns)": profile.Exclusive}}
}

// The time of nested scopes counts once for a rank, and each call path has its own.
func TestNestedScopesCountOnce(t *testing.T) {
	f := New(Query{Top: 9, Metric: "CPU_Time"})
	f.Add(scopes(), "0", "")
	_, median := f.Outliers()
	report := f.Report(median)
	if median != 130 || report.Metric != "cpu_time (ns)" || len(report.Frames) != 5 || report.Frames[1].Value != 70 {
		t.Errorf("median %g of %s, frames %+v", median, report.Metric, report.Frames)
	}
}

// A metric is called as in the viewer. One that no profile has, or that does not add up, is an error that lists those that are there.
func TestMetricsByName(t *testing.T) {
	for wanted, found := range map[string]string{
		"": "time (ns)", "time": "time (ns)", "TIME (ns)": "time (ns)", "Time": "time (ns)", "tokens": "tokens", "Tokens": "Tokens",
		"time/ms": "", "avg_time": "", "util": "", "device_id": "", "rate": "",
	} {
		p := run(0, 1)
		kernel := p.Root.Children[1]
		kernel.Set("tokens", profile.IntValue(1))
		kernel.Set("Tokens", profile.IntValue(2))
		kernel.Set("rate", profile.IntValue(3))
		kernel.Set(profile.DeviceIDMetric, profile.StringValue("0"))
		p.Kinds = profile.Kinds{"rate": profile.Property}
		f := New(Query{Top: 9, Metric: wanted})
		f.Add(scopes(), "0", "")
		f.Add(p, "1", "")
		err := f.Unknown()
		if f.metric.name != found || (err == nil) != (found != "") {
			t.Errorf("%q is %q, want %q; %v", wanted, f.metric.name, found, err)
		}
		if want := "there is no amount " + wanted + " in these profiles: recorded are Tokens, cpu_time (ns), time (ns), tokens; "; err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", wanted, err, want)
		}
	}
}

// What is written frame by frame is what an encoder writes of the whole, with frames and without.
func TestJSONIsThatOfTheWhole(t *testing.T) {
	for _, top := range []int{0, 1, 9} {
		f := New(Query{Top: top})
		f.Add(run(0, 900), "0", "<host>")
		report := f.Report(2700)
		var got, want strings.Builder
		if err := report.WriteJSON(&got); err != nil {
			t.Fatal(err)
		}
		for i := range report.Frames {
			report.Frames[i].Path = report.PathOf(report.Frames[i])
		}
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil || got.String() != want.String() {
			t.Errorf("top %d: %v\n%s\nwant\n%s", top, err, got.String(), want.String())
		}
	}
}
