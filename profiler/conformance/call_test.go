package conformance

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/profiler"
)

// TestCallsWithMoreToSay: a call may have several records, and records without a stream lie on the lane of their call's.
func TestCallsWithMoreToSay(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	synthetic(t)
	gpu := Synthetic{}
	work := func() {
		scope("load", func() { gpu.CopyInParts(4, 3, 5) })
		scope("compute", func() { gpu.LaunchOn("add", 6) })
		gpu.Launch("mul")
	}
	s := &stage{T: t, m: profiler.NewManager()}
	defer s.m.Finalize(nil, "")
	s.options = profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "synthetic", NoStats: true, Activities: "memcpy"}
	s.start()
	work()
	s.expect(s.finish(), `
load > <memcpy HtoD>: bytes 12
load > <memcpy HtoD>: count 3
compute > add: count 1
mul: count 1
`)

	s.options.Data = "trace"
	s.start()
	work()
	files, err := s.m.Finalize(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range []string{"GPU 0 Stream 0", "GPU 0 Stream 5", "GPU 0 Stream 6"} {
		if !strings.Contains(string(text), lane) {
			t.Errorf("the timeline has no lane %q", lane)
		}
	}
}
