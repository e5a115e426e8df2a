package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
)

// workload makes runs of a program: kernels below scopes, each with a typical time in ns, some with flops. Times
// vary as GPU times do: all together with the clock, each for itself, and now and then one kernel is far off.
type workload struct {
	r       *rand.Rand
	kernels int
	noise   float64
	change  map[int]float64 // factor on the time of a kernel
}

func (w *workload) run() *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "flops16": profile.Inclusive}}
	clock := math.Exp(w.noise * w.r.NormFloat64())
	var scope *profile.Node
	for k := range w.kernels {
		if k%6 == 0 {
			scope = &profile.Node{Name: fmt.Sprintf("scope%d", k/6)}
			p.Root.Children = append(p.Root.Children, scope)
		}
		ns := float64(20_000*(1+k%7)) * clock * math.Exp(w.noise*w.r.NormFloat64())
		if w.r.IntN(50) == 0 {
			ns *= 1 + w.r.Float64()
		}
		if f, ok := w.change[k]; ok {
			ns *= f
		}
		n := &profile.Node{Name: fmt.Sprintf("kernel%d", k)}
		n.Set("time (ns)", profile.IntValue(int64(ns)))
		n.Set("count", profile.IntValue(4))
		n.Set("flops16", profile.FloatValue(1e9))
		scope.Children = append(scope.Children, n)
	}
	return p
}

func (w *workload) runs(name string, n int) []compare.Input {
	var all []compare.Input
	for i := range n {
		all = append(all, compare.Input{Name: fmt.Sprintf("%s%d", name, i+1), Profile: w.run()})
	}
	return all
}

