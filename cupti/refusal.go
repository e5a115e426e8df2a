package cupti

// #include "abi.h"
import "C"

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu/record"
)

func (c *Collector) refused(doing string, code uint32, holder string, driver int) error {
	return record.Refused(doing, "CUPTI", int(code), resultText(code), c.remedy(code, holder, driver))
}

func (c *Collector) remedy(code uint32, holder string, driver int) string {
	switch code {
	case C.RC_MULTIPLE_SUBSCRIBERS, C.RC_MAX_LIMIT_REACHED:
		who := "another profiler (torch.profiler, Nsight Systems, Nsight Compute or compute-sanitizer)"
		if holder != "" && !strings.Contains(holder, "<not provided>") {
			who = fmt.Sprintf("%q", holder)
		}
		return who + " holds CUPTI in this process, and CUPTI serves one at a time; stop it, or run without it"
	case C.RC_NOT_INITIALIZED:
		return fmt.Sprintf("%s (%s) may be newer than the driver (CUDA %s); set PROTON_CUPTI_PATH to an older libcupti, or update the driver",
			c.library.Path, versionText(c.version), cudaVersion(driver))
	case C.RC_UNKNOWN: // what every function of CUPTI 13 returns without a working driver
		return "the NVIDIA driver does not work here, or is too old for " + c.library.Path + "; check nvidia-smi, and see `proton doctor`"
	case C.RC_INSUFFICIENT_PRIVILEGES, C.RC_VIRTUALIZED_PRIVILEGES:
		return "this user may not profile (ERR_NVGPUCTRPERM); run as root, add CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
	case C.RC_INVALID_DEVICE, C.RC_NOT_SUPPORTED, C.RC_NOT_COMPATIBLE:
		return "no GPU that this libcupti supports; see `proton doctor`"
	case C.RC_VIRTUALIZED:
		return "the GPU is virtualised and its host forbids profiling; ask for profiling to be enabled on the vGPU"
	case C.RC_CONFIDENTIAL_COMPUTING:
		return "the GPU runs in confidential-computing mode, which forbids profiling"
	case C.RC_MIG_DEVICE:
		return "the GPU is partitioned (MIG), where this libcupti cannot sample; use a whole GPU (nvidia-smi -mig 0)"
	case C.RC_OLD_PROFILER_API, C.RC_LEGACY_PROFILER, C.RC_HARDWARE_BUSY:
		return "another profiler uses the GPU's counters (ncu, DCGM's profiling metrics, or another context that samples); stop it: dcgmi profile --pause"
	case C.RC_CMP_DEVICE, C.RC_SLI_DEVICE, C.RC_WSL_DEVICE:
		return "this kind of GPU or system (CMP, SLI or WSL) has no sampling"
	case C.RC_INVALID_OPERATION:
		return "the context may be sampled already, by GoProton or another tool, or CUPTI does not take these settings; try without interval= and buffer="
	}
	return "see `proton doctor`"
}

// counterError is a refusal to measure counters.
func (c *Collector) counterError(doing string, code uint32) error {
	remedy := c.remedy(code, "", 0)
	switch {
	case strings.Contains(doing, "libnvperf_host"):
		remedy = "libnvperf_host.so has to lie next to " + c.library.Path + ", as in the wheel nvidia-cuda-cupti; set PROTON_CUPTI_PATH to a libcupti with it"
	case code == C.RC_INVALID_OPERATION:
		remedy = "another profiler may use the GPU's counters (ncu, DCGM's profiling metrics); stop it: dcgmi profile --pause"
	}
	return record.Refused("counters: "+doing, "CUPTI", int(code), resultText(code), remedy)
}

func cudaVersion(v int) string {
	if v == 0 {
		return "of unknown version"
	}
	return fmt.Sprintf("%d.%d", v/1000, v%1000/10)
}

// versionText prints a CUPTI version, see enum cupti_version in abi.h.
func versionText(v uint32) string {
	if v >= C.CUPTI_13_0 {
		return fmt.Sprintf("CUPTI %d.%d", v/10000, v/100%100)
	}
	return fmt.Sprintf("CUPTI API %d", v)
}
