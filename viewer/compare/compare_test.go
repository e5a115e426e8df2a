package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// tree makes a profile from lines of "path/of/frames time flops16"; times are in ns.
func tree(lines ...string) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "flops16": profile.Inclusive}}
	for _, line := range lines {
		var path string
		var ns int64
		var flops float64
		fmt.Sscan(line, &path, &ns, &flops)
		n := p.Root
		names := strings.Split(path, "/")
		for i, name := range names {
			c := n.Child(name)
			if c == nil || i == len(names)-1 { // the last may be there already: files have siblings of one name
				c = &profile.Node{Name: name}
				n.Children = append(n.Children, c)
			}
			n = c
		}
		n.Set("time (ns)", profile.IntValue(ns))
		n.Set("count", profile.IntValue(1))
		if flops != 0 {
			n.Set("flops16", profile.FloatValue(flops))
		}
	}
	return p
}

func diff(t testing.TB, o Options, profiles ...*profile.Profile) *Diff {
	t.Helper()
	var inputs []Input
	for i, p := range profiles {
		inputs = append(inputs, Input{fmt.Sprintf("%c.hatchet", 'a'+i), p})
	}
	d, err := New(inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (r *Row) at(t *testing.T, path ...string) *Row {
	t.Helper()
next:
	for _, name := range path {
		for _, c := range r.Children {
			if c.Name == name {
				r = c
				continue next
			}
		}
		t.Fatalf("there is no row %q below %q", name, r.Path())
	}
	return r
}

func random(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 7))
	var lines []string
	for range 50 {
		var path []string
		for range 1 + r.IntN(4) {
			path = append(path, string(rune('a'+r.IntN(4))))
		}
		lines = append(lines, fmt.Sprintf("%s %d %g", strings.Join(path, "/"), 1+r.IntN(1e6), float64(r.IntN(1e9))))
	}
	return tree(lines...)
}

func TestAProfileDoesNotDifferFromItself(t *testing.T) {
	for seed := range uint64(20) {
		p := random(seed)
		d := diff(t, Options{Metrics: []string{"time", "flops16", "flop16/s", "avg_time", "time/%"}}, p, p, random(seed))
		d.Root.Walk(func(r *Row, _ int) {
			for c := range d.Columns {
				for i := range d.Names {
					if v := d.Change(r, c, i); v != 0 && !math.IsNaN(r.Values[c][0]) {
						t.Errorf("seed %d: %s of %v changed by %g", seed, d.Columns[c].Name, r.Path(), v)
					}
				}
			}
		})
		if err := d.Cut(Cut{Threshold: Threshold{Amount: 1e-9}}); err != nil || len(d.Root.Children) > 0 {
			t.Errorf("seed %d: %d children stay, %v", seed, len(d.Root.Children), err)
		}
	}
}

// TestFirstPlusChangeIsSecond also says that the root's change is the sum of its children's.
func TestFirstPlusChangeIsSecond(t *testing.T) {
	for seed := range uint64(20) {
		a, b := random(seed), random(seed+100)
		d := diff(t, Options{Metrics: []string{"time/ns", "count"}}, a, b)
		d.Root.Walk(func(r *Row, _ int) {
			for c := range d.Columns {
				first, second := d.value(r, c, 0), d.value(r, c, 1)
				if got := first + d.Change(r, c, 1); math.Abs(got-second) > 1e-9*second {
					t.Errorf("seed %d: %v has %g and %g, changed by %g", seed, r.Path(), first, second, d.Change(r, c, 1))
				}
			}
		})
		if seconds := total(b) - total(a); math.Abs(d.Change(d.Root, 0, 1)-seconds) > 1e-6 {
			t.Errorf("seed %d: the root changed by %g, all nodes together by %g", seed, d.Change(d.Root, 0, 1), seconds)
		}
	}
}

func total(p *profile.Profile) (sum float64) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		v, _ := n.Metric("time (ns)")
		f, _ := v.Float()
		sum += f
		return true
	})
	return sum
}

