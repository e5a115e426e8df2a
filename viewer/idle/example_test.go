package idle_test

import (
	"fmt"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/idle"
)

// What a program of PyTorch did while its GPU had nothing to do.
func ExampleOf() {
	p, err := formats.ReadFile("../../testdata/upstream/torch-2.11.kineto.json")
	if err != nil {
		panic(err)
	}
	report, err := idle.Of(p, 1)
	if err != nil {
		panic(err)
	}
	for _, d := range report.Devices {
		fmt.Printf("GPU %s: idle for %d of %d ns, in %d gaps\n", d.ID, d.Idle, d.Wall, d.Gaps)
	}
	for _, c := range report.Causes[:2] {
		fmt.Println(c.Nanos, c.Doing, c.Path.Frames())
	}
	// Output:
	// GPU 0: idle for 309791 of 315006 ns, in 2 gaps
	// 155632 code [step]
	// 27132 code [step aten::to aten::_to_copy aten::copy_]
}
