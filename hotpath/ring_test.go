package hotpath_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

// reader drains launches, which have to come in order, and notes the places of their records.
type reader struct {
	t           *testing.T
	next        uint64
	first, last uintptr
}

func (r *reader) drain() {
	r.t.Helper()
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for i := range records {
			at := uintptr(unsafe.Pointer(&records[i]))
			if r.last = max(r.last, at); r.first == 0 || at < r.first {
				r.first = at
			}
			if records[i].Type != hotpath.Launch {
				continue
			}
			if got := records[i].Correlation(); got != r.next {
				r.t.Fatalf("launch %d came, and not %d", got, r.next)
			}
			r.next++
		}
	})
}

// A ring that the drainer keeps up with begins again at its first place; the last launch is found behind that, too.
func TestRingsThatAreDrainedStaySmall(t *testing.T) {
	const rounds, record = 3000, unsafe.Sizeof(hotpath.Record{})
	for _, c := range []struct {
		name  string
		burst int
		most  uintptr // records that the ring's places in use hold
	}{
		{"few", 40, 512 + 2*40},
		{"many", 2000, 1 << 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin(t, false)
			random := rand.New(rand.NewPCG(1, 2))
			r := &reader{t: t, next: 1}
			for launch := uint64(1); launch < uint64(rounds*c.burst/2); {
				for range random.IntN(c.burst) {
					hotpathtest.Launch(launch, 10)
					if random.IntN(64) == 0 { // the ring may begin again between a launch and the record that comes next
						r.drain()
						hotpathtest.NodeCreated(1, launch)
					}
					if last, ok := hotpathtest.LastLaunch(launch - 1); !ok || last.Correlation() != launch {
						t.Fatalf("the last launch is not found: %v, %d instead of %d", ok, last.Correlation(), launch)
					}
					launch++
				}
				r.drain()
			}
			if used := (r.last - r.first) / record; used >= c.most {
				t.Errorf("%d places of the ring were used, of %d at most", used, c.most)
			}
		})
	}
}

// The drainer reads while a thread writes, in bursts of which some find the ring empty.
func TestRingsAreDrainedWhileTheyFill(t *testing.T) {
	const launches, ahead = 2_000_000, 1 << 14
	begin(t, false)
	var read atomic.Uint64
	var over atomic.Bool
	defer over.Store(true) // also where what is drained is wrong
	go func() {
		runtime.LockOSThread()
		random := rand.New(rand.NewPCG(3, 4))
		for launched := uint64(0); launched < launches && !over.Load(); runtime.Gosched() {
			if launched-read.Load() > ahead {
				continue
			}
			n := min(uint64(random.IntN(1<<random.IntN(12)))+1, launches-launched)
			hotpathtest.Launches(uint32(launched)+1, uint32(n))
			launched += n
		}
	}()
	for r := (&reader{t: t, next: 1}); r.next <= launches; read.Store(r.next - 1) {
		r.drain()
	}
}

// A drainer that comes late gives back the pages of what it reads. The last launch is still found.
func TestRingsGiveBackWhatALateDrainerReads(t *testing.T) {
	for _, launches := range []uint32{1<<15 - 100, 1 << 13, 1 << 12} {
		t.Run(fmt.Sprint(launches), func(t *testing.T) {
			begin(t, false)
			hotpathtest.Launches(1, launches)
			r := &reader{t: t, next: 1}
			r.drain()
			if r.next != uint64(launches)+1 {
				t.Fatalf("%d launches came, of %d", r.next-1, launches)
			}
			if last, ok := hotpathtest.LastLaunch(uint64(launches) - 1); !ok || last.Correlation() != uint64(launches) {
				t.Errorf("the last launch is not found: %v", ok)
			}
			if kept := residentPages(t, r.first, r.last-r.first); kept > 40 { // up to 64 KiB at each end
				t.Errorf("%d pages of the ring are resident, of %d", kept, (r.last-r.first)>>12)
			}
			hotpathtest.Launches(launches+1, 1000)
			if r.drain(); r.next != uint64(launches)+1001 {
				t.Errorf("%d launches came, of %d", r.next-1, launches+1000)
			}
		})
	}
}

// residentPages counts those of a piece of memory.
func residentPages(t *testing.T, at, size uintptr) (n int) {
	t.Helper()
	page := uintptr(os.Getpagesize())
	at = at / page * page
	in := make([]byte, (size+page-1)/page)
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, at, uintptr(len(in))*page, uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, b := range in {
		n += int(b & 1)
	}
	return n * int(page) >> 12
}
