package hatchet_test

import (
	"os"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

func ExampleCompact() {
	kernel := &profile.Node{Name: "add_kernel"}
	kernel.Set("time (ns)", profile.IntValue(864))
	kernel.Set("count", profile.IntValue(1))
	p := &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive},
	}
	if err := hatchet.Compact(os.Stdout, p); err != nil {
		panic(err)
	}
	// Output: [{"children":[{"children":[],"frame":{"name":"add_kernel","type":"function"},"metrics":{"count":1,"time (ns)":864}}],"frame":{"name":"ROOT","type":"function"},"metrics":{"count":0,"time (ns)":0}},{}]
}
