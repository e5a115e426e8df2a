package lanes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// This file has the names that other programs give to what GPUs do: categories, functions of vendors' libraries, and arguments.

// kindsByCategory has our categories, Kineto's, and those of other programs that write what GPUs do. Of what is in none of them, nothing is
// known but that it is named and took time: a scope.
var kindsByCategory = func() map[string]profile.SliceKind {
	kinds := map[string]profile.SliceKind{}
	for kind, categories := range map[profile.SliceKind][]string{
		profile.ScopeSlice: {"", ScopeWithMetrics, "operator", "cpu_op", "user_annotation", "gpu_user_annotation", "mlu_user_annotation", "python_function", "cpu_instant_event", "async",
			"nvtx", "nvtx-kernel", "marker_api", "rocm_marker_api", "op", "cuda"}, // those of the last two are known by their lanes
		profile.KernelSlice: {"concurrent_kernel", "kernel_dispatch", "rocm_kernel_dispatch", "cuda_kernel", "gpu_kernel", "gpu_op", "hpu_op", "mtia_ccp_events"},
		profile.CopySlice:   {"gpu_memcpy", "memory_copy", "rocm_memory_copy", "cuda_memcpy", "mlu_memcpy"},
		profile.FillSlice:   {"gpu_memset", "cuda_memset", "mlu_memset"},
		// What the GPU saw of a wait that the call shows, and what is not part of the program.
		profile.OtherSlice: {"cuda_sync", "xpu_sync", "cuda_event", "cuda_profiler_range", "musa_profiler_range", "mlu_profiler_range", "mlu_notifier", "overhead", "trace"},
	} {
		for _, cat := range categories {
			kinds[cat] = kind
		}
	}
	for kind, cat := range Categories {
		kinds[cat] = profile.SliceKind(kind)
	}
	return kinds
}()

// vendorCalls are the categories of the calls of a vendor's library, whose names say what they do.
var vendorCalls = []string{
	"runtime", "driver", "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "xpu_driver", "mtia_runtime", "privateuse1_runtime",
	"privateuse1_driver", "mlu_runtime", "glow_runtime", "cudaruntime", "cuda_api", "hip_api", "hsa_api", "rocm_hip_api", "rocm_hsa_api",
}

func hasAny(name string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// kindOfCall says by its name what a call of a vendor's library does.
func kindOfCall(name string) profile.SliceKind {
	switch {
	case hasAny(name, "Synchronize", "EventWait", "QueueFinish", "QueueSync"):
		return profile.SyncSlice
	case hasAny(name, "Launch", "InvokeKernel", "Memcpy", "Memset", "MemoryCopy", "MemoryFill", "USMFill"):
		return profile.LaunchSlice
	}
	return profile.OtherSlice
}

// calls are how the functions of vendors' libraries begin, before a capital letter or an underscore.
var calls = []string{"cuda", "cu", "hip", "hsa", "ze", "ur", "acl", "aclrt", "cl", "mtia"}

// isCall says whether a slice with an id, of which no category says what it is, is a call of a vendor's library.
func isCall(name string) bool {
	for _, prefix := range calls {
		if rest, found := strings.CutPrefix(name, prefix); found && rest != "" && (rest[0] == '_' || rest[0] >= 'A' && rest[0] <= 'Z') {
			return true
		}
	}
	return false
}

// kindOfWork says by its name what a slice on a lane of a GPU is.
func kindOfWork(name string) profile.SliceKind {
	lower := strings.ToLower(name)
	switch {
	case hasAny(lower, "memcpy", "memorycopy", "memory_copy"):
		return profile.CopySlice
	case hasAny(lower, "memset", "memoryfill"):
		return profile.FillSlice
	case hasAny(lower, "event_wait", "event_record", "notify_wait", "notify_record"): // of Ascend's and MTIA's streams
		return profile.OtherSlice
	}
	return profile.KernelSlice
}

// OurName is what we call an argument that other programs call otherwise; "" of all others.
func OurName(argument string) string {
	switch argument {
	case "correlation_id", "correlationId", "correlation id", "corr_id":
		return Correlation
	case "copy_bytes":
		return Bytes
	}
	return ""
}

var (
	deviceNumber = regexp.MustCompile(`(?i)\b(?:agent|gpu|device)[^0-9a-z]{0,3}([0-9]+)`)
	streamNumber = regexp.MustCompile(`(?i)\b(?:stream|queue)[^0-9a-z]{0,3}([0-9]+)`)
	likeDevice   = regexp.MustCompile(`(?i)\b(?:gpu|cuda|npu|xpu|device|stream)`)
	likeWork     = regexp.MustCompile(`(?i)^\[?(?:cuda )?memcpy\]? ?\(?(?:htod|dtoh|dtod|[hd]2[hd])|[a-z0-9]_kernel[<(]`)

	ascend   = regexp.MustCompile(`^Ascend Hardware\b`)
	rocprof  = regexp.MustCompile(`^(?:[0-9]+ )?GPU([0-9]+)(?: |$)`)
	xlaPlane = regexp.MustCompile(`(?:^| )/device:(?:GPU|CUSTOM):([0-9]+)(?: |$)`)
	nsys     = regexp.MustCompile(`(?:^| )Device ([0-9]+)(?: |$)`)
)

// deviceNames are lanes of GPUs in traces whose categories do not say what is work of a GPU, or that have none.
var deviceNames = []deviceName{
	// XProf, of JAX and TensorFlow: a process for each GPU; steps, modules and operators are made of the streams.
	{process: xlaPlane, thread: regexp.MustCompile(`^Stream #`), shows: all},
	{process: xlaPlane},
	// TensorFlow's timeline: all streams, and each stream again.
	{process: regexp.MustCompile(`(?i)^/(?:device:)?gpu:([0-9]+)/stream:all `), shows: all},
	{process: regexp.MustCompile(`(?i)^/(?:device:)?gpu:([0-9]+)/(?:context#[0-9]+/)?(?:stream|memcpy)`), shows: part},
	// Autograd's own traces, before torch.profiler: the thread is the GPU.
	{process: regexp.MustCompile(`^CUDA functions$`), thread: regexp.MustCompile(`([0-9]+)$`), shows: all},
	// Converters of nsys's and nvprof's reports.
	{process: nsys, thread: regexp.MustCompile(`^Stream `), shows: all},
	{process: nsys, thread: regexp.MustCompile(`^NVTX Kernel `)},
	{process: regexp.MustCompile(`^\[([0-9]+):[0-9]+\] Overview$`), thread: regexp.MustCompile(`^(?:Compute|MemCpy|MemSet)`), shows: all},
	// Ascend's profiler: a process for the NPU; communication and overlap are made of its streams.
	{process: ascend, thread: regexp.MustCompile(`^Stream `), shows: all},
	{process: ascend},
	{process: regexp.MustCompile(`^(?:HCCL|Communication|Overlap Analysis)$`), needs: ascend},
	// rocprof's JSON: a process for each GPU, and one for copies.
	{process: rocprof, shows: all},
	{process: regexp.MustCompile(`^(?:[0-9]+ )?COPY(?: |$)`), needs: rocprof, shows: all},
}
