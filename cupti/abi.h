// What we know of CUPTI's and the CUDA driver's binary interface, declared by hand.
//
// The profiler is built without a CUDA toolkit and must work with every libcupti from 11.8 on, so nothing
// here comes from the vendor's headers: only numbers, offsets and the order of arguments. Names are ours,
// so that abicheck/ can include this file and the real headers side by side and compare them.
//
// Records are read by prefix: a struct here says where fields are, never how long a record is. Later
// versions only append, and the length is the loaded library's business (ActivityGetNextRecord).
#ifndef GOPROTON_CUPTI_ABI_H
#define GOPROTON_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ABI_AT(type, field, offset) \
  _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is not at " #offset)
#define ABI_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " is not " #size " bytes")

// ---- result codes ------------------------------------------------------------------------------------

enum cupti_result {
  RC_OK = 0,
  RC_INVALID_PARAMETER = 1,
  RC_INVALID_DEVICE = 2,
  RC_INVALID_CONTEXT = 3,
  RC_INVALID_OPERATION = 7,
  RC_OUT_OF_MEMORY = 8,
  RC_HARDWARE = 9,
  RC_PARAMETER_SIZE = 10,
  RC_NOT_IMPLEMENTED = 11,
  RC_MAX_LIMIT_REACHED = 12,
  RC_NOT_READY = 13,
  RC_NOT_COMPATIBLE = 14,
  RC_NOT_INITIALIZED = 15,
  RC_QUEUE_EMPTY = 18,
  RC_INVALID_KIND = 21,
  RC_DISABLED = 23,
  RC_INVALID_MODULE = 24,
  RC_HARDWARE_BUSY = 26,
  RC_NOT_SUPPORTED = 27,
  RC_VIRTUALIZED = 33,
  RC_INSUFFICIENT_PRIVILEGES = 35,
  RC_OLD_PROFILER_API = 36,
  RC_LEGACY_PROFILER = 38,
  RC_MULTIPLE_SUBSCRIBERS = 39,
  RC_VIRTUALIZED_PRIVILEGES = 40,
  RC_CONFIDENTIAL_COMPUTING = 41,
  RC_CMP_DEVICE = 42,
  RC_MIG_DEVICE = 43,
  RC_SLI_DEVICE = 44,
  RC_WSL_DEVICE = 45,
  RC_UNKNOWN = 999,
};

enum cuda_result {
  CU_OK = 0,
  CU_INVALID_VALUE = 1,
  CU_NOT_INITIALIZED = 3,
  CU_DEINITIALIZED = 4,
  CU_NO_DEVICE = 100,
  CU_INVALID_DEVICE = 101,
  CU_INVALID_CONTEXT = 201,
};

// ---- callbacks ---------------------------------------------------------------------------------------

enum cupti_domain {
  DOMAIN_DRIVER = 1,
  DOMAIN_RUNTIME = 2,
  DOMAIN_RESOURCE = 3,
  DOMAIN_SYNCHRONIZE = 4,
  DOMAIN_NVTX = 5,
  DOMAIN_STATE = 6, // 12.x and later
};

enum cupti_site { SITE_ENTER = 0, SITE_EXIT = 1 };

enum cupti_cbid_resource {
  RES_CONTEXT_CREATED = 1,
  RES_CONTEXT_DESTROY_STARTING = 2,
  RES_STREAM_CREATED = 3,
  RES_STREAM_DESTROY_STARTING = 4,
  RES_CU_INIT_FINISHED = 5,
  RES_MODULE_LOADED = 6,
  RES_MODULE_UNLOAD_STARTING = 7,
  RES_MODULE_PROFILED = 8,
  RES_GRAPH_CREATED = 9,
  RES_GRAPH_DESTROY_STARTING = 10,
  RES_GRAPH_CLONED = 11,
  RES_GRAPHNODE_CREATE_STARTING = 12,
  RES_GRAPHNODE_CREATED = 13,
  RES_GRAPHNODE_DESTROY_STARTING = 14,
  RES_GRAPHNODE_DEPENDENCY_CREATED = 15,
  RES_GRAPHNODE_DEPENDENCY_DESTROY_STARTING = 16,
  RES_GRAPHEXEC_CREATE_STARTING = 17,
  RES_GRAPHEXEC_CREATED = 18,
  RES_GRAPHEXEC_DESTROY_STARTING = 19,
  RES_GRAPHNODE_CLONED = 20,
};

