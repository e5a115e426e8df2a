package cupti

// #include <stdlib.h>
// #include "record.h"
// #include "runtime.h"
//
// static void wrap(const char *library) { record_wrap_cupti(&cupti, &cuda, library); }
import "C"

import (
	"unsafe"

	"github.com/goproton/goproton/hotpath/recorder"
)

// recordGPUs has the GPUs recorded, where no flush of CUPTI's records does it.
func recordGPUs() { C.record_gpus() }

// wrapForRecording has what CUPTI reports recorded, if there is a recording.
func wrapForRecording(library string) {
	api := recorder.API()
	if api == nil {
		return
	}
	C.record_use((*C.struct_recorder_api)(api))
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	C.wrap(name)
}
