// Package scratch lends GPU memory to kernels with scopes, in which they leave their records, and takes the records out without
// waiting: a program's thread pops a buffer of a pool before a launch and records an event behind it; a thread of this package
// copies the buffer when the kernel has ended. Next passes on finished launches, for package inside to decode.
package scratch

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl -lpthread
#include "drain.h"
#include "scratch.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/goproton/goproton/hotpath/inside"
)

var kernels struct {
	sync.Mutex
	list []*inside.Kernel // by number
}

// Init sets the table of the hot path, hotpath.API(), before anything else.
func Init(api unsafe.Pointer) { C.scratch_use((*C.struct_hp_api)(api)) }

// API returns the table of functions (struct scratch_api) that the hooks call around launches.
func API() unsafe.Pointer { return unsafe.Pointer(C.scratch_api()) }

// Start has launches be recorded, with at most limit bytes of GPU memory, and a quarter as many of host memory.
func Start(limit uint64) error {
	if C.scratch_start(C.uint64_t(limit)) == 0 {
		return errors.New("start the thread that reads scopes inside kernels: the system refused; raise the limit of processes (ulimit -u)")
	}
	return nil
}

// Stop ends the recording. Kernels that were compiled with scopes still get memory.
func Stop() { C.scratch_stop() }

// Define makes a kernel known by the handle of its function. Launches of it refer to k as long as the process lives.
func Define(function uint64, k *inside.Kernel) error {
	kernels.Lock()
	defer kernels.Unlock()
	if in32Bits(k.Triton) {
		C.scratch_addressable(1 << 31)
	}
	if C.scratch_define(C.uint64_t(function), C.uint32_t(len(kernels.list)), C.uint32_t(k.SlotSize), C.uint32_t(k.Warps), C.uint64_t(units(k))) == 0 {
		return errors.New("define a kernel with scopes: out of memory")
	}
	kernels.list = append(kernels.list, k)
	return nil
}

// units has a bit for each warp that writes; 0 for more warps than bits.
func units(k *inside.Kernel) (bits uint64) {
	if k.Warps <= 0 || k.Warps > 64 {
		return 0
	}
	for w := range k.Warps {
		if k.Units == nil || slices.Contains(k.Units, w) {
			bits |= 1 << w
		}
	}
	return bits
}

// in32Bits reports whether a release of Triton compiles the address of a block's slot in 32 bits: those before 3.8 do.
func in32Bits(triton string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(triton, "%d.%d", &major, &minor)
	return n == 2 && (major < 3 || major == 3 && minor < 8)
}

// Forget says that a function was unloaded: the driver may give its handle to another.
func Forget(function uint64) { C.scratch_forget(C.uint64_t(function)) }

// Next passes on the oldest launch that has been copied, if there is one. What f gets is valid during the call.
func Next(f func(l *inside.Launch)) bool {
	var d C.struct_scratch_done
	if C.scratch_next(&d) == 0 {
		return false
	}
	defer C.scratch_recycle(d.host)
	kernels.Lock()
	k := kernels.list[d.kernel]
	kernels.Unlock()
	f(&inside.Launch{
		Kernel: k, Grid: [3]uint32{uint32(d.blocks), 1, 1}, CTAsPerCluster: 1, Device: int(d.device), Stream: uint64(d.stream), Correlation: uint64(d.correlation),
		Set: uint32(d.set), Node: uint32(d.node), PyNode: uint32(d.pynode), IsOp: d.op != 0, Replayed: d.replayed != 0,
		Buffer: unsafe.Slice((*byte)(d.slots), int(d.bytes)),
	})
	return true
}

// Ready is how many launches Next has at the moment.
func Ready() int { return int(C.scratch_ready()) }

// UnderWay is how many launches were made whose records have not been copied.
func UnderWay() uint64 { return uint64(C.scratch_under_way()) }

// Await waits for the records of the launches so far, and not for those of threads that go on launching. take takes in what Next has,
// which makes room for more; moved is called each time that records have arrived. If none arrive for as long as patience, Await
// returns how many are missing. It is called by one goroutine at a time.
func Await(patience time.Duration, take, moved func()) (missing uint64) {
	C.scratch_ask()
	left, since := uint64(C.scratch_asked()), time.Now()
	for left > 0 {
		take()
		if now := uint64(C.scratch_asked()); now != left {
			left, since = now, time.Now()
			moved()
		} else if time.Since(since) > patience {
			return left
		}
		time.Sleep(time.Millisecond)
	}
	return 0
}

// CopiedBytes is how much was copied from GPUs so far.
func CopiedBytes() uint64 { return uint64(C.scratch_copied()) }

// Losses count launches that were not recorded, since the process began.
type Losses struct {
	NoRoom      uint64 // their slots would have passed the limit
	LargestSize uint64 // of those, in bytes
	Unknown     uint64 // their kernel was not defined
	Foreign     uint64 // another allocator gave them memory
	Elsewhere   uint64 // their memory was another GPU's
	Failed      uint64 // the driver refused a copy
	DriverError uint32 // the first such error
	TooMany     uint64 // blocks, for the compiler's code to address
	Replays     uint64 // replays of graphs for which no host memory was left
}

// Lost returns the losses so far.
func Lost() Losses {
	var l C.struct_scratch_losses
	C.scratch_lost(&l)
	return Losses{uint64(l.no_room), uint64(l.no_room_bytes), uint64(l.unknown), uint64(l.foreign), uint64(l.elsewhere), uint64(l.failed), uint32(l.error), uint64(l.too_many), uint64(l.replays)}
}
