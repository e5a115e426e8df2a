// The functions of HIP that start, capture or wait for work, with the places of their arguments. The places were read with
// compiled probes from the headers of HIP 5.2 to 7.2 (hip_prof_str.h: equal in all) and of rocprofiler-sdk 0.4 to 1.2.1.
#include "room.h"

#define LEGACY(first, second, stream) .legacy = {first, second, stream, 0}
#define SDK(first, second, stream) .sdk = {first, second, stream, 0}
#define SDK_ONLY(first, second, stream) .legacy = {.absent = 1}, SDK(first, second, stream)
// A kernel by its host function, and by its hipFunction_t.
#define HOST_LAUNCH LEGACY(16, 0, 72), SDK(8, 0, 56)
#define MODULE_LAUNCH LEGACY(16, 0, 56), SDK(8, 0, 48)

const struct hip_call hip_calls[] = {
    {"hipLaunchKernel", HIP_LAUNCH, .host = 1, HOST_LAUNCH},
    {"hipLaunchKernel_spt", HIP_LAUNCH, .host = 1, SDK_ONLY(8, 0, 56)},
    {"hipExtLaunchKernel", HIP_LAUNCH, .host = 1, HOST_LAUNCH},
    {"hipLaunchCooperativeKernel", HIP_LAUNCH, .host = 1, HOST_LAUNCH},
    {"hipLaunchCooperativeKernel_spt", HIP_LAUNCH, .host = 1, SDK_ONLY(8, 0, 56)},
    {"hipLaunchByPtr", HIP_LAUNCH, .host = 1, LEGACY(16, 0, 0), SDK(8, 0, 0)},
    {"hipModuleLaunchKernel", HIP_LAUNCH, MODULE_LAUNCH},
    {"hipExtModuleLaunchKernel", HIP_LAUNCH, MODULE_LAUNCH},
    {"hipHccModuleLaunchKernel", HIP_LAUNCH, MODULE_LAUNCH},
    {"hipModuleLaunchCooperativeKernel", HIP_LAUNCH, MODULE_LAUNCH},
    {"hipExtLaunchMultiKernelMultiDevice", HIP_LIST_LAUNCH, .host = 1, LEGACY(16, 80, 0), SDK(8, 16, 0)},
    {"hipLaunchCooperativeKernelMultiDevice", HIP_LIST_LAUNCH, .host = 1, LEGACY(16, 80, 0), SDK(8, 16, 0)},
    {"hipModuleLaunchCooperativeKernelMultiDevice", HIP_LIST_LAUNCH, LEGACY(16, 80, 0), SDK(8, 16, 0)},
    {"hipLaunchKernelExC", HIP_LAUNCH, .host = 1, .in_config = 1, LEGACY(80, 0, 16), SDK(16, 0, 8)},
    {"hipDrvLaunchKernelEx", HIP_LAUNCH, .in_config = 1, LEGACY(80, 0, 16), SDK(16, 0, 8)},

    {"hipGraphLaunch", HIP_GRAPH_LAUNCH, LEGACY(16, 0, 24), SDK(8, 0, 16)},
    {"hipGraphLaunch_spt", HIP_GRAPH_LAUNCH, SDK_ONLY(8, 0, 16)},
    {"hipStreamBeginCapture", HIP_BEGIN_CAPTURE, LEGACY(0, 0, 16), SDK(0, 0, 8)},
    {"hipStreamBeginCapture_spt", HIP_BEGIN_CAPTURE, SDK_ONLY(0, 0, 8)},
    {"hipStreamBeginCaptureToGraph", HIP_BEGIN_CAPTURE, LEGACY(0, 0, 16), SDK(0, 0, 8)},
    {"hipStreamEndCapture", HIP_END_CAPTURE, LEGACY(0, 24, 16), SDK(0, 16, 8)},
    {"hipStreamEndCapture_spt", HIP_END_CAPTURE, SDK_ONLY(0, 16, 8)},
    {"hipGraphInstantiate", HIP_INSTANTIATE, LEGACY(16, 32, 0), SDK(8, 16, 0)},
    {"hipGraphInstantiateWithFlags", HIP_INSTANTIATE, LEGACY(16, 32, 0), SDK(8, 16, 0)},
    {"hipGraphInstantiateWithParams", HIP_INSTANTIATE, LEGACY(16, 32, 0), SDK(8, 16, 0)},
    {"hipGraphDestroy", HIP_GRAPH_DESTROY, LEGACY(16, 0, 0), SDK(8, 0, 0)},
    {"hipGraphExecDestroy", HIP_EXEC_DESTROY, LEGACY(16, 0, 0), SDK(8, 0, 0)},

// A copy or fill without a stream runs on the NULL stream. WORK_ON has roctracer's place of the stream; rocprofiler-sdk's is 8 less.
#define WORK(name, what) {name, what, LEGACY(0, 0, 0), SDK(0, 0, 0)}
#define WORK_SPT(name, what) {name, what, SDK_ONLY(0, 0, 0)}
#define WORK_ON(name, what, stream) {name, what, LEGACY(0, 0, stream), SDK(0, 0, stream - 8)}
    WORK("hipMemcpy", HIP_COPY), WORK_SPT("hipMemcpy_spt", HIP_COPY), WORK_ON("hipMemcpyAsync", HIP_COPY, 48), WORK_SPT("hipMemcpyAsync_spt", HIP_COPY),
    WORK_ON("hipMemcpyWithStream", HIP_COPY, 48), WORK("hipMemcpyHtoD", HIP_COPY), WORK_ON("hipMemcpyHtoDAsync", HIP_COPY, 40),
    WORK("hipMemcpyDtoH", HIP_COPY), WORK_ON("hipMemcpyDtoHAsync", HIP_COPY, 40), WORK("hipMemcpyDtoD", HIP_COPY),
    WORK_ON("hipMemcpyDtoDAsync", HIP_COPY, 40), WORK("hipMemcpyPeer", HIP_COPY), WORK_ON("hipMemcpyPeerAsync", HIP_COPY, 56),
    WORK("hipMemcpy2D", HIP_COPY), WORK_ON("hipMemcpy2DAsync", HIP_COPY, 72), WORK("hipMemcpy3D", HIP_COPY), {"hipMemcpy3DAsync", HIP_COPY, LEGACY(0, 0, 184), SDK(0, 0, 16)},
    WORK("hipMemcpyToSymbol", HIP_COPY), WORK("hipMemcpyFromSymbol", HIP_COPY), WORK_ON("hipMemcpyToSymbolAsync", HIP_COPY, 56),
    WORK_ON("hipMemcpyFromSymbolAsync", HIP_COPY, 56),
    WORK("hipMemset", HIP_FILL), WORK_SPT("hipMemset_spt", HIP_FILL), WORK_ON("hipMemsetAsync", HIP_FILL, 40), WORK_SPT("hipMemsetAsync_spt", HIP_FILL),
    WORK("hipMemsetD8", HIP_FILL), WORK_ON("hipMemsetD8Async", HIP_FILL, 40), WORK("hipMemsetD16", HIP_FILL), WORK_ON("hipMemsetD16Async", HIP_FILL, 40),
    WORK("hipMemsetD32", HIP_FILL), WORK_ON("hipMemsetD32Async", HIP_FILL, 40), WORK("hipMemset2D", HIP_FILL), WORK_ON("hipMemset2DAsync", HIP_FILL, 56),

    WORK("hipDeviceSynchronize", HIP_WAIT), WORK("hipStreamSynchronize", HIP_WAIT), WORK_SPT("hipStreamSynchronize_spt", HIP_WAIT),
    WORK("hipEventSynchronize", HIP_WAIT), WORK("hipCtxSynchronize", HIP_WAIT),
    WORK("hipSetDevice", HIP_SET_DEVICE), WORK("hipCtxSetCurrent", HIP_SET_DEVICE), WORK("hipCtxPushCurrent", HIP_SET_DEVICE),
    WORK("hipCtxPopCurrent", HIP_SET_DEVICE),
    WORK("hipProfilerStart", HIP_PROFILER_START), WORK("hipProfilerStop", HIP_PROFILER_STOP),
    WORK("hipRuntimeGetVersion", HIP_MARK),
};
const unsigned hip_call_count = sizeof hip_calls / sizeof *hip_calls;
