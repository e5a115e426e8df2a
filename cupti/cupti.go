// Package cupti collects on NVIDIA GPUs. It opens libcupti at run time, subscribes to callbacks of the driver's launches and
// graphs (C on the program's threads, see callback.c), has CUPTI fill pooled buffers with records, and turns these into
// activities when they are drained (decode.c). CUPTI's identifiers do not leave this package. A program that imports it has the
// backend; this import is promised, see CONTRIBUTING.md.
package cupti

/*
#cgo CFLAGS: -I${SRCDIR}/../hotpath -I${SRCDIR}/../hotpath/recorder -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "counters.h"
#include "sampling.h"
#include "tensor.h"

static uint32_t set_kind(int on, uint32_t kind) { return on ? cupti.ActivityEnable(kind) : cupti.ActivityDisable(kind); }
static uint32_t flush(uint32_t flag) { return cupti.ActivityFlushAll(flag); }
static uint32_t subscribe(int sampling, int metered, int counted, char *holder, size_t size, int share) {
	static const cupti_callback_fn callbacks[2][2] = {{cupti_on_callback, cupti_on_sampled_callback}, {cupti_on_metered_callback, cupti_on_metered_sampled_callback}};
	return cupti_subscribe(counted ? cupti_on_counted_callback : callbacks[metered != 0][sampling != 0], holder, size, share);
}
static uint32_t finalize(void) { return cupti.Finalize(); }
static uint32_t dropped(size_t *n) { return cupti.ActivityGetNumDroppedRecords(NULL, 0, n); }
*/
import "C"

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler"
)

// Collector is the process's connection to CUPTI. Attached means subscribed, with buffers registered; an attached collector
// records what Listen asks for.
type Collector struct {
	opts         profiler.SourceOptions
	nvtx         bool // NVTX push/pop ranges are scopes
	library      vendors.Candidate
	version      uint32
	attached     bool
	kinds, calls record.Kinds // as passed to Listen
	enabled      record.Kinds // the records that CUPTI has enabled; record.Graph is never disabled
	sampler      *sampler     // nil: instructions are not sampled
	counter      *counter     // nil: counters are not measured
	reader       *reader      // nil: whole GPUs are not read
	subscribed   subscription
	callNames    map[uint32]string // of driver functions
	watched      record.Marks
	resting      bool // instructions are not sampled for now, see Sample
	shared       bool // other subscribers may exist
	left         bool // CUPTI was left for a while, see Leave
}

// New returns a collector. PROTON_GRAPH=graph asks for whole graphs, because Python's interface, which is upstream's, has no
// parameter for them.
func New(opts profiler.SourceOptions) *Collector {
	opts.WholeGraphs = opts.WholeGraphs || settings.Graph.Get(hotpath.Getenv) == "graph"
	if resident != nil {
		resident.opts.Sampling, resident.opts.Metered, resident.opts.Readings = opts.Sampling, opts.Metered, opts.Readings
		return resident
	}
	return &Collector{opts: opts, nvtx: settings.NVTX.On(hotpath.Getenv)} // as Triton's knob says
}

// Attached reports whether the collector is attached.
func (c *Collector) Attached() bool { return c.attached }

// Attach opens the driver and libcupti and subscribes. early says that the program has not used its GPU yet.
func (c *Collector) Attach(early bool) error {
	if c.attached {
		return c.resume()
	}
	late := c.refuseLateGraphs(early)
	if err := c.attach(); err != nil {
		return err
	}
	return late
}

func (c *Collector) attach() error {
	driver, err := loadDriver()
	if err != nil {
		return err
	}
	if err := c.loadLibrary(driver); err != nil {
		return err
	}
	wrapForRecording(c.library.Path)
	C.cupti_correlation_from(0) // ids of former sessions do not matter any more
	return c.subscribe(driver)
}

