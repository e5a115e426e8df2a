package kernels

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
)

// summed is what the raw launches of a kernel, a specialisation or a kind add up to.
type summed struct {
	count, nanos, least, most uint64
	bytes, flops              float64
}

func (s *summed) add(o summed) {
	if s.count == 0 || o.least < s.least {
		s.least = o.least
	}
	s.most = max(s.most, o.most)
	s.count, s.nanos, s.bytes, s.flops = s.count+o.count, s.nanos+o.nanos, s.bytes+o.bytes, s.flops+o.flops
}

// whole reads an argument that is a whole number.
func whole(l *tritonparse.LaunchRecord, names ...string) (n int64) {
	for _, name := range names {
		if a := l.Arg(name); a != nil && json.Unmarshal(a.Value, &n) == nil {
			return n
		}
	}
	return 0
}

// workOf is what a launch does, by its arguments alone: every tensor moves once; a matmul multiplies whole tiles. A launch that is
// captured in a graph has no arguments: the only such kernel here adds two vectors by blocks of 1,024.
func workOf(l *tritonparse.LaunchRecord) (bytes, flops float64) {
	if len(l.Args) == 0 && l.Name == "add_kernel" {
		return 3 * 4 * 1024 * float64(l.Grid[0]), 0
	}
	for i := range l.Args {
		if a := &l.Args[i]; a.Type == "tensor" {
			size := map[string]float64{"torch.float16": 2, "torch.float32": 4}[a.Dtype]
			for _, d := range a.Shape {
				size *= float64(d)
			}
			bytes += size
		}
	}
	flops = 2
	for _, axis := range []string{"M", "N", "K"} {
		size, tile := whole(l, axis), whole(l, "BLOCK_SIZE_"+axis, "BLOCK_"+axis, "B"+axis)
		covered := int64(0)
		for tile > 0 && covered < size {
			covered += tile
		}
		flops *= float64(covered)
	}
	return bytes, flops
}

// raw is a profile that is made of single launches, and what they add up to without it.
type raw struct {
	profile *profile.Profile
	kernels map[string]*summed
	hashes  map[string]*summed
	kinds   map[key]*summed
}

// measure gives every launch of a trace a random time, in one of three scopes.
func measure(t *testing.T, trace *tritonparse.Trace, r *rand.Rand) *raw {
	m := &raw{kernels: map[string]*summed{}, hashes: map[string]*summed{}, kinds: map[key]*summed{}}
	m.profile = &profile.Profile{
		Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive, profile.CountMetric: profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}},
	}
	for _, scope := range []string{"a", "b", "c"} {
		m.profile.Root.Children = append(m.profile.Root.Children, &profile.Node{Name: scope})
	}
	places := map[key]int{}
	err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		one := summed{count: 1, nanos: 1000 + r.Uint64N(1<<(1+r.IntN(20)))}
		one.least, one.most = one.nanos, one.nanos
		one.bytes, one.flops = workOf(l)
		name, hash, kind := strings.Clone(l.Name), strings.Clone(l.Hash), key{strings.Clone(l.Hash), strings.Clone(l.Kind)}
		sumOf(m.kernels, name).add(one)
		sumOf(m.hashes, hash).add(one)
		sumOf(m.kinds, kind).add(one)
		at, known := places[kind]
		if !known {
			at = len(m.profile.Launches)
			places[kind] = at
			m.profile.Launches = append(m.profile.Launches, profile.LaunchKind{ID: kind.id, Hash: hash, Kernel: name, PID: l.PID})
		}
		record1(m.profile.Root.Children[r.IntN(3)], name, at, one.nanos)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sumOf[K comparable](sums map[K]*summed, at K) *summed {
	if sums[at] == nil {
		sums[at] = &summed{}
	}
	return sums[at]
}

// record1 adds one launch below a scope.
func record1(scope *profile.Node, kernel string, kind int, nanos uint64) {
	n := scope.Child(kernel)
	if n == nil {
		n = &profile.Node{Name: kernel, Times: &profile.Sketch{}}
		n.Set("device_id", profile.StringValue("0"))
		scope.Children = append(scope.Children, n)
	}
	at := -1
	for i := range n.Launches {
		if n.Launches[i].Kind == kind {
			at = i
		}
	}
	if at < 0 {
		at = len(n.Launches)
		n.Launches = append(n.Launches, profile.LaunchTimes{Kind: kind})
	}
	one := &profile.Sketch{}
	one.Add(nanos)
	n.Launches[at].Add(&profile.Durations{Count: 1, Nanos: nanos, Least: nanos, Most: nanos, Times: one})
	n.Times.Add(nanos)
	n.Set(profile.TimeMetric, profile.IntValue(int64(tritonparse.Amount(n, profile.TimeMetric)+nanos)))
	n.Set(profile.CountMetric, profile.IntValue(int64(tritonparse.Amount(n, profile.CountMetric)+1)))
}

