// The CUDA driver: its functions, their callback ids, and their arguments as callbacks show them.
#ifndef GOPROTON_CUPTI_ABI_DRIVER_H
#define GOPROTON_CUPTI_ABI_DRIVER_H

#include "abi.h"

// Functions that copy or fill memory, and those that wait for the GPU: F(name, number). Forms from before CUDA 3.2 are left
// out. The name of a list ends with the oldest version in which testdata/abi/ has found its functions.
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
// For case labels: functions that load code, or return handles of it.
#define CUDA_CODE_CALLS(F) \
  F(cuModuleLoad, CBID_cuModuleLoad) F(cuModuleLoadData, CBID_cuModuleLoadData) F(cuModuleLoadDataEx, CBID_cuModuleLoadDataEx) \
  F(cuModuleLoadFatBinary, CBID_cuModuleLoadFatBinary) F(cuModuleGetFunction, CBID_cuModuleGetFunction) \
  F(cuLibraryLoadData, CBID_cuLibraryLoadData) F(cuLibraryLoadFromFile, CBID_cuLibraryLoadFromFile) \
  F(cuLibraryGetKernel, CBID_cuLibraryGetKernel) F(cuLibraryGetModule, CBID_cuLibraryGetModule) \
  F(cuKernelGetFunction, CBID_cuKernelGetFunction)

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
  CBID_cuCtxGetCurrent = 304,
  CBID_cuProfilerStart = 308,
  CBID_cuProfilerStop = 309,
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
  CBID_cuGraphInstantiate_v2 = 578,
  CBID_cuGraphInstantiateWithFlags = 643,
  // 11.8 does not have the following.
  CBID_cuLibraryLoadData = 678,
  CBID_cuLibraryLoadFromFile = 679,
  CBID_cuLibraryUnload = 680,
  CBID_cuLibraryGetKernel = 681,
  CBID_cuLibraryGetModule = 682,
  CBID_cuKernelGetFunction = 683,
  CBID_cuStreamBeginCaptureToGraph = 720,
  CBID_cuStreamBeginCaptureToGraph_ptsz = 721,
};

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

enum { LAUNCH_COOPERATIVE = 2 }; // an attribute of a launch; its value is an int
struct cuda_launch_attribute {
  uint32_t id;
  uint32_t reserved;
  uint32_t value;
  uint32_t more[15];
};
ABI_AT(cuda_launch_attribute, value, 8);
ABI_SIZE(cuda_launch_attribute, 72);

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

// cuLaunch, cuLaunchGrid, cuLaunchGridAsync: only the first argument is used.
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

// cuGraphInstantiateWithFlags; cuGraphInstantiate(_v2) have the same first two arguments.
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

// The first argument of a function that loads code points at the new handle: cuModuleLoad, cuModuleLoadData,
// cuModuleLoadDataEx, cuModuleLoadFatBinary, cuLibraryLoadData, cuLibraryLoadFromFile.
struct cuda_params_load { void **handle; };
ABI_SIZE(cuda_params_load, 8);

// cuKernelGetFunction and cuLibraryGetModule. cuLibraryGetKernel has the arguments of cuModuleGetFunction.
struct cuda_params_get {
  void **handle;
  void *of;
};
ABI_AT(cuda_params_get, of, 8);
ABI_SIZE(cuda_params_get, 16);

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

enum { CAPTURE_RELAXED = 2, HOST_PORTABLE = 1, HOST_MAPPED = 2, STREAM_NON_BLOCKING = 1 };

// The driver's functions: F(symbol, arguments). Every supported driver has all of them.
#define CUDA_FUNCTIONS(F) \
  F(cuInit, (uint32_t flags)) \
  F(cuDriverGetVersion, (int *version)) \
  F(cuDeviceGetCount, (int *count)) \
  F(cuDeviceGet, (int *device, int ordinal)) \
  F(cuDeviceGetName, (char *name, int length, int device)) \
  F(cuDeviceGetAttribute, (int *value, uint32_t attribute, int device)) \
  F(cuCtxPushCurrent_v2, (void *context)) \
  F(cuCtxPopCurrent_v2, (void **context)) \
  F(cuCtxGetCurrent, (void **context)) \
  F(cuCtxGetDevice, (int *device)) \
  F(cuCtxSynchronize, (void)) \
  F(cuMemGetInfo_v2, (size_t *unused, size_t *all)) \
  F(cuStreamGetCtx, (void *stream, void **context)) \
  F(cuStreamCreate, (void **stream, uint32_t flags)) \
  F(cuStreamDestroy_v2, (void *stream)) \
  F(cuThreadExchangeStreamCaptureMode, (int *mode)) \
  F(cuMemHostRegister_v2, (void *memory, size_t bytes, uint32_t flags)) \
  F(cuMemHostGetDevicePointer_v2, (uint64_t *address, void *memory, uint32_t flags)) \
  F(cuModuleLoadData, (void **module, const void *image)) \
  F(cuModuleGetFunction, (void **function, void *module, const char *name)) \
  F(cuLaunchKernel, (void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared_bytes, \
                     void *stream, void **parameters, void **extra))

struct cuda_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUDA_FUNCTIONS(F)
#undef F
};

#endif
