// Package conformance has what the tests of every backend need: a GPU to program, and a table of how a profiler must
// behave on it (conformance_test.go). Two backends go through the table: NVIDIA's on the fake driver and library of
// replay/fakecuda, and a small synthetic one, which shows what a vendor's room has to bring. The synthetic one goes through it
// twice: the second time its room reports no graphs.
package conformance

/*
#cgo CFLAGS: -I${SRCDIR}/../../hotpath -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "fork.h"
#include "synthetic.h"

static int fork_and_launch(const char *kernel) { return fork_and(synthetic_launch, kernel); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// GPU is what a test programs.
type GPU interface {
	Launch(kernel string)
	Copy(bytes int) // from the host
	// Graph captures launches of kernels and returns what launches them again.
	Graph(kernels ...string) (launch func())
	// Fork launches a kernel in a forked child and returns the child's wait status.
	Fork(kernel string) int
}

// Synthetic is the GPU of the synthetic vendor.
type Synthetic struct{}

func with(text string, f func(*C.char)) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	f(c)
}

// Launch launches a kernel.
func (Synthetic) Launch(kernel string) { with(kernel, func(c *C.char) { C.synthetic_launch(c) }) }

// Copy copies from the host.
func (Synthetic) Copy(bytes int) { C.synthetic_copy(C.uint64_t(bytes)) }

// CopyInParts copies as many times as many bytes from the host, in one call on a stream.
func (Synthetic) CopyInParts(bytes, parts, stream int) {
	C.synthetic_copy_in_parts(C.uint64_t(bytes), C.int(parts), C.uint32_t(stream))
}

// Wait waits for the GPU.
func (Synthetic) Wait(nanos int) { C.synthetic_wait(C.uint64_t(nanos)) }

// LaunchOn launches a kernel on a stream.
func (Synthetic) LaunchOn(kernel string, stream int) {
	with(kernel, func(c *C.char) { C.synthetic_launch_on(c, C.uint32_t(stream)) })
}

// Graph is described with GPU.
func (s Synthetic) Graph(kernels ...string) func() {
	C.synthetic_capture_begin()
	for _, kernel := range kernels {
		s.Launch(kernel)
	}
	exec := C.synthetic_capture_end()
	return func() { C.synthetic_graph_launch(exec) }
}

// Fork is described with GPU.
func (Synthetic) Fork(kernel string) (status int) {
	with(kernel, func(c *C.char) { status = int(C.fork_and_launch(c)) })
	return status
}

// Source collects on the synthetic GPU: what a vendor's room has to do in Go, but for
// hotpath.AddVendor, which only TritonParse traces need. It implements profiler.Source.
type Source struct {
	NoGraphs bool // it does not report graphs, as the room of a library that cannot
	attached bool
}

// Attach takes the library.
func (s *Source) Attach(bool) error {
	graphs := C.int(1)
	if s.NoGraphs {
		graphs = 0
	}
	C.synthetic_use((*C.struct_hp_vendor_api)(hotpath.VendorAPI()), graphs)
	s.attached = true
	return nil
}

// Attached reports whether the library was taken.
func (s *Source) Attached() bool { return s.attached }

// Listen records everything, or nothing.
func (s *Source) Listen(activities, _ record.Kinds) error {
	C.synthetic_listen(figures.OneIf[C.int](activities != 0))
	return nil
}

// Synchronize has nothing to wait for: this GPU is done when a launch returns.
func (s *Source) Synchronize(done func()) bool {
	if hotpath.Capturing() {
		return false
	}
	done()
	return true
}

// Flush hands over the buffer that is being filled.
func (s *Source) Flush(bool) { C.synthetic_flush() }

// Dropped is how many records were lost.
func (s *Source) Dropped() uint64 { return 0 }

// Detach leaves the library.
func (s *Source) Detach(bool) {
	C.synthetic_listen(0)
	C.synthetic_flush()
	s.attached = false
}

// Ready reports that attaching may be done at any time.
func (s *Source) Ready() bool { return true }

// AttachLater is not needed where Ready is always true.
func (s *Source) AttachLater() bool { return false }

// APIName names a call by its number.
func (s *Source) APIName(call uint32) (string, bool) {
	return [...]string{"", "launch", "copy", "graph launch", "wait"}[call%5], call == 4
}

// ClockAhead is how far the GPU's clock is ahead: it is the host's.
func (s *Source) ClockAhead() int64 { return 0 }

// Device describes the GPU.
func (s *Source) Device(ordinal uint32) profile.Device {
	return profile.Device{Type: "SYNTHETIC", ID: fmt.Sprint(ordinal), Arch: "1"}
}

// DeviceName is what the GPU is sold as.
func (s *Source) DeviceName(uint32) string { return "synthetic GPU" }