var rawTraces = []string{complexTrace, "../../testdata/traces/matmul_autotuned/goproton", "testdata/h200/traces", "../../testdata/traces/vector_add/goproton"}

// TestRatesAgainstRawLaunches: times, counts and rates of kernels, specialisations and kinds of launches are those of the single
// launches added up, with work that follows from the arguments alone.
func TestRatesAgainstRawLaunches(t *testing.T) {
	for seed, file := range rawTraces {
		t.Run(file, func(t *testing.T) {
			trace := open(t, file)
			m := measure(t, trace, rand.New(rand.NewPCG(12, uint64(seed))))
			j, err := Collect(Options{Profile: m.profile, Trace: trace, Kernel: "."})
			if err != nil {
				t.Fatal(err)
			}
			kinds := 0
			for _, k := range j.Kernels {
				m.kernels[k.Name].check(t, k.Name, &k.Times, &k.Rates)
				for _, s := range k.Specialisations {
					m.hashes[s.Hash].check(t, k.Name+" "+s.Label, &s.Times, &s.Rates)
					for _, g := range s.Groups {
						m.kinds[key{s.Hash, g.ID}].check(t, k.Name+" "+s.Label+" "+g.Label, &g.Times, &g.Work.Rates)
						kinds++
					}
				}
			}
			if kinds != len(m.kinds) || kinds == 0 {
				t.Errorf("%d kinds of launches, there were %d", kinds, len(m.kinds))
			}
		})
	}
}

func (s *summed) check(t *testing.T, name string, times *profile.Durations, rates *Rates) {
	t.Helper()
	if s == nil {
		t.Errorf("%s was never launched", name)
		return
	}
	if times.Count != s.count || times.Nanos != s.nanos || times.Least != s.least || times.Most != s.most {
		t.Errorf("%s: %d launches of %d ns, from %d to %d; want %+v", name, times.Count, times.Nanos, times.Least, times.Most, *s)
	}
	seconds := float64(s.nanos) / 1e9
	if near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*b }; !near(rates.BytesPerSecond, s.bytes/seconds) || s.flops > 0 && !near(rates.FlopsPerSecond, s.flops/seconds) {
		t.Errorf("%s: %g B/s and %g flop/s, want %g and %g", name, rates.BytesPerSecond, rates.FlopsPerSecond, s.bytes/seconds, s.flops/seconds)
	}
}

// TestLaunchesOfTheTreeAreTheRawLaunches: the tree that viewer --launches prints has every launch once.
func TestLaunchesOfTheTreeAreTheRawLaunches(t *testing.T) {
	for seed, file := range rawTraces {
		t.Run(file, func(t *testing.T) {
			trace := open(t, file)
			m := measure(t, trace, rand.New(rand.NewPCG(13, uint64(seed))))
			want := map[string]*summed{}
			j, err := Collect(Options{Profile: m.profile, Trace: trace, Kernel: ".", namesOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			labels := j.labels()
			for of, s := range m.kinds {
				for _, kind := range m.profile.Launches {
					if kind.Hash == of.hash && kind.ID == of.id {
						sumOf(want, kind.Kernel+" ["+labels[of]+"]").add(*s)
					}
				}
			}
			if _, err := Split(m.profile, trace); err != nil {
				t.Fatal(err)
			}
			table, err := viewer.NewTable(m.profile, viewer.Options{Metrics: []string{"time/ns", "count", "min_time/ns", "max_time/ns"}, Group: viewer.ByName})
			if err != nil {
				t.Fatal(err)
			}
			for r := range table.All() {
				s := want[r.Name]
				if s == nil {
					continue
				}
				delete(want, r.Name)
				for i, v := range []uint64{s.nanos, s.count, s.least, s.most} {
					if math.Abs(r.Values[i]-float64(v)) > 1e-9*float64(v) {
						t.Errorf("%s: %s is %g, want %d", r.Name, table.Columns[i].Name, r.Values[i], v)
					}
				}
			}
			for name := range want {
				t.Errorf("no row for %s", name)
			}
		})
	}
}