// Functions that copy or fill memory, and those that wait for the GPU: F(name, number). Left out are forms from
// before CUDA 3.2. The lists name the oldest version that abicheck/ has found their functions in.
#define CUDA_COPY_CALLS_11_8(F) \
  F(cuMemsetD8Async, 216) F(cuMemsetD16Async, 218) F(cuMemsetD32Async, 220) F(cuMemsetD2D8Async, 222) \
  F(cuMemsetD2D16Async, 224) F(cuMemsetD2D32Async, 226) F(cuMemsetD8_v2, 249) F(cuMemsetD16_v2, 250) \
  F(cuMemsetD32_v2, 251) F(cuMemsetD2D8_v2, 252) F(cuMemsetD2D16_v2, 253) F(cuMemsetD2D32_v2, 254) \
  F(cuMemcpyHtoD_v2, 276) F(cuMemcpyHtoDAsync_v2, 277) F(cuMemcpyDtoH_v2, 278) F(cuMemcpyDtoHAsync_v2, 279) \
  F(cuMemcpyDtoD_v2, 280) F(cuMemcpyDtoDAsync_v2, 281) F(cuMemcpyAtoH_v2, 282) F(cuMemcpyAtoHAsync_v2, 283) \
  F(cuMemcpyAtoD_v2, 284) F(cuMemcpyDtoA_v2, 285) F(cuMemcpyAtoA_v2, 286) F(cuMemcpy2D_v2, 287) \
  F(cuMemcpy2DUnaligned_v2, 288) F(cuMemcpy2DAsync_v2, 289) F(cuMemcpy3D_v2, 290) F(cuMemcpy3DAsync_v2, 291) \
  F(cuMemcpyHtoA_v2, 292) F(cuMemcpyHtoAAsync_v2, 293) F(cuMemcpy, 305) F(cuMemcpyAsync, 306) \
  F(cuMemcpyPeer, 318) F(cuMemcpyPeerAsync, 319) F(cuMemcpy3DPeer, 320) F(cuMemcpy3DPeerAsync, 321) \
  F(cuMemcpyHtoD_v2_ptds, 397) F(cuMemcpyDtoH_v2_ptds, 398) F(cuMemcpyDtoD_v2_ptds, 399) \
  F(cuMemcpyDtoA_v2_ptds, 400) F(cuMemcpyAtoD_v2_ptds, 401) F(cuMemcpyHtoA_v2_ptds, 402) \
  F(cuMemcpyAtoH_v2_ptds, 403) F(cuMemcpyAtoA_v2_ptds, 404) F(cuMemcpy2D_v2_ptds, 405) \
  F(cuMemcpy2DUnaligned_v2_ptds, 406) F(cuMemcpy3D_v2_ptds, 407) F(cuMemcpy_ptds, 408) \
  F(cuMemcpyPeer_ptds, 409) F(cuMemcpy3DPeer_ptds, 410) F(cuMemsetD8_v2_ptds, 411) F(cuMemsetD16_v2_ptds, 412) \
  F(cuMemsetD32_v2_ptds, 413) F(cuMemsetD2D8_v2_ptds, 414) F(cuMemsetD2D16_v2_ptds, 415) \
  F(cuMemsetD2D32_v2_ptds, 416) F(cuMemcpyAsync_ptsz, 418) F(cuMemcpyHtoAAsync_v2_ptsz, 419) \
  F(cuMemcpyAtoHAsync_v2_ptsz, 420) F(cuMemcpyHtoDAsync_v2_ptsz, 421) F(cuMemcpyDtoHAsync_v2_ptsz, 422) \
  F(cuMemcpyDtoDAsync_v2_ptsz, 423) F(cuMemcpy2DAsync_v2_ptsz, 424) F(cuMemcpy3DAsync_v2_ptsz, 425) \
  F(cuMemcpyPeerAsync_ptsz, 426) F(cuMemcpy3DPeerAsync_ptsz, 427) F(cuMemsetD8Async_ptsz, 428) \
  F(cuMemsetD16Async_ptsz, 429) F(cuMemsetD32Async_ptsz, 430) F(cuMemsetD2D8Async_ptsz, 431) \
  F(cuMemsetD2D16Async_ptsz, 432) F(cuMemsetD2D32Async_ptsz, 433)
#define CUDA_COPY_CALLS_12_8(F) \
  F(cuMemcpyBatchAsync, 776) F(cuMemcpyBatchAsync_ptsz, 777) F(cuMemcpy3DBatchAsync, 778) \
  F(cuMemcpy3DBatchAsync_ptsz, 779)
#define CUDA_COPY_CALLS_13_5(F) \
  F(cuMemcpyBatchAsync_v2, 796) F(cuMemcpyBatchAsync_v2_ptsz, 797) F(cuMemcpy3DBatchAsync_v2, 798) \
  F(cuMemcpy3DBatchAsync_v2_ptsz, 799) F(cuMemcpyWithAttributesAsync, 837) \
  F(cuMemcpyWithAttributesAsync_ptsz, 838) F(cuMemcpy3DWithAttributesAsync, 839) \
  F(cuMemcpy3DWithAttributesAsync_ptsz, 840)
#define CUDA_COPY_CALLS(F) CUDA_COPY_CALLS_11_8(F) CUDA_COPY_CALLS_12_8(F) CUDA_COPY_CALLS_13_5(F)
#define CUDA_SYNC_CALLS_11_8(F) \
  F(cuCtxSynchronize, 17) F(cuEventSynchronize, 121) F(cuStreamSynchronize, 126) F(cuStreamSynchronize_ptsz, 440)
#define CUDA_SYNC_CALLS_13_5(F) F(cuCtxSynchronize_v2, 800)
#define CUDA_SYNC_CALLS(F) CUDA_SYNC_CALLS_11_8(F) CUDA_SYNC_CALLS_13_5(F)

// Functions that launch: kernels, with the function's handle first among their arguments or behind a configuration, kernels
// on several devices, and graphs.
#define CUDA_LAUNCH_CALLS(F) \
  F(cuLaunch, 115) F(cuLaunchGrid, 116) F(cuLaunchGridAsync, 117) F(cuLaunchKernel, 307) F(cuLaunchKernel_ptsz, 442) \
  F(cuLaunchCooperativeKernel, 477) F(cuLaunchCooperativeKernel_ptsz, 478)
