// Compares cupti/abi*.h with the vendor's own headers, number by number. abi_test.go compiles it for
// each version of the headers. It prints the differences and returns 1, or prints how many numbers it has compared.
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#if __has_include(<cupti_range_profiler.h>) // the ABI of 12.6 and later; some versions include a header of C++
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#endif
#include <stddef.h>
#include <stdio.h>

#include "../../abi_activity.h"
#include "../../abi_callback.h"
#include "../../abi_counters.h"
#include "../../abi_driver.h"
#include "../../abi_library.h"
#include "../../abi_lines.h"
#include "../../abi_pm.h"
#include "../../abi_sampling.h"
#include "../../capture.h"
#include "../../../replay/fakecuda/sizes.h"

static int compared, wrong;

static void same(const char *what, long long ours, long long theirs) {
  compared++;
  if (ours == theirs) return;
  wrong++;
  printf("%s: %lld in abi*.h, %lld in the headers\n", what, ours, theirs);
}

#define VALUE(ours, theirs) same(#ours, (long long)(ours), (long long)(theirs))
#define SIZE(ours, theirs) same("size of " #ours, sizeof(struct ours), sizeof(theirs))
#define FIELD(ours, field, theirs, their_field)                                                        \
  do {                                                                                                 \
    same(#ours "." #field, offsetof(struct ours, field), offsetof(theirs, their_field));               \
    same("size of " #ours "." #field, sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->their_field)); \
  } while (0)
// An array of ours that stands for several fields of theirs: only the offset is compared.
#define PLACE(ours, field, theirs, their_field) \
  same(#ours "." #field, offsetof(struct ours, field), offsetof(theirs, their_field))

static void results(void) {
  VALUE(RC_OK, CUPTI_SUCCESS);
  VALUE(RC_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
  VALUE(RC_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
  VALUE(RC_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
  VALUE(RC_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
  VALUE(RC_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
  VALUE(RC_PARAMETER_SIZE, CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  VALUE(RC_NOT_IMPLEMENTED, CUPTI_ERROR_API_NOT_IMPLEMENTED);
  VALUE(RC_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
  VALUE(RC_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
  VALUE(RC_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
  VALUE(RC_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
  VALUE(RC_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
  VALUE(RC_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
  VALUE(RC_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
  VALUE(RC_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  VALUE(RC_OLD_PROFILER_API, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
  VALUE(RC_LEGACY_PROFILER, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
  VALUE(RC_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  VALUE(RC_VIRTUALIZED_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
  VALUE(RC_CONFIDENTIAL_COMPUTING, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
  VALUE(RC_CMP_DEVICE, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
#if CUPTI_API_VERSION >= 19
  VALUE(RC_MIG_DEVICE, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
  VALUE(RC_SLI_DEVICE, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
  VALUE(RC_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
  VALUE(RC_UNKNOWN, CUPTI_ERROR_UNKNOWN);
  same("size of a result", sizeof(uint32_t), sizeof(CUptiResult));

  VALUE(CU_OK, CUDA_SUCCESS);
  VALUE(CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
  VALUE(CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
  VALUE(CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
  VALUE(CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
  VALUE(HOST_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
  VALUE(HOST_MAPPED, CU_MEMHOSTREGISTER_DEVICEMAP);
  VALUE(STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
  VALUE(CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
  VALUE(CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
  VALUE(CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
  VALUE(CU_ILLEGAL_STATE, CUDA_ERROR_ILLEGAL_STATE);
  VALUE(CU_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  same("size of a driver result", sizeof(uint32_t), sizeof(CUresult));
}

static void domains(void) {
  VALUE(DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
  VALUE(DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
  VALUE(DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
  VALUE(DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
#if CUPTI_API_VERSION >= 20
  VALUE(DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
#endif
  VALUE(SITE_ENTER, CUPTI_API_ENTER);
  VALUE(SITE_EXIT, CUPTI_API_EXIT);
  same("size of a domain", sizeof(uint32_t), sizeof(CUpti_CallbackDomain));
  same("size of a callback id", sizeof(uint32_t), sizeof(CUpti_CallbackId));
}

#define RESOURCE(name) VALUE(RES_##name, CUPTI_CBID_RESOURCE_##name)
static void resources(void) {
  RESOURCE(CONTEXT_CREATED);
  RESOURCE(CONTEXT_DESTROY_STARTING);
  RESOURCE(MODULE_LOADED);
  RESOURCE(MODULE_UNLOAD_STARTING);
  RESOURCE(MODULE_PROFILED);
  RESOURCE(GRAPH_CREATED);
  RESOURCE(GRAPH_DESTROY_STARTING);
  RESOURCE(GRAPHNODE_CREATED);
  RESOURCE(GRAPHEXEC_CREATE_STARTING);
  RESOURCE(GRAPHEXEC_CREATED);
  RESOURCE(GRAPHEXEC_DESTROY_STARTING);
  RESOURCE(GRAPHNODE_CLONED);
}

#define DRIVER(name) VALUE(CBID_##name, CUPTI_DRIVER_TRACE_CBID_##name)
static void driver_calls(void) {
#define F(name, number) DRIVER(name);
  CUDA_COPY_CALLS_11_8(F)
  CUDA_SYNC_CALLS_11_8(F)
#if CUPTI_API_VERSION >= 26
  CUDA_COPY_CALLS_12_8(F)
#endif
#if CUPTI_API_VERSION >= 130500
  CUDA_COPY_CALLS_13_5(F)
  CUDA_SYNC_CALLS_13_5(F)
#endif
#undef F
  DRIVER(cuCtxDestroy);
  DRIVER(cuCtxDestroy_v2);
  DRIVER(cuProfilerStart);
  DRIVER(cuProfilerStop);
  DRIVER(cuDevicePrimaryCtxReset);
  DRIVER(cuDevicePrimaryCtxReset_v2);
  DRIVER(cuModuleLoad);
  DRIVER(cuModuleLoadData);
  DRIVER(cuModuleLoadDataEx);
  DRIVER(cuModuleLoadFatBinary);
  DRIVER(cuModuleUnload);
  DRIVER(cuModuleGetFunction);
  DRIVER(cuLaunch);
  DRIVER(cuLaunchGrid);
  DRIVER(cuLaunchGridAsync);
  DRIVER(cuLaunchKernel);
  DRIVER(cuLaunchKernel_ptsz);
  DRIVER(cuLaunchCooperativeKernel);
  DRIVER(cuLaunchCooperativeKernel_ptsz);
  DRIVER(cuLaunchCooperativeKernelMultiDevice);
  DRIVER(cuStreamBeginCapture);
  DRIVER(cuStreamBeginCapture_ptsz);
  DRIVER(cuStreamEndCapture);
  DRIVER(cuStreamEndCapture_ptsz);
  DRIVER(cuGraphInstantiate);
  DRIVER(cuGraphLaunch);
  DRIVER(cuGraphLaunch_ptsz);
  DRIVER(cuGraphExecDestroy);
  DRIVER(cuGraphDestroy);
  DRIVER(cuStreamBeginCapture_v2);
  DRIVER(cuStreamBeginCapture_v2_ptsz);
  DRIVER(cuGraphInstantiate_v2);
  DRIVER(cuGraphInstantiateWithFlags);
  DRIVER(cuLaunchKernelEx);
  DRIVER(cuLaunchKernelEx_ptsz);
#if CUPTI_API_VERSION >= 19
  DRIVER(cuLibraryLoadData);
  DRIVER(cuLibraryLoadFromFile);
  DRIVER(cuLibraryUnload);
  DRIVER(cuLibraryGetKernel);
#endif
#if CUPTI_API_VERSION >= 22
  DRIVER(cuStreamBeginCaptureToGraph);
  DRIVER(cuStreamBeginCaptureToGraph_ptsz);
#endif
}

static void nvtx(void) {
  VALUE(NVTX_MarkA, CUPTI_CBID_NVTX_nvtxMarkA);
  VALUE(NVTX_RangePushA, CUPTI_CBID_NVTX_nvtxRangePushA);
  VALUE(NVTX_RangePop, CUPTI_CBID_NVTX_nvtxRangePop);
}

static void callback_data(void) {
  FIELD(cupti_callback_data, site, CUpti_CallbackData, callbackSite);
  FIELD(cupti_callback_data, function_name, CUpti_CallbackData, functionName);
  FIELD(cupti_callback_data, params, CUpti_CallbackData, functionParams);
  FIELD(cupti_callback_data, return_value, CUpti_CallbackData, functionReturnValue);
  FIELD(cupti_callback_data, symbol_name, CUpti_CallbackData, symbolName);
  FIELD(cupti_callback_data, context, CUpti_CallbackData, context);
  FIELD(cupti_callback_data, context_uid, CUpti_CallbackData, contextUid);
  FIELD(cupti_callback_data, correlation_data, CUpti_CallbackData, correlationData);
  FIELD(cupti_callback_data, correlation_id, CUpti_CallbackData, correlationId);
  SIZE(cupti_callback_data, CUpti_CallbackData);

  FIELD(cupti_resource_data, context, CUpti_ResourceData, context);
  FIELD(cupti_resource_data, handle, CUpti_ResourceData, resourceHandle.stream);
  FIELD(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
  SIZE(cupti_resource_data, CUpti_ResourceData);

  FIELD(cupti_module_data, module_id, CUpti_ModuleResourceData, moduleId);
  FIELD(cupti_module_data, cubin_size, CUpti_ModuleResourceData, cubinSize);
  FIELD(cupti_module_data, cubin, CUpti_ModuleResourceData, pCubin);
  SIZE(cupti_module_data, CUpti_ModuleResourceData);

  FIELD(cupti_graph_data, graph, CUpti_GraphData, graph);
  FIELD(cupti_graph_data, original_graph, CUpti_GraphData, originalGraph);
  FIELD(cupti_graph_data, node, CUpti_GraphData, node);
  FIELD(cupti_graph_data, original_node, CUpti_GraphData, originalNode);
  FIELD(cupti_graph_data, node_type, CUpti_GraphData, nodeType);
  FIELD(cupti_graph_data, dependency, CUpti_GraphData, dependency);
  FIELD(cupti_graph_data, graph_exec, CUpti_GraphData, graphExec);
  SIZE(cupti_graph_data, CUpti_GraphData);
  VALUE(NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
  VALUE(NODE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY);
  VALUE(NODE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET);

  FIELD(cupti_nvtx_data, function_name, CUpti_NvtxData, functionName);
  FIELD(cupti_nvtx_data, params, CUpti_NvtxData, functionParams);
#if CUPTI_API_VERSION >= 19
  FIELD(cupti_nvtx_data, return_value, CUpti_NvtxData, functionReturnValue);
  SIZE(cupti_nvtx_data, CUpti_NvtxData);
#endif
#if CUPTI_API_VERSION >= 130000
  FIELD(cupti_subscriber_params, size, CUpti_SubscriberParams, structSize);
  FIELD(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
  FIELD(cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
  FIELD(cupti_subscriber_params, old_name_size, CUpti_SubscriberParams, oldSubscriberSize);
#if CUPTI_API_VERSION >= 130200
  FIELD(cupti_subscriber_params_13_2, several, CUpti_SubscriberParams, allowMultipleSubscribers);
  SIZE(cupti_subscriber_params_13_2, CUpti_SubscriberParams);
  VALUE(ATTR_SUBSCRIBERS, CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE);
#endif
#endif
}

static void launches(void) {
#define LAUNCH(theirs)                                                      \
  FIELD(cuda_params_launch_kernel, function, theirs, f);                    \
  PLACE(cuda_params_launch_kernel, grid, theirs, gridDimX);                 \
  PLACE(cuda_params_launch_kernel, block, theirs, blockDimX);               \
  FIELD(cuda_params_launch_kernel, shared_bytes, theirs, sharedMemBytes);   \
  FIELD(cuda_params_launch_kernel, stream, theirs, hStream);                \
  FIELD(cuda_params_launch_kernel, kernel_params, theirs, kernelParams)
  LAUNCH(cuLaunchKernel_params);
  LAUNCH(cuLaunchKernel_ptsz_params);
  LAUNCH(cuLaunchCooperativeKernel_params);
  LAUNCH(cuLaunchCooperativeKernel_ptsz_params);
  FIELD(cuda_params_launch_kernel, extra, cuLaunchKernel_params, extra);
  SIZE(cuda_params_launch_kernel, cuLaunchKernel_params);

#define LAUNCH_EX(theirs)                                                   \
  FIELD(cuda_params_launch_kernel_ex, config, theirs, config);              \
  FIELD(cuda_params_launch_kernel_ex, function, theirs, f);                 \
  FIELD(cuda_params_launch_kernel_ex, kernel_params, theirs, kernelParams); \
  FIELD(cuda_params_launch_kernel_ex, extra, theirs, extra);                \
  SIZE(cuda_params_launch_kernel_ex, theirs)
  LAUNCH_EX(cuLaunchKernelEx_params);
  LAUNCH_EX(cuLaunchKernelEx_ptsz_params);

  PLACE(cuda_launch_config, grid, CUlaunchConfig, gridDimX);
  PLACE(cuda_launch_config, block, CUlaunchConfig, blockDimX);
  FIELD(cuda_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
  FIELD(cuda_launch_config, stream, CUlaunchConfig, hStream);
  FIELD(cuda_launch_config, attributes, CUlaunchConfig, attrs);
  FIELD(cuda_launch_config, num_attributes, CUlaunchConfig, numAttrs);
  SIZE(cuda_launch_config, CUlaunchConfig);
  FIELD(cuda_params_launch_old, function, cuLaunch_params, f);
  FIELD(cuda_params_launch_old, function, cuLaunchGrid_params, f);
  FIELD(cuda_params_launch_old, function, cuLaunchGridAsync_params, f);
}

static void other_params(void) {
  FIELD(cuda_params_graph_launch, exec, cuGraphLaunch_params, hGraph);
  FIELD(cuda_params_graph_launch, stream, cuGraphLaunch_params, hStream);
  SIZE(cuda_params_graph_launch, cuGraphLaunch_ptsz_params);
  FIELD(cuda_params_begin_capture, stream, cuStreamBeginCapture_params, hStream);
  FIELD(cuda_params_begin_capture, stream, cuStreamBeginCapture_v2_params, hStream);
#if CUPTI_API_VERSION >= 22
  FIELD(cuda_params_begin_capture, stream, cuStreamBeginCaptureToGraph_params, hStream);
#endif
  FIELD(cuda_params_end_capture, stream, cuStreamEndCapture_params, hStream);
  FIELD(cuda_params_end_capture, graph, cuStreamEndCapture_params, phGraph);
  SIZE(cuda_params_end_capture, cuStreamEndCapture_ptsz_params);
  FIELD(cuda_params_graph_instantiate, exec, cuGraphInstantiateWithFlags_params, phGraphExec);
  FIELD(cuda_params_graph_instantiate, graph, cuGraphInstantiateWithFlags_params, hGraph);
  FIELD(cuda_params_graph_instantiate, flags, cuGraphInstantiateWithFlags_params, flags);
  FIELD(cuda_params_graph_instantiate, exec, cuGraphInstantiate_v2_params, phGraphExec);
  FIELD(cuda_params_graph_instantiate, graph, cuGraphInstantiate_v2_params, hGraph);
  FIELD(cuda_params_context_destroy, context, cuCtxDestroy_v2_params, ctx);
  SIZE(cuda_params_context_destroy, cuCtxDestroy_params);
  FIELD(cuda_params_primary_reset, device, cuDevicePrimaryCtxReset_v2_params, dev);
  SIZE(cuda_params_primary_reset, cuDevicePrimaryCtxReset_params);
  FIELD(cuda_params_module_unload, module, cuModuleUnload_params, hmod);
  FIELD(cuda_params_module_load_data, module, cuModuleLoadData_params, module);
  FIELD(cuda_params_module_load_data, image, cuModuleLoadData_params, image);
  FIELD(cuda_params_module_get_function, function, cuModuleGetFunction_params, hfunc);
  FIELD(cuda_params_module_get_function, module, cuModuleGetFunction_params, hmod);
  FIELD(cuda_params_module_get_function, name, cuModuleGetFunction_params, name);
}

#if __has_include(<cupti_range_profiler.h>)
static void counters(void) {
  VALUE(COUNTERS_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
  VALUE(COUNTERS_AUTO_RANGE, CUPTI_AutoRange);
  VALUE(COUNTERS_KERNEL_REPLAY, CUPTI_KernelReplay);
  same("size of cupti_counters_params", (long long)sizeof(struct cupti_counters_params), CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  FIELD(cupti_chip_params, device, CUpti_Device_GetChipName_Params, deviceIndex);
  FIELD(cupti_chip_params, name, CUpti_Device_GetChipName_Params, pChipName);
  same("size of cupti_chip_params", (long long)sizeof(struct cupti_chip_params), CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  FIELD(cupti_host_params, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
  FIELD(cupti_host_params, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
  FIELD(cupti_host_params, available, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
  FIELD(cupti_host_params, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
#if CUPTI_API_VERSION >= 130500
  FIELD(cupti_host_params, single_pass_set, CUpti_Profiler_Host_Initialize_Params, pSinglePassMetricSetName);
  SIZE(cupti_host_params, CUpti_Profiler_Host_Initialize_Params);
#else
  same("size of cupti_host_params", (long long)COUNTERS_HOST, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
#endif
  FIELD(cupti_host_end_params, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
  same("size of cupti_host_end_params", (long long)sizeof(struct cupti_host_end_params), CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  FIELD(cupti_base_metrics_params, host, CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject);
  FIELD(cupti_base_metrics_params, type, CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
  FIELD(cupti_base_metrics_params, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
  FIELD(cupti_base_metrics_params, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);
  same("size of cupti_base_metrics_params", (long long)sizeof(struct cupti_base_metrics_params), CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE);
  FIELD(cupti_add_metrics_params, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
  FIELD(cupti_add_metrics_params, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
  FIELD(cupti_add_metrics_params, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
  same("size of cupti_add_metrics_params", (long long)sizeof(struct cupti_add_metrics_params), CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  FIELD(cupti_config_size_params, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
  FIELD(cupti_config_size_params, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
  same("size of cupti_config_size_params", (long long)sizeof(struct cupti_config_size_params), CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  FIELD(cupti_config_params, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
  FIELD(cupti_config_params, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
  FIELD(cupti_config_params, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
  same("size of cupti_config_params", (long long)sizeof(struct cupti_config_params), CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  FIELD(cupti_passes_params, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
  FIELD(cupti_passes_params, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
  FIELD(cupti_passes_params, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
  same("size of cupti_passes_params", (long long)sizeof(struct cupti_passes_params), CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  FIELD(cupti_evaluate_params, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
  FIELD(cupti_evaluate_params, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
  FIELD(cupti_evaluate_params, bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
  FIELD(cupti_evaluate_params, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
  FIELD(cupti_evaluate_params, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
  FIELD(cupti_evaluate_params, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
  FIELD(cupti_evaluate_params, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
  same("size of cupti_evaluate_params", (long long)sizeof(struct cupti_evaluate_params), CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  FIELD(cupti_range_enable_params, context, CUpti_RangeProfiler_Enable_Params, ctx);
  FIELD(cupti_range_enable_params, ranges, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
#if CUPTI_API_VERSION >= 130400
  FIELD(cupti_range_enable_params, caches, CUpti_RangeProfiler_Enable_Params, cacheControlMode);
  same("size of cupti_range_enable_params", (long long)COUNTERS_SIZE(cupti_range_enable_params, caches), CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  VALUE(COUNTERS_RESET_CACHES, CUPTI_CACHE_CONTROL_MODE_ALL);
#else
  same("size of cupti_range_enable_params", (long long)COUNTERS_RANGES, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
#endif
  FIELD(cupti_range_params, ranges, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
  same("size of cupti_range_params", (long long)sizeof(struct cupti_range_params), CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  FIELD(cupti_range_params, ranges, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
  same("size of cupti_range_params", (long long)sizeof(struct cupti_range_params), CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  FIELD(cupti_range_stop_params, ranges, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
  FIELD(cupti_range_stop_params, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
  FIELD(cupti_range_stop_params, nesting, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
  FIELD(cupti_range_stop_params, all_passes, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
  same("size of cupti_range_stop_params", (long long)COUNTERS_SIZE(cupti_range_stop_params, all_passes), CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  FIELD(cupti_range_decode_params, ranges, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
  FIELD(cupti_range_decode_params, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
  same("size of cupti_range_decode_params", (long long)sizeof(struct cupti_range_decode_params), CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  FIELD(cupti_image_size_params, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject);
  FIELD(cupti_image_size_params, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
  FIELD(cupti_image_size_params, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
  FIELD(cupti_image_size_params, max_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
  FIELD(cupti_image_size_params, max_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
  FIELD(cupti_image_size_params, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
  same("size of cupti_image_size_params", (long long)sizeof(struct cupti_image_size_params), CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  FIELD(cupti_image_params, ranges, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pRangeProfilerObject);
  FIELD(cupti_image_params, bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
  FIELD(cupti_image_params, image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
  same("size of cupti_image_params", (long long)sizeof(struct cupti_image_params), CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  FIELD(cupti_image_info_params, image, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
  FIELD(cupti_image_info_params, bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize);
  FIELD(cupti_image_info_params, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
  same("size of cupti_image_info_params", (long long)sizeof(struct cupti_image_info_params), CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  FIELD(cupti_range_config_params, ranges, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
  FIELD(cupti_range_config_params, config_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
  FIELD(cupti_range_config_params, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
  FIELD(cupti_range_config_params, image_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
  FIELD(cupti_range_config_params, image, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
  FIELD(cupti_range_config_params, range, CUpti_RangeProfiler_SetConfig_Params, range);
  FIELD(cupti_range_config_params, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
  FIELD(cupti_range_config_params, max_ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
  FIELD(cupti_range_config_params, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
  FIELD(cupti_range_config_params, min_nesting, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
  FIELD(cupti_range_config_params, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
  FIELD(cupti_range_config_params, target_nesting, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
  same("size of cupti_range_config_params", (long long)COUNTERS_SIZE(cupti_range_config_params, target_nesting), CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
}

static void counters_by_line(void) {
  VALUE(LINES_OF_GPU, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU);
  FIELD(cupti_line_metric_params, chip, CUpti_SassMetrics_GetProperties_Params, pChipName);
  FIELD(cupti_line_metric_params, name, CUpti_SassMetrics_GetProperties_Params, pMetricName);
  FIELD(cupti_line_metric_params, id, CUpti_SassMetrics_GetProperties_Params, metric.metricId);
  FIELD(cupti_line_metric_params, same_name, CUpti_SassMetrics_GetProperties_Params, metric.pMetricName);
  FIELD(cupti_line_metric_params, about, CUpti_SassMetrics_GetProperties_Params, metric.pMetricDescription);
  same("size of cupti_line_metric_params", (long long)sizeof(struct cupti_line_metric_params), CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE);
  FIELD(cupti_line_choice, id, CUpti_SassMetrics_Config, metricId);
  FIELD(cupti_line_choice, granularity, CUpti_SassMetrics_Config, outputGranularity);
  SIZE(cupti_line_choice, CUpti_SassMetrics_Config);
  FIELD(cupti_line_config_params, count, CUpti_SassMetricsSetConfig_Params, numOfMetricConfig);
  FIELD(cupti_line_config_params, choices, CUpti_SassMetricsSetConfig_Params, pConfigs);
  FIELD(cupti_line_config_params, device, CUpti_SassMetricsSetConfig_Params, deviceIndex);
  same("size of cupti_line_config_params", COUNTERS_SIZE(cupti_line_config_params, device), CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
  FIELD(cupti_line_enable_params, context, CUpti_SassMetricsEnable_Params, ctx);
  FIELD(cupti_line_enable_params, lazy, CUpti_SassMetricsEnable_Params, enableLazyPatching);
  same("size of cupti_line_enable_params", COUNTERS_SIZE(cupti_line_enable_params, lazy), CUpti_SassMetricsEnable_Params_STRUCT_SIZE);
  FIELD(cupti_line_disable_params, context, CUpti_SassMetricsDisable_Params, ctx);
  FIELD(cupti_line_disable_params, dropped, CUpti_SassMetricsDisable_Params, numOfDroppedRecords);
  same("size of cupti_line_disable_params", (long long)sizeof(struct cupti_line_disable_params), CUpti_SassMetricsDisable_Params_STRUCT_SIZE);
  FIELD(cupti_line_data_params, context, CUpti_SassMetricsGetDataProperties_Params, ctx);
  FIELD(cupti_line_data_params, records, CUpti_SassMetricsGetDataProperties_Params, numOfPatchedInstructionRecords);
  FIELD(cupti_line_data_params, instances, CUpti_SassMetricsGetDataProperties_Params, numOfInstances);
  same("size of cupti_line_data_params", (long long)sizeof(struct cupti_line_data_params), CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE);
  FIELD(cupti_line_value, id, CUpti_SassMetrics_InstanceValue, metricId);
  FIELD(cupti_line_value, value, CUpti_SassMetrics_InstanceValue, value);
  SIZE(cupti_line_value, CUpti_SassMetrics_InstanceValue);
  FIELD(cupti_line_record, crc, CUpti_SassMetrics_Data, cubinCrc);
  FIELD(cupti_line_record, function, CUpti_SassMetrics_Data, functionIndex);
  FIELD(cupti_line_record, name, CUpti_SassMetrics_Data, functionName);
  FIELD(cupti_line_record, offset, CUpti_SassMetrics_Data, pcOffset);
  FIELD(cupti_line_record, values, CUpti_SassMetrics_Data, pInstanceValues);
  SIZE(cupti_line_record, CUpti_SassMetrics_Data);
  FIELD(cupti_line_flush_params, context, CUpti_SassMetricsFlushData_Params, ctx);
  FIELD(cupti_line_flush_params, records, CUpti_SassMetricsFlushData_Params, numOfPatchedInstructionRecords);
  FIELD(cupti_line_flush_params, instances, CUpti_SassMetricsFlushData_Params, numOfInstances);
  FIELD(cupti_line_flush_params, out, CUpti_SassMetricsFlushData_Params, pMetricsData);
  same("size of cupti_line_flush_params", LINES_FLUSH, CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
}

static void counters_over_time(void) {
  VALUE(COUNTERS_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
  VALUE(PM_SYSTEM_CLOCK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
  VALUE(PM_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
  VALUE(PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
  VALUE(PM_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
  VALUE(PM_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
  FIELD(cupti_pm_enable_params, device, CUpti_PmSampling_Enable_Params, deviceIndex);
  FIELD(cupti_pm_enable_params, sampling, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
  same("size of cupti_pm_enable_params", (long long)sizeof(struct cupti_pm_enable_params), CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
  FIELD(cupti_pm_params, sampling, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
  same("size of cupti_pm_params", (long long)sizeof(struct cupti_pm_params), CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
  FIELD(cupti_pm_params, sampling, CUpti_PmSampling_Start_Params, pPmSamplingObject);
  same("size of cupti_pm_params", (long long)sizeof(struct cupti_pm_params), CUpti_PmSampling_Start_Params_STRUCT_SIZE);
  FIELD(cupti_pm_params, sampling, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
  same("size of cupti_pm_params", (long long)sizeof(struct cupti_pm_params), CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
  FIELD(cupti_pm_config_params, sampling, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
  FIELD(cupti_pm_config_params, config_bytes, CUpti_PmSampling_SetConfig_Params, configSize);
  FIELD(cupti_pm_config_params, config, CUpti_PmSampling_SetConfig_Params, pConfig);
  FIELD(cupti_pm_config_params, hardware_buffer, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
  FIELD(cupti_pm_config_params, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
  FIELD(cupti_pm_config_params, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
  FIELD(cupti_pm_config_params, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
  same("size of cupti_pm_config_params", (long long)sizeof(struct cupti_pm_config_params), CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
  FIELD(cupti_pm_decode_params, sampling, CUpti_PmSampling_DecodeData_Params, pPmSamplingObject);
  FIELD(cupti_pm_decode_params, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
  FIELD(cupti_pm_decode_params, bytes, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
  FIELD(cupti_pm_decode_params, stopped, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
  FIELD(cupti_pm_decode_params, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
  same("size of cupti_pm_decode_params", COUNTERS_SIZE(cupti_pm_decode_params, overflow), CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
  FIELD(cupti_pm_image_size_params, sampling, CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
  FIELD(cupti_pm_image_size_params, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
  FIELD(cupti_pm_image_size_params, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
  FIELD(cupti_pm_image_size_params, max_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
  FIELD(cupti_pm_image_size_params, bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
  same("size of cupti_pm_image_size_params", (long long)sizeof(struct cupti_pm_image_size_params), CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
  FIELD(cupti_pm_image_params, sampling, CUpti_PmSampling_CounterDataImage_Initialize_Params, pPmSamplingObject);
  FIELD(cupti_pm_image_params, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
  FIELD(cupti_pm_image_params, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
  same("size of cupti_pm_image_params", (long long)sizeof(struct cupti_pm_image_params), CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  FIELD(cupti_pm_info_params, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
  FIELD(cupti_pm_info_params, bytes, CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
  FIELD(cupti_pm_info_params, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
  FIELD(cupti_pm_info_params, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
  FIELD(cupti_pm_info_params, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
  same("size of cupti_pm_info_params", (long long)sizeof(struct cupti_pm_info_params), CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
  FIELD(cupti_pm_sample_params, sampling, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject);
  FIELD(cupti_pm_sample_params, image, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
  FIELD(cupti_pm_sample_params, bytes, CUpti_PmSampling_CounterData_GetSampleInfo_Params, counterDataImageSize);
  FIELD(cupti_pm_sample_params, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
  FIELD(cupti_pm_sample_params, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
  FIELD(cupti_pm_sample_params, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
  same("size of cupti_pm_sample_params", (long long)sizeof(struct cupti_pm_sample_params), CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
}
#else
static void counters(void) {} // before 12.6
static void counters_over_time(void) {}
static void counters_by_line(void) {}
#endif

static void sampling(void) {
  FIELD(cuda_params_load, handle, cuModuleLoad_params, module);
  FIELD(cuda_params_load, handle, cuModuleLoadDataEx_params, module);
  FIELD(cuda_params_load, handle, cuModuleLoadFatBinary_params, module);
#if CUPTI_API_VERSION >= 19
  DRIVER(cuLibraryGetModule);
  DRIVER(cuKernelGetFunction);
  FIELD(cuda_params_load, handle, cuLibraryLoadData_params, library);
  FIELD(cuda_params_load, handle, cuLibraryLoadFromFile_params, library);
  FIELD(cuda_params_module_get_function, function, cuLibraryGetKernel_params, pKernel);
  FIELD(cuda_params_module_get_function, module, cuLibraryGetKernel_params, library);
  FIELD(cuda_params_module_get_function, name, cuLibraryGetKernel_params, name);
  FIELD(cuda_params_get, handle, cuKernelGetFunction_params, pFunc);
  FIELD(cuda_params_get, of, cuKernelGetFunction_params, kernel);
  FIELD(cuda_params_get, handle, cuLibraryGetModule_params, pMod);
  FIELD(cuda_params_get, of, cuLibraryGetModule_params, library);
  FIELD(cuda_params_module_unload, module, cuLibraryUnload_params, library);
#endif
#define SAMPLING(ours, theirs) VALUE(SAMPLING_##ours, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##theirs)
  SAMPLING(PERIOD, SAMPLING_PERIOD);
  SAMPLING(REASONS, STALL_REASON);
  SAMPLING(SCRATCH_BUFFER, SCRATCH_BUFFER_SIZE);
  SAMPLING(HARDWARE_BUFFER, HARDWARE_BUFFER_SIZE);
  SAMPLING(MODE, COLLECTION_MODE);
  SAMPLING(START_STOP, ENABLE_START_STOP_CONTROL);
  SAMPLING(DATA_BUFFER, SAMPLING_DATA_BUFFER);
#if CUPTI_API_VERSION >= 19
  SAMPLING(WORKER_SLEEP, WORKER_THREAD_PERIODIC_SLEEP_SPAN);
#endif
  VALUE(SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
  VALUE(SAMPLING_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
  VALUE(REASON_NAME, CUPTI_STALL_REASON_STRING_SIZE);
  FIELD(cupti_sampling_params, context, CUpti_PCSamplingEnableParams, ctx);
  same("size of cupti_sampling_params", sizeof(struct cupti_sampling_params), CUpti_PCSamplingStopParamsSize);
  FIELD(cupti_sampling_reasons_params, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
  VALUE(REASONS_NUMBER_PARAMS, CUpti_PCSamplingGetNumStallReasonsParamsSize);
  FIELD(cupti_sampling_reasons_params, number, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
  FIELD(cupti_sampling_reasons_params, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
  FIELD(cupti_sampling_reasons_params, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
  same("size of cupti_sampling_reasons_params", sizeof(struct cupti_sampling_reasons_params), CUpti_PCSamplingGetStallReasonsParamsSize);
  FIELD(cupti_sampling_setting, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
  FIELD(cupti_sampling_setting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
  FIELD(cupti_sampling_setting, u32, CUpti_PCSamplingConfigurationInfo, attributeData.samplingPeriodData.samplingPeriod);
  FIELD(cupti_sampling_setting, size, CUpti_PCSamplingConfigurationInfo, attributeData.hardwareBufferSizeData.hardwareBufferSize);
  FIELD(cupti_sampling_setting, pointer, CUpti_PCSamplingConfigurationInfo, attributeData.samplingDataBufferData.samplingDataBuffer);
  FIELD(cupti_sampling_setting, reasons.count, CUpti_PCSamplingConfigurationInfo, attributeData.stallReasonData.stallReasonCount);
  FIELD(cupti_sampling_setting, reasons.indices, CUpti_PCSamplingConfigurationInfo, attributeData.stallReasonData.pStallReasonIndex);
  SIZE(cupti_sampling_setting, CUpti_PCSamplingConfigurationInfo);
  FIELD(cupti_sampling_settings_params, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
  FIELD(cupti_sampling_settings_params, settings, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
  same("size of cupti_sampling_settings_params", sizeof(struct cupti_sampling_settings_params), CUpti_PCSamplingConfigurationInfoParamsSize);
  FIELD(cupti_sampling_stall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
  FIELD(cupti_sampling_stall, samples, CUpti_PCSamplingStallReason, samples);
  SIZE(cupti_sampling_stall, CUpti_PCSamplingStallReason);
  FIELD(cupti_sampling_pc, module, CUpti_PCSamplingPCData, cubinCrc);
  FIELD(cupti_sampling_pc, offset, CUpti_PCSamplingPCData, pcOffset);
  FIELD(cupti_sampling_pc, function, CUpti_PCSamplingPCData, functionIndex);
  FIELD(cupti_sampling_pc, name, CUpti_PCSamplingPCData, functionName);
  FIELD(cupti_sampling_pc, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
  FIELD(cupti_sampling_pc, stalls, CUpti_PCSamplingPCData, stallReason);
#if CUPTI_API_VERSION >= 22
  FIELD(cupti_sampling_pc, correlation_id, CUpti_PCSamplingPCData, correlationId);
  SIZE(cupti_sampling_pc, CUpti_PCSamplingPCData);
#else
  VALUE(SAMPLING_PC_BEFORE_12_4, sizeof(CUpti_PCSamplingPCData));
#endif
  FIELD(cupti_sampling_data, capacity, CUpti_PCSamplingData, collectNumPcs);
  FIELD(cupti_sampling_data, total_samples, CUpti_PCSamplingData, totalSamples);
  FIELD(cupti_sampling_data, dropped_samples, CUpti_PCSamplingData, droppedSamples);
  FIELD(cupti_sampling_data, count, CUpti_PCSamplingData, totalNumPcs);
  FIELD(cupti_sampling_data, remaining, CUpti_PCSamplingData, remainingNumPcs);
  FIELD(cupti_sampling_data, range_id, CUpti_PCSamplingData, rangeId);
  FIELD(cupti_sampling_data, pcs, CUpti_PCSamplingData, pPcData);
  FIELD(cupti_sampling_data, non_user_samples, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
#if CUPTI_API_VERSION >= 19
  FIELD(cupti_sampling_data, hardware_buffer_full, CUpti_PCSamplingData, hardwareBufferFull);
  SIZE(cupti_sampling_data, CUpti_PCSamplingData);
#else
  VALUE(SAMPLING_DATA_BEFORE_12_0, sizeof(CUpti_PCSamplingData));
#endif
  FIELD(cupti_crc_params, image_size, CUpti_GetCubinCrcParams, cubinSize);
  FIELD(cupti_crc_params, image, CUpti_GetCubinCrcParams, cubin);
  FIELD(cupti_crc_params, crc, CUpti_GetCubinCrcParams, cubinCrc);
  SIZE(cupti_crc_params, CUpti_GetCubinCrcParams);
  FIELD(cupti_sampling_data_params, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
  same("size of cupti_sampling_data_params", sizeof(struct cupti_sampling_data_params), CUpti_PCSamplingGetDataParamsSize);
}

// The recorder copies as many bytes of the arguments as capture.h says: no more than the vendor's struct has.
static void fits(const char *what, uint32_t cbid, size_t theirs) {
  const struct params_shape *shape = params_shape_of(DOMAIN_DRIVER, cbid);
  compared++;
  if (shape && shape->size <= theirs) return;
  wrong++;
  printf("%s: %d bytes in capture.h, %zu in the headers\n", what, shape ? shape->size : 0, theirs);
}

#define FITS(name) fits(#name, CBID_##name, sizeof(name##_params))
static void shapes(void) {
  FITS(cuLaunchKernel);
  FITS(cuLaunchKernel_ptsz);
  FITS(cuLaunchCooperativeKernel);
  FITS(cuLaunchCooperativeKernel_ptsz);
  FITS(cuLaunchCooperativeKernelMultiDevice);
  FITS(cuLaunchKernelEx);
  FITS(cuLaunchKernelEx_ptsz);
  FITS(cuLaunch);
  FITS(cuLaunchGrid);
  FITS(cuLaunchGridAsync);
  FITS(cuGraphLaunch);
  FITS(cuGraphLaunch_ptsz);
  FITS(cuGraphInstantiate);
  FITS(cuGraphInstantiate_v2);
  FITS(cuGraphInstantiateWithFlags);
  FITS(cuGraphExecDestroy);
  FITS(cuGraphDestroy);
  FITS(cuStreamBeginCapture);
  FITS(cuStreamBeginCapture_ptsz);
  FITS(cuStreamBeginCapture_v2);
  FITS(cuStreamBeginCapture_v2_ptsz);
  FITS(cuStreamEndCapture);
  FITS(cuStreamEndCapture_ptsz);
  FITS(cuModuleLoadData);
  FITS(cuModuleUnload);
  FITS(cuModuleLoad);
  FITS(cuModuleLoadDataEx);
  FITS(cuModuleLoadFatBinary);
  FITS(cuModuleGetFunction);
#if CUPTI_API_VERSION >= 19
  FITS(cuLibraryLoadData);
  FITS(cuLibraryLoadFromFile);
  FITS(cuLibraryUnload);
  FITS(cuLibraryGetKernel);
  FITS(cuLibraryGetModule);
  FITS(cuKernelGetFunction);
#endif
#if CUPTI_API_VERSION >= 22
  FITS(cuStreamBeginCaptureToGraph);
  FITS(cuStreamBeginCaptureToGraph_ptsz);
#endif
}

#define KIND(name) VALUE(ACT_##name, CUPTI_ACTIVITY_KIND_##name)
static void kinds(void) {
  KIND(MEMCPY);
  KIND(MEMSET);
  KIND(KERNEL);
  KIND(CONCURRENT_KERNEL);
  KIND(MEMCPY2);
  KIND(SYNCHRONIZATION);
  KIND(GRAPH_TRACE);
  same("size of a kind", sizeof(uint32_t), sizeof(CUpti_ActivityKind));

  VALUE(ATTR_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
  VALUE(ATTR_DEVICE_BUFFER_SIZE_CDP, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP);
  VALUE(ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
  VALUE(ATTR_ZEROED_OUT_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  VALUE(ATTR_DEVICE_BUFFER_PRE_ALLOCATE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
  VALUE(ATTR_HOST_PINNED, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
#if CUPTI_API_VERSION >= 21
  VALUE(ATTR_PER_THREAD_BUFFER, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif
  VALUE(FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

// The library of each version writes the newest form of a record that its headers declare.
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityKernel13 newest_kernel;
#elif CUPTI_API_VERSION >= 130200
typedef CUpti_ActivityKernel12 newest_kernel;
#elif CUPTI_API_VERSION >= 130100
typedef CUpti_ActivityKernel11 newest_kernel;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 newest_kernel;
#elif CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 newest_kernel;
#else
typedef CUpti_ActivityKernel8 newest_kernel;
#endif
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityMemcpy7 newest_memcpy;
#elif CUPTI_API_VERSION >= 26
typedef CUpti_ActivityMemcpy6 newest_memcpy;
#else
typedef CUpti_ActivityMemcpy5 newest_memcpy;
#endif
typedef CUpti_ActivityMemcpyPtoP4 newest_peer;
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityMemset5 newest_memset;
#else
typedef CUpti_ActivityMemset4 newest_memset;
#endif
#if CUPTI_API_VERSION >= 26
typedef CUpti_ActivitySynchronization2 newest_sync;
#else
typedef CUpti_ActivitySynchronization newest_sync;
#endif
#if CUPTI_API_VERSION >= 21
typedef CUpti_ActivityGraphTrace2 newest_graph;
#else
typedef CUpti_ActivityGraphTrace newest_graph;
#endif

static void records(void) {
#define KERNEL(field, theirs) FIELD(cupti_kernel_prefix, field, newest_kernel, theirs)
  KERNEL(kind, kind);
  KERNEL(registers_per_thread, registersPerThread);
  KERNEL(start, start);
  KERNEL(end, end);
  KERNEL(completed, completed);
  KERNEL(device_id, deviceId);
  KERNEL(context_id, contextId);
  KERNEL(stream_id, streamId);
  PLACE(cupti_kernel_prefix, grid, newest_kernel, gridX);
  PLACE(cupti_kernel_prefix, block, newest_kernel, blockX);
  KERNEL(static_shared, staticSharedMemory);
  KERNEL(dynamic_shared, dynamicSharedMemory);
  KERNEL(local_per_thread, localMemoryPerThread);
  KERNEL(local_total, localMemoryTotal);
  KERNEL(correlation_id, correlationId);
  KERNEL(grid_id, gridId);
  KERNEL(name, name);
  KERNEL(queued, queued);
  KERNEL(submitted, submitted);
  KERNEL(launch_type, launchType);
  KERNEL(shared_executed, sharedMemoryExecuted);
  KERNEL(graph_node_id, graphNodeId);
  KERNEL(shmem_limit, shmemLimitConfig);
  KERNEL(graph_id, graphId);
  same("size of a kernel record", kernel_record_size(CUPTI_API_VERSION), sizeof(newest_kernel));

#define COPY(field, theirs) FIELD(cupti_memcpy_prefix, field, newest_memcpy, theirs)
  COPY(kind, kind);
  COPY(copy_kind, copyKind);
  COPY(source_kind, srcKind);
  COPY(target_kind, dstKind);
  COPY(bytes, bytes);
  COPY(start, start);
  COPY(end, end);
  COPY(device_id, deviceId);
  COPY(context_id, contextId);
  COPY(stream_id, streamId);
  COPY(correlation_id, correlationId);
  COPY(graph_node_id, graphNodeId);
  COPY(graph_id, graphId);
  same("size of a memcpy record", memcpy_record_size(CUPTI_API_VERSION), sizeof(newest_memcpy));
  VALUE(COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  VALUE(COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  VALUE(COPY_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
  VALUE(COPY_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
  VALUE(COPY_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
  VALUE(COPY_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
  VALUE(COPY_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
  VALUE(COPY_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  VALUE(COPY_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
  VALUE(COPY_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);

#define PEER(field, theirs) FIELD(cupti_memcpy_peer_prefix, field, newest_peer, theirs)
  PEER(kind, kind);
  PEER(copy_kind, copyKind);
  PEER(bytes, bytes);
  PEER(start, start);
  PEER(end, end);
  PEER(device_id, deviceId);
  PEER(context_id, contextId);
  PEER(stream_id, streamId);
  PEER(source_device_id, srcDeviceId);
  PEER(target_device_id, dstDeviceId);
  PEER(correlation_id, correlationId);
  PEER(graph_node_id, graphNodeId);
  PEER(graph_id, graphId);

#define FILL(field, theirs) FIELD(cupti_memset_prefix, field, newest_memset, theirs)
  FILL(kind, kind);
  FILL(value, value);
  FILL(bytes, bytes);
  FILL(start, start);
  FILL(end, end);
  FILL(device_id, deviceId);
  FILL(context_id, contextId);
  FILL(stream_id, streamId);
  FILL(correlation_id, correlationId);
  FILL(graph_node_id, graphNodeId);
  FILL(graph_id, graphId);
  same("size of a memset record", memset_record_size(CUPTI_API_VERSION), sizeof(newest_memset));

#define SYNC(field, theirs) FIELD(cupti_sync_prefix, field, newest_sync, theirs)
  SYNC(kind, kind);
  SYNC(type, type);
  SYNC(start, start);
  SYNC(end, end);
  SYNC(correlation_id, correlationId);
  SYNC(context_id, contextId);
  SYNC(stream_id, streamId);
  SYNC(event_id, cudaEventId);
  same("size of a synchronization record", sync_record_size(CUPTI_API_VERSION), sizeof(newest_sync));
  VALUE(SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  VALUE(SYNC_STREAM_WAITS, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
  VALUE(SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  VALUE(SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);

#define GRAPH(field, theirs) FIELD(cupti_graph_trace, field, newest_graph, theirs)
  GRAPH(kind, kind);
  GRAPH(correlation_id, correlationId);
  GRAPH(start, start);
  GRAPH(end, end);
  GRAPH(device_id, deviceId);
  GRAPH(graph_id, graphId);
  GRAPH(context_id, contextId);
  GRAPH(stream_id, streamId);
  same("size of a graph record", graph_record_size(CUPTI_API_VERSION), sizeof(newest_graph));
}

static void device_attributes(void) {
  VALUE(DEV_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  VALUE(DEV_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  VALUE(DEV_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  VALUE(DEV_PCI_DEVICE, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  VALUE(DEV_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  VALUE(DEV_MEMORY_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  VALUE(DEV_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  VALUE(DEV_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  VALUE(DEV_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  VALUE(LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  FIELD(cuda_launch_attribute, id, CUlaunchAttribute, id);
  FIELD(cuda_launch_attribute, value, CUlaunchAttribute, value.cooperative);
  SIZE(cuda_launch_attribute, CUlaunchAttribute);
}

int main(void) {
  results();
  domains();
  resources();
  driver_calls();
  nvtx();
  callback_data();
  launches();
  other_params();
  sampling();
  counters();
  counters_over_time();
  counters_by_line();
  shapes();
  kinds();
  records();
  device_attributes();
  printf("CUPTI %d: %d compared, %d differ\n", (int)CUPTI_API_VERSION, compared, wrong);
  return wrong != 0;
}
