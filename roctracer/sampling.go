package roctracer

/*
#include <stdlib.h>
#include "sdk.h"

static uint64_t unheard(void) { return SDK_UNHEARD; } // clang's cgo takes the constant for a signed one
*/
import "C"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
)

// sampler passes on the samples that sdk_samples.c counts. It implements the part of profiler.Sampler that Collector has.
type sampler struct {
	options  vendors.AMDSampling
	code     map[uint64]*codeObject // by the library's id
	images   sync.Map               // *codeObject by hash, which is also read when a profile is written
	launches launches
	held     []sample      // whose dispatch has no record yet
	complete atomic.Uint32 // enum sdk_complete of the last flush, until samples are taken
	synced   atomic.Bool   // the GPU was waited for, and no flush has been complete since

	kept, filtered, unseen, unjoined uint64 // samples: passed on, of other kernels, of unknown code, without a launch
}

// sample is a struct sdk_count.
type sample struct {
	code, offset, dispatch uint64
	reason, samples        uint32
}

// mostHeld is the number of counts that wait for records of their dispatches: 10 MB.
const mostHeld = 1 << 18

func newSampler(request record.SamplingRequest) *sampler {
	options, _ := request.Options.(vendors.AMDSampling)
	return &sampler{options: options, code: map[uint64]*codeObject{}, launches: launches{of: map[uint64]uint64{}, by: map[uint64]uint64{}}}
}

func (s *sampler) wish() (wish C.struct_sdk_sampling_wish) {
	if s == nil {
		return wish
	}
	wish.wanted, wish.interval = 1, C.uint64_t(s.options.Interval)
	switch s.options.Method {
	case vendors.Stochastic:
		wish.method = C.SDK_STOCHASTIC
	case vendors.HostTrap:
		wish.method = C.SDK_HOST_TRAP
	}
	return wish
}

// launches are the correlations of the last dispatches.
type launches struct {
	of   map[uint64]uint64 // by dispatch; 0: it is one of several kernels of a call
	by   map[uint64]uint64 // dispatches by correlation
	ids  []uint64          // dispatches in the order of their records: a ring
	next int
	last uint64 // the highest dispatch
}

// unheard is the correlation of what ran while no session listened.
var unheard = uint64(C.unheard())

// mostLaunches is several times what lies between the records of a kernel and its samples.
const mostLaunches = 1 << 17

func (l *launches) add(dispatch, correlation uint64) {
	if _, known := l.of[dispatch]; known {
		return
	}
	if other, several := l.by[correlation]; several && correlation != unheard {
		l.of[other], correlation = 0, 0
	}
	l.of[dispatch], l.last = correlation, max(l.last, dispatch)
	if correlation != 0 {
		l.by[correlation] = dispatch
	}
	if len(l.ids) < mostLaunches {
		l.ids = append(l.ids, dispatch)
		return
	}
	old := l.ids[l.next]
	if c := l.of[old]; l.by[c] == old {
		delete(l.by, c)
	}
	delete(l.of, old)
	l.ids[l.next] = dispatch
	l.next = (l.next + 1) % mostLaunches
}

// Samples passes the samples since the last call to f.
func (c *Collector) Samples(f func(*record.Sample)) {
	s := c.sampler
	if s == nil {
		return
	}
	complete := s.complete.Swap(C.SDK_NOT_YET)
	taken := C.sdk_samples_take()
	for _, d := range unsafe.Slice(taken.dispatches, taken.dispatch_count) {
		s.launches.add(uint64(d.dispatch), uint64(d.correlation))
	}
	ready := s.held
	s.held = nil
	for _, n := range unsafe.Slice(taken.counts, taken.size) {
		if n.samples > 0 {
			ready = append(ready, sample{uint64(n.code), uint64(n.offset), uint64(n.dispatch), uint32(n.reason), uint32(n.samples)})
		}
	}
	C.free(unsafe.Pointer(taken.dispatches))
	C.free(unsafe.Pointer(taken.counts))
	var out record.Sample // f does not keep it
	for _, n := range ready {
		if !s.hold(n, complete) {
			s.pass(n, &out, f)
		}
	}
}

// hold keeps a sample until the record of its dispatch has come.
func (s *sampler) hold(n sample, complete uint32) bool {
	_, known := s.launches.of[n.dispatch]
	over := complete == C.SDK_TO_THE_END || complete == C.SDK_SO_FAR && n.dispatch <= s.launches.last // its record would be here
	if known || over || n.dispatch == 0 || len(s.held) == mostHeld {
		return false
	}
	s.held = append(s.held, n)
	return true
}

// pass passes on a sample.
func (s *sampler) pass(n sample, out *record.Sample, f func(*record.Sample)) {
	correlation, known := s.launches.of[n.dispatch]
	if correlation == unheard {
		return
	}
	if !known {
		s.unjoined += uint64(n.samples)
	}
	object := s.object(n.code)
	function, offset, found := object.find(n.offset)
	switch {
	case !found:
		s.unseen += uint64(n.samples)
	case !s.wanted(object, function.Name):
		s.filtered += uint64(n.samples)
	default:
		s.kept += uint64(n.samples)
		*out = record.Sample{Module: object.hash, Function: function.Name, Index: uint32(function.Index), Offset: offset, Correlation: correlation,
			Stalls: append(out.Stalls[:0], record.Stall{Reason: uint16(n.reason), Samples: uint64(n.samples)})}
		f(out)
	}
}

// wanted reports whether samples of a function are kept: of a kernel that matches, and of what such kernels call.
func (s *sampler) wanted(o *codeObject, function string) bool {
	matches := s.options.Kernels
	return matches == nil || matches(function) || o.module != nil && slices.ContainsFunc(o.module.Callers()[function], matches)
}

// Function knows no handles: HIP does not say which code object a function is from. Samples name their launch without it.
func (c *Collector) Function(uint64) (record.Function, bool) { return record.Function{}, false }

// Loaded does nothing: the library reports all code, also what was loaded before.
func (c *Collector) Loaded(uint64, string, []byte) {}

// Image returns the binary that a module was loaded from, nil if it was not seen or not kept.
func (c *Collector) Image(module uint64) []byte {
	if o := c.sampled(module); o != nil {
		return o.image
	}
	return nil
}

// Module returns a module by the hash of its image, nil if the image is not known.
func (c *Collector) Module(module uint64) gpu.Module {
	if o := c.sampled(module); o != nil && o.module != nil {
		return o.module
	}
	return nil
}

func (c *Collector) sampled(module uint64) *codeObject {
	if c.sampler == nil {
		return nil
	}
	o, _ := c.sampler.images.Load(module)
	object, _ := o.(*codeObject)
	return object
}

// ImageSuffix is the suffix of files with images.
func (c *Collector) ImageSuffix() string { return vendors.AMD.Code.Suffix }

// SamplingFacts describes all samples so far.
func (c *Collector) SamplingFacts() record.SamplingFacts {
	s := c.sampler
	if s == nil {
		return record.SamplingFacts{}
	}
	var f C.struct_sdk_sampling_facts
	C.sdk_sampling_facts(&f)
	facts := record.SamplingFacts{
		Mode: record.Continuous, Reasons: slices.Clone(vendors.AMDReasons), Total: uint64(f.samples + f.dropped), Dropped: uint64(f.dropped + f.lost + f.invalid),
		Problems: s.said(&f),
	}
	if f.got.method == C.SDK_STOCHASTIC {
		facts.Period = uint64(f.got.interval)
	} else {
		facts.Reasons = append(facts.Reasons, "") // the host trap does not see why a warp waits
	}
	return facts
}
