// Package profiletest makes random profiles and prints whole ones, for the tests of the codecs: what is printed the
// same before and after a file is what the file can hold.
package profiletest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Random makes a profile with everything that one can have, in every odd form, but a timeline. Metrics keep to one
// type, as collectors do; names and texts may hold any bytes, also invalid UTF-8.
func Random(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 1))
	g := generator{r: r, p: &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}}}
	for _, name := range slices.Sorted(maps.Keys(metricTypes)) {
		switch typ := metricTypes[name]; {
		case typ == profile.String:
			g.p.Kinds[name] = profile.Property
		case name == "time (ns)" || name == "count":
			g.p.Kinds[name] = profile.Inclusive
		default:
			g.p.Kinds[name] = profile.Kind(r.IntN(3))
		}
	}
	g.grow(g.p.Root, 0)
	if r.IntN(2) == 0 {
		g.p.Info = profile.Info{profile.InfoHost: "nöde\n1", profile.InfoPID: "17", "": "\"", "empty": ""}
	}
	if r.IntN(2) == 0 {
		g.p.Devices = []profile.Device{
			{Type: "CUDA", ID: "0", Arch: "90", BusWidth: r.Int64(), ClockRate: 2, MemoryClockRate: 3, NumSMs: 4, Name: "A \"board\" of 1\u00bd \\ slots"},
			{Type: "CUDA", ID: "10"}, {Type: "CUDA", ID: "2"}, {Type: "HIP", ID: "0", Arch: "gfx942", NumSMs: 304},
		}
	}
	return g.p
}

// Small are seeds of Random that make a root alone, with and without metrics, and trees of some nodes: a fuzzer does more
// with little.
var Small = []uint64{4, 5, 21, 25, 0}

// metricTypes are the metrics of random profiles.
var metricTypes = map[string]profile.Type{
	"time (ns)": profile.Int, "count": profile.Int, "bytes": profile.Int, "größe (inc)": profile.Int, "a\"b\\": profile.Float,
	"flops16": profile.Float, "": profile.Float, "device_id": profile.String, "text": profile.String, "\x01;\n": profile.Int,
	"ints": profile.Ints, "floats": profile.Floats,
}

type generator struct {
	r *rand.Rand
	p *profile.Profile
}

func (g *generator) grow(n *profile.Node, depth int) {
	names := slices.Sorted(maps.Keys(metricTypes))
	for _, at := range g.r.Perm(len(names))[:g.r.IntN(5)] {
		n.Set(names[at], g.value(metricTypes[names[at]]))
	}
	if g.r.IntN(4) == 0 {
		n.Times = g.sketch()
	}
	for i := 0; i < g.r.IntN(4) && depth < 6; i++ {
		c := &profile.Node{Name: fmt.Sprintf("%s%c %d", oddNames[g.r.IntN(len(oddNames))], 'ä'+rune(g.r.IntN(300)), i)}
		n.Children = append(n.Children, c)
		g.grow(c, depth+1)
	}
}

var oddNames = []string{"", "void f<int>(a, b)", "dir/x.py:7@f", "a;b", "'q\"\\", "two\nlines\r", "tab\tnul\x00", "cut\xe6\x97", "\\n", " pad ", "#", "日本"}

func (g *generator) value(typ profile.Type) profile.Value {
	switch typ {
	case profile.Int:
		return profile.IntValue(g.int())
	case profile.Float:
		return profile.FloatValue(g.float())
	case profile.String:
		return profile.StringValue(oddNames[g.r.IntN(len(oddNames))])
	case profile.Ints:
		list := make([]int64, g.r.IntN(20))
		for i := range list {
			list[i] = g.int()
		}
		return profile.IntsValue(list)
	}
	list := make([]float64, g.r.IntN(20))
	for i := range list {
		list[i] = g.float()
	}
	return profile.FloatsValue(list)
}

// int favours the edges of the sizes that formats have.
func (g *generator) int() int64 {
	v := int64(g.r.Uint64()) >> g.r.IntN(64)
	if g.r.IntN(3) == 0 {
		edges := []int64{0, 1, 31, 32, 127, 128, 255, 256, 65535, 65536, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MinInt64}
		v = edges[g.r.IntN(len(edges))]
		if g.r.IntN(2) == 0 {
			v = -v
		}
	}
	return v
}

func (g *generator) float() float64 {
	switch g.r.IntN(5) {
	case 0:
		odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}
		return odd[g.r.IntN(len(odd))]
	case 1:
		return float64(g.r.IntN(1e6))
	case 2:
		return math.Float64frombits(g.r.Uint64())
	}
	return g.r.NormFloat64() * 1e3
}