// TestRatesComeFromSums compares a matrix product at 100 Tflop/s with two that a rename merges: 10^12 flops in 6 ms, which is
// 166.7 Tflop/s. proton-viewer adds the rates of merged frames, 125 + 250, and reports +275 instead of +66.7. Without the
// rename it finds no frame to compare with.
func TestRatesComeFromSums(t *testing.T) {
	a := tree("step/mm 10000000 1e12", "step/relu 1000000")
	b := tree("step/mm_<grid:1> 4000000 5e11", "step/mm_<grid:2> 2000000 5e11", "step/relu 1000000")
	re, err := ParseRename(`_<grid:[^>]*>=`)
	if err != nil {
		t.Fatal(err)
	}
	d := diff(t, Options{Metrics: []string{"tflop16/s", "avg_time/ms"}, Rename: []Rename{re}}, a, b)
	mm := d.Root.at(t, "step", "mm")
	for c, want := range [][2]float64{{100, 1e12 / 6e-3 / 1e12}, {10, 3}} {
		first, second := mm.Values[c][0], mm.Values[c][1]
		if math.Abs(first-want[0]) > 1e-9 || math.Abs(second-want[1]) > 1e-9 || math.Abs(d.Change(mm, c, 1)-(want[1]-want[0])) > 1e-9 {
			t.Errorf("%s went from %g to %g by %g, want %v", d.Columns[c].Name, first, second, d.Change(mm, c, 1), want)
		}
	}
	if ofRates := (125.0 + 250.0) - 100.0; math.Abs(d.Change(mm, 0, 1)-ofRates) < 1 {
		t.Errorf("the change is the difference of added rates, %g", ofRates)
	}
	if step := d.Root.at(t, "step"); math.Abs(step.Values[0][1]-1e12/7e-3/1e12) > 1e-9 {
		t.Errorf("the scope ran at %g, want its flops over its time", step.Values[0][1])
	}
}

func TestOneSidedRowsAndOrder(t *testing.T) {
	d := diff(t, Options{}, tree("a 10", "b 20", "gone 5", "z 1"), tree("a 10", "new1 7", "new2 8", "b 20", "z 2"))
	var got []string
	for _, c := range d.Root.Children {
		got = append(got, fmt.Sprintf("%s%v%+g/%g", c.Name, c.In, d.Change(c, 0, 1), d.Relative(c, 0, 1)))
	}
	want := "a[true true]+0/0 new1[false true]+7/+Inf new2[false true]+8/+Inf b[true true]+0/0 gone[true false]-5/-1 z[true true]+1/1"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("rows\n%s, want\n%s", s, want)
	}
}

func TestCuts(t *testing.T) {
	a, b := tree("s/big 1000000", "s/small 1000", "t/new/k 0", "u 50"), tree("s/big 1100000", "s/small 2000", "t/new/k 10", "u 50")
	tests := []struct {
		threshold string
		sort      Sort
		depth     int
		want      string
	}{
		{"0", AsHappened, 0, "ROOT s big small t new k u"},
		{"0", ByChange, 0, "ROOT s big small t new k u"},
		{"0", ByRelative, 0, "ROOT t new k s small big u"},
		{"50%", AsHappened, 0, "ROOT s small t new k"},
		{"50us", AsHappened, 0, "ROOT s big"},
		{"0.5us", AsHappened, 0, "ROOT s big small"},
		{"500", ByName, 0, "ROOT s big small"}, // in the unit of the column
		{"0", AsHappened, 1, "ROOT"},
		{"0", AsHappened, 2, "ROOT s t u"},
		{"1000%", AsHappened, 2, "ROOT"}, // what is new lies deeper
	}
	for _, test := range tests {
		d := diff(t, Options{Metrics: []string{"time/ns"}}, a, b)
		all := d.Root.size()
		threshold, err := ParseThreshold(test.threshold)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Cut(Cut{Threshold: threshold, Sort: test.sort, Depth: test.depth}); err != nil {
			t.Fatal(err)
		}
		var names []string
		d.Root.Walk(func(r *Row, _ int) { names = append(names, r.Name) })
		if got := strings.Join(names, " "); got != test.want && test.want != "ROOT" || len(names)+d.Root.Hidden != all {
			t.Errorf("-t %s --sort %s -d %d: %s and %d hidden, want %s of %d", test.threshold, test.sort, test.depth, got, d.Root.Hidden, test.want, all)
		}
	}
}

// What changed by less than half a percent of the total is left out for people who asked for nothing; a profile compared with itself
// shows its root, and nothing else.
func TestSmallChange(t *testing.T) {
	shown := func(a, b *profile.Profile) string {
		d := diff(t, Options{Metrics: []string{"time/ns"}}, a, b)
		if err := d.Cut(Cut{Threshold: SmallChange}); err != nil {
			t.Fatal(err)
		}
		var names []string
		d.Root.Walk(func(r *Row, _ int) { names = append(names, r.Name) })
		return strings.Join(names, " ")
	}
	a, b := tree("s/below 1000", "s/at 1000", "rest 8000"), tree("s/below 1049", "s/at 1051", "rest 8000")
	if got := shown(a, b); got != "ROOT s at" {
		t.Errorf("shown: %s", got)
	}
	if got := shown(a, a); got != "ROOT" {
		t.Errorf("a profile compared with itself: %s", got)
	}
	empty := tree("k 0")
	if got := shown(empty, empty); got != "ROOT" {
		t.Errorf("a profile without time compared with itself: %s", got)
	}
}

