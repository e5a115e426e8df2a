package compat_test

import (
	"os"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/compat"
)

func ExampleRender() {
	p, err := formats.ReadFile("../testdata/profiles/scope.hatchet")
	if err != nil {
		panic(err)
	}
	err = compat.Render(os.Stdout, p, compat.Options{Metrics: []string{"util", "time/us", "tflop32/s"}})
	if err != nil {
		panic(err)
	}
	// Output:
	// nan 2.624 0.002 ROOT
	// └─ nan 2.624 0.002 outer
	//    ├─ 0.012 0.864 0.005 add_md
	//    └─ 0.000 1.760 nan plain
}
