package roctracer

// #include "sdk.h"
import "C"

import (
	"fmt"
	"os"

	"github.com/goproton/goproton/internal/figures"
)

// said says which samples are missing or incomplete, and why.
func (s *sampler) said(f *C.struct_sdk_sampling_facts) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	count := func(n uint64, what string) {
		if n > 0 {
			add("%s %s", figures.Count(n, "sample"), what)
		}
	}
	if text := s.refusal(f); text != "" {
		add("sample instructions: %s; kernels are timed without samples", text)
	} else if f.sampled < f.gpus {
		add("sample instructions: only %d of %d GPUs are sampled: the others do not offer it, or another process samples them", f.sampled, f.gpus)
	}
	if wish := s.wish(); f.asked.wanted != 0 && wish != f.asked {
		add("sample instructions: method and interval are those of the first session of this process, because rocprofiler-sdk takes them once")
	}
	if f.silent > 0 {
		add("samples stopped: kernels ran for %.1f s without one; the driver has stopped sampling, and what the profile shows is a part: run again, with a longer interval=", float64(f.silent)/1e9)
	}
	if s.filtered > 0 && s.kept == 0 {
		add("kernels= matches no sampled kernel: %s of others; give names of kernels, such as 'matmul_*'", figures.Plural(s.filtered, "sample taken is", "samples taken are"))
	}
	count(s.unseen, "fell in code whose loading was not seen or that was not kept, and are left out")
	count(uint64(f.invalid), "have no place, as the driver reports errors; they are left out")
	count(uint64(f.lost), "not counted: there were too many different places at once; use a longer interval=")
	count(s.unjoined, "name a launch that has no record: they are shared among the launches of their kernel by time")
	return problems
}

// refusal says why nothing is sampled, "" if something is.
func (s *sampler) refusal(f *C.struct_sdk_sampling_facts) string {
	const beta = "ROCPROFILER_PC_SAMPLING_BETA_ENABLED"
	refused := func() string {
		return fmt.Sprintf("%s: %s error %d (%s)", C.GoString(f.refused), libraryName(), f.status, C.GoString(C.sdk_status_text(f.status)))
	}
	switch {
	case C.sdk_version() == 0: // not attached, which has a message of its own
		return ""
	case f.asked.wanted == 0:
		return "rocprofiler-sdk takes this only when it starts, and the first session of this process did not ask for it; start with mode=pcsampling"
	case f.sampled > 0 && f.refused != nil && f.status != 0 && C.sdk_sampling_on() == 0:
		return refused()
	case f.sampled > 0:
		return ""
	case C.sdk_version() < C.SDK_LAYOUT_B:
		return fmt.Sprintf("the samples of %s have a form that is not known; use ROCm 7.0 or newer", libraryName())
	case f.refused != nil && f.status == C.SDK_NOT_IMPLEMENTED:
		return fmt.Sprintf("%s has it only with %s=1, which is %q now", libraryName(), beta, os.Getenv(beta))
	case f.refused != nil:
		return refused() + "; another process may sample the GPU, or its driver or firmware is too old"
	case s.options.Method != "" || s.options.Interval != 0:
		return "no GPU offers this method and interval; leave method= and interval= out"
	}
	return "no GPU offers it; Instinct GPUs from the MI200 on do, with the driver and firmware that ROCm's documents name"
}
