package launchkinds

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
)

func TestAKindHasOneNumber(t *testing.T) {
	defer Forget()
	a := Kind{ID: "1", Kernel: "k", Hash: "h", Function: 7}
	others := []Kind{{ID: "2", Kernel: "k", Hash: "h", Function: 7}, {ID: "1", Kernel: "k", Hash: "g", Function: 7}, {ID: "1", Kernel: "k", Hash: "h", Function: 8}}
	if n, again := Register(a), Register(a); n != 1 || again != 1 {
		t.Errorf("the first kind is %d and then %d", n, again)
	}
	for i, k := range others {
		if n := Register(k); n != uint32(i+2) {
			t.Errorf("%+v is %d", k, n)
		}
	}
	want := profile.LaunchKind{ID: "1", Kernel: "k", Hash: "h", PID: os.Getpid(), Function: 8}
	if got := Of(4); got != want {
		t.Errorf("kind 4 is %+v, want %+v", got, want)
	}
	for _, tag := range []uint16{0, 5, hotpath.Others} {
		if got := Of(tag); got != (profile.LaunchKind{PID: os.Getpid()}) {
			t.Errorf("kind %d is %+v", tag, got)
		}
	}
}

func TestKindsWithoutANumberShareTheLast(t *testing.T) {
	defer Forget()
	var all sync.WaitGroup
	for range 4 { // all register the same, at once
		all.Go(func() {
			for i := range hotpath.Others + 10 {
				Register(Kind{ID: fmt.Sprint(i), Hash: fmt.Sprint(i / PerKernel)})
			}
		})
	}
	all.Wait()
	if n := len(kinds); n != hotpath.Others-1 {
		t.Errorf("%d kinds have a number, want %d", n, hotpath.Others-1)
	}
	if n := Register(Kind{ID: "one more"}); n != hotpath.Others {
		t.Errorf("one more is %d", n)
	}
	if n := Register(kinds[41]); n != 42 {
		t.Errorf("one that was registered before is %d", n)
	}
}

// TestKindsOfOneKernelAreLimited: a kernel with a new argument at each launch leaves numbers to others.
func TestKindsOfOneKernelAreLimited(t *testing.T) {
	defer Forget()
	seeded, other := Kind{Kernel: "k", Hash: "h", Function: 7}, Kind{ID: "1", Kernel: "other", Hash: "g", Function: 8}
	for i := range 3 * PerKernel {
		seeded.ID = fmt.Sprint(i)
		want := uint32(min(i, PerKernel) + 1)
		if i >= PerKernel {
			want |= Rest
		}
		if n := Register(seeded); n != want {
			t.Fatalf("kind %d of one kernel is %d, want %d", i, n, want)
		}
	}
	if n := Register(other); n != PerKernel+2 {
		t.Errorf("the kind of another kernel is %d", n)
	}
	seeded.ID = "5"
	if n := Register(seeded); n != 6 {
		t.Errorf("a kind that has a number is %d", n)
	}
	if got, want := Of(PerKernel+1), (profile.LaunchKind{Kernel: "k", Hash: "h", PID: os.Getpid(), Function: 7}); got != want {
		t.Errorf("the rest is %+v, want %+v", got, want)
	}
}
