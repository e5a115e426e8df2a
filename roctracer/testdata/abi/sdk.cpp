// Compares abi_sdk.h and the places of arguments in hip_calls.c with the headers of rocprofiler-sdk, number by number. Layout A has no
// headers here. It prints the differences and returns 1, or prints how many numbers it has compared.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/fwd.h>
#include <rocprofiler-sdk/hip/api_args.h>
#include <rocprofiler-sdk/hip/runtime_api_id.h>
#include <rocprofiler-sdk/marker/api_args.h>
#include <rocprofiler-sdk/marker/api_id.h>
#include <rocprofiler-sdk/callback_tracing.h>
#include <rocprofiler-sdk/buffer.h>
#include <rocprofiler-sdk/external_correlation.h>
#include <rocprofiler-sdk/buffer_tracing.h>
#include <rocprofiler-sdk/internal_threading.h>
#include <rocprofiler-sdk/agent.h>

#define _Static_assert static_assert
#include "../../abi_sdk.h"

extern "C" int sdk_places(const char *name, int *places);
extern "C" const char *sdk_call_name(unsigned i);

static int compared, wrong;

static void same(const char *what, long long ours, long long theirs) {
  compared++;
  if (ours == theirs) return;
  wrong++;
  printf("%s: %lld here, %lld in the headers\n", what, ours, theirs);
}