// A metric that does not add up has no total to be a part of; the levels are counted in words.
func TestNoteOnHiddenRows(t *testing.T) {
	a, b := tree("s/gemm 10", "s/relu 5", "t 3"), tree("s/gemm 10", "s/relu 5", "t 3")
	for _, test := range []struct {
		metric string
		cut    Cut
		want   string
	}{
		{"time", Cut{Threshold: SmallChange}, "4 call paths with a change below 0.5% of the total are hidden; -t 0 shows all"},
		{"avg_time", Cut{Threshold: SmallChange}, "4 call paths with a change below 0.5% of the whole program's avg_time are hidden; -t 0 shows all"},
		{"time", Cut{Threshold: SmallChange, Depth: 1}, "4 call paths with a change below 0.5% of the total, or deeper than 1 level, are hidden; -t 0 without -d shows all"},
		{"time", Cut{Depth: 1}, "4 call paths deeper than 1 level are hidden"},
		{"time", Cut{Depth: 2}, "2 call paths deeper than 2 levels are hidden"},
	} {
		d := diff(t, Options{Metrics: []string{test.metric}}, a, b)
		if err := d.Cut(test.cut); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := d.WriteTree(&out, viewer.Terminal{}); err != nil || !strings.HasSuffix(out.String(), "\n"+test.want+"\n") {
			t.Errorf("%s %+v: %v\n%s\nwant %s", test.metric, test.cut, err, out.String(), test.want)
		}
	}
}

