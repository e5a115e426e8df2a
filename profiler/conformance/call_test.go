package conformance

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
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

// TestWaitsWithoutRecords: a room reports waits that its library has no records of, and a session gets those that it asked for.
func TestWaitsWithoutRecords(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	synthetic(t)
	for activities, want := range map[string]string{
		"sync": "\nadd: count 1\nfinish > <wait>: sync_count 2\n",
		"":     "\nadd: count 1\n",
	} {
		s := &stage{T: t, m: profiler.NewManager()}
		defer s.m.Finalize(nil, "")
		s.options = profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "synthetic", NoStats: true, Activities: activities}
		s.start()
		Synthetic{}.Launch("add")
		scope("finish", func() { Synthetic{}.Wait(30); Synthetic{}.Wait(12) })
		p := s.finish()
		s.expect(p, want)
		waited := 0.0
		for _, n := range p.Root.Children {
			for _, c := range n.Children {
				for _, m := range c.Metrics {
					if f, ok := m.Value.Float(); ok && m.Name == profile.SyncTimeMetric {
						waited += f
					}
				}
			}
		}
		if activities != "" && waited != 42 {
			t.Errorf("waited %g ns, want 42", waited)
		}
	}
}