#define CUDA_LAUNCH_MANY_CALLS(F) F(cuLaunchCooperativeKernelMultiDevice, 480)
#define CUDA_LAUNCH_EX_CALLS(F) F(cuLaunchKernelEx, 652) F(cuLaunchKernelEx_ptsz, 653)
#define CUDA_GRAPH_LAUNCH_CALLS(F) F(cuGraphLaunch, 514) F(cuGraphLaunch_ptsz, 515)
#define CUDA_ALL_LAUNCH_CALLS(F) CUDA_LAUNCH_CALLS(F) CUDA_LAUNCH_MANY_CALLS(F) CUDA_LAUNCH_EX_CALLS(F) CUDA_GRAPH_LAUNCH_CALLS(F)

// Driver API functions. The numbers never changed since each was introduced.
enum cupti_cbid_driver {
#define F(name, number) CBID_##name = number,
  CUDA_ALL_LAUNCH_CALLS(F)
  CUDA_COPY_CALLS(F)
  CUDA_SYNC_CALLS(F)
#undef F
  CBID_cuCtxDestroy = 11,
  CBID_cuModuleLoad = 18,
  CBID_cuModuleLoadData = 19,
  CBID_cuModuleLoadDataEx = 20,
  CBID_cuModuleLoadFatBinary = 21,
  CBID_cuModuleUnload = 22,
  CBID_cuModuleGetFunction = 23,
  CBID_cuCtxDestroy_v2 = 322,
  CBID_cuDevicePrimaryCtxReset = 389,
  CBID_cuStreamBeginCapture = 495,
  CBID_cuStreamBeginCapture_ptsz = 496,
  CBID_cuStreamEndCapture = 497,
  CBID_cuStreamEndCapture_ptsz = 498,
  CBID_cuGraphInstantiate = 513,
  CBID_cuGraphExecDestroy = 516,
  CBID_cuGraphDestroy = 517,
  CBID_cuStreamBeginCapture_v2 = 539,
  CBID_cuStreamBeginCapture_v2_ptsz = 540,
  CBID_cuDevicePrimaryCtxReset_v2 = 545,
  CBID_cuGraphExecUpdate = 561,
  CBID_cuGraphInstantiate_v2 = 578,
  CBID_cuGraphInstantiateWithFlags = 643,
  // From here on newer than 11.8.
  CBID_cuGraphInstantiateWithParams = 656,
  CBID_cuGraphInstantiateWithParams_ptsz = 657,
  CBID_cuLibraryLoadData = 678,
  CBID_cuLibraryLoadFromFile = 679,
  CBID_cuLibraryUnload = 680,
  CBID_cuLibraryGetKernel = 681,
  CBID_cuLibraryGetModule = 682,
  CBID_cuKernelGetFunction = 683,
  CBID_cuGraphExecUpdate_v2 = 696,
  CBID_cuStreamBeginCaptureToGraph = 720,
  CBID_cuStreamBeginCaptureToGraph_ptsz = 721,
};

enum cupti_cbid_nvtx {
  NVTX_MarkA = 1,
  NVTX_RangePushA = 8,
  NVTX_RangePushW = 9,
  NVTX_RangePushEx = 10,
  NVTX_RangePop = 11,
  NVTX_DomainRangePushEx = 33,
  NVTX_DomainRangePop = 34,
};

// What a driver or runtime callback points at.
struct cupti_callback_data {
  uint32_t site; // enum cupti_site
  uint32_t reserved0;
  const char *function_name;
  const void *params; // struct cuda_params_... of the function
  void *return_value; // CUresult *, meaningful at SITE_EXIT
  const char *symbol_name; // mangled kernel name of a launch, else NULL
  void *context;
  uint32_t context_uid;
  uint32_t reserved1;
  uint64_t *correlation_data; // one cell shared by ENTER and EXIT of the same call
  uint32_t correlation_id;
  uint32_t reserved2;
};
ABI_AT(cupti_callback_data, site, 0);
ABI_AT(cupti_callback_data, function_name, 8);
ABI_AT(cupti_callback_data, params, 16);
ABI_AT(cupti_callback_data, return_value, 24);
ABI_AT(cupti_callback_data, symbol_name, 32);
ABI_AT(cupti_callback_data, context, 40);
ABI_AT(cupti_callback_data, context_uid, 48);
ABI_AT(cupti_callback_data, correlation_data, 56);
ABI_AT(cupti_callback_data, correlation_id, 64);
ABI_SIZE(cupti_callback_data, 72);

// What a resource callback points at.
struct cupti_resource_data {
  void *context;
  void *handle; // the stream, when it is about a stream
  void *descriptor; // struct cupti_module_data or cupti_graph_data
};
ABI_AT(cupti_resource_data, context, 0);
ABI_AT(cupti_resource_data, handle, 8);
ABI_AT(cupti_resource_data, descriptor, 16);
ABI_SIZE(cupti_resource_data, 24);

struct cupti_module_data {
  uint32_t module_id;
  uint32_t reserved;
  size_t cubin_size;
  const char *cubin;
};
ABI_AT(cupti_module_data, module_id, 0);
ABI_AT(cupti_module_data, cubin_size, 8);
ABI_AT(cupti_module_data, cubin, 16);
ABI_SIZE(cupti_module_data, 24);

enum cuda_node_type { NODE_KERNEL = 0, NODE_MEMCPY = 1, NODE_MEMSET = 2, NODE_HOST = 3, NODE_GRAPH = 4 };

struct cupti_graph_data {
  void *graph;
  void *original_graph;
  void *node;
  void *original_node;
  uint32_t node_type; // enum cuda_node_type
  uint32_t reserved;
  void *dependency;
  void *graph_exec;
};
ABI_AT(cupti_graph_data, graph, 0);
ABI_AT(cupti_graph_data, original_graph, 8);
ABI_AT(cupti_graph_data, node, 16);
ABI_AT(cupti_graph_data, original_node, 24);
ABI_AT(cupti_graph_data, node_type, 32);
ABI_AT(cupti_graph_data, dependency, 40);
ABI_AT(cupti_graph_data, graph_exec, 48);
ABI_SIZE(cupti_graph_data, 56);

