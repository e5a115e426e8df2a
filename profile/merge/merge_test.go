package merge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// random makes a tree with siblings of one name, values of all kinds and holes.
func random(r *rand.Rand, rank int) *profile.Profile {
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT"},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "loss": profile.Exclusive, "dtype": profile.Property, "device_id": profile.Property, "device_type": profile.Property},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132}},
		Info:    profile.Info{"rank": fmt.Sprint(rank), "host": fmt.Sprint("node", rank/2), "start": fmt.Sprint(100 - rank), "tool": "test"},
	}
	level := []*profile.Node{p.Root}
	for range 60 {
		parent := level[r.IntN(len(level))]
		n := &profile.Node{Name: string(rune('a' + r.IntN(5)))}
		parent.Children = append(parent.Children, n)
		level = append(level, n)
		if r.IntN(4) > 0 {
			n.Set("time (ns)", profile.IntValue(r.Int64N(1e6)))
			n.Set("count", profile.IntValue(1+r.Int64N(3)))
			n.Set("device_id", profile.StringValue("0"))
			n.Set("device_type", profile.StringValue("CUDA"))
			n.Times = &profile.Sketch{}
			n.Times.Add(r.Uint64N(1e6))
		}
		if r.IntN(3) == 0 {
			n.Set("loss", profile.FloatValue(float64(r.IntN(100)))) // whole, so that the order of additions does not matter
			n.Set("dtype", profile.StringValue([]string{"fp16", "bf16", "fp8"}[r.IntN(3)]))
			n.Set("samples", profile.IntsValue([]int64{r.Int64N(9), r.Int64N(9)}[:1+r.IntN(2)]))
		}
	}
	return p
}

func all(t testing.TB, o Options, by By, files ...*profile.Profile) *profile.Profile {
	t.Helper()
	m := New(o)
	who := Identifier{By: by, Note: o.Note}
	for i, p := range files {
		s, err := who.Identify(fmt.Sprintf("%d.hatchet", i), p)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(p, s); err != nil {
			t.Fatal(err)
		}
	}
	return m.Profile()
}

// dump writes a profile so that the order of siblings, metrics and devices does not show.
func dump(p *profile.Profile) string {
	var b strings.Builder
	var node func(n *profile.Node, indent string)
	node = func(n *profile.Node, indent string) {
		var metrics []string
		for _, m := range n.Metrics {
			metrics = append(metrics, fmt.Sprintf("%s=%s", m.Name, text(m.Value)))
		}
		slices.Sort(metrics)
		fmt.Fprintf(&b, "%s%s %v", indent, n.Name, metrics)
		if n.Times != nil {
			fmt.Fprintf(&b, " %d %d..%d %v", n.Times.Count, n.Times.Min, n.Times.Max, n.Times.Buckets)
		}
		b.WriteByte('\n')
		children := slices.Clone(n.Children)
		slices.SortStableFunc(children, func(x, y *profile.Node) int { return strings.Compare(x.Name, y.Name) })
		for _, c := range children {
			node(c, indent+"  ")
		}
	}
	node(p.Root, "")
	var devices []string
	for _, d := range p.Devices {
		devices = append(devices, fmt.Sprint(d))
	}
	slices.Sort(devices)
	fmt.Fprintf(&b, "%v\n%v\n%v\n", p.Kinds, devices, p.Info)
	return b.String()
}

func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b, c := random(r, 0), random(r, 1), random(r, 2)
		for _, by := range []By{None, ByRank, ByHost} {
			if x, y := dump(all(t, Options{}, by, a, b, c)), dump(all(t, Options{}, by, c, a, b)); x != y {
				t.Fatalf("seed %d, by %q: a+b+c is\n%s\nand c+a+b is\n%s", seed, by, x, y)
			}
		}
	}
}

func TestMergingMergedProfilesIsMergingAll(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b, c, d := random(r, 0), random(r, 1), random(r, 2), random(r, 3)
		for _, by := range []By{None, ByRank} {
			want := dump(all(t, Options{}, by, a, b, c, d))
			got := dump(all(t, Options{}, by, all(t, Options{}, by, a, b), all(t, Options{}, by, c, d)))
			if got != want {
				t.Fatalf("seed %d, by %q: (a+b)+(c+d) is\n%s\nand a+b+c+d is\n%s", seed, by, got, want)
			}
		}
	}
}

