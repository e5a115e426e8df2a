package reproduce

import (
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// TestSlowestKinds: a profile that tells launches apart leads to the launch of that kind, wherever it was launched.
func TestSlowestKinds(t *testing.T) {
	trace, err := tritonparse.Open("../testdata/dedicated_log_triton_trace_complex_.ndjson.gz", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []profile.LaunchKind
	for _, line := range []int{1, 1558, 1561} {
		l, err := trace.LaunchAt("", line)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, profile.LaunchKind{ID: l.Kind, Kernel: l.Name, Hash: l.Hash})
	}
	p := &profile.Profile{Launches: kinds, Root: &profile.Node{Children: []*profile.Node{
		{Launches: []profile.LaunchTimes{{Kind: 0, Count: 1, Nanos: 50}, {Kind: 2, Count: 1, Nanos: 30}}},
		{Launches: []profile.LaunchTimes{{Kind: 1, Count: 1, Nanos: 10}, {Kind: 2, Count: 2, Nanos: 30}, {Kind: 9}}},
	}}}
	slow, err := Slowest(trace, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(slow) != 2 || slow[0].Place.Line != 1561 || slow[0].Count != 3 || slow[0].Share != 0.5 || slow[1].Place.Line != 1 {
		t.Errorf("the slowest are %+v", slow)
	}
}
