package merge_test

import (
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// Two ranks are added up; a column keeps the time of each.
func Example() {
	m := merge.New(merge.Options{})
	for rank, nanos := range []int64{864, 900} {
		kernel := &profile.Node{Name: "add_kernel"}
		kernel.Set(profile.TimeMetric, profile.IntValue(nanos))
		p := &profile.Profile{
			Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}},
			Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive},
		}
		name := fmt.Sprint("rank", rank)
		if err := m.Add(p, merge.Source{File: name + ".hatchet", Label: name}); err != nil {
			panic(err)
		}
	}
	sum := m.Profile().Root.Child("add_kernel")
	for _, name := range []string{profile.TimeMetric, merge.Column(profile.TimeMetric, "rank0"), merge.Column(profile.TimeMetric, "rank1")} {
		time, _ := sum.Metric(name)
		fmt.Println(name, time.Int())
	}
	// Output:
	// time (ns) 1764
	// time@rank0 (ns) 864
	// time@rank1 (ns) 900
}