// What an NVTX callback points at.
struct cupti_nvtx_data {
  const char *function_name;
  const void *params; // RangePushA, MarkA: struct { const char *message; }
  const void *return_value;
};
ABI_AT(cupti_nvtx_data, function_name, 0);
ABI_AT(cupti_nvtx_data, params, 8);
ABI_AT(cupti_nvtx_data, return_value, 16);
ABI_SIZE(cupti_nvtx_data, 24);

struct nvtx_params_message { const char *message; };
ABI_SIZE(nvtx_params_message, 8);

// Subscribe_v2 of 13.0 and later. 13.2 appends a byte (allow multiple subscribers); size says which we mean.
struct cupti_subscriber_params {
  size_t size;
  const char *name;
  char *old_name; // receives the name of whoever holds the slot
  size_t old_name_size;
};
ABI_AT(cupti_subscriber_params, size, 0);
ABI_AT(cupti_subscriber_params, name, 8);
ABI_AT(cupti_subscriber_params, old_name, 16);
ABI_AT(cupti_subscriber_params, old_name_size, 24);
ABI_SIZE(cupti_subscriber_params, 32);

// ---- arguments of driver functions, as callbacks show them ---------------------------------------------

// cuLaunchKernel, cuLaunchKernel_ptsz, cuLaunchCooperativeKernel(_ptsz: without extra)
struct cuda_params_launch_kernel {
  void *function;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  uint32_t reserved;
  void *stream;
  void **kernel_params;
  void **extra;
};
ABI_AT(cuda_params_launch_kernel, function, 0);
ABI_AT(cuda_params_launch_kernel, grid, 8);
ABI_AT(cuda_params_launch_kernel, block, 20);
ABI_AT(cuda_params_launch_kernel, shared_bytes, 32);
ABI_AT(cuda_params_launch_kernel, stream, 40);
ABI_AT(cuda_params_launch_kernel, kernel_params, 48);
ABI_AT(cuda_params_launch_kernel, extra, 56);
ABI_SIZE(cuda_params_launch_kernel, 64);

struct cuda_launch_config {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  uint32_t reserved0;
  void *stream;
  void *attributes;
  uint32_t num_attributes;
  uint32_t reserved1;
};
ABI_AT(cuda_launch_config, grid, 0);
ABI_AT(cuda_launch_config, block, 12);
ABI_AT(cuda_launch_config, shared_bytes, 24);
ABI_AT(cuda_launch_config, stream, 32);
ABI_AT(cuda_launch_config, attributes, 40);
ABI_AT(cuda_launch_config, num_attributes, 48);
ABI_SIZE(cuda_launch_config, 56);

// cuLaunchKernelEx(_ptsz)
struct cuda_params_launch_kernel_ex {
  const struct cuda_launch_config *config;
  void *function;
  void **kernel_params;
  void **extra;
};
ABI_AT(cuda_params_launch_kernel_ex, config, 0);
ABI_AT(cuda_params_launch_kernel_ex, function, 8);
ABI_AT(cuda_params_launch_kernel_ex, kernel_params, 16);
ABI_AT(cuda_params_launch_kernel_ex, extra, 24);
ABI_SIZE(cuda_params_launch_kernel_ex, 32);

// cuLaunch, cuLaunchGrid, cuLaunchGridAsync: the function comes first, the rest does not matter to us.
struct cuda_params_launch_old { void *function; };
ABI_SIZE(cuda_params_launch_old, 8);

// cuGraphLaunch(_ptsz)
struct cuda_params_graph_launch {
  void *exec;
  void *stream;
};
ABI_AT(cuda_params_graph_launch, exec, 0);
ABI_AT(cuda_params_graph_launch, stream, 8);
ABI_SIZE(cuda_params_graph_launch, 16);

// cuStreamBeginCapture and its later forms: the stream comes first.
struct cuda_params_begin_capture { void *stream; };
ABI_SIZE(cuda_params_begin_capture, 8);

// cuStreamEndCapture(_ptsz)
struct cuda_params_end_capture {
  void *stream;
  void **graph;
};
ABI_AT(cuda_params_end_capture, stream, 0);
ABI_AT(cuda_params_end_capture, graph, 8);
ABI_SIZE(cuda_params_end_capture, 16);

// cuGraphInstantiateWithFlags; cuGraphInstantiate(_v2) agree in the first two.
struct cuda_params_graph_instantiate {
  void **exec;
  void *graph;
  uint64_t flags;
};
ABI_AT(cuda_params_graph_instantiate, exec, 0);
ABI_AT(cuda_params_graph_instantiate, graph, 8);
ABI_AT(cuda_params_graph_instantiate, flags, 16);
ABI_SIZE(cuda_params_graph_instantiate, 24);

// cuCtxDestroy, cuDevicePrimaryCtxReset
struct cuda_params_context_destroy { void *context; };
struct cuda_params_primary_reset { int device; };
ABI_SIZE(cuda_params_context_destroy, 8);
ABI_SIZE(cuda_params_primary_reset, 4);

// cuModuleUnload
struct cuda_params_module_unload { void *module; };
ABI_SIZE(cuda_params_module_unload, 8);

