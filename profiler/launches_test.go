package profiler

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler/aggregate"
)

// Launches of a traced run are distinguished in the file, and the file names the trace.
func TestTracedLaunchesReachTheFile(t *testing.T) {
	t.Cleanup(aggregate.ForgetLaunchKinds)
	m, f := stage(t)
	m.TraceFolder("traces")
	start(t, m, "traced", StartOptions{NoStats: true})
	small := aggregate.RegisterLaunchKind(profile.LaunchKind{ID: "small", Kernel: "add", Hash: "ab", Function: 9})
	large := aggregate.RegisterLaunchKind(profile.LaunchKind{ID: "large", Kernel: "add", Hash: "ab", Function: 9})
	for corr, tag := range []uint32{small, large, large, 0} {
		hotpathtest.Tag(tag, 9)
		hotpathtest.Launch(uint64(corr+1), 9)
		f.kernel(uint64(corr+1), "add", 100*uint64(corr+1))
	}
	files, err := m.Finalize(nil, "")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Info[profile.InfoTrace]; got != "traces" {
		t.Errorf("%s says that the trace is in %q", filepath.Base(files[0]), got)
	}
	got := p.Root.Child("add").Launches
	want := []profile.LaunchTimes{
		{Kind: 0, Durations: profile.Durations{Count: 1, Nanos: 100, Least: 100, Most: 100}},
		{Kind: 1, Durations: profile.Durations{Count: 2, Nanos: 500, Least: 200, Most: 300}},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("launches %+v, want %+v", got, want)
	}
	for i, id := range []string{"small", "large"} {
		if want := (profile.LaunchKind{ID: id, Kernel: "add", Hash: "ab", PID: os.Getpid(), Function: 9}); p.Launches[i] != want {
			t.Errorf("kind %d is %+v, want %+v", i, p.Launches[i], want)
		}
	}
}
