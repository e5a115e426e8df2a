package reproduce

import (
	"strings"
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
	took := func(kind int, count, nanos uint64) profile.LaunchTimes {
		return profile.LaunchTimes{Kind: kind, Durations: profile.Durations{Count: count, Nanos: nanos}}
	}
	p := &profile.Profile{Launches: kinds, Root: &profile.Node{Children: []*profile.Node{
		{Name: "tuning", Launches: []profile.LaunchTimes{took(0, 1, 50), took(2, 1, 30)}},
		{Launches: []profile.LaunchTimes{took(1, 1, 10), took(2, 2, 30), took(9, 0, 0)}},
	}}}
	slow, err := Slowest(trace, p, profile.Filter{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(slow) != 2 || slow[0].Place.Line != 1561 || slow[0].Count != 3 || slow[0].Share != 0.5 || slow[1].Place.Line != 1 {
		t.Errorf("the slowest are %+v", slow)
	}

	filter, err := profile.NewFilter("", "^tuning$")
	if err != nil {
		t.Fatal(err)
	}
	if slow, err = Slowest(trace, p, filter, 2); err != nil || slow[0].Place.Line != 1561 || slow[0].Nanos != 30 || slow[1].Place.Line != 1558 {
		t.Errorf("the slowest without tuning are %+v, %v", slow, err)
	}
	if filter, err = profile.NewFilter("nowhere", ""); err != nil {
		t.Fatal(err)
	}
	if _, err = Slowest(trace, p, filter, 2); err == nil || !strings.Contains(err.Error(), "the filters leave no kernel") {
		t.Errorf("filters that leave nothing: %v", err)
	}
}