func (g *generator) sketch() *profile.Sketch {
	s := &profile.Sketch{}
	for range g.r.IntN(50) {
		s.Add(g.r.Uint64() >> (1 + g.r.IntN(63)))
	}
	return s
}

// Text prints everything that a profile holds but its timeline, so that profiles that mean the same print the
// same: metrics and devices in order of name, an inclusive zero at the root and an empty sketch as absent.
func Text(p *profile.Profile) string {
	var b strings.Builder
	kinds := map[string]profile.Kind{}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%*s%q", 2*depth, "", n.Name)
		metrics := slices.Clone(n.Metrics)
		slices.SortFunc(metrics, func(x, y profile.Metric) int { return strings.Compare(x.Name, y.Name) })
		for _, m := range metrics {
			if f, number := m.Value.Float(); n == p.Root && number && f == 0 && p.Kinds[m.Name] == profile.Inclusive {
				continue
			}
			kinds[m.Name] = p.Kinds[m.Name]
			fmt.Fprintf(&b, " %q=%s", m.Name, Value(m.Value))
		}
		if s := n.Times; s != nil && s.Count > 0 {
			fmt.Fprintf(&b, " times %d %d..%d %v %v %v", s.Count, s.Min, s.Max, s.Mean, s.M2, s.Buckets)
		}
		for _, f := range n.Samples {
			fmt.Fprintf(&b, " samples %d %v", f.Function, f.PCs)
		}
		b.WriteString(insideText(n.Inside))
		b.WriteString(launchesText(n.Launches))
		b.WriteByte('\n')
		return true
	})
	if s := p.Sampling; s != nil {
		fmt.Fprintf(&b, "sampling %q %d %q %d %d %d %d %v\n", s.Mode, s.Period, s.Reasons, s.Total, s.Dropped, s.NonUser, s.Apportioned, s.BufferFull)
		for _, f := range s.Functions {
			fmt.Fprintf(&b, "  %+v\n", f)
		}
	}
	for _, k := range p.Launches {
		fmt.Fprintf(&b, "launch kind %+v\n", k)
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "kind %q %d\n", name, kinds[name])
	}
	devices := slices.Clone(p.Devices)
	slices.SortFunc(devices, func(x, y profile.Device) int {
		return cmp.Or(strings.Compare(x.Type, y.Type), strings.Compare(x.ID, y.ID))
	})
	fmt.Fprintf(&b, "%+v\n", devices)
	for _, key := range slices.Sorted(maps.Keys(p.Info)) {
		fmt.Fprintf(&b, "info %q=%q\n", key, p.Info[key])
	}
	return b.String()
}

// Value prints a value so that its type and every bit can be seen, but for the payload of a NaN.
func Value(v profile.Value) string {
	switch v.Type() {
	case profile.Int:
		return fmt.Sprint(v.Int())
	case profile.Float:
		f, _ := v.Float()
		return fmt.Sprintf("%g.", f)
	case profile.String:
		return fmt.Sprintf("%q", v.Str())
	case profile.Ints:
		return fmt.Sprintf("%d", append([]int64{}, v.Ints()...))
	}
	if len(v.Floats()) == 0 {
		return "[]"
	}
	return fmt.Sprintf("%g.", v.Floats())
}

// Reduce changes every name, text and value of a profile: what a format can hold of it. A value with ok false goes.
func Reduce(p *profile.Profile, name func(string) string, value func(metric string, v profile.Value) (profile.Value, bool)) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Name = name(n.Name)
		kept := n.Metrics[:0]
		for _, m := range n.Metrics {
			if v, ok := value(m.Name, m.Value); ok {
				kept = append(kept, profile.Metric{Name: m.Name, Value: v})
			}
		}
		n.Metrics = kept
		return true
	})
}

// Valid replaces every byte of a text that is not valid UTF-8, as all codecs do.
func Valid(s string) string { return string([]rune(s)) }

// ValidText does so for values that are text.
func ValidText(_ string, v profile.Value) (profile.Value, bool) {
	if v.Type() == profile.String {
		return profile.StringValue(Valid(v.Str())), true
	}
	return v, true
}

// Finite is ValidText for formats that have no infinities: NaN stands for them.
func Finite(name string, v profile.Value) (profile.Value, bool) {
	finite := func(f float64) float64 {
		if math.IsInf(f, 0) {
			return math.NaN()
		}
		return f
	}
	switch v.Type() {
	case profile.Float:
		f, _ := v.Float()
		return profile.FloatValue(finite(f)), true
	case profile.Floats:
		list := slices.Clone(v.Floats())
		for i, f := range list {
			list[i] = finite(f)
		}
		return profile.FloatsValue(list), true
	}
	return ValidText(name, v)
}
