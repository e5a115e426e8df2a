package aggregate

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
)

func TestAKindHasOneNumber(t *testing.T) {
	ForgetLaunchKinds()
	defer ForgetLaunchKinds()
	a := profile.LaunchKind{ID: "1", Kernel: "k", Hash: "h", Function: 7}
	others := []profile.LaunchKind{{ID: "2", Kernel: "k", Hash: "h", Function: 7}, {ID: "1", Kernel: "k", Hash: "g", Function: 7}, {ID: "1", Kernel: "k", Hash: "h", Function: 8}}
	if n, again := RegisterLaunchKind(a), RegisterLaunchKind(a); n != 1 || again != 1 {
		t.Errorf("the first kind is %d and then %d", n, again)
	}
	for i, k := range others {
		if n := RegisterLaunchKind(k); n != uint32(i+2) {
			t.Errorf("%+v is %d", k, n)
		}
	}
	want := profile.LaunchKind{ID: "1", Kernel: "k", Hash: "h", PID: os.Getpid(), Function: 8}
	if got := LaunchKindOf(4); got != want {
		t.Errorf("kind 4 is %+v, want %+v", got, want)
	}
	for _, tag := range []uint16{0, 5, hotpath.Others} {
		if got := LaunchKindOf(tag); got != (profile.LaunchKind{PID: os.Getpid()}) {
			t.Errorf("kind %d is %+v", tag, got)
		}
	}
}

func TestKindsWithoutANumberShareTheLast(t *testing.T) {
	ForgetLaunchKinds()
	defer ForgetLaunchKinds()
	var all sync.WaitGroup
	for range 4 { // all register the same, at once
		all.Go(func() {
			for i := range hotpath.Others + 10 {
				RegisterLaunchKind(profile.LaunchKind{ID: fmt.Sprint(i), Hash: fmt.Sprint(i / LaunchKindsPerKernel)})
			}
		})
	}
	all.Wait()
	if n := len(launchKinds); n != hotpath.Others-1 {
		t.Errorf("%d kinds have a number, want %d", n, hotpath.Others-1)
	}
	if n := RegisterLaunchKind(profile.LaunchKind{ID: "one more"}); n != hotpath.Others {
		t.Errorf("one more is %d", n)
	}
	if n := RegisterLaunchKind(launchKinds[41]); n != 42 {
		t.Errorf("one that was registered before is %d", n)
	}
}

// TestKindsOfOneKernelAreLimited: a kernel with a new argument at each launch leaves numbers to others.
func TestKindsOfOneKernelAreLimited(t *testing.T) {
	ForgetLaunchKinds()
	defer ForgetLaunchKinds()
	seeded, other := profile.LaunchKind{Kernel: "k", Hash: "h", Function: 7}, profile.LaunchKind{ID: "1", Kernel: "other", Hash: "g", Function: 8}
	for i := range 3 * LaunchKindsPerKernel {
		seeded.ID = fmt.Sprint(i)
		want := uint32(min(i, LaunchKindsPerKernel) + 1)
		if i >= LaunchKindsPerKernel {
			want |= RestOfLaunches
		}
		if n := RegisterLaunchKind(seeded); n != want {
			t.Fatalf("kind %d of one kernel is %d, want %d", i, n, want)
		}
	}
	if n := RegisterLaunchKind(other); n != LaunchKindsPerKernel+2 {
		t.Errorf("the kind of another kernel is %d", n)
	}
	seeded.ID = "5"
	if n := RegisterLaunchKind(seeded); n != 6 {
		t.Errorf("a kind that has a number is %d", n)
	}
	if got, want := LaunchKindOf(LaunchKindsPerKernel+1), (profile.LaunchKind{Kernel: "k", Hash: "h", PID: os.Getpid(), Function: 7}); got != want {
		t.Errorf("the rest is %+v, want %+v", got, want)
	}
}
