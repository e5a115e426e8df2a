package listing

import (
	"io"
	"testing"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/kernels"
)

// BenchmarkJoin shows one of the sample's kernels, reading 1,557 launches for it. The profile knows each by its kind.
func BenchmarkJoin(b *testing.B) {
	p := measured(b)
	for b.Loop() {
		trace, err := tritonparse.Open(complexTrace, tritonparse.OpenOptions{Kinds: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Print(io.Discard, collect(b, kernels.Options{Trace: trace, Profile: p, Kernel: "fused"}), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
