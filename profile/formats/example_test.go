package formats_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// A profile of any format is read, and written for pprof.
func Example() {
	p, err := formats.ReadFile("../../viewer/testdata/profiles/scope.hatchet")
	if err != nil {
		panic(err)
	}
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "scope.pb.gz")
	target, err := formats.TargetOf(path, nil)
	if err != nil {
		panic(err)
	}
	for _, lost := range target.Drops(p) {
		fmt.Println(target.Format.Name, "has no place for", lost)
	}
	if err := target.WriteFile(path, p); err != nil {
		panic(err)
	}
	again, err := formats.ReadFile(path)
	if err != nil {
		panic(err)
	}
	again.Root.Walk(func(n *profile.Node, _ int) bool {
		if time, ok := n.Metric(profile.TimeMetric); ok {
			fmt.Println(n.Name, time.Int())
		}
		return true
	})
	// Output:
	// add_md 864
	// plain 1760
}
