package roctracer

/*
#include <stdlib.h>
#include "sdk.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler"
)

// sdk is the provider on librocprofiler-sdk. A process registers with that once, before HIP starts, and stays registered.
type sdk struct {
	opts    profiler.SourceOptions
	sampler *sampler // nil without sampling
	counter *counter // nil without counters
	reader  *reader  // nil without readings
}

// NewSDK returns a collector on librocprofiler-sdk.
func NewSDK(opts profiler.SourceOptions) *Collector {
	s := &sdk{opts: opts}
	if opts.Sampling.Mode != record.NoSampling {
		s.sampler = newSampler(opts.Sampling)
	}
	if opts.Sampling.Counters != nil {
		s.counter = newCounter(opts.Sampling.Counters)
	}
	s.reader = newReader(opts, true)
	return &Collector{name: "rocprofiler", provider: s, sampler: s.sampler, counter: s.counter, reader: s.reader}
}

// ready is always true, and later is never asked: HIP hands out its functions when it starts, so the library must be there before.
func (s *sdk) ready() bool { return true }

func (s *sdk) later() bool { return false }

func (s *sdk) attach(bool) error {
	if s.sampler != nil {
		C.sdk_sampling_allow()
	}
	if err := s.load(); err != nil {
		return err
	}
	started := C.sdk_registered() == 0 && C.hip_started() != 0
	var refused *C.char
	if rc := C.sdk_register(boolint(settings.NVTX.On(hotpath.Getenv)), s.sampler.wish(), C.struct_sdk_counting_wish{launches: boolint(s.counter != nil), devices: boolint(s.reader.counts())}, &refused); rc != 0 {
		return s.refused(C.GoString(refused), uint32(rc))
	}
	if C.sdk_gpu_count() == 0 {
		return fmt.Errorf("%s finds no GPU; check that /dev/kfd exists and that this user may open it (groups video and render)", libraryName())
	}
	s.counter.begin()
	C.room_start()
	if started {
		return &incomplete{fmt.Errorf("HIP had started before %s was there: kernels on the streams of that time are missing; start the session earlier", libraryName())}
	}
	return nil
}

// SDKFound reports whether the process has librocprofiler-sdk, or a search finds it.
func SDKFound(sitePackages []string) bool {
	return C.sdk_loaded() != 0 || sdkFile(sitePackages) != ""
}

// sdkFile is the library in the folders of settings, of Python's packages and of ROCm, "" for none.
func sdkFile(sitePackages []string) string {
	return vendors.ROCmSearch{Env: hotpath.Getenv, SitePackages: sitePackages}.File(vendors.SDK)
}

// load opens the library. One that the process has loaded comes first, then the one in a folder, then what the loader finds.
func (s *sdk) load() error {
	if C.sdk_version() == 0 {
		var path *C.char
		if file := sdkFile(s.opts.SitePackages); file != "" {
			path = C.CString(file)
			defer C.free(unsafe.Pointer(path))
		}
		var missing C.int
		if text := C.sdk_open(path, &missing); text != nil {
			remedy := "install rocprofiler-sdk, which ROCm has since 6.2, or use the roctracer backend"
			if missing != 0 {
				return fmt.Errorf("open librocprofiler-sdk: it has no %s; %s", C.GoString(text), remedy)
			}
			return fmt.Errorf("open librocprofiler-sdk: %s; set %s to its folder, or %s", C.GoString(text), settings.TritonROCSDK.Name, remedy)
		}
	}
	switch v := C.sdk_version(); {
	case v < C.SDK_OLDEST:
		return fmt.Errorf("%s is older than 0.4 of ROCm 6.2; update ROCm, or use the roctracer backend", libraryName())
	case v >= C.SDK_NEXT:
		return fmt.Errorf("%s is newer than this program knows; update GoProton", libraryName())
	}
	return nil
}

// libraryName is what messages call the library.
func libraryName() string {
	v := int(C.sdk_version())
	return fmt.Sprintf("rocprofiler-sdk %d.%d.%d (%s)", v/10000, v/100%100, v%100, C.GoString(C.sdk_path()))
}

func (s *sdk) listen(records, calls record.Kinds) error {
	launches, copies, waits := wants(records, calls)
	var refused *C.char
	if rc := C.sdk_listen(launches, copies, waits, &refused); rc != 0 && launches != 0 {
		return s.refused(C.GoString(refused), uint32(rc))
	}
	return nil
}

func (s *sdk) watch(marks record.Marks) error {
	var refused *C.char
	if rc := C.sdk_watch(boolint(marks.Ranges), boolint(marks.Profilers), &refused); rc != 0 && marks != (record.Marks{}) {
		return s.refused(C.GoString(refused), uint32(rc))
	}
	return nil
}

func (s *sdk) flush(forced bool) {
	complete := C.sdk_flush(boolint(forced))
	if s.counter != nil && (s.counter.synced.Swap(false) || forced) {
		s.counter.wait()
	}
	if s.sampler == nil || complete == C.SDK_NOT_YET {
		return
	}
	if s.sampler.synced.Swap(false) {
		complete = C.SDK_TO_THE_END
	}
	s.sampler.complete.Store(uint32(complete))
}

// detach leaves sampling as it is at the end of a process: stopping it waits for the GPU.
func (s *sdk) detach(ending bool) {
	if !ending {
		C.sdk_sampling_stop()
		C.sdk_counting_run(0)
	}
	C.sdk_leave()
	C.room_stop()
}

func (s *sdk) refused(doing string, code uint32) error {
	text, remedy := C.GoString(C.sdk_status_text(C.uint32_t(code))), seeDoctor
	switch code {
	case C.SDK_LOCKED:
		text, remedy = "locked", "HIP has started already, or another tool has taken the library; start the session before the program uses its GPU (import goproton first, or use `proton run`), and without another tool"
	case C.SDK_FINALIZED:
		text, remedy = "finalized", "the process ends, and the library takes no more calls"
	case C.SDK_INCOMPATIBLE, C.SDK_INVALID_ARGUMENT, C.SDK_OPERATION_NOT_FOUND:
		remedy = "the library differs from what this program knows; use the roctracer backend, and report this"
	}
	return record.Refused(doing, libraryName(), int(code), text, remedy)
}
