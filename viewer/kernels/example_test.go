package kernels_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/kernels"
)

// The line of its source at which most samples of a kernel are.
func ExampleCollect() {
	p, err := formats.ReadFile("../testdata/recorded/attention_sampled.hatchet.gz")
	if err != nil {
		panic(err)
	}
	run, err := kernels.Collect(kernels.Options{Profile: p})
	if err != nil {
		panic(err)
	}
	f := run.Samples.Functions[0]
	fmt.Println(f.Name, f.Samples, "of", run.Samples.Total)
	hottest := slices.MaxFunc(f.Lines, func(a, b *kernels.Line) int { return cmp.Compare(a.Samples, b.Samples) })
	fmt.Println("line", hottest.Number, hottest.Samples)
	// Output:
	// attention 3947 of 9711
	// line 35 702
}
