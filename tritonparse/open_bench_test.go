package tritonparse_test

import (
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// BenchmarkEachLaunch reads the sample's 1,557 launches.
func BenchmarkEachLaunch(b *testing.B) {
	trace := openTrace(b, complexTrace)
	b.ReportAllocs()
	for b.Loop() {
		if err := trace.EachLaunch(func(*tritonparse.LaunchRecord) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
