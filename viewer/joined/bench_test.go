package joined

import (
	"io"
	"testing"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/source"
)

// BenchmarkJoin shows one of the sample's kernels, reading 1,557 launches for it. The profile knows each by its kind.
func BenchmarkJoin(b *testing.B) {
	p := profileOf(b, complexOne(b))
	for b.Loop() {
		trace, err := tritonparse.Open(complexTrace, tritonparse.OpenOptions{Kinds: true})
		if err != nil {
			b.Fatal(err)
		}
		j, err := New(Options{Trace: trace, Profile: p, Kernel: "fused"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := j.Print(io.Discard, source.Listing{Files: source.NoFiles()}); err != nil {
			b.Fatal(err)
		}
	}
}