// totals adds up every numeric metric over a whole tree.
func totals(p *profile.Profile) map[string]float64 {
	all := map[string]float64{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			if f, ok := m.Value.Float(); ok {
				all[m.Name] += f
			}
		}
		return true
	})
	return all
}

func TestSumsAndColumnsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var files []*profile.Profile
	for rank := range 5 {
		files = append(files, random(r, rank))
	}
	want := map[string]float64{}
	for rank, p := range files {
		for name, v := range totals(p) {
			want[name] += v
			if name == "time (ns)" {
				want[fmt.Sprintf("time@rank%d (ns)", rank)] = v
			}
		}
	}
	if got := totals(all(t, Options{}, ByRank, files...)); !reflect.DeepEqual(got, want) {
		t.Errorf("sums are %v, want %v", got, want)
	}
}

func TestInputsStayAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	a, b := random(r, 0), random(r, 1)
	before := dump(a) + dump(b)
	all(t, Options{}, ByRank, a, b, a)
	if after := dump(a) + dump(b); after != before {
		t.Errorf("merging changed its inputs:\n%s\nthey were\n%s", after, before)
	}
}

func leaf(metrics ...profile.Metric) *profile.Profile {
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Metrics: metrics}, Kinds: profile.Kinds{}}
}

func TestValuesThatDiffer(t *testing.T) {
	tests := []struct {
		name string
		a, b profile.Value
		kind profile.Kind
		want string
	}{
		{"integers", profile.IntValue(2), profile.IntValue(3), profile.Inclusive, "5"},
		{"integer and float", profile.IntValue(2), profile.FloatValue(0.5), profile.Inclusive, "2.5"},
		{"beyond 64 bits", profile.IntValue(math.MaxInt64), profile.IntValue(math.MaxInt64), profile.Inclusive, "1.8446744073709552e+19"},
		{"below 64 bits", profile.IntValue(math.MinInt64), profile.IntValue(-1), profile.Inclusive, "-9.223372036854775808e+18"},
		{"nothing and a number", profile.FloatValue(math.NaN()), profile.IntValue(3), profile.Inclusive, "3"},
		{"a number and nothing", profile.IntValue(3), profile.FloatValue(math.NaN()), profile.Inclusive, "3"},
		{"vectors", profile.IntsValue([]int64{1, 2}), profile.IntsValue([]int64{10, 20, 30}), profile.Exclusive, "[11 22 30]"},
		{"mixed vectors", profile.IntsValue([]int64{1, 2}), profile.FloatsValue([]float64{0.5}), profile.Exclusive, "[1.5 2]"},
		{"equal properties", profile.IntValue(128), profile.IntValue(128), profile.Property, "128"},
		{"properties", profile.IntValue(128), profile.IntValue(64), profile.Property, "128 | 64"},
		{"texts of no kind", profile.StringValue("b"), profile.StringValue("a"), profile.Exclusive, "a | b"},
	}
	for _, test := range tests {
		a, b := leaf(profile.Metric{Name: "x", Value: test.a}), leaf(profile.Metric{Name: "x", Value: test.b})
		a.Kinds["x"], b.Kinds["x"] = test.kind, test.kind
		p := all(t, Options{}, None, a, b)
		v, _ := p.Root.Metric("x")
		got := text(v)
		if f, ok := v.Float(); ok && v.Type() == profile.Float {
			var want float64
			fmt.Sscan(test.want, &want)
			if f != want {
				t.Errorf("%s: %g, want %s", test.name, f, test.want)
			}
		} else if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestManyPropertiesStayShort(t *testing.T) {
	var files []*profile.Profile
	for i := range 100 {
		files = append(files, leaf(profile.Metric{Name: "block", Value: profile.StringValue(fmt.Sprintf("b%03d", i))}))
	}
	slices.Reverse(files)
	v, _ := all(t, Options{}, None, files...).Root.Metric("block")
	if got := v.Str(); !strings.HasPrefix(got, "b000 | b001 | ") || !strings.HasSuffix(got, "b015 | …") {
		t.Errorf("a hundred values read %q", got)
	}
}

func TestContradictionsAreNamedAndCostOneFile(t *testing.T) {
	var notes []string
	m := New(Options{Note: func(n string) { notes = append(notes, n) }})
	amount := leaf(profile.Metric{Name: "x", Value: profile.IntValue(1)})
	inclusive := leaf(profile.Metric{Name: "x", Value: profile.IntValue(10)})
	inclusive.Kinds["x"] = profile.Inclusive
	property := leaf(profile.Metric{Name: "x", Value: profile.StringValue("one")}, profile.Metric{Name: "y", Value: profile.IntValue(1)})
	for i, p := range []*profile.Profile{amount, property, inclusive} {
		err := m.Add(p, Source{File: fmt.Sprintf("file%d", i)})
		if (err != nil) != (p == property) {
			t.Fatalf("adding file%d: %v", i, err)
		}
		if err != nil && err.Error() != `metric "x" is an amount in file0 and a property in file1; leave one of the files out` {
			t.Errorf("the contradiction reads %q", err)
		}
	}
	p := m.Profile()
	if v, _ := p.Root.Metric("x"); v.Int() != 11 || len(p.Root.Metrics) != 1 || p.Kinds["x"] != profile.Inclusive || p.Info[InfoMerged] != "2" {
		t.Errorf("merged %s of %s", dump(p), p.Info[InfoMerged])
	}
	if want := []string{`metric "x" is exclusive in file0 and inclusive in file2: taken as inclusive`}; !reflect.DeepEqual(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

func TestDeepTreesDoNotRecurse(t *testing.T) {
	p := leaf()
	n := p.Root
	for range 200_000 {
		c := &profile.Node{Name: "f"}
		n.Children = []*profile.Node{c}
		n = c
	}
	n.Set("time (ns)", profile.IntValue(1))
	if got := totals(all(t, Options{}, None, p, p))["time (ns)"]; got != 2 {
		t.Errorf("time at a depth of 200,000 is %g, want 2", got)
	}
}

func TestColumnNames(t *testing.T) {
	for metric, column := range map[string]string{"time (ns)": "time@rank3 (ns)", "bytes": "bytes@rank3", "my time (s) x": "my time@rank3 (s) x"} {
		if got := Column(metric, "rank3"); got != column {
			t.Errorf("column of %q is %q, want %q", metric, got, column)
		}
		if m, l, ok := SplitColumn(column); m != metric || l != "rank3" || !ok {
			t.Errorf("%q splits into %q and %q, %v", column, m, l, ok)
		}
	}
	for _, name := range []string{"time (ns)", "time (a@b)", "@x", "mail@", "a@b c", "a@b@c"} {
		if m, l, ok := SplitColumn(name); ok {
			t.Errorf("%q was taken for the column %q of %q", name, l, m)
		}
	}
}

// wide is a profile of that many nodes, ten to a parent, as a rank of a training run has them.
func wide(nodes int) *profile.Profile {
	p := leaf()
	p.Kinds = profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "device_id": profile.Property, "device_type": profile.Property}
	p.Devices = []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132}}
	queue := []*profile.Node{p.Root}
	for made := 0; made < nodes; {
		parent := queue[0]
		queue = queue[1:]
		for i := 0; i < 10 && made < nodes; i, made = i+1, made+1 {
			n := &profile.Node{Name: fmt.Sprintf("module_%d/kernel_%d", made%977, i), Metrics: []profile.Metric{
				{Name: "time (ns)", Value: profile.IntValue(int64(made))}, {Name: "count", Value: profile.IntValue(1)},
				{Name: "device_id", Value: profile.StringValue("0")}, {Name: "device_type", Value: profile.StringValue("CUDA")}}}
			parent.Children = append(parent.Children, n)
			queue = append(queue, n)
		}
	}
	return p
}

// BenchmarkAdd is one more rank of 10,000 nodes on top of many, without the reading of its file.
func BenchmarkAdd(b *testing.B) {
	for _, by := range []By{None, ByRank} {
		b.Run("by="+string(by), func(b *testing.B) {
			p := wide(10_000)
			who := Identifier{By: by}
			m := New(Options{})
			b.ReportAllocs()
			for b.Loop() {
				s, err := who.Identify("a.hatchet", p)
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Add(p, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