// subscribe subscribes to the library that was loaded.
func (c *Collector) subscribe(driver int) error {
	C.cupti_use_hotpath(vendorAPI())
	C.cupti_tensors_off(c.tensorsOff())
	C.cupti_decode_with(vendorAPI())
	C.cupti_meter_with(vendorAPI())
	var holder string
	c.subscribed = c.wanted()
	c.shared = c.shares(driver)
	if rc := subscribeTo(c.subscribed, c.shared, &holder); rc != 0 {
		return c.refused("subscribe to CUPTI", rc, holder, driver)
	}
	if c.subscribed.samples {
		c.startSampler()
	}
	if c.subscribed.counted {
		c.startCounters()
	}
	c.startReader()
	if rc := c.readyRecords(); rc != 0 {
		c.endSampler()
		c.endCounters()
		C.cupti_unsubscribe()
		return c.refused("register activity buffers", rc, "", driver)
	}
	c.attached = true
	if c.nvtx {
		hotpath.SetEnvDefault("NVTX_INJECTION64_PATH", c.library.Path) // NVTX's header code reads it at the program's first range
	}
	return nil
}

// subscribeTo returns CUPTI's code, and who holds it.
func subscribeTo(what subscription, share bool, holder *string) uint32 {
	var name [256]C.char
	rc := C.subscribe(boolint(what.samples), boolint(what.metered), boolint(what.counted), &name[0], C.size_t(len(name)), boolint(share))
	if holder != nil {
		*holder = C.GoString(&name[0])
	}
	return uint32(rc)
}

// readyRecords readies CUPTI's records, and returns its code. Instructions count nothing while there are any.
func (c *Collector) readyRecords() uint32 {
	if c.byLine() {
		return C.RC_OK
	}
	c.tune()
	return uint32(C.cupti_register_buffers())
}

// tune makes collection cheap. A library that is too old for a setting refuses it; that is not an error.
func (c *Collector) tune() {
	C.cupti_set_u8(C.ATTR_PER_THREAD_BUFFER, 1) // launching threads do not wait for a lock of CUPTI's
	C.cupti_set_u8(C.ATTR_ZEROED_OUT_BUFFER, 1) // our buffers are zeroed already: CUPTI does not clear them on the launching thread
}

// Listen sets what is recorded: kinds are those of records (none: nothing is recorded), calls those whose driver calls are
// recorded too. Callbacks are enabled before records and disabled after them, so that a record without a launch is a loss.
func (c *Collector) Listen(kinds, calls record.Kinds) error {
	if !c.attached || c.kinds == kinds && c.calls == calls {
		return nil
	}
	was := c.kinds
	c.kinds, c.calls = kinds, calls
	if kinds == 0 {
		c.reader.run(false)
		c.counter.run(false)
		c.sampler.run(false)
		c.setKinds(0)
		C.cupti_listen_work(boolint(c.counter != nil), 0)
		if !c.opts.WholeGraphs { // graph records stay enabled: their launches must be known as those of no session
			C.cupti_listen(0, boolint(c.nvtx), boolint(c.follows()))
		}
		return nil
	}
	err := c.enable(was == 0)
	if c.kinds != 0 {
		c.sampler.run(!c.resting)
		c.counter.run(true)
		c.reader.run(true)
	}
	return err
}

