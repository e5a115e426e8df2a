package fleet

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// ranks is a merged profile: one frame below the root with one time per rank; a negative one for none.
func ranks(t *testing.T, metric string, kind profile.Kind, values ...float64) *profile.Profile {
	t.Helper()
	m, who := merge.New(merge.Options{}), merge.Identifier{By: merge.ByRank}
	for i, v := range values {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{metric: kind}, Info: profile.Info{"rank": fmt.Sprint(i)}}
		k := &profile.Node{Name: "other"}
		if v >= 0 {
			k.Name = "kernel"
		}
		k.Set(metric, profile.FloatValue(math.Abs(v)))
		p.Root.Children = []*profile.Node{k}
		s, err := who.Identify("x", p)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(p, s); err != nil {
			t.Fatal(err)
		}
	}
	return m.Profile()
}

func TestStatistics(t *testing.T) {
	tests := []struct {
		values []float64
		want   Stat
		factor float64
		lost   float64
	}{
		{[]float64{3, 1, 2}, Stat{Min: 1, Median: 2, Max: 3, Mean: 2, MinSource: "rank1", MaxSource: "rank0", Present: 3}, 1.5, 1},
		{[]float64{4, 4, 1, 1}, Stat{Min: 1, Median: 2.5, Max: 4, Mean: 2.5, MinSource: "rank2", MaxSource: "rank0", Present: 4}, 1.6, 1.5},
		{[]float64{8, -1, -1, -1}, Stat{Min: 0, Median: 0, Max: 8, Mean: 2, MinSource: "rank1", MaxSource: "rank0", Present: 1}, 4, 6},
		{[]float64{5}, Stat{Min: 5, Median: 5, Max: 5, Mean: 5, MinSource: "rank0", MaxSource: "rank0", Present: 1}, 1, 0},
	}
	for _, test := range tests {
		table, err := NewImbalance(ranks(t, "time (ns)", profile.Inclusive, test.values...), "")
		if err != nil {
			t.Fatal(err)
		}
		var got *Stat
		for _, c := range table.Root.Children {
			if c.Name == "kernel" {
				got = c
			}
		}
		plain := *got
		plain.Name, plain.Sources, plain.Children = "", nil, nil
		if !reflect.DeepEqual(plain, test.want) || got.Factor() != test.factor || got.Lost() != test.lost {
			t.Errorf("of %v: %+v, factor %g, lost %g; want %+v, %g, %g", test.values, plain, got.Factor(), got.Lost(), test.want, test.factor, test.lost)
		}
	}
}

func TestExclusiveAmountsAreNotSummedUp(t *testing.T) {
	for kind, want := range map[profile.Kind]float64{profile.Inclusive: 7, profile.Exclusive: 0} {
		table, err := NewImbalance(ranks(t, "time (ns)", kind, 7, 7), "")
		if err != nil || table.Root.Max != want {
			t.Errorf("kind %d: the root has %g, %v; want %g", kind, table.Root.Max, err, want)
		}
	}
}