#define VALUE(ours, theirs) same(#ours, (long long)(ours), (long long)(theirs))
#define SIZE(ours, theirs) same("size of " #ours, sizeof(struct ours), sizeof(theirs))
#define FIELD(ours, field, theirs, their_field)                                              \
  same(#ours "." #field, offsetof(struct ours, field), offsetof(theirs, their_field));       \
  same("size of " #ours "." #field, sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->their_field))

static void numbers() {
  VALUE(SDK_OK, ROCPROFILER_STATUS_SUCCESS);
  VALUE(SDK_ERROR, ROCPROFILER_STATUS_ERROR);
  VALUE(SDK_OPERATION_NOT_FOUND, ROCPROFILER_STATUS_ERROR_OPERATION_NOT_FOUND);
  VALUE(SDK_CONTEXT_NOT_ZERO, ROCPROFILER_STATUS_ERROR_CONTEXT_ID_NOT_ZERO);
  VALUE(SDK_BUFFER_BUSY, ROCPROFILER_STATUS_ERROR_BUFFER_BUSY);
  VALUE(SDK_LOCKED, ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED);
  VALUE(SDK_INCOMPATIBLE, ROCPROFILER_STATUS_ERROR_INCOMPATIBLE_ABI);
  VALUE(SDK_INVALID_ARGUMENT, ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT);
  VALUE(SDK_FINALIZED, ROCPROFILER_STATUS_ERROR_FINALIZED);
  VALUE(SDK_ON_HIP, ROCPROFILER_CALLBACK_TRACING_HIP_RUNTIME_API);
  VALUE(SDK_ON_MARKER, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API);
  VALUE(SDK_ON_CODE, ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT);
  VALUE(SDK_COPIES, ROCPROFILER_BUFFER_TRACING_MEMORY_COPY);
  VALUE(SDK_DISPATCHES, ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH);
  VALUE(SDK_ID_OF_COPY, ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_COPY);
  VALUE(SDK_ID_OF_DISPATCH, ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH);
  VALUE(SDK_ENTER, ROCPROFILER_CALLBACK_PHASE_ENTER);
  VALUE(SDK_EXIT, ROCPROFILER_CALLBACK_PHASE_EXIT);
  VALUE(SDK_CODE_LOAD, ROCPROFILER_CODE_OBJECT_LOAD);
  VALUE(SDK_CODE_KERNEL, ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER);
  VALUE(SDK_HTOH, ROCPROFILER_MEMORY_COPY_HOST_TO_HOST);
  VALUE(SDK_HTOD, ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE);
  VALUE(SDK_DTOH, ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST);
  VALUE(SDK_DTOD, ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE);
  VALUE(SDK_TRACING, ROCPROFILER_BUFFER_CATEGORY_TRACING);
  VALUE(SDK_LOSSLESS, ROCPROFILER_BUFFER_POLICY_LOSSLESS);
  VALUE(SDK_GPU, ROCPROFILER_AGENT_TYPE_GPU);
  VALUE(SDK_AGENT_INFO, ROCPROFILER_AGENT_INFO_VERSION_0);
  VALUE(SDK_RANGE_PUSH, ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA);
  VALUE(SDK_RANGE_POP, ROCPROFILER_MARKER_CORE_API_ID_roctxRangePop);
  VALUE(SDK_IN_FILE, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_FILE);
  VALUE(SDK_IN_MEMORY, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
  VALUE(SDK_NOT_IMPLEMENTED, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED);
  VALUE(SDK_SAMPLES, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING);
  VALUE(SDK_STOCHASTIC, ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC);
  VALUE(SDK_HOST_TRAP, ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP);
  VALUE(SDK_METHODS, ROCPROFILER_PC_SAMPLING_METHOD_LAST);
  VALUE(SDK_CYCLES, ROCPROFILER_PC_SAMPLING_UNIT_CYCLES);
  VALUE(SDK_MICROSECONDS, ROCPROFILER_PC_SAMPLING_UNIT_TIME);
  VALUE(SDK_INVALID_SAMPLE, ROCPROFILER_PC_SAMPLING_RECORD_INVALID_SAMPLE);
  VALUE(SDK_TRAPPED, ROCPROFILER_PC_SAMPLING_RECORD_HOST_TRAP_V0_SAMPLE);
  VALUE(SDK_SAMPLED, ROCPROFILER_PC_SAMPLING_RECORD_STOCHASTIC_V0_SAMPLE);
  same("operations that are looked up", SDK_OPERATIONS >= ROCPROFILER_HIP_RUNTIME_API_ID_LAST, 1);
}

static void structs() {
  SIZE(sdk_client_b, rocprofiler_client_id_t);
  FIELD(sdk_client_b, name, rocprofiler_client_id_t, name);
  FIELD(sdk_client_b, handle, rocprofiler_client_id_t, handle);
  SIZE(sdk_configuration, rocprofiler_tool_configure_result_t);
  FIELD(sdk_configuration, initialize, rocprofiler_tool_configure_result_t, initialize);
  FIELD(sdk_configuration, finalize, rocprofiler_tool_configure_result_t, finalize);
  FIELD(sdk_configuration, data, rocprofiler_tool_configure_result_t, tool_data);
  SIZE(sdk_callback_b, rocprofiler_callback_tracing_record_t);
  FIELD(sdk_callback_b, context, rocprofiler_callback_tracing_record_t, context_id);
  FIELD(sdk_callback_b, thread, rocprofiler_callback_tracing_record_t, thread_id);
  FIELD(sdk_callback_b, internal, rocprofiler_callback_tracing_record_t, correlation_id.internal);
  FIELD(sdk_callback_b, external, rocprofiler_callback_tracing_record_t, correlation_id.external);
  FIELD(sdk_callback_b, ancestor, rocprofiler_callback_tracing_record_t, correlation_id.ancestor);
  FIELD(sdk_callback_b, kind, rocprofiler_callback_tracing_record_t, kind);
  FIELD(sdk_callback_b, operation, rocprofiler_callback_tracing_record_t, operation);
  FIELD(sdk_callback_b, phase, rocprofiler_callback_tracing_record_t, phase);
  FIELD(sdk_callback_b, payload, rocprofiler_callback_tracing_record_t, payload);
  SIZE(sdk_hip_call, rocprofiler_callback_tracing_hip_api_data_t);
  FIELD(sdk_hip_call, arguments, rocprofiler_callback_tracing_hip_api_data_t, args);
  FIELD(sdk_hip_call, result, rocprofiler_callback_tracing_hip_api_data_t, retval.hipError_t_retval);
  FIELD(sdk_marker_call, message, rocprofiler_callback_tracing_marker_api_data_t, args.roctxRangePushA.message);
  SIZE(sdk_code_load, rocprofiler_callback_tracing_code_object_load_data_t);
  FIELD(sdk_code_load, id, rocprofiler_callback_tracing_code_object_load_data_t, code_object_id);
  FIELD(sdk_code_load, agent, rocprofiler_callback_tracing_code_object_load_data_t, agent_id);
  FIELD(sdk_code_load, uri, rocprofiler_callback_tracing_code_object_load_data_t, uri);
  FIELD(sdk_code_load, load_base, rocprofiler_callback_tracing_code_object_load_data_t, load_base);
  FIELD(sdk_code_load, load_size, rocprofiler_callback_tracing_code_object_load_data_t, load_size);
  FIELD(sdk_code_load, load_delta, rocprofiler_callback_tracing_code_object_load_data_t, load_delta);
  FIELD(sdk_code_load, storage, rocprofiler_callback_tracing_code_object_load_data_t, storage_type);
  FIELD(sdk_code_load, file, rocprofiler_callback_tracing_code_object_load_data_t, storage_file);
  FIELD(sdk_code_load, memory, rocprofiler_callback_tracing_code_object_load_data_t, memory_base);
  FIELD(sdk_code_load, memory_size, rocprofiler_callback_tracing_code_object_load_data_t, memory_size);
  typedef rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t symbol;
  FIELD(sdk_code_kernel, kernel, symbol, kernel_id);
  FIELD(sdk_code_kernel, code, symbol, code_object_id);
  FIELD(sdk_code_kernel, name, symbol, kernel_name);
  SIZE(sdk_header, rocprofiler_record_header_t);
  FIELD(sdk_header, category, rocprofiler_record_header_t, category);
  FIELD(sdk_header, kind, rocprofiler_record_header_t, kind);
  FIELD(sdk_header, payload, rocprofiler_record_header_t, payload);
  struct dispatch { uint64_t size; rocprofiler_buffer_tracing_kind_t kind; rocprofiler_tracing_operation_t operation;
    rocprofiler_async_correlation_id_t id; rocprofiler_thread_id_t thread; uint64_t start, end; rocprofiler_kernel_dispatch_info_t info; };
  FIELD(sdk_dispatch, internal, dispatch, id.internal); // the headers have the parts of the record, and not the record
  FIELD(sdk_dispatch, external, dispatch, id.external);
  FIELD(sdk_dispatch, start, dispatch, start);
  FIELD(sdk_dispatch, info.agent, dispatch, info.agent_id);
  FIELD(sdk_dispatch, info.kernel, dispatch, info.kernel_id);
  FIELD(sdk_dispatch, info.number, dispatch, info.dispatch_id);
  FIELD(sdk_agent, id, rocprofiler_agent_v0_t, id);
  FIELD(sdk_agent, type, rocprofiler_agent_v0_t, type);
  FIELD(sdk_agent, simds, rocprofiler_agent_v0_t, simd_count);
  FIELD(sdk_agent, name, rocprofiler_agent_v0_t, name);
  FIELD(sdk_counter_value, instance, rocprofiler_counter_record_t, id);
  FIELD(sdk_counter_value, value, rocprofiler_counter_record_t, counter_value);
  FIELD(sdk_counter_value, agent, rocprofiler_counter_record_t, agent_id);
  same("sdk_counter_value", sizeof(struct sdk_counter_value), sizeof(rocprofiler_counter_record_t));
  same("sdk_counted_dispatch.info", sizeof(((struct sdk_counted_dispatch *)nullptr)->info), sizeof(rocprofiler_kernel_dispatch_info_t));
  FIELD(sdk_agent, node, rocprofiler_agent_v0_t, node_id);
  FIELD(sdk_agent, logical_node, rocprofiler_agent_v0_t, logical_node_id);
  FIELD(sdk_agent, number, rocprofiler_agent_v0_t, logical_node_type_id);
  FIELD(sdk_agent, visibility, rocprofiler_agent_v0_t, runtime_visibility);
  same("sdk_agent.uuid", offsetof(struct sdk_agent, uuid), offsetof(rocprofiler_agent_v0_t, uuid));
}

// ---- functions: their arguments have the sizes of ours ----

template <class... A, class... B> static void function(const char *what, uint32_t (*)(A...), rocprofiler_status_t (*)(B...)) {
  const size_t ours[] = {sizeof(A)...}, theirs[] = {sizeof(B)...};
  same(what, sizeof...(A), sizeof...(B));
  for (size_t i = 0; i < sizeof...(A) && i < sizeof...(B); i++) same(what, (long long)ours[i], (long long)theirs[i]);
}

static void functions() {
  sdk_table t = {};
#define FUNCTION(name) function(#name, t.name, (decltype(&rocprofiler_##name))nullptr)
  FUNCTION(force_configure);
  FUNCTION(is_initialized);
  FUNCTION(create_buffer);
  FUNCTION(flush_buffer);
  FUNCTION(create_callback_thread);
  FUNCTION(assign_callback_thread);
  FUNCTION(configure_callback_tracing_service);
  FUNCTION(configure_buffer_tracing_service);
  FUNCTION(configure_external_correlation_id_request_service);
  FUNCTION(query_available_agents);
}

// ---- the arguments of HIP's functions ----

static char checked[128][64];
static int checked_count;

static void places(const char *name, int first, int second, int stream) {
  int ours[3] = {0};
  strcpy(checked[checked_count++], name);
  if (!sdk_places(name, ours)) wrong++, printf("%s is not in hip_calls.c\n", name);
  same(name, ours[0], first), same(name, ours[1], second), same(name, ours[2], stream);
}

#define AT(name, member) (int)offsetof(rocprofiler_callback_tracing_hip_api_data_t, args.name.member)
#define CALL(name, first, stream) places(#name, AT(name, first), 0, AT(name, stream))
#define FIRST(name, first) places(#name, AT(name, first), 0, 0)
#define STREAM(name) places(#name, 0, 0, AT(name, stream))
#define PAIR(name, first, second) places(#name, AT(name, first), AT(name, second), 0)
#define END(name) places(#name, 0, AT(name, pGraph), AT(name, stream))

static void calls() {
  CALL(hipLaunchKernel, function_address, stream);
  CALL(hipLaunchKernel_spt, function_address, stream);
  CALL(hipExtLaunchKernel, function_address, stream);
  CALL(hipLaunchCooperativeKernel, func, stream);
  CALL(hipLaunchCooperativeKernel_spt, func, stream);
  FIRST(hipLaunchByPtr, func);
  CALL(hipModuleLaunchKernel, func, stream);
  CALL(hipExtModuleLaunchKernel, func, stream);
  CALL(hipHccModuleLaunchKernel, func, stream);
  CALL(hipModuleLaunchCooperativeKernel, func, stream);
  PAIR(hipExtLaunchMultiKernelMultiDevice, launchParamsList, numDevices);
  PAIR(hipLaunchCooperativeKernelMultiDevice, launchParamsList, numDevices);
  PAIR(hipModuleLaunchCooperativeKernelMultiDevice, launchParamsList, numDevices);
  CALL(hipLaunchKernelExC, fPtr, config);
  CALL(hipDrvLaunchKernelEx, f, config);
  CALL(hipGraphLaunch, graphExec, stream);
  CALL(hipGraphLaunch_spt, graphExec, stream);
  STREAM(hipStreamBeginCapture);
  STREAM(hipStreamBeginCapture_spt);
  STREAM(hipStreamBeginCaptureToGraph);
  END(hipStreamEndCapture);
  END(hipStreamEndCapture_spt);
  PAIR(hipGraphInstantiate, pGraphExec, graph);
  PAIR(hipGraphInstantiateWithFlags, pGraphExec, graph);
  PAIR(hipGraphInstantiateWithParams, pGraphExec, graph);
  FIRST(hipGraphDestroy, graph);
  FIRST(hipGraphExecDestroy, graphExec);
  STREAM(hipMemcpyAsync);
  STREAM(hipMemcpyWithStream);
  STREAM(hipMemcpyHtoDAsync);
  STREAM(hipMemcpyDtoHAsync);
  STREAM(hipMemcpyDtoDAsync);
  STREAM(hipMemcpyPeerAsync);
  STREAM(hipMemcpy2DAsync);
  STREAM(hipMemcpy3DAsync);
  STREAM(hipMemcpyToSymbolAsync);
  STREAM(hipMemcpyFromSymbolAsync);
  STREAM(hipMemset2DAsync);
  STREAM(hipMemsetAsync);
  STREAM(hipMemsetD8Async);
  STREAM(hipMemsetD16Async);
  STREAM(hipMemsetD32Async);
  same("where a launch's configuration has the stream", 32, offsetof(hipLaunchConfig_t, stream));
}

// Every call of the table that has arguments was compared.
static void all_checked() {
  int ours[3];
  for (unsigned i = 0; const char *name = sdk_call_name(i); i++) {
    if (!sdk_places(name, ours) || !(ours[0] | ours[1] | ours[2])) continue;
    int found = 0;
    for (int c = 0; c < checked_count; c++) found |= !strcmp(checked[c], name);
    if (!found) wrong++, printf("%s: its places are not compared\n", name);
  }
}

int main() {
  numbers();
  structs();
  functions();
  calls();
  all_checked();
  printf("%d numbers compared, %d differ\n", compared, wrong);
  return wrong != 0;
}