// cuModuleLoadData
struct cuda_params_module_load_data {
  void **module;
  const void *image;
};
ABI_AT(cuda_params_module_load_data, module, 0);
ABI_AT(cuda_params_module_load_data, image, 8);
ABI_SIZE(cuda_params_module_load_data, 16);

// cuModuleGetFunction
struct cuda_params_module_get_function {
  void **function;
  void *module;
  const char *name;
};
ABI_AT(cuda_params_module_get_function, function, 0);
ABI_AT(cuda_params_module_get_function, module, 8);
ABI_AT(cuda_params_module_get_function, name, 16);
ABI_SIZE(cuda_params_module_get_function, 24);

// What makes a handle first shows where it puts it: cuModuleLoad, cuModuleLoadData, cuModuleLoadDataEx,
// cuModuleLoadFatBinary, cuLibraryLoadData, cuLibraryLoadFromFile.
struct cuda_params_load { void **handle; };
ABI_SIZE(cuda_params_load, 8);

// cuLibraryGetKernel is like cuModuleGetFunction; cuKernelGetFunction and cuLibraryGetModule have no name.
struct cuda_params_get {
  void **handle;
  void *of;
};
ABI_AT(cuda_params_get, of, 8);
ABI_SIZE(cuda_params_get, 16);

// ---- activities --------------------------------------------------------------------------------------

enum cupti_activity_kind {
  ACT_MEMCPY = 1,
  ACT_MEMSET = 2,
  ACT_KERNEL = 3, // serialises kernels; ACT_CONCURRENT_KERNEL is the one to use
  ACT_DRIVER = 4,
  ACT_RUNTIME = 5,
  ACT_DEVICE = 8,
  ACT_CONTEXT = 9,
  ACT_CONCURRENT_KERNEL = 10,
  ACT_NAME = 11,
  ACT_MARKER = 12,
  ACT_OVERHEAD = 17,
  ACT_MEMCPY2 = 22,
  ACT_FUNCTION = 26,
  ACT_MODULE = 27,
  ACT_SYNCHRONIZATION = 38,
  ACT_EXTERNAL_CORRELATION = 39,
  ACT_GRAPH_TRACE = 51,
};

// size_t values, except those marked u8. All take the address of the value.
enum cupti_attribute {
  ATTR_DEVICE_BUFFER_SIZE = 0,
  ATTR_DEVICE_BUFFER_SIZE_CDP = 1,
  ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
  ATTR_ZEROED_OUT_BUFFER = 5, // u8
  ATTR_DEVICE_BUFFER_PRE_ALLOCATE = 6,
  ATTR_HOST_PINNED = 8, // u8
  ATTR_PER_THREAD_BUFFER = 9, // u8, 12.3 and later; on by default from 13.0
};

enum cupti_flush_flag { FLUSH_COMPLETED = 0, FLUSH_FORCED = 1 };

// Versions that matter, as GetVersion counts them: small integers before 13, then xxyyzz.
enum cupti_version {
  CUPTI_11_8 = 18,
  CUPTI_12_0 = 19,
  CUPTI_12_3 = 21, // per-thread buffers, GetGraphExecId
  CUPTI_12_4 = 22,
  CUPTI_12_6 = 24, // Finalize is safe with graphs
  CUPTI_12_8 = 26,
  CUPTI_12_9 = 27, // a request answered with NULL is a drop, not a crash
  CUPTI_13_0 = 130000,
};

struct cupti_record { uint32_t kind; };
ABI_SIZE(cupti_record, 4);

// ACT_KERNEL and ACT_CONCURRENT_KERNEL: what 11.0 and every later version agree on.
struct cupti_kernel_prefix {
  uint32_t kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache_requested, partitioned_cache_executed;
  uint64_t start, end; // nanoseconds; both 0 when the time could not be taken
  uint64_t completed;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation_id;
  int64_t grid_id;
  const char *name; // CUPTI's own memory, shared by all records of the kernel until its module goes away
  void *reserved0;
  uint64_t queued, submitted;
  uint8_t launch_type;
  uint8_t carveout_requested;
  uint8_t carveout;
  uint8_t padding;
  uint32_t shared_executed;
  uint64_t graph_node_id; // 0 when not launched by a graph
  uint32_t shmem_limit;
  uint32_t graph_id; // of the executable graph; 0 when not launched by a graph
};
ABI_AT(cupti_kernel_prefix, kind, 0);
ABI_AT(cupti_kernel_prefix, registers_per_thread, 6);
ABI_AT(cupti_kernel_prefix, start, 16);
ABI_AT(cupti_kernel_prefix, end, 24);
ABI_AT(cupti_kernel_prefix, completed, 32);
ABI_AT(cupti_kernel_prefix, device_id, 40);
ABI_AT(cupti_kernel_prefix, context_id, 44);
ABI_AT(cupti_kernel_prefix, stream_id, 48);
ABI_AT(cupti_kernel_prefix, grid, 52);
ABI_AT(cupti_kernel_prefix, block, 64);
ABI_AT(cupti_kernel_prefix, static_shared, 76);
ABI_AT(cupti_kernel_prefix, dynamic_shared, 80);
ABI_AT(cupti_kernel_prefix, local_per_thread, 84);
ABI_AT(cupti_kernel_prefix, local_total, 88);
ABI_AT(cupti_kernel_prefix, correlation_id, 92);
ABI_AT(cupti_kernel_prefix, grid_id, 96);
ABI_AT(cupti_kernel_prefix, name, 104);
ABI_AT(cupti_kernel_prefix, queued, 120);
ABI_AT(cupti_kernel_prefix, submitted, 128);
ABI_AT(cupti_kernel_prefix, launch_type, 136);
ABI_AT(cupti_kernel_prefix, shared_executed, 140);
ABI_AT(cupti_kernel_prefix, graph_node_id, 144);
ABI_AT(cupti_kernel_prefix, shmem_limit, 152);
ABI_AT(cupti_kernel_prefix, graph_id, 156);
ABI_SIZE(cupti_kernel_prefix, 160);

