package kernels

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/tritonparse"
)

// complexTrace is tritonparse's own example: three configurations of an autotuned matmul and two of another kernel.
const complexTrace = "../../tritonparse/testdata/dedicated_log_triton_trace_complex_.ndjson.gz"

// shared is opened once; tests must not change it.
var shared = sync.OnceValues(func() (*tritonparse.Trace, error) {
	return tritonparse.Open(complexTrace, tritonparse.OpenOptions{})
})

func complexOne(t testing.TB) *tritonparse.Trace {
	t.Helper()
	trace, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func open(t *testing.T, path string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(path, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// profileOf measures the launches of a trace: the time of each follows from its kind and its number. Launches take some 2 us.
func profileOf(t testing.TB, trace *tritonparse.Trace) *profile.Profile {
	t.Helper()
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive, profile.CountMetric: profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}},
	}
	kinds := map[key]int{}
	n := uint64(0)
	err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		node := p.Root.Child(l.Name)
		if node == nil {
			node = &profile.Node{Name: strings.Clone(l.Name)}
			node.Set("device_id", profile.StringValue("0"))
			p.Root.Children = append(p.Root.Children, node)
		}
		at, known := kinds[key{l.Hash, l.Kind}]
		if !known {
			at = len(p.Launches)
			kinds[key{strings.Clone(l.Hash), l.Kind}] = at
			p.Launches = append(p.Launches, profile.LaunchKind{ID: l.Kind, Hash: strings.Clone(l.Hash), Kernel: strings.Clone(l.Name), PID: l.PID})
			node.Launches = append(node.Launches, profile.LaunchTimes{Kind: at})
		}
		ns := 2000 + 100*uint64(at) + n%7
		n++
		for i := range node.Launches {
			if node.Launches[i].Kind == at {
				node.Launches[i].Add(&profile.Durations{Count: 1, Nanos: ns, Least: ns, Most: ns})
			}
		}
		node.Set(profile.TimeMetric, profile.IntValue(int64(tritonparse.Amount(node, profile.TimeMetric)+ns)))
		node.Set(profile.CountMetric, profile.IntValue(int64(tritonparse.Amount(node, profile.CountMetric)+1)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	other := &profile.Node{Name: "of another library"}
	other.Set(profile.TimeMetric, profile.IntValue(1_000_000))
	p.Root.Children = append(p.Root.Children, other)
	return p
}

// collect collects or fails.
func collect(t testing.TB, o Options) *Run {
	t.Helper()
	r, err := Collect(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFixtures keeps the profiles that the tests of package listing read.
func TestFixtures(t *testing.T) {
	a, b := compareModels(t)
	for name, p := range map[string]*profile.Profile{"planted.hatchet": a, "planted.other.hatchet": b, "lines.hatchet": linesOf(), "measured.hatchet": profileOf(t, complexOne(t))} {
		var text bytes.Buffer
		if err := hatchet.Write(&text, p); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/"+name, text.String())
	}
}
