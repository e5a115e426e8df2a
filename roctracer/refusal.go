package roctracer

// #include "legacy.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/goproton/goproton/gpu/record"
)

// errNoHIP is Attach's error in a program that has not loaded HIP.
var errNoHIP = errors.New("the program has not loaded libamdhip64, which roctracer looks for only once; load HIP (import torch) before the session starts")

// errDeaf is Attach's error where roctracer has looked for HIP in vain.
var errDeaf = errors.New("another profiler used roctracer before the program loaded libamdhip64, so that roctracer does not report its calls; load HIP (import torch) first")

const seeDoctor = "see `proton doctor`"

func (l *legacy) refused(doing string, code int) error {
	text, remedy := "", seeDoctor
	switch code {
	case C.ROCTRACER_ERROR:
		text, remedy = "generic error", "the driver may not work here; check rocminfo, and see `proton doctor`"
	case C.ROCTRACER_BAD_DOMAIN:
		text, remedy = "invalid domain", l.otherGeneration()
	case C.ROCTRACER_BAD_ARGUMENT:
		text, remedy = "invalid argument", l.otherGeneration()
	case C.ROCTRACER_NO_POOL:
		text, remedy = "no pool of records", "another profiler has closed it; stop that one (torch.profiler, rocprof), or run without it"
	case C.ROCTRACER_POOL_EXISTS:
		text, remedy = "a pool exists", "another profiler (torch.profiler, rocprof) uses roctracer in this process, and roctracer serves one at a time; stop it, or run without it"
	case C.ROCTRACER_NO_MEMORY:
		text, remedy = "no memory", "the process has no memory left; raise its limit (ulimit -v)"
	case C.ROCTRACER_BAD_EXTERNAL_ID:
		text = "mismatched external id"
	case C.ROCTRACER_UNIMPLEMENTED:
		text, remedy = "unimplemented function", l.otherGeneration()
	}
	return record.Refused(doing, "roctracer", code, text, remedy)
}

func (l *legacy) otherGeneration() string {
	return fmt.Sprintf("%s (version %d.%d) may be of another ROCm than the program's libamdhip64; set TRITON_ROCTRACER_LIB_PATH to the folder of the right one", l.path, l.version/100, l.version%100)
}