func TestFilters(t *testing.T) {
	a, b := tree("s/gemm 10", "s/relu 5", "t 3"), tree("s/gemm 20", "s/other 50", "t 3")
	for _, test := range []struct {
		o      Options
		change float64
	}{{Options{Include: "gemm"}, 10}, {Options{Exclude: "gemm"}, 45}, {Options{Include: "^s$", Exclude: "other"}, 5}, {Options{Include: "relu"}, -5}} {
		if d := diff(t, test.o, a, b); d.Change(d.Root, 0, 1) != test.change {
			t.Errorf("%+v: changed by %g, want %g", test.o, d.Change(d.Root, 0, 1), test.change)
		}
	}
	for _, o := range []Options{{Include: "nothing"}, {Include: "("}, {Metrics: []string{"energy"}}} {
		if _, err := New([]Input{{"a", a}, {"b", b}}, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestAMetricOfOneSide(t *testing.T) {
	d := diff(t, Options{Metrics: []string{"flops16", "tflop16/s"}, BaseUnits: true}, tree("k 1000"), tree("k 1000 5e6"))
	if k := d.Root.at(t, "k"); d.Change(k, 0, 1) != 5e6 || !math.IsNaN(d.Change(k, 1, 1)) || k.Values[1][1] != 5 {
		t.Errorf("flops changed by %g, the rate by %g to %g; want 5e6, nothing, 5", d.Change(k, 0, 1), d.Change(k, 1, 1), k.Values[1][1])
	}
}

// TestAProfileWithoutTimes: what it lacks everywhere did not fall to nothing.
func TestAProfileWithoutTimes(t *testing.T) {
	counted := tree("k 1000", "other 1000")
	for _, n := range counted.Root.Children {
		n.Metrics = nil
		n.Set("instructions", profile.IntValue(7))
	}
	const want = "b.hatchet has no time/us: it was recorded without, so that a change of it says nothing"
	if d := diff(t, Options{Metrics: []string{"time/us"}}, tree("k 1000", "other 1000"), counted); !slices.Equal(d.Notes, []string{want}) {
		t.Errorf("notes %q, want %q", d.Notes, want)
	}
	for _, d := range []*Diff{diff(t, Options{}, counted, counted), diff(t, Options{}, tree("k 1000"), tree("k 1000", "other 1000"))} {
		if d.Notes != nil {
			t.Errorf("notes %q of profiles that have the metric", d.Notes)
		}
	}
}

func TestColours(t *testing.T) {
	a, b := tree("slow 100 1e6", "fast 100 1e6", "even 1000 1e6"), tree("slow 200 1e6", "fast 50 1e6", "even 1001 1e6")
	d := diff(t, Options{Metrics: []string{"time", "tflop16/s"}}, a, b)
	var out bytes.Buffer
	if err := d.WriteTree(&out, viewer.Terminal{Color: true}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"slow": {grid.Worse + "+100.0%", grid.Worse + "-50.0%"}, "fast": {grid.Better + "-50.0%", grid.Better + "+100.0%"}, "even": nil} {
		line := regexp.MustCompile(`(?m)^.* ` + name + `$`).FindString(out.String())
		for _, w := range want {
			if !strings.Contains(line, w) {
				t.Errorf("line %q lacks %q", line, w)
			}
		}
		if want == nil && strings.Contains(line, "\x1b") {
			t.Errorf("line %q is coloured", line)
		}
	}
}

func TestNamesCannotMoveTheCursor(t *testing.T) {
	d := diff(t, Options{}, tree("evil\x1b[2J 1"), tree("evil\x1b[2J 2"))
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return d.WriteTree(b, viewer.Terminal{}) },
		func(b *bytes.Buffer) error { return d.WriteTable(b, viewer.Terminal{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%q %v", out.String(), err)
		}
	}
}

func TestProgramsCanReadIt(t *testing.T) {
	d := diff(t, Options{BaseUnits: true, Metrics: []string{"time", "flop16/s"}}, tree("s/a 1000 10", "s/gone;x 7"), tree("s/a 1100 10", "new 5"))
	var out bytes.Buffer
	if err := d.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var doc Document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if len(doc.Rows) != 5 || doc.Schema != "goproton.diff/1" || len(doc.Columns) != 2 || doc.Columns[0].Better != "lower" || doc.Columns[1].Better != "higher" {
		t.Fatalf("read %+v", doc)
	}
	a := doc.Rows[2]
	if strings.Join(a.Path, "/") != "ROOT/s/a" || a.Values[0][0] != 1000 || a.Values[0][1] != 1100 || a.Change[0][0] != 100 || a.Ratio[0][0] != 10 {
		t.Errorf("row %s", out.String())
	}
	if gone := doc.Rows[3]; gone.Values[0][1] == gone.Values[0][1] || gone.Change[0][0] != -7 || gone.In[1] {
		t.Errorf("the row that is gone reads %+v", gone)
	}
	out.Reset()
	if err := d.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 6 || lines[4][0] != "ROOT;s;gone,x" || lines[3][6] != "100" || lines[3][7] != "0.1" {
		t.Errorf("csv %q %v", lines, err)
	}
}

func TestSeveralProfiles(t *testing.T) {
	d := diff(t, Options{Metrics: []string{"time/ns"}}, tree("a 100", "b 50"), tree("a 110"), tree("a 90", "c 5"))
	var out bytes.Buffer
	if err := d.WriteTree(&out, viewer.Terminal{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	want := `A  a.hatchet
B  b.hatchet
C  c.hatchet

time/ns
      A    B    diff%   C    diff%  call path
    150  110   -26.7%  95   -36.7%  ROOT
    100  110   +10.0%  90   -10.0%  |- a
      -    -     0.0%   5      new  |- c  > only in C
     50    -  -100.0%   -  -100.0%  ` + "`- b  < only in A\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBadFlags(t *testing.T) {
	for _, text := range []string{"", "=x", "abc", "(=x"} {
		if r, err := ParseRename(text); err == nil {
			t.Errorf("--rename %q was read as %v", text, r)
		}
	}
	for _, text := range []string{"", "%", "-1", "5m", "NaN", "1 2", "5%%", "ms"} {
		if v, err := ParseThreshold(text); err == nil {
			t.Errorf("--threshold %q was read as %v", text, v)
		}
	}
	d := diff(t, Options{Metrics: []string{"count"}}, tree("a 1"), tree("a 1"))
	if err := d.Cut(Cut{Threshold: Threshold{Amount: 1, Unit: "ms"}}); err == nil {
		t.Error("a threshold in ms was taken for a count")
	}
	if err := d.Cut(Cut{Sort: "size"}); err == nil {
		t.Error("--sort size was accepted")
	}
}

// TestPprofShowsTheSameDifference compares what pprof makes of our difference with what it makes of both sides
// with -diff_base.
func TestPprofShowsTheSameDifference(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command with its pprof is not here:", err)
	}
	a, b := random(1), random(2)
	dir := t.TempDir()
	write := func(name string, f func(path string) error) string {
		path := filepath.Join(dir, name)
		if err := f(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	save := func(p *profile.Profile) func(string) error {
		return func(path string) error {
			target, err := formats.TargetOf(path, nil)
			if err != nil {
				return err
			}
			return target.WriteFile(path, p)
		}
	}
	base, changed := write("a.pb.gz", save(a)), write("b.pb.gz", save(b))
	ours := write("diff.pb.gz", func(path string) error {
		var out bytes.Buffer
		if err := diff(t, Options{}, a, b).WritePprof(&out); err != nil {
			return err
		}
		return os.WriteFile(path, out.Bytes(), 0o644)
	})
	top := func(args ...string) string {
		cmd := exec.Command(tool, append([]string{"tool", "pprof", "-top", "-nodecount=1000"}, args...)...)
		cmd.Env = append(cmd.Environ(), "PPROF_TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("go tool pprof does not run here: %v\n%s", err, out)
		}
		return string(out)
	}
	for _, index := range []string{"time", "count", "flops16"} {
		want := top("-sample_index="+index, "-diff_base="+base, changed)
		if got := top("-sample_index="+index, ours); got != want || !strings.Contains(got, "flat%") {
			t.Errorf("pprof shows of %s\n%s\nwant\n%s", index, got, want)
		}
	}
}

// A share of a recorded amount is a share on both sides: in the second profile the amount itself was taken once.
func TestSharesAreSharesOnBothSides(t *testing.T) {
	d := diff(t, Options{Metrics: []string{"count/%", "flops16/%", "time/%"}}, tree("a 10 1", "b 30 3"), tree("a 10 1", "b 30 3", "c 60 6"))
	for c, column := range d.Columns {
		if values := d.Root.Values[c]; values[0] != 100 || values[1] != 100 {
			t.Errorf("%s of the whole programs is %v, want 100 and 100", column.Exact, values)
		}
	}
}

// A difference of estimated times has a standard error, and is coloured only if it is more than twice as large. A profile without
// estimates adds none.
func TestErrorsOfEstimatedTimes(t *testing.T) {
	estimate := func(p *profile.Profile, nanos int64) *profile.Profile {
		for _, n := range p.Root.Children {
			n.Set(profile.TimeErrorMetric, profile.IntValue(nanos))
		}
		return p
	}
	a, b := estimate(tree("chance 1000", "slower 1000"), 30), estimate(tree("chance 1099", "slower 1101"), 40)
	d := diff(t, Options{}, a, b, tree("chance 1000", "slower 1000"))
	for _, c := range []struct {
		path    []string
		profile int
		want    float64
	}{{[]string{"chance"}, 1, 50}, {[]string{"slower"}, 2, 30}, {nil, 1, 100}} {
		if got := d.Error(d.Root.at(t, c.path...), 0, c.profile); got != c.want {
			t.Errorf("%v of profile %d: ±%g, want ±%g", c.path, c.profile, got, c.want)
		}
	}
	if len(d.Columns) != 1 || !strings.Contains(strings.Join(d.Notes, "\n"), "±") {
		t.Errorf("%d columns, notes %q", len(d.Columns), d.Notes)
	}
	var out bytes.Buffer
	two := diff(t, Options{Metrics: []string{"time/us", "count"}}, a, b)
	if err := two.WriteTree(&out, viewer.Terminal{Color: true}); err != nil {
		t.Fatal(err)
	}
	if line := regexp.MustCompile(`(?m)^.*chance$`).FindString(out.String()); strings.Contains(line, "\x1b") || !strings.Contains(line, "+0.099  0.05") {
		t.Errorf("what may be chance is %q", line)
	}
	if line := regexp.MustCompile(`(?m)^.*slower$`).FindString(out.String()); !strings.Contains(line, grid.Worse) {
		t.Errorf("what cannot be chance is %q", line)
	}
	b.Root.Child("chance").Set(profile.TimeErrorMetric, profile.FloatValue(1e308))
	out.Reset()
	if err := diff(t, Options{}, a, b).WriteTree(&out, viewer.Terminal{}); err != nil || strings.Contains(out.String(), "00000") {
		t.Errorf("a huge error is printed in full: %v\n%s", err, out.String())
	}
	a.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Metrics = slices.DeleteFunc(n.Metrics, func(m profile.Metric) bool { return m.Name == profile.TimeMetric })
		return true
	})
	if d := diff(t, Options{}, a, a); d.Columns[0].Name != "count" {
		t.Errorf("errors without times are compared by %s", d.Columns[0].Name)
	}
	if exact := diff(t, Options{}, tree("k 1"), tree("k 2")); exact.Error(exact.Root, 0, 1) != 0 {
		t.Error("exact times have an error")
	}
}