// ACT_MEMCPY, as 11.1 and every later version have it.
struct cupti_memcpy_prefix {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
  uint32_t runtime_correlation_id;
  uint32_t padding;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memcpy_prefix, copy_kind, 4);
ABI_AT(cupti_memcpy_prefix, bytes, 8);
ABI_AT(cupti_memcpy_prefix, start, 16);
ABI_AT(cupti_memcpy_prefix, end, 24);
ABI_AT(cupti_memcpy_prefix, device_id, 32);
ABI_AT(cupti_memcpy_prefix, context_id, 36);
ABI_AT(cupti_memcpy_prefix, stream_id, 40);
ABI_AT(cupti_memcpy_prefix, correlation_id, 44);
ABI_AT(cupti_memcpy_prefix, graph_node_id, 64);
ABI_AT(cupti_memcpy_prefix, graph_id, 72);
ABI_SIZE(cupti_memcpy_prefix, 80);

enum cupti_copy_kind {
  COPY_HTOD = 1, COPY_DTOH = 2, COPY_HTOA = 3, COPY_ATOH = 4, COPY_ATOA = 5, COPY_ATOD = 6, COPY_DTOA = 7,
  COPY_DTOD = 8, COPY_HTOH = 9, COPY_PTOP = 10,
};

// ACT_MEMCPY2, between two GPUs.
struct cupti_memcpy_peer_prefix {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t source_device_id, source_context_id, target_device_id, target_context_id;
  uint32_t correlation_id;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memcpy_peer_prefix, copy_kind, 4);
ABI_AT(cupti_memcpy_peer_prefix, bytes, 8);
ABI_AT(cupti_memcpy_peer_prefix, start, 16);
ABI_AT(cupti_memcpy_peer_prefix, end, 24);
ABI_AT(cupti_memcpy_peer_prefix, device_id, 32);
ABI_AT(cupti_memcpy_peer_prefix, stream_id, 40);
ABI_AT(cupti_memcpy_peer_prefix, source_device_id, 44);
ABI_AT(cupti_memcpy_peer_prefix, target_device_id, 52);
ABI_AT(cupti_memcpy_peer_prefix, correlation_id, 60);
ABI_AT(cupti_memcpy_peer_prefix, graph_node_id, 72);
ABI_AT(cupti_memcpy_peer_prefix, graph_id, 80);
ABI_SIZE(cupti_memcpy_peer_prefix, 88);

// ACT_MEMSET
struct cupti_memset_prefix {
  uint32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memset_prefix, bytes, 8);
ABI_AT(cupti_memset_prefix, start, 16);
ABI_AT(cupti_memset_prefix, end, 24);
ABI_AT(cupti_memset_prefix, device_id, 32);
ABI_AT(cupti_memset_prefix, context_id, 36);
ABI_AT(cupti_memset_prefix, stream_id, 40);
ABI_AT(cupti_memset_prefix, correlation_id, 44);
ABI_AT(cupti_memset_prefix, graph_node_id, 64);
ABI_AT(cupti_memset_prefix, graph_id, 72);
ABI_SIZE(cupti_memset_prefix, 80);

// ACT_SYNCHRONIZATION: times are of the waiting thread. It names no device.
struct cupti_sync_prefix {
  uint32_t kind;
  uint32_t type; // enum cupti_sync_type
  uint64_t start, end;
  uint32_t correlation_id;
  uint32_t context_id, stream_id, event_id;
};
ABI_AT(cupti_sync_prefix, type, 4);
ABI_AT(cupti_sync_prefix, start, 8);
ABI_AT(cupti_sync_prefix, end, 16);
ABI_AT(cupti_sync_prefix, correlation_id, 24);
ABI_AT(cupti_sync_prefix, context_id, 28);
ABI_AT(cupti_sync_prefix, stream_id, 32);
ABI_AT(cupti_sync_prefix, event_id, 36);
ABI_SIZE(cupti_sync_prefix, 40);

enum cupti_sync_type {
  SYNC_EVENT = 1,
  SYNC_STREAM_WAITS = 2, // the stream waits for an event, nobody else does
  SYNC_STREAM = 3,
  SYNC_CONTEXT = 4,
};

// ACT_GRAPH_TRACE, as 11.8 has it; later versions append the device the graph ended on.
struct cupti_graph_trace {
  uint32_t kind;
  uint32_t correlation_id;
  uint64_t start, end;
  uint32_t device_id;
  uint32_t graph_id;
  uint32_t context_id;
  uint32_t stream_id;
  void *reserved;
};
ABI_AT(cupti_graph_trace, correlation_id, 4);
ABI_AT(cupti_graph_trace, start, 8);
ABI_AT(cupti_graph_trace, end, 16);
ABI_AT(cupti_graph_trace, device_id, 24);
ABI_AT(cupti_graph_trace, graph_id, 28);
ABI_AT(cupti_graph_trace, context_id, 32);
ABI_AT(cupti_graph_trace, stream_id, 36);
ABI_SIZE(cupti_graph_trace, 48);

// ---- sampling of instructions (PC sampling) ------------------------------------------------------------
// Parameters begin with their size, which is the offset behind the last field that the caller knows, and a NULL.

