// Package roctracer collects on AMD GPUs, through one of two libraries that it opens at run time: librocprofiler-sdk or
// libroctracer64. Each has a provider, which translates the library's callbacks and records for the part that both share: calls of
// HIP (calls.c, on the program's threads), graphs, names, records and the driver. The identifiers of the libraries do not leave
// this package. A program that imports it has both backends; this import is promised, see CONTRIBUTING.md.
package roctracer

/*
#cgo CFLAGS: -I${SRCDIR}/../hotpath -I${SRCDIR}/../hotpath/recorder -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fvisibility=hidden
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "room.h"

static const char *call_name(uint32_t number) { return number < hip_call_count ? hip_calls[number].name : ""; }
static int call_waits(uint32_t number) { return number < hip_call_count && hip_calls[number].what == HIP_WAIT; }
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/settings"
)

// provider is one of the two libraries. Its methods are called on one goroutine at a time, never inside a scope or a launch.
type provider interface {
	ready() bool                              // see profiler.Source.Ready
	later() bool                              // see profiler.Source.AttachLater
	attach(early bool) error                  // open the library and prepare callbacks; nothing is recorded yet
	listen(records, calls record.Kinds) error // report these; no records: none, and no calls
	watch(marks record.Marks) error           // report these also while no records are wanted
	flush(forced bool)                        // have the library deliver its records to room_record
	detach(ending bool)                       // leave the library; ending: threads may still use the GPU
}

// Collector is the process's connection to one of the libraries. It implements profiler.Source.
type Collector struct {
	provider
	sampler        *sampler // nil without sampling
	counter        *counter // nil without counters
	reader         *reader  // nil without readings
	name           string   // of its backend
	attached       bool
	records, calls record.Kinds // as passed to Listen
	watched        record.Marks // as passed to Watch
}

// Attached reports whether the collector is attached.
func (c *Collector) Attached() bool { return c.attached }

// Attach opens the library. early says that the program has not used its GPU yet.
func (c *Collector) Attach(early bool) error {
	if c.attached {
		return nil
	}
	C.room_use_hotpath((*C.struct_hp_vendor_api)(hotpath.VendorAPI()))
	C.ranges_want(boolint(settings.NVTX.On(hotpath.Getenv)))
	recordAs(c.name)
	err := c.attach(early)
	var part *incomplete
	if c.attached = err == nil || errors.As(err, &part); c.attached {
		c.reader.begin()
	}
	return err
}

// incomplete is the error of a provider that is attached and does not report all.
type incomplete struct{ error }

// Ready reports whether attaching now finds the library that the program uses.
func (c *Collector) Ready() bool { return c.ready() }

// AttachLater arranges for the program's use of HIP to call Manager.GPUStarts; false where that cannot be done.
func (c *Collector) AttachLater() bool { return c.later() }

// Listen sets what is recorded: records of these kinds (none: nothing is recorded), and calls that ask for those.
func (c *Collector) Listen(records, calls record.Kinds) error {
	if !c.attached || c.records == records && c.calls == calls {
		return nil
	}
	c.records, c.calls = records, calls
	err := c.listen(records, calls)
	if err != nil {
		c.records = 0
	}
	c.reader.run(c.records != 0)
	return err
}

// Mark is described with profiler.Marker.
func (c *Collector) Mark() uint64 {
	if !c.attached {
		return 0
	}
	return uint64(C.room_mark(boolint(len(hotpath.Contexts()) > 0)))
}

// Watch has marks of the program reported, whether or not anything is recorded.
func (c *Collector) Watch(marks record.Marks) error {
	if !c.attached || c.watched == marks {
		return nil
	}
	c.watched = marks
	return c.watch(marks)
}

// Synchronize waits for every device that the program launched on, and calls done after each. While a stream is being captured it
// does nothing and returns false: synchronising would invalidate the capture.
func (c *Collector) Synchronize(done func()) bool {
	if !c.attached || hotpath.Capturing() {
		return false
	}
	runtime.LockOSThread() // the current device is the thread's
	defer runtime.UnlockOSThread()
	for _, device := range hotpath.Contexts() {
		C.hip_synchronize(C.int(uintptr(device)) - 1)
		done()
	}
	if c.sampler != nil {
		c.sampler.synced.Store(true)
	}
	if c.counter != nil {
		c.counter.synced.Store(true)
	}
	c.reader.flush()
	return true
}

// Flush has the library deliver its records.
func (c *Collector) Flush(forced bool) {
	if c.attached {
		c.flush(forced)
	}
}

// Dropped is how many records were lost since the last call: those that the library dropped, and those of a form that is not known.
func (c *Collector) Dropped() uint64 { return uint64(C.room_dropped()) }

// Detach leaves the library to others.
func (c *Collector) Detach(ending bool) {
	if !c.attached {
		return
	}
	c.reader.run(false)
	if !ending { // it waits for the GPU
		c.reader.end()
	}
	c.detach(ending)
	hotpath.ForgetContexts()
	c.attached, c.records, c.calls, c.watched = false, 0, 0, record.Marks{}
}

// APIName returns the name of a function of HIP by its number, and whether it waits for the GPU.
func (c *Collector) APIName(call uint32) (name string, waits bool) {
	return C.GoString(C.call_name(C.uint32_t(call))), C.call_waits(C.uint32_t(call)) != 0
}

// ClockAhead is 0: times of records are converted when they are copied.
func (c *Collector) ClockAhead() int64 { return 0 }

func init() { hotpath.AddVendor(unsafe.Pointer(&C.room_vendor)) }

// loadedLibrary is the path of a library that the process has loaded, "" for none.
func loadedLibrary(name string) string {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.GoString(C.loaded_library(c))
}

func boolint(b bool) C.int { return figures.OneIf[C.int](b) }

// wants splits the kinds of calls that a session asks for, for room_listen.
func wants(records, calls record.Kinds) (launches, copies, waits C.int) {
	if records == 0 {
		return 0, 0, 0
	}
	return 1, boolint(calls.Has(record.Memcpy) || calls.Has(record.Memset)), boolint(calls.Has(record.Sync))
}