// enable enables callbacks and records for what is to be listened to. Once a context is sampled, CUPTI 13.0 may refuse kernel records
// (CUPTI_ERROR_NOT_COMPATIBLE, on an H100, in programs whose other threads launched at that moment): they are enabled before the first launch
// that is called back has its context sampled.
func (c *Collector) enable(first bool) error {
	nvtx, follow := boolint(c.nvtx), boolint(c.follows()) // launches are followed as long as sampling may be switched, and counters measured
	c.sampler.hold(true)
	defer c.sampler.hold(false)
	if first {
		if rc := C.cupti_listen(1, nvtx, 0); rc != 0 {
			c.kinds = 0
			return c.refused("enable launch callbacks", uint32(rc), "", 0)
		}
	}
	copies := c.calls.Has(record.Memcpy) || c.calls.Has(record.Memset)
	C.cupti_counted_copies(boolint(copies))
	work := C.cupti_listen_work(boolint(copies || c.counter != nil), boolint(c.calls.Has(record.Sync)))
	kinds := c.kinds
	if c.byLine() {
		kinds = 0
	}
	doing, rc := c.setKinds(kinds)
	if rc != 0 && doing == "kernel" {
		C.cupti_listen_work(0, 0)
		C.cupti_listen(0, nvtx, follow)
		c.kinds = 0
		c.setKinds(0)
		return c.refused("enable kernel records", rc, "", 0)
	}
	if first {
		C.cupti_tensors_begin()
	}
	if rc == 0 && work != 0 {
		doing, rc = "copy", uint32(work)
	}
	if rc != 0 {
		return c.refused("enable "+doing+" records", rc, "", 0)
	}
	return nil
}

// follows reports whether launches are followed while nothing is recorded, see cupti_listen: what begins with them, that a gate is
// passed and a launch measured, ends when they return.
func (c *Collector) follows() bool { return c.sampler != nil || c.counter != nil }

// Mark is described with profiler.Marker.
func (c *Collector) Mark() uint64 {
	if !c.attached {
		return 0
	}
	return uint64(C.cupti_mark())
}

// Watch has marks of the program reported, whether or not anything is recorded.
func (c *Collector) Watch(marks record.Marks) error {
	marks.Ranges = marks.Ranges && c.nvtx
	if !c.attached || c.watched == marks {
		return nil
	}
	c.watched = marks
	if rc := C.cupti_watch(boolint(marks.Ranges), boolint(marks.Profilers)); rc != 0 {
		return c.refused("enable the callbacks of cuProfilerStart and cuProfilerStop", uint32(rc), "", 0)
	}
	return nil
}

// activities are CUPTI's kinds of record, in the order in which they are enabled.
var activities = []struct {
	kind record.Kind
	act  uint32
	name string
}{
	{record.Kernel, C.ACT_CONCURRENT_KERNEL, "kernel"},
	{record.Memcpy, C.ACT_MEMCPY, "memcpy"},
	{record.Memcpy, C.ACT_MEMCPY2, "peer memcpy"},
	{record.Memset, C.ACT_MEMSET, "memset"},
	{record.Sync, C.ACT_SYNCHRONIZATION, "synchronization"},
}

// setKinds enables the records of these kinds and disables all others. It returns the name of the first that was refused, and
// CUPTI's code.
func (c *Collector) setKinds(kinds record.Kinds) (refused string, rc uint32) {
	for _, a := range activities {
		on := kinds.Has(a.kind)
		if on == c.enabled.Has(a.kind) {
			continue
		}
		code := c.setKind(on, a.act)
		if code != 0 && rc == 0 {
			refused, rc = a.name, code
		}
		if a.kind == record.Kernel && code != 0 {
			return refused, rc
		}
	}
	if kinds != 0 && c.opts.WholeGraphs && !c.enabled.Has(record.Graph) {
		code := uint32(C.set_kind(1, C.ACT_GRAPH_TRACE))
		if code == 0 {
			c.enabled |= record.KindsOf(record.Graph)
		} else if rc == 0 {
			refused, rc = "kernel", code
		}
	}
	c.enabled = kinds | c.enabled&record.KindsOf(record.Graph)
	return refused, rc
}

func (c *Collector) setKind(on bool, kind uint32) uint32 {
	if kind == C.ACT_CONCURRENT_KERNEL && c.counter != nil {
		return uint32(C.counters_record_kernels(boolint(on)))
	}
	return uint32(C.set_kind(boolint(on), C.uint32_t(kind)))
}

func boolint(b bool) C.int { return figures.OneIf[C.int](b) }