struct cupti_sampling_params { // Enable, Disable, Start, Stop
  size_t size;
  void *private_;
  void *context;
};
ABI_AT(cupti_sampling_params, context, 16);
ABI_SIZE(cupti_sampling_params, 24);

struct cupti_sampling_reasons_params { // GetNumStallReasons (32 bytes: the first four) and GetStallReasons
  size_t size;
  void *private_;
  void *context;
  union {
    size_t *count; // GetNumStallReasons
    size_t number; // GetStallReasons
  };
  uint32_t *indices;
  char **names; // of REASON_NAME bytes each
};
enum { REASON_NAME = 128, REASONS_NUMBER_PARAMS = 32 };
ABI_AT(cupti_sampling_reasons_params, count, 24);
ABI_AT(cupti_sampling_reasons_params, indices, 32);
ABI_AT(cupti_sampling_reasons_params, names, 40);
ABI_SIZE(cupti_sampling_reasons_params, 48);

enum cupti_sampling_attribute {
  SAMPLING_PERIOD = 1,         // u32: 2^n cycles, n from 5 to 31
  SAMPLING_REASONS = 2,        // size_t, u32 *
  SAMPLING_SCRATCH_BUFFER = 3, // size_t; 1 MB by default
  SAMPLING_HARDWARE_BUFFER = 4, // size_t; 512 MB by default
  SAMPLING_MODE = 5,           // u32: enum cupti_sampling_mode
  SAMPLING_START_STOP = 6,     // u32: whether Start and Stop are used
  SAMPLING_FORMAT = 7,         // u32: 1
  SAMPLING_DATA_BUFFER = 8,    // struct cupti_sampling_data *
  SAMPLING_WORKER_SLEEP = 9,   // u32: ms; 100 by default
};

enum cupti_sampling_mode { SAMPLING_CONTINUOUS = 1, SAMPLING_SERIALIZED = 2 };

struct cupti_sampling_setting {
  uint32_t attribute; // enum cupti_sampling_attribute
  uint32_t status;    // out: a result code
  union {
    uint64_t words[3];
    uint32_t u32;
    size_t size;
    void *pointer;
    struct {
      size_t count;
      uint32_t *indices;
    } reasons;
  };
};
ABI_AT(cupti_sampling_setting, status, 4);
ABI_AT(cupti_sampling_setting, u32, 8);
ABI_AT(cupti_sampling_setting, reasons.indices, 16);
ABI_SIZE(cupti_sampling_setting, 32);

struct cupti_sampling_settings_params {
  size_t size;
  void *private_;
  void *context;
  size_t count;
  struct cupti_sampling_setting *settings;
};
ABI_AT(cupti_sampling_settings_params, count, 24);
ABI_AT(cupti_sampling_settings_params, settings, 32);
ABI_SIZE(cupti_sampling_settings_params, 40);

struct cupti_sampling_stall {
  uint32_t reason;
  uint32_t samples;
};
ABI_SIZE(cupti_sampling_stall, 8);

// An instruction. Before 12.4 the last field is not there, and an array has its elements 56 bytes apart.
struct cupti_sampling_pc {
  size_t size;
  uint64_t module; // its CRC, or what the registered callback said
  uint64_t offset; // in the function
  uint32_t function; // symbol index
  uint32_t padding;
  char *name; // of the function
  size_t stall_count;
  struct cupti_sampling_stall *stalls; // the caller's
  uint32_t correlation_id; // in serialized mode
  uint32_t padding2;
};
enum { SAMPLING_PC_BEFORE_12_4 = 56 };
ABI_AT(cupti_sampling_pc, module, 8);
ABI_AT(cupti_sampling_pc, offset, 16);
ABI_AT(cupti_sampling_pc, function, 24);
ABI_AT(cupti_sampling_pc, name, 32);
ABI_AT(cupti_sampling_pc, stall_count, 40);
ABI_AT(cupti_sampling_pc, stalls, 48);
ABI_AT(cupti_sampling_pc, correlation_id, 56);
ABI_SIZE(cupti_sampling_pc, 64);

struct cupti_sampling_data {
  size_t size;
  size_t capacity; // of pcs
  uint64_t total_samples;
  uint64_t dropped_samples;
  size_t count;     // of pcs that were filled in
  size_t remaining; // that await the next call
  uint64_t range_id;
  void *pcs; // struct cupti_sampling_pc, or its 56 byte form
  uint64_t non_user_samples;
  uint8_t hardware_buffer_full; // 12.0 and later
};
enum { SAMPLING_DATA_BEFORE_12_0 = 72 };
ABI_AT(cupti_sampling_data, capacity, 8);
ABI_AT(cupti_sampling_data, total_samples, 16);
ABI_AT(cupti_sampling_data, dropped_samples, 24);
ABI_AT(cupti_sampling_data, count, 32);
ABI_AT(cupti_sampling_data, remaining, 40);
ABI_AT(cupti_sampling_data, range_id, 48);
ABI_AT(cupti_sampling_data, pcs, 56);
ABI_AT(cupti_sampling_data, non_user_samples, 64);
ABI_AT(cupti_sampling_data, hardware_buffer_full, 72);
ABI_SIZE(cupti_sampling_data, 80);

struct cupti_sampling_data_params {
  size_t size;
  void *private_;
  void *context;
  struct cupti_sampling_data *data;
};
ABI_AT(cupti_sampling_data_params, data, 24);
ABI_SIZE(cupti_sampling_data_params, 32);

