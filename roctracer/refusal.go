package roctracer

// #include "legacy.h"
import "C"

import (
	"errors"
	"fmt"
)

// errNoHIP is Attach's error in a program that has not loaded HIP.
var errNoHIP = errors.New("the program has not loaded libamdhip64, which roctracer looks for only once; load HIP (import torch) before the session starts")

// errDeaf is Attach's error where roctracer has looked for HIP in vain.
var errDeaf = errors.New("another profiler used roctracer before the program loaded libamdhip64, so that roctracer does not report its calls; load HIP (import torch) first")

// Error is a refusal by one of the libraries.
type Error struct {
	Library string // "roctracer" or "rocprofiler-sdk"
	Doing   string // the operation
	Code    int
	Text    string // the name of the code
	Remedy  string // what to do about it
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s error %d", e.Doing, e.Library, e.Code)
	if e.Text != "" {
		s += " (" + e.Text + ")"
	}
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

func (l *legacy) refused(doing string, code int) error {
	e := &Error{Library: "roctracer", Doing: doing, Code: code, Remedy: "see `proton doctor`"}
	switch code {
	case C.ROCTRACER_ERROR:
		e.Text, e.Remedy = "generic error", "the driver may not work here; check rocminfo, and see `proton doctor`"
	case C.ROCTRACER_BAD_DOMAIN:
		e.Text, e.Remedy = "invalid domain", l.otherGeneration()
	case C.ROCTRACER_BAD_ARGUMENT:
		e.Text, e.Remedy = "invalid argument", l.otherGeneration()
	case C.ROCTRACER_NO_POOL:
		e.Text, e.Remedy = "no pool of records", "another profiler has closed it; stop that one (torch.profiler, rocprof), or run without it"
	case C.ROCTRACER_POOL_EXISTS:
		e.Text, e.Remedy = "a pool exists", "another profiler (torch.profiler, rocprof) uses roctracer in this process, and roctracer serves one at a time; stop it, or run without it"
	case C.ROCTRACER_NO_MEMORY:
		e.Text, e.Remedy = "no memory", "the process has no memory left; raise its limit (ulimit -v)"
	case C.ROCTRACER_BAD_EXTERNAL_ID:
		e.Text = "mismatched external id"
	case C.ROCTRACER_UNIMPLEMENTED:
		e.Text, e.Remedy = "unimplemented function", l.otherGeneration()
	}
	return e
}

func (l *legacy) otherGeneration() string {
	return fmt.Sprintf("%s (version %d.%d) may be of another ROCm than the program's libamdhip64; set TRITON_ROCTRACER_LIB_PATH to the folder of the right one", l.path, l.version/100, l.version%100)
}