func rules(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var all []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func failing(r *Report) (names []string) {
	for i := range r.Rules {
		for _, v := range r.Rules[i].Verdicts {
			if v.Outcome == Fail {
				names = append(names, strings.Join(v.Path(), "/"))
			}
		}
	}
	return names
}

// TestIdenticalCodePasses is the false positive rate: five and five runs of one program, compared 400 times, with a
// rule that forgives nothing, so that the statistics alone stand against 36 call paths and a rule for rates. At a
// true rate of alpha, 33 failures or more (five deviations above 20) would come once in a million times.
func TestIdenticalCodePasses(t *testing.T) {
	const times, limit = 400, 33
	r := rand.New(rand.NewPCG(1, 1))
	failed := 0
	for range times {
		w := &workload{r: r, kernels: 30, noise: 0.02}
		report, err := Run(w.runs("a", 5), w.runs("b", 5), Options{Rules: rules(t, "time > 0%", "flop16/s < -0%")})
		if err != nil {
			t.Fatal(err)
		}
		if !report.Tested {
			t.Fatal("ten runs were not tested")
		}
		if report.Failed {
			failed++
		}
	}
	t.Logf("%d of %d comparisons of a program with itself failed at alpha %g", failed, times, DefaultAlpha)
	if failed >= limit {
		t.Errorf("%d of %d comparisons of a program with itself failed, want fewer than %d", failed, times, limit)
	}
}

// TestFamilyIsExact looks at the test itself, without medians and noise in its way: over all comparisons it
// rejects at a rate of alpha and not much less, so nothing of its power is lost to caution.
func TestFamilyIsExact(t *testing.T) {
	const times, alpha = 2000, 0.05
	r := rand.New(rand.NewPCG(2, 2))
	rejected := 0
	for range times {
		f := family{before: 5, after: 5}
		for range 20 {
			row := make([]float64, 10)
			for i := range row {
				row[i] = r.ExpFloat64()
			}
			f.rows, f.signs, f.rules = append(f.rows, centred(row)), append(f.signs, 1), append(f.rules, 0)
		}
		for _, p := range f.adjusted() {
			if p <= alpha {
				rejected++
				break
			}
		}
	}
	deviation := math.Sqrt(times * alpha * (1 - alpha))
	if d := float64(rejected) - times*alpha; math.Abs(d) > 4*deviation {
		t.Errorf("%d of %d families with nothing in them were rejected, want %g ± %.0f", rejected, times, times*alpha, 4*deviation)
	}
	t.Logf("rejected %d of %d", rejected, times)
}

// TestAPlantedRegressionIsFound is the power: one kernel is 10 % slower. Noise is the standard deviation of the clock
// and again of each kernel; at 0.02 two runs of a kernel typically differ by 3 %. One kernel in fifty is
// far off, so in one comparison of ten a run of the baseline was slower than all runs after, which no test forgives.
func TestAPlantedRegressionIsFound(t *testing.T) {
	const times = 200
	for _, test := range []struct {
		runs, kernels int
		noise         float64
		want          float64
	}{{5, 30, 0.01, 0.88}, {5, 30, 0.02, 0.8}, {4, 30, 0.02, 0.75}, {10, 30, 0.02, 0.95}, {5, 120, 0.02, 0.7}} {
		r := rand.New(rand.NewPCG(3, uint64(test.runs)))
		found, elsewhere := 0, 0
		n := times
		if test.kernels > 100 {
			n /= 4
		}
		for range n {
			before := &workload{r: r, kernels: test.kernels, noise: test.noise}
			after := &workload{r: r, kernels: test.kernels, noise: test.noise, change: map[int]float64{13: 1.1}}
			report, err := Run(before.runs("a", test.runs), after.runs("b", test.runs), Options{Rules: rules(t, "time > 5%")})
			if err != nil {
				t.Fatal(err)
			}
			names := failing(report)
			if slices.Contains(names, "scope2/kernel13") {
				found++
			}
			if slices.ContainsFunc(names, func(n string) bool { return n != "" && !strings.HasPrefix("scope2/kernel13", n) }) {
				elsewhere++
			}
		}
		t.Logf("%d + %d runs, %d kernels, noise %g: found %d of %d, %d blamed another kernel", test.runs, test.runs, test.kernels, test.noise, found, n, elsewhere)
		if float64(found) < test.want*float64(n) {
			t.Errorf("found %d of %d, want %g", found, n, test.want*float64(n))
		}
		if most := float64(n)*DefaultAlpha + 4*math.Sqrt(float64(n)*DefaultAlpha); float64(elsewhere) > most {
			t.Errorf("%d of %d blamed another kernel, want at most %.0f", elsewhere, n, most)
		}
	}
}

// steady has runs without any noise of its own: what is given is what is measured.
func steady(name string, times ...map[string]int64) []compare.Input {
	var all []compare.Input
	for i, run := range times {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
		for _, k := range []string{"a", "b", "c", "tiny", "old", "new"} {
			if ns, ok := run[k]; ok {
				n := &profile.Node{Name: k}
				n.Set("time (ns)", profile.IntValue(ns))
				p.Root.Children = append(p.Root.Children, n)
			}
		}
		all = append(all, compare.Input{Name: fmt.Sprint(name, i+1), Profile: p})
	}
	return all
}

func TestNoiseFloorAndSmallPaths(t *testing.T) {
	before := steady("base", map[string]int64{"a": 100_000, "b": 1_000_000, "tiny": 100, "old": 5000}, map[string]int64{"a": 120_000, "b": 1_000_000, "tiny": 100, "old": 6000})
	after := steady("new", map[string]int64{"a": 125_000, "b": 1_100_000, "tiny": 500, "new": 7000}, map[string]int64{"a": 125_000, "b": 1_100_000, "tiny": 500, "new": 7000})
	report, err := Run(before, after, Options{Rules: rules(t, "time > 5%"), MinTime: Least{Nanos: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]Outcome{}
	for _, v := range report.Rules[0].Verdicts {
		outcomes[Name(v.Path())] = v.Outcome
	}
	if fmt.Sprint(outcomes) != "map[a:noise b:fail the whole program:fail]" || report.Small != 1 {
		t.Errorf("outcomes %v, %d small", outcomes, report.Small)
	}
	var oneSided []any
	for _, at := range append(report.New, report.Vanished...) {
		oneSided = append(oneSided, at.Path(), at.Label(), at.Time)
	}
	if fmt.Sprint(oneSided) != "[[new] new 7000 [old] old 5500]" {
		t.Errorf("new and vanished: %v", oneSided)
	}
	if report.Tested || len(report.Caveats) != 1 || !strings.Contains(report.Caveats[0], "2 + 2 runs are too few for a test at alpha 0.05 (it needs 3 + 3)") {
		t.Errorf("tested %v, caveats %q", report.Tested, report.Caveats)
	}
}

func TestExactAmountsNeedNoNoise(t *testing.T) {
	one, two := map[string]int64{"a": 100, "b": 50}, map[string]int64{"a": 101, "b": 50}
	report, err := Run(steady("x", one, one, one), steady("y", two, two, two), Options{Rules: rules(t, "time > 0%")})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(failing(report)); got != "[ a]" { // the whole program and a
		t.Errorf("failed %s", got)
	}
	if report, err = Run(steady("x", one, one, one), steady("y", one, one, one), Options{Rules: rules(t, "time > 0%")}); err != nil || report.Failed {
		t.Errorf("runs that are equal failed: %v %v", failing(report), err)
	}
}

func TestRulesDecide(t *testing.T) {
	before := map[string]int64{"a": 1_000_000, "b": 2_000_000}
	after := map[string]int64{"a": 1_200_000, "b": 1_900_000}
	for text, want := range map[string]string{
		"time > 5%":             "a",
		"time > 2%":             "total a",
		"time > 25%":            "",
		"time > +150us":         "a",
		"time > +90us":          "total a",
		"time < -4%":            "b",
		"time < -90us":          "b",
		"time > 3ms":            "total",
		"time > 1.5ms @ 'b'":    "b",
		"time > 3ms @ total":    "total",
		"time > 3.2ms":          "",
		"time/us > +150":        "a",
		"time > 2% @ '^b$'":     "",
		"time > 2% @ total":     "total",
		"time < 1.5ms @ '^a|b'": "a",
	} {
		report, err := Run(steady("x", before), steady("y", after), Options{Rules: rules(t, text)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		names := failing(report)
		for i, n := range names {
			if n == "" {
				names[i] = "total"
			}
		}
		if got := strings.Join(names, " "); got != want || report.Failed != (want != "") {
			t.Errorf("%s: failed %q, want %q", text, got, want)
		}
	}
}

func TestNothingIsDecidedSilently(t *testing.T) {
	one := map[string]int64{"a": 100, "b": 50}
	counted := steady("counted", one)[0]
	for _, n := range counted.Profile.Root.Children {
		n.Metrics = nil
		n.Set("smsp__sass_inst_executed", profile.IntValue(7))
	}
	for _, test := range []struct {
		before, after []compare.Input
		o             Options
		want          string
	}{
		{steady("x", one), steady("y", one), Options{Rules: rules(t, "time > 5% @ 'gemm'")}, "could never fail: no call path that both sides have matches 'gemm'"},
		{steady("x", one), steady("y", one), Options{Rules: rules(t, "tflop/s < -5%")}, "the profile has no flops"},
		{steady("x", one), steady("y", one), Options{Rules: rules(t, "time > +5")}, "the amount has no unit; write for example 5ms"},
		{steady("x", one), steady("y", map[string]int64{"c": 5}), Options{Rules: rules(t, "time > 5%")}, "no call path of the baseline is in the new runs"},
		{steady("x", one, one), steady("y", one, one), Options{Rules: rules(t, "time > 5%"), Strict: true}, "2 + 2 runs are too few"},
		{steady("x", map[string]int64{"a": 0}), steady("y", map[string]int64{"a": 0}), Options{Rules: rules(t, "time > 5%")}, "could never fail: time is 0 in every run"},
		{steady("x", map[string]int64{"a": 0}), steady("y", map[string]int64{"a": 0}), Options{Rules: rules(t, "time > 5ms")}, "could never fail: time is 0 in every run"},
		{steady("x", one), []compare.Input{counted}, Options{Rules: rules(t, "time > 5%")}, "counted1 has no time/ns: it was recorded without"},
		{[]compare.Input{counted}, steady("x", one), Options{Rules: rules(t, "time > 5%")}, "counted1 has no time/ns: it was recorded without"},
		{steady("x", one), nil, Options{Rules: rules(t, "time > 5%")}, "a run to compare with"},
	} {
		report, err := Run(test.before, test.after, test.o)
		if !errors.Is(err, ErrNotComparable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %+v %v, want %q", test.o.Rules, report, err, test.want)
		}
	}
}

func TestReportsEscapeNames(t *testing.T) {
	evil := "k<T>|`x`\n@all\x1b[2J"
	in := func(ns int64) []compare.Input {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: evil}}}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
		p.Root.Children[0].Set("time (ns)", profile.IntValue(ns))
		return []compare.Input{{Name: "x", Profile: p}}
	}
	report, err := Run(in(100), in(200), Options{Rules: rules(t, "time > 5%")})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(line, "| ❌") && strings.Count(line, "|") != 9 {
			t.Errorf("the row has other cells than its head: %s", line)
		}
	}
	for _, bad := range []string{"<T>", "`", "\x1b", "@all"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q stands in\n%s", bad, out.String())
		}
	}
	out.Reset()
	if err := report.WriteText(&out, viewer.Terminal{All: true}); err != nil || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q %v", out.String(), err)
	}
	out.Reset()
	if err := report.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Verdict != "fail" || d.Rules[0].Paths[1].Path[0] != evil || d.Rules[0].Paths[1].Percent != 100 || figures.Finite(float64(d.Rules[0].Paths[1].P)) {
		t.Errorf("%+v %v", d, err)
	}
}

func TestDealsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	deal(6, 3, func(chosen []int) { seen[fmt.Sprint(chosen)] = true })
	if len(seen) != 20 || choices(6, 3) != 20 || choices(16, 8) != 12870 {
		t.Errorf("%d ways to deal 3 of 6, %g counted", len(seen), choices(6, 3))
	}
	n, first := 0, ""
	deal(40, 20, func(chosen []int) {
		if n == 0 {
			first = fmt.Sprint(chosen[0], chosen[19])
		}
		n++
	})
	if n != mostDeals || first != "20 39" {
		t.Errorf("%d of the many ways, beginning with %s", n, first)
	}
}

// BenchmarkGate is a gate of 10,000 call paths with ten and ten runs, without the reading of files.
func BenchmarkGate(b *testing.B) {
	w := &workload{r: rand.New(rand.NewPCG(9, 9)), kernels: 8571, noise: 0.02}
	before, after := w.runs("a", 10), w.runs("b", 10)
	o := Options{Rules: rules(b, "time > 5%")}
	for b.Loop() {
		if _, err := Run(before, after, o); err != nil {
			b.Fatal(err)
		}
	}
}

// Estimated times of a single run before the change fail a rule only if they differ by more than twice their standard error.
func TestErrorsOfEstimatedTimesAreNoise(t *testing.T) {
	run := func(nanos, wrong int64) []compare.Input {
		n := &profile.Node{Name: "kernel"}
		n.Set(profile.TimeMetric, profile.IntValue(nanos))
		if wrong > 0 {
			n.Set(profile.TimeErrorMetric, profile.IntValue(wrong))
		}
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive}}
		return []compare.Input{{Name: "run", Profile: p}}
	}
	rule, err := ParseRule("time > 5% @ kernel")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before, after int64
		wrong         int64
		want          Outcome
	}{{1000, 1099, 50, Noise}, {1000, 1101, 50, Fail}, {1000, 1099, 0, Fail}, {1000, 1040, 50, Pass}} {
		r, err := Run(run(c.before, c.wrong), run(c.after, 0), Options{Rules: []Rule{rule}})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Rules[0].Verdicts[0]; v.Outcome != c.want || r.Failed != (c.want == Fail) {
			t.Errorf("%+v: %s, noise %g", c, v.Outcome, v.Noise)
		}
	}
}