struct cupti_crc_params {
  size_t size;
  size_t image_size;
  const void *image;
  uint64_t crc; // out
};
ABI_AT(cupti_crc_params, image_size, 8);
ABI_AT(cupti_crc_params, image, 16);
ABI_AT(cupti_crc_params, crc, 24);
ABI_SIZE(cupti_crc_params, 32);

typedef void (*cupti_crc_fn)(const void *image, size_t size, uint64_t *crc);

// Looked up when sampling is asked for, and only then. All are required.
#define CUPTI_SAMPLING_FUNCTIONS(F) \
  F(PCSamplingEnable, (struct cupti_sampling_params *)) \
  F(PCSamplingDisable, (struct cupti_sampling_params *)) \
  F(PCSamplingStart, (struct cupti_sampling_params *)) \
  F(PCSamplingStop, (struct cupti_sampling_params *)) \
  F(PCSamplingGetNumStallReasons, (struct cupti_sampling_reasons_params *)) \
  F(PCSamplingGetStallReasons, (struct cupti_sampling_reasons_params *)) \
  F(PCSamplingSetConfigurationAttribute, (struct cupti_sampling_settings_params *)) \
  F(PCSamplingGetConfigurationAttribute, (struct cupti_sampling_settings_params *)) \
  F(PCSamplingGetData, (struct cupti_sampling_data_params *)) \
  F(RegisterComputeCrcCallback, (cupti_crc_fn compute)) \
  F(GetCubinCrc, (struct cupti_crc_params *))

struct cupti_sampling_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_SAMPLING_FUNCTIONS(F)
#undef F
};

// ---- functions ---------------------------------------------------------------------------------------
// One list each for the table, the loader, the stub and the recorder. F(name, required, arguments): the
// symbol is "cupti" + name; required 0 means that some supported version lacks it and the pointer may be NULL.

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid);

#define CUPTI_FUNCTIONS(F) \
  F(GetVersion, 1, (uint32_t *version)) \
  F(GetResultString, 1, (uint32_t result, const char **text)) \
  F(GetErrorMessage, 0, (uint32_t result, const char **text)) \
  F(Subscribe, 1, (void **subscriber, cupti_callback_fn callback, void *user)) \
  F(Subscribe_v2, 0, (void **subscriber, cupti_callback_fn callback, void *user, struct cupti_subscriber_params *params)) \
  F(Unsubscribe, 1, (void *subscriber)) \
  F(EnableCallback, 1, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)) \
  F(EnableDomain, 1, (uint32_t enable, void *subscriber, uint32_t domain)) \
  F(GetTimestamp, 1, (uint64_t *nanoseconds)) \
  F(GetContextId, 1, (void *context, uint32_t *id)) \
  F(GetDeviceId, 1, (void *context, uint32_t *id)) \
  F(GetGraphId, 1, (void *graph, uint32_t *id)) \
  F(GetGraphNodeId, 1, (void *node, uint64_t *id)) \
  F(GetGraphExecId, 0, (void *exec, uint32_t *id)) \
  F(ActivityRegisterCallbacks, 1, (cupti_request_fn request, cupti_complete_fn complete)) \
  F(ActivityEnable, 1, (uint32_t kind)) \
  F(ActivityDisable, 1, (uint32_t kind)) \
  F(ActivityFlushAll, 1, (uint32_t flag)) \
  F(ActivityGetNextRecord, 1, (uint8_t *buffer, size_t valid, void **record)) \
  F(ActivityGetNumDroppedRecords, 1, (void *context, uint32_t stream_id, size_t *dropped)) \
  F(ActivitySetAttribute, 1, (uint32_t attribute, size_t *size, void *value)) \
  F(ActivityGetAttribute, 1, (uint32_t attribute, size_t *size, void *value)) \
  F(Finalize, 1, (void))

struct cupti_table {
#define F(name, required, arguments) uint32_t(*name) arguments;
  CUPTI_FUNCTIONS(F)
#undef F
};

enum cuda_device_attribute {
  DEV_CLOCK_RATE = 13, // kHz
  DEV_MULTIPROCESSORS = 16,
  DEV_PCI_BUS = 33,
  DEV_PCI_DEVICE = 34,
  DEV_MEMORY_CLOCK_RATE = 36, // kHz
  DEV_BUS_WIDTH = 37, // bits
  DEV_PCI_DOMAIN = 50,
  DEV_CC_MAJOR = 75,
  DEV_CC_MINOR = 76,
};

// The driver's functions: the symbol is the name.
#define CUDA_FUNCTIONS(F) \
  F(cuInit, 1, (uint32_t flags)) \
  F(cuDriverGetVersion, 1, (int *version)) \
  F(cuDeviceGetCount, 1, (int *count)) \
  F(cuDeviceGet, 1, (int *device, int ordinal)) \
  F(cuDeviceGetName, 1, (char *name, int length, int device)) \
  F(cuDeviceGetAttribute, 1, (int *value, uint32_t attribute, int device)) \
  F(cuCtxGetCurrent, 1, (void **context)) \
  F(cuCtxPushCurrent_v2, 1, (void *context)) \
  F(cuCtxPopCurrent_v2, 1, (void **context)) \
  F(cuCtxGetDevice, 1, (int *device)) \
  F(cuCtxSynchronize, 1, (void)) \
  F(cuGetErrorString, 1, (uint32_t error, const char **text))

struct cuda_table {
#define F(name, required, arguments) uint32_t(*name) arguments;
  CUDA_FUNCTIONS(F)
#undef F
};

#undef ABI_AT
#undef ABI_SIZE
#endif