// Synchronize waits for every context that launched something, and calls done after each. While a stream is being captured it
// does nothing and returns false: synchronising would invalidate the capture.
func (c *Collector) Synchronize(done func()) bool {
	if c.left {
		return true // what was launched since then is not recorded
	}
	if !c.attached || hotpath.Capturing() {
		return false
	}
	runtime.LockOSThread() // contexts are pushed onto the thread
	defer runtime.UnlockOSThread()
	for _, ctx := range hotpath.Contexts() {
		C.cuda_synchronize(ctx)
		done()
	}
	c.sampler.synchronized()
	c.reader.flush()
	return true
}

// Flush has CUPTI return its buffers: those with only complete records or, if forced, all.
func (c *Collector) Flush(forced bool) {
	if !c.attached {
		return
	}
	c.sampler.flush()
	if c.byLine() {
		recordGPUs()
		return
	}
	flag := C.uint32_t(C.FLUSH_COMPLETED)
	if forced {
		flag = C.FLUSH_FORCED
	}
	C.flush(flag)
}

// Dropped returns how many records CUPTI has dropped since the last call.
func (c *Collector) Dropped() uint64 {
	var n C.size_t
	if !c.attached || c.byLine() || C.dropped(&n) != 0 {
		return 0
	}
	return uint64(n)
}

// finalizeSafe is the first version whose cuptiFinalize does not crash processes that have used CUDA graphs.
const finalizeSafe = C.CUPTI_12_6

// Detach unsubscribes, so that others can use CUPTI. A launch stays 0.3 µs slower until cuptiFinalize, so that is called where it
// is safe. It is not safe while another thread is inside the driver: CUPTI removes its callbacks and buffers without waiting for
// that thread, which then crashes. So it is not called while another thread runs that has launched something, unless that one does it, nor at
// the end of a process, where threads may begin to.
func (c *Collector) Detach(ending bool) {
	c.left = false
	if !c.attached {
		return
	}
	c.Listen(0, 0)
	byLine := c.byLine()
	if !ending && !byLine {
		C.flush(C.FLUSH_FORCED) // what threads have launched since the last flush is of no session, nor of the next
	}
	c.endSampler()
	c.endCounters()
	c.reader.end()
	if c.opts.WholeGraphs {
		c.pause()
		return
	}
	if !ending && !hotpath.Lives() && hotpath.OthersLive() { // the calling thread is the profiler's own, as that of proton attach: the program's threads go on
		if left, _ := c.Leave(); left {
			c.left, c.resting = false, false
			return
		}
	}
	C.cupti_unsubscribe()
	hotpath.ForgetContexts()
	if !ending && !byLine && !hotpath.OthersLive() && (c.version >= finalizeSafe || C.cupti_graphs_seen() == 0) && C.finalize() == 0 {
		hotpath.ReclaimBuffers()
	}
	c.attached, c.enabled, c.watched, c.resting = false, 0, record.Marks{}, false
}

func init() { hotpath.AddVendor(unsafe.Pointer(&C.cupti_vendor)) }

func vendorAPI() *C.struct_hp_vendor_api { return (*C.struct_hp_vendor_api)(hotpath.VendorAPI()) }

// APIName returns the name of a driver function by its callback id, and whether it waits for the GPU.
func (c *Collector) APIName(function uint32) (name string, waits bool) {
	name, known := c.callNames[function]
	if !known {
		name = C.GoString(C.cupti_call_name(C.uint32_t(function)))
		if c.callNames == nil {
			c.callNames = make(map[uint32]string)
		}
		c.callNames[function] = name
	}
	return name, strings.Contains(name, "Synchronize")
}

// ClockAhead measures how far the clock of CUPTI's records is ahead of the hot path's, in ns.
func (c *Collector) ClockAhead() int64 {
	if !c.attached {
		return 0
	}
	return int64(C.cupti_clock_ahead())
}
