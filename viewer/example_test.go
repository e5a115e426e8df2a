package viewer_test

import (
	"fmt"
	"os"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

func ExampleRender() {
	p, err := formats.ReadFile("testdata/profiles/scope.hatchet")
	if err != nil {
		panic(err)
	}
	notes, err := viewer.Render(os.Stdout, p, "tree", viewer.Options{Metrics: []string{"util", "time/us"}}, viewer.Terminal{ASCII: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(notes), "notes")
	// Output:
	//  util   time   share
	//           us  of time
	//     -  2.624  100.0% ########## ROOT
	//     -  2.624  100.0% ########## `- outer
	// 0.012  0.864   32.9% ###           |- add_md
	//     -  1.760   67.1% #######       `- plain
	// 1 notes
}

// The kernels of a program by their share, each with where it stands under the roof.
func ExampleNewTable() {
	p, err := formats.ReadFile("testdata/recorded/matmul.hatchet")
	if err != nil {
		panic(err)
	}
	t, err := viewer.NewTable(p, viewer.Options{
		Metrics: []string{"intensity", "flop/s", "attainable", "bound"}, Group: viewer.ByName, Sort: "own", BaseUnits: true,
	})
	if err != nil {
		panic(err)
	}
	for _, r := range t.Root.Children[:3] {
		fmt.Printf("%4.1f%% %.0f flop/B, %.0f of %.0f Tflop/s, %s: %.30s\n",
			100*r.Share, r.Values[0], r.Values[1]/1e12, r.Values[2]/1e12, t.Text(r, 3), t.Label(r))
	}
	// Output:
	// 20.0% 1365 flop/B, 199 of 988 Tflop/s, compute: matmul_<grid:8192x1x1>_<cluste
	// 15.9% 1365 flop/B, 665 of 988 Tflop/s, compute: matmul_<grid:512x1x1>_<cluster
	// 10.3% 1365 flop/B, 385 of 988 Tflop/s, compute: matmul_<grid:4096x1x1>_<cluste
}
