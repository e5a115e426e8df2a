package profiler

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// goSession starts a session of the Go API over a fake source, on this thread.
func goSession(t *testing.T) (*Session, *fakeSource) {
	t.Helper()
	f := &fakeSource{}
	register("fake", func(SourceOptions) Source { return f })
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s, err := Start(filepath.Join(t.TempDir(), "go"), Options{Backend: "fake"})
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// written finalizes a session and reads its file.
func written(t *testing.T, s *Session) *profile.Profile {
	t.Helper()
	files, err := s.Finalize()
	if err != nil || len(files) != 1 {
		t.Fatalf("finalize: %v, %v", files, err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// elsewhere runs f in another goroutine, on a thread that is not this one, and waits.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}

func TestScopesNestAndCarryMetrics(t *testing.T) {
	s, f := goSession(t)
	func() {
		defer Scope("step")()
		func() {
			defer Scope("forward")()
			if err := Add[int64]("bytes", 12); err != nil {
				t.Error(err)
			}
			if err := Add("bytes", 1.5); err == nil {
				t.Error("a metric changed its type without an error")
			}
			hotpathtest.Launch(1, 1)
		}()
		hotpathtest.Launch(2, 1)
	}()
	f.kernel(1, "gemm", 20)
	f.kernel(2, "add", 10)
	same(t, outline(written(t, s)), `ROOT bytes=0 count=0 time (ns)=0
  step
    forward bytes=12
      gemm count=1 time (ns)=20
    add count=1 time (ns)=10
`)
}

// A goroutine's scopes are its own. In a Python program another thread's kernels would land in the main
// thread's scope; in a Go program the starting thread may be running any goroutine.
func TestGoroutinesInheritNoScopes(t *testing.T) {
	s, f := goSession(t)
	end := Scope("mine")
	elsewhere(func() {
		hotpathtest.Launch(1, 1)
		defer Scope("other")()
		hotpathtest.Launch(2, 1)
	})
	hotpathtest.Launch(3, 1)
	end()
	f.kernel(1, "bare", 1)
	f.kernel(2, "scoped", 2)
	f.kernel(3, "scoped", 4)
	same(t, outline(written(t, s)), `ROOT count=0 time (ns)=0
  bare count=1 time (ns)=1
  other
    scoped count=1 time (ns)=2
  mine
    scoped count=1 time (ns)=4
`)
}

func TestFinalizeTwice(t *testing.T) {
	s, _ := goSession(t)
	written(t, s)
	if files, err := s.Finalize(); files != nil || err != nil {
		t.Errorf("a second Finalize: %v, %v; it should do nothing", files, err)
	}
}