// Scopes have the time of those within them, so a frame without its own time has the sum of the outermost scopes below it, source by source.
func TestTimeOfScopes(t *testing.T) {
	for _, kind := range []profile.Kind{profile.Inclusive, profile.Exclusive} {
		p := ranks(t, "cpu_time (ns)", kind, 7, 9)
		kernel := p.Root.Children[0]
		kernel.Children = []*profile.Node{{Name: "inner"}}
		for rank, v := range []int64{3, 5} {
			kernel.Children[0].Set(merge.Column("cpu_time (ns)", fmt.Sprint("rank", rank)), profile.IntValue(v))
		}
		alone := &profile.Node{Name: "thread", Children: []*profile.Node{{Name: "load"}}}
		alone.Children[0].Set("cpu_time@rank1 (ns)", profile.IntValue(2))
		p.Root.Children = append(p.Root.Children, alone)
		table, err := NewImbalance(p, "cpu_time")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]float64{"ROOT": table.Root.Sources}
		for _, c := range table.Root.Children {
			got[c.Name] = c.Sources
		}
		want := map[string][]float64{"ROOT": {7, 11}, "kernel": {7, 9}, "thread": {0, 2}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
}

func TestRanksAreInNaturalOrder(t *testing.T) {
	table, err := NewImbalance(ranks(t, "time (ns)", profile.Inclusive, make([]float64, 12)...), "time")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(table.Labels, " "); !strings.HasSuffix(got, "rank8 rank9 rank10 rank11") {
		t.Errorf("order %s", got)
	}
}

func TestViewWithThresholdDepthAndColour(t *testing.T) {
	p := ranks(t, "time (ns)", profile.Inclusive, 100e6, 200e6, -1e3)
	var b bytes.Buffer
	if err := WriteImbalance(&b, p, ImbalanceOptions{Terminal: viewer.Terminal{ASCII: true, Color: true}, Threshold: figures.Least{Amount: 0.01, Unit: "%"}}); err != nil {
		t.Fatal(err)
	}
	want := `time in ms, 3 sources: rank0 to rank2

  min  by      median      max  by     max/mean     lost  sources  call path
0.001  rank2  100.000  200.000  rank1      ` + grid.Worse + "2.00" + reset + `  100.000      3/3  ROOT
0.000  rank2  100.000  200.000  rank1      ` + grid.Worse + "2.00" + reset + "  100.000      2/3  `- kernel" + `

lost: max - mean, what an even spread of the same work would save
not shown: 1 below 1% of the largest source's total
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := WriteImbalance(&b, p, ImbalanceOptions{Depth: 1}); err != nil || strings.Contains(b.String(), "kernel") {
		t.Errorf("a depth of 1 shows %s %v", b.String(), err)
	}
}

const reset = "\x1b[0m"

func TestProfileWithoutColumns(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	for metric, want := range map[string]string{"": "keeps nothing per source", "bytes": `keeps no "bytes" per source`} {
		if err := WriteImbalance(&bytes.Buffer{}, p, ImbalanceOptions{Metric: metric}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("metric %q: %v, want %s", metric, err, want)
		}
	}
}

// At 80 columns, what tells least goes first, and long labels of sources are shortened to what tells them apart.
func TestImbalanceFitsTheWidth(t *testing.T) {
	for _, test := range []struct {
		label string
		width int
		want  string // of the header and of the root
		left  string // out
	}{
		{"rank1%d", 0, "min by median max by max/mean lost sources call path | 100.500 rank10 150.750 201.000 rank11 1.33 50.250 2/2 ROOT", ""},
		{"rank1%d", 80, "min by max by max/mean lost sources call path | 100.500 rank10 201.000 rank11 1.33 50.250 2/2 ROOT", "median"},
		{"ip-10-0-1-12%d.ec2.internal", 60, "max by max/mean lost sources call path | 201.000 …121… 1.33 50.250 2/2 ROOT", "median, min"},
		{"eight%d-and-forty-and-more", 50, "max by max/mean lost call path | 201.000 …1… 1.33 50.250 ROOT", "median, min, sources"},
	} {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "kernel"}}}, Kinds: profile.Kinds{}}
		for i := range 2 {
			column := merge.Column("time (ns)", fmt.Sprintf(test.label, i))
			p.Kinds[column] = profile.Inclusive
			p.Root.Children[0].Set(column, profile.IntValue(int64(i+1)*100_500_000))
		}
		var b bytes.Buffer
		if err := WriteImbalance(&b, p, ImbalanceOptions{Terminal: viewer.Terminal{Width: test.width}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if got := strings.Join(strings.Fields(lines[2]+" | "+lines[3]), " "); got != test.want {
			t.Errorf("%s at %d: %s, want %s", test.label, test.width, got, test.want)
		}
		for _, l := range lines[2:5] {
			if test.width > 0 && grid.Columns(l) > test.width {
				t.Errorf("%s at %d: %d columns: %s", test.label, test.width, grid.Columns(l), l)
			}
		}
		if _, got, _ := strings.Cut(b.String(), "too narrow: "); strings.TrimSpace(got) != test.left {
			t.Errorf("%s at %d leaves out %q, want %q", test.label, test.width, got, test.left)
		}
	}
}
