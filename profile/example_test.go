package profile_test

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/profile"
)

// The frames of a profile, each with the time of its own kernels.
func ExampleNode_Walk() {
	kernel := &profile.Node{Name: "add_kernel"}
	kernel.Set(profile.TimeMetric, profile.IntValue(864))
	p := &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "forward", Children: []*profile.Node{kernel}}}},
		Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive},
	}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		time, _ := n.Metric(profile.TimeMetric)
		fmt.Println(strings.Repeat("  ", depth)+n.Name, time.Int())
		return true
	})
	// Output:
	// ROOT 0
	//   forward 0
	//     add_kernel 864
}
