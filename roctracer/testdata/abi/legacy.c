// Compares roctracer's abi_legacy.h, abi_hip.h and hip_calls.c with the vendor's headers. abi_legacy_test.go compiles it for each version
// of them, from HIP 5.2 on. It prints the differences and returns 1, or prints how many numbers it has compared.
#define __HIP_PLATFORM_AMD__ 1
#include <stdbool.h>
#include <hip/hip_runtime_api.h>
#include <hip/amd_detail/hip_prof_str.h>
#include <hip/amd_detail/hip_runtime_prof.h>
#include <roctracer.h>
#include <roctracer_roctx.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../abi_hip.h"
#include "../../abi_legacy.h"
#include "../../hip_calls.c"

#define HIP(major, minor) (HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR >= major * 100 + minor) // since when the headers have something

static int compared, wrong;

static void same(const char *what, long long ours, long long theirs) {
  compared++;
  if (ours == theirs) return;
  wrong++;
  printf("%s: %lld of ours, %lld in the headers\n", what, ours, theirs);
}
#define VALUE(ours, theirs) same(#ours, (long long)(ours), (long long)(theirs))
#define FIELD(ours, field, theirs, their_field)                                                               \
  do {                                                                                                        \
    same(#ours "." #field, offsetof(struct ours, field), offsetof(theirs, their_field));                      \
    same("size of " #ours "." #field, sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->their_field)); \
  } while (0)

// ---- arguments of calls ----

static int checked[256];

static void call(const char *name, int first, int second, int stream) {
  for (unsigned i = 0; i < hip_call_count; i++) {
    if (strcmp(hip_calls[i].name, name)) continue;
    char what[128];
    snprintf(what, sizeof what, "first argument of %s", name), same(what, hip_calls[i].legacy.first, first);
    snprintf(what, sizeof what, "second argument of %s", name), same(what, hip_calls[i].legacy.second, second);
    snprintf(what, sizeof what, "stream of %s", name), same(what, hip_calls[i].legacy.stream, stream);
    checked[i] = 1;
    return;
  }
  printf("no %s of ours\n", name), wrong++;
}

#define AT(name, member) (int)offsetof(hip_api_data_t, args.name.member)
#define LAUNCH(name, function, stream) call(#name, AT(name, function), 0, AT(name, stream))
#define LIST(name) call(#name, AT(name, launchParamsList), AT(name, numDevices), 0)
#define ONE(name, member) call(#name, AT(name, member), 0, 0)
#define ON_STREAM(name) call(#name, 0, 0, AT(name, stream))
#define PLAIN(name) (void)HIP_API_ID_##name, call(#name, 0, 0, 0)

#define INSTANTIATE(name) call(#name, AT(name, pGraphExec), AT(name, graph), 0)

static void newer_calls(void) {
#if HIP(5, 6)
  PLAIN(hipRuntimeGetVersion); // 5.2 does not report it: there, kernels without a known launch go to the newest session
  LAUNCH(hipModuleLaunchCooperativeKernel, f, stream);
  LIST(hipModuleLaunchCooperativeKernelMultiDevice);
  VALUE(0, offsetof(hipFunctionLaunchParams, function));
  VALUE(HIP_LIST_MODULE_STREAM, offsetof(hipFunctionLaunchParams, hStream));
  VALUE(HIP_LIST_ELEMENT, sizeof(hipFunctionLaunchParams));
#endif
#if HIP(6, 2)
  ON_STREAM(hipStreamBeginCaptureToGraph);
  INSTANTIATE(hipGraphInstantiateWithParams);
#endif
#if HIP(7, 1)
  LAUNCH(hipLaunchKernelExC, fPtr, config);
  LAUNCH(hipDrvLaunchKernelEx, f, config);
  VALUE(HIP_CONFIG_STREAM, offsetof(hipLaunchConfig_t, stream));
  VALUE(HIP_CONFIG_STREAM, offsetof(HIP_LAUNCH_CONFIG, hStream));
#endif
}

static void calls(void) {
  LAUNCH(hipLaunchKernel, function_address, stream);
  LAUNCH(hipExtLaunchKernel, function_address, stream);
  LAUNCH(hipLaunchCooperativeKernel, f, stream);
  ONE(hipLaunchByPtr, hostFunction);
  LAUNCH(hipModuleLaunchKernel, f, stream);
  LAUNCH(hipExtModuleLaunchKernel, f, hStream);
  LAUNCH(hipHccModuleLaunchKernel, f, hStream);
  LIST(hipExtLaunchMultiKernelMultiDevice);
  LIST(hipLaunchCooperativeKernelMultiDevice);
  LAUNCH(hipGraphLaunch, graphExec, stream);
  ON_STREAM(hipStreamBeginCapture);
  call("hipStreamEndCapture", 0, AT(hipStreamEndCapture, pGraph), AT(hipStreamEndCapture, stream));
  INSTANTIATE(hipGraphInstantiate);
  INSTANTIATE(hipGraphInstantiateWithFlags);
  ONE(hipGraphDestroy, graph);
  ONE(hipGraphExecDestroy, graphExec);
  ON_STREAM(hipMemcpyAsync);
  ON_STREAM(hipMemcpyWithStream);
  ON_STREAM(hipMemcpyHtoDAsync);
  ON_STREAM(hipMemcpyDtoHAsync);
  ON_STREAM(hipMemcpyDtoDAsync);
  ON_STREAM(hipMemcpyPeerAsync);
  ON_STREAM(hipMemcpy2DAsync);
  ON_STREAM(hipMemcpy3DAsync);
  ON_STREAM(hipMemcpyToSymbolAsync);
  ON_STREAM(hipMemcpyFromSymbolAsync);
  ON_STREAM(hipMemsetAsync);
  ON_STREAM(hipMemsetD8Async);
  ON_STREAM(hipMemsetD16Async);
  ON_STREAM(hipMemsetD32Async);
  ON_STREAM(hipMemset2DAsync);
  PLAIN(hipMemcpy), PLAIN(hipMemcpyHtoD), PLAIN(hipMemcpyDtoH), PLAIN(hipMemcpyDtoD), PLAIN(hipMemcpyPeer), PLAIN(hipMemcpy2D), PLAIN(hipMemcpy3D);
  PLAIN(hipMemcpyToSymbol), PLAIN(hipMemcpyFromSymbol), PLAIN(hipMemset), PLAIN(hipMemsetD8), PLAIN(hipMemsetD16), PLAIN(hipMemsetD32), PLAIN(hipMemset2D);
  PLAIN(hipDeviceSynchronize), PLAIN(hipStreamSynchronize), PLAIN(hipEventSynchronize), PLAIN(hipCtxSynchronize), PLAIN(hipProfilerStart), PLAIN(hipProfilerStop);
  PLAIN(hipSetDevice), PLAIN(hipCtxSetCurrent), PLAIN(hipCtxPushCurrent), PLAIN(hipCtxPopCurrent);
  newer_calls();
  for (unsigned i = 0; i < hip_call_count && HIP(7, 1); i++)
    if (!checked[i] && !hip_calls[i].legacy.absent) printf("%s is not compared\n", hip_calls[i].name), wrong++;
  VALUE(0, offsetof(hipLaunchParams, func));
  VALUE(HIP_LIST_HOST_STREAM, offsetof(hipLaunchParams, stream));
  VALUE(HIP_LIST_ELEMENT, sizeof(hipLaunchParams));
  VALUE(offsetof(struct roctracer_call, correlation), offsetof(hip_api_data_t, correlation_id));
  VALUE(offsetof(struct roctracer_call, phase), offsetof(hip_api_data_t, phase));
}

// ---- structures and numbers ----

static void records(void) {
  same("size of roctracer_record", sizeof(struct roctracer_record), sizeof(roctracer_record_t));
  FIELD(roctracer_record, domain, roctracer_record_t, domain);
  FIELD(roctracer_record, kind, roctracer_record_t, kind);
  FIELD(roctracer_record, op, roctracer_record_t, op);
  FIELD(roctracer_record, correlation, roctracer_record_t, correlation_id);
  FIELD(roctracer_record, begin, roctracer_record_t, begin_ns);
  FIELD(roctracer_record, end, roctracer_record_t, end_ns);
  FIELD(roctracer_record, device, roctracer_record_t, device_id);
  FIELD(roctracer_record, queue, roctracer_record_t, queue_id);
  FIELD(roctracer_record, bytes, roctracer_record_t, bytes);
  FIELD(roctracer_record, name, roctracer_record_t, kernel_name);
  same("size of roctracer_properties", sizeof(struct roctracer_properties), sizeof(roctracer_properties_t));
  FIELD(roctracer_properties, mode, roctracer_properties_t, mode);
  FIELD(roctracer_properties, buffer_size, roctracer_properties_t, buffer_size);
  FIELD(roctracer_properties, allocate, roctracer_properties_t, alloc_fun);
  FIELD(roctracer_properties, buffer, roctracer_properties_t, buffer_callback_fun);
  FIELD(roctracer_properties, buffer_argument, roctracer_properties_t, buffer_callback_arg);
  VALUE(ROCTRACER_HIP_OPS, ACTIVITY_DOMAIN_HIP_OPS);
  VALUE(ROCTRACER_HIP_API, ACTIVITY_DOMAIN_HIP_API);
  VALUE(ROCTRACER_ROCTX, ACTIVITY_DOMAIN_ROCTX);
  VALUE(ROCTX_PUSH, ROCTX_API_ID_roctxRangePushA);
  VALUE(ROCTX_POP, ROCTX_API_ID_roctxRangePop);
  VALUE(offsetof(struct roctx_call, message), offsetof(roctx_api_data_t, args.roctxRangePushA.message));
  VALUE(ROCTRACER_ENTER, ACTIVITY_API_PHASE_ENTER);
  VALUE(ROCTRACER_EXIT, ACTIVITY_API_PHASE_EXIT);
  VALUE(ROCTRACER_DISPATCH, kHipVdiOpIdDispatch);
  VALUE(ROCTRACER_COPY, kHipVdiOpIdCopy);
  VALUE(ROCTRACER_BARRIER, kHipVdiOpIdBarrier);
  VALUE(ROCTRACER_KERNEL, kHipVdiCommandKernel);
#if HIP(6, 2)
  VALUE(ROCTRACER_TASK, kHipVdiCommandTask);
#endif
  VALUE(ROCTRACER_DTOH, kHipVdiMemcpyDeviceToHost);
  VALUE(ROCTRACER_HTOD, kHipHipVdiMemcpyHostToDevice);
  VALUE(ROCTRACER_DTOD, kHipVdiMemcpyDeviceToDevice);
  VALUE(ROCTRACER_DTOH_RECT, kHipVidMemcpyDeviceToHostRect);
  VALUE(ROCTRACER_HTOD_RECT, kHipVdiMemcpyHostToDeviceRect);
  VALUE(ROCTRACER_DTOD_RECT, kHipVdiMemcpyDeviceToDeviceRect);
  VALUE(ROCTRACER_FILL, kHipVdiFillMemory);
}

static void statuses(void) {
  VALUE(ROCTRACER_OK, ROCTRACER_STATUS_SUCCESS);
  VALUE(ROCTRACER_ERROR, ROCTRACER_STATUS_ERROR);
  VALUE(ROCTRACER_BAD_DOMAIN, ROCTRACER_STATUS_ERROR_INVALID_DOMAIN_ID);
  VALUE(ROCTRACER_BAD_ARGUMENT, ROCTRACER_STATUS_ERROR_INVALID_ARGUMENT);
  VALUE(ROCTRACER_NO_POOL, ROCTRACER_STATUS_ERROR_DEFAULT_POOL_UNDEFINED);
  VALUE(ROCTRACER_POOL_EXISTS, ROCTRACER_STATUS_ERROR_DEFAULT_POOL_ALREADY_DEFINED);
  VALUE(ROCTRACER_NO_MEMORY, ROCTRACER_STATUS_ERROR_MEMORY_ALLOCATION);
  VALUE(ROCTRACER_BAD_EXTERNAL_ID, ROCTRACER_STATUS_ERROR_MISMATCHED_EXTERNAL_CORRELATION_ID);
  VALUE(ROCTRACER_UNIMPLEMENTED, ROCTRACER_STATUS_ERROR_NOT_IMPLEMENTED);
}

static void devices(void) {
#if HIP(6, 0)
  VALUE(PROP_NAME, offsetof(hipDeviceProp_tR0600, name));
  VALUE(PROP_MEMORY, offsetof(hipDeviceProp_tR0600, totalGlobalMem));
  VALUE(PROP_WARP, offsetof(hipDeviceProp_tR0600, warpSize));
  VALUE(PROP_CLOCK, offsetof(hipDeviceProp_tR0600, clockRate));
  VALUE(PROP_UNITS, offsetof(hipDeviceProp_tR0600, multiProcessorCount));
  VALUE(PROP_MEMORY_CLOCK, offsetof(hipDeviceProp_tR0600, memoryClockRate));
  VALUE(PROP_BUS, offsetof(hipDeviceProp_tR0600, memoryBusWidth));
  VALUE(PROP_ARCH, offsetof(hipDeviceProp_tR0600, gcnArchName));
#endif
  VALUE(ATTRIBUTE_CLOCK, hipDeviceAttributeClockRate);
  VALUE(ATTRIBUTE_BUS, hipDeviceAttributeMemoryBusWidth);
  VALUE(ATTRIBUTE_MEMORY_CLOCK, hipDeviceAttributeMemoryClockRate);
  VALUE(ATTRIBUTE_UNITS, hipDeviceAttributeMultiprocessorCount);
  VALUE(ATTRIBUTE_WARP, hipDeviceAttributeWarpSize);
  VALUE(HIP_CAPTURING, hipStreamCaptureStatusActive);
  VALUE(HIP_CAPTURE_INVALID, hipStreamCaptureStatusInvalidated);
}

// A function's declaration has the parameters that abi_legacy.h gives it; enums are passed as int and unsigned int.
#define DECLARED(name, ...) _Static_assert(__builtin_types_compatible_p(typeof(&roctracer_##name), roctracer_status_t(*)(__VA_ARGS__)), #name)
DECLARED(op_code, uint32_t, const char *, uint32_t *, uint32_t *);
DECLARED(set_properties, roctracer_domain_t, void *);
DECLARED(enable_op_callback, activity_domain_t, uint32_t, activity_rtapi_callback_t, void *);
DECLARED(disable_op_callback, activity_domain_t, uint32_t);
DECLARED(open_pool, const roctracer_properties_t *);
DECLARED(close_pool, void);
DECLARED(enable_op_activity, activity_domain_t, uint32_t);
DECLARED(disable_op_activity, activity_domain_t, uint32_t);
DECLARED(flush_activity, void);

// And so have the functions that driver.c finds in libamdhip64.
#define FOUND(type, name, ...) _Static_assert(__builtin_types_compatible_p(typeof(&hip##name), type(*)(__VA_ARGS__)), #name)
FOUND(hipError_t, GetDevice, int *);
FOUND(hipError_t, SetDevice, int);
FOUND(hipError_t, GetDeviceCount, int *);
FOUND(hipError_t, DeviceSynchronize, void);
FOUND(int, GetStreamDeviceId, hipStream_t);
FOUND(hipError_t, DriverGetVersion, int *);
FOUND(hipError_t, RuntimeGetVersion, int *);
FOUND(hipError_t, StreamIsCapturing, hipStream_t, hipStreamCaptureStatus *);
FOUND(hipError_t, StreamGetCaptureInfo, hipStream_t, hipStreamCaptureStatus *, unsigned long long *);
FOUND(hipError_t, DeviceGetAttribute, int *, hipDeviceAttribute_t, int);
FOUND(hipError_t, DeviceGetName, char *, int, hipDevice_t);
FOUND(hipError_t, DeviceGetPCIBusId, char *, int, int);
FOUND(const char *, KernelNameRef, const hipFunction_t);
FOUND(const char *, KernelNameRefByPtr, const void *, hipStream_t);
#if HIP(6, 0)
FOUND(hipError_t, GetDevicePropertiesR0600, hipDeviceProp_tR0600 *, int);
#endif
_Static_assert(sizeof(hipDevice_t) == 4 && sizeof(hipError_t) == 4 && sizeof(hipStreamCaptureStatus) == 4 && sizeof(hipDeviceAttribute_t) == 4, "they are ints");
_Static_assert(sizeof(roctracer_status_t) == 4 && sizeof(activity_domain_t) == 4, "enums are ints");

int main(void) {
  calls(), records(), statuses(), devices();
  if (!wrong) printf("HIP %d.%d: %d numbers compared\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, compared);
  return wrong != 0;
}
