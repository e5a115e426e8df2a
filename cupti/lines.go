package cupti

/*
#include <stdlib.h>
#include "counters.h"
#include "record_counters.h"
#include "sampling.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
)

// startLines begins to count by line. Where that cannot be, kernels are timed.
func (c *Collector) startLines() {
	s := c.counter
	missing := C.cupti_sampling_load() // its checksums of modules
	if missing == nil {
		missing = C.cupti_lines_load()
	}
	if missing != nil || c.version < C.CUPTI_13_5 {
		s.request = nil
		s.problems = append(s.problems, fmt.Sprintf("count by line: %s (%s) counts only the first kernel of a program, or none, and CUPTI 13.5 or newer counts all: `pip install --target DIR nvidia-cuda-cupti`, "+
			"with PROTON_CUPTI_PATH=DIR/nvidia/cu13/lib; kernels are timed without counters", c.library.Path, versionText(c.version)))
		return
	}
	C.record_wrap_lines(&C.cupti_lines)
	s.byLine = true
	c.sampler = c.newSampler()
	s.ask()
	for _, rc := range []C.uint32_t{C.cupti_listen_counted(), C.cupti_listen_code()} {
		if rc != 0 {
			s.problems = append(s.problems, c.refused("enable callbacks of contexts and modules", uint32(rc), "", 0).Error())
		}
	}
	C.cupti_counted_by_line(1)
	c.beginCounters(&C.counters_of_lines)
}

// byLine reports whether instructions of chosen launches are counted. Nothing else is recorded then.
func (c *Collector) byLine() bool { return c.counter != nil && c.counter.byLine }

func lineMetrics() (names []string) {
	for i := C.uint32_t(0); ; i++ {
		name := C.lines_metric(i)
		if name == nil {
			return names
		}
		names = append(names, C.GoString(name))
	}
}

// lines hands over what the instructions of launches have counted that have ended since the last call.
func (s *counter) lines(code *sampler, f func(*record.Sample)) {
	for l := C.counters_take(); l != nil; l = l.next {
		s.waiting = append(s.waiting, l)
	}
	kept := s.waiting[:0]
	for _, l := range s.waiting {
		state := C.counters_state(l)
		if state == C.COUNTED_PENDING {
			kept = append(kept, l)
			continue
		}
		if state == C.COUNTED_DONE {
			s.unplaced++
			out := record.Sample{Device: uint32(l.device)}
			code.decode((*C.struct_sampled_batch)(l.lines), &out, func(counted *record.Sample) {
				if counted.Module != 0 && out.Correlation != s.placed {
					s.placed, s.unplaced = out.Correlation, s.unplaced-1
				}
				f(counted)
			})
		}
		C.free(l.lines)
		C.free(unsafe.Pointer(l))
	}
	s.waiting = kept
}
