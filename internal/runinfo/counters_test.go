package runinfo

import "testing"

func TestCountersOfSeveralProcesses(t *testing.T) {
	one := Counters{Set: "roofline", Metrics: 22, Passes: 3, Measured: 5, Kernels: 2, Processes: 1, Left: map[string]map[string]uint64{"cooperative": {"sync": 2}}}
	two := Counters{Set: "roofline", Metrics: 22, Passes: 3, Measured: 7, Kernels: 3, Processes: 1,
		Left: map[string]map[string]uint64{"cooperative": {"sync": 1, "wait": 9}, "in a graph": {"add": 1}}}
	idle := Counters{Set: "roofline", Processes: 1, Unmatched: "ad", Ran: map[string]uint64{"add": 3, "softmax": 1}}
	none := Counters{}
	for _, c := range []struct {
		of   []Counters
		want string
	}{
		{[]Counters{none}, ""},
		{[]Counters{one}, "set roofline, 22 metrics in 3 passes: 5 launches of 2 kernels measured; left out: 2 launches, cooperative: sync"},
		{[]Counters{one, {Copies: true, Processes: 1, Set: "roofline"}}, "set roofline, 22 metrics in 3 passes: 5 launches measured in 2 processes; " + CopiesCount + "; left out: 2 launches, cooperative: sync"},
		{[]Counters{one, two}, "set roofline, 22 metrics in 3 passes: 12 launches measured in 2 processes; left out: 12 launches, cooperative: wait, sync; 1 launch, in a graph: add"},
		{[]Counters{idle}, "set roofline, no launch was measured; kernels=ad matches none of those that ran: add, softmax; did you mean add?"},
		{[]Counters{idle, idle}, "set roofline, no launch was measured; kernels=ad matches none of those that ran: add, softmax; did you mean add?"},
		{[]Counters{idle, one}, "set roofline, 22 metrics in 3 passes: 5 launches measured in 2 processes; left out: 2 launches, cooperative: sync"},
	} {
		var sum Counters
		for _, o := range c.of {
			sum.Add(o)
		}
		if got := sum.Sentence(""); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
