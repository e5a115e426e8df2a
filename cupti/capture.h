// The payloads of CUPTI's events in a capture. Their writer (record*.c) and their player (replay/fakecuda) share this file.
#ifndef GOPROTON_CUPTI_CAPTURE_H
#define GOPROTON_CUPTI_CAPTURE_H

#include "abi_activity.h"
#include "abi_callback.h"
#include "abi_driver.h"
#include "format.h"

enum capture_shape { SHAPE_NONE = 0, SHAPE_MODULE = 1, SHAPE_GRAPH = 2 };

enum capture_answer {
  ANS_GRAPH_ID = 1,
  ANS_NODE_ID = 2,
  ANS_EXEC_ID = 3,
  ANS_CONTEXT_ID = 4,
  ANS_DEVICE_ID = 5,
  ANS_DROPPED = 6, // the handle is 0; the player adds the values up
};

// What a capture keeps of the arguments of a driver function. Pointers mean nothing in another process: they are cleared, and
// the target of a pointer to an output is written instead.
struct params_shape {
  uint32_t cbid;
  uint8_t size;    // bytes of arguments
  int8_t out;      // offset of a pointer to an 8-byte output, -1: none
  int8_t config;   // offset of a pointer to a cuda_launch_config, -1: none
  uint32_t clear;  // bit i: the 4 bytes at 4*i are padding or half of a pointer, and are cleared
};

#define POINTER(offset) (3u << (offset) / 4)
#define PADDING(offset) (1u << (offset) / 4)
static const struct params_shape params_shapes[] = {
    {CBID_cuLaunchKernel, 64, -1, -1, PADDING(36) | POINTER(48) | POINTER(56)},
    {CBID_cuLaunchKernel_ptsz, 64, -1, -1, PADDING(36) | POINTER(48) | POINTER(56)},
    {CBID_cuLaunchCooperativeKernel, 56, -1, -1, PADDING(36) | POINTER(48)},
    {CBID_cuLaunchCooperativeKernel_ptsz, 56, -1, -1, PADDING(36) | POINTER(48)},
    {CBID_cuLaunchKernelEx, 32, -1, 0, POINTER(0) | POINTER(16) | POINTER(24)},
    {CBID_cuLaunchKernelEx_ptsz, 32, -1, 0, POINTER(0) | POINTER(16) | POINTER(24)},
    {CBID_cuLaunch, 8, -1, -1, 0},
    {CBID_cuLaunchGrid, 16, -1, -1, 0},
    {CBID_cuLaunchGridAsync, 16, -1, -1, 0},
    {CBID_cuGraphLaunch, 16, -1, -1, 0},
    {CBID_cuGraphLaunch_ptsz, 16, -1, -1, 0},
    {CBID_cuGraphInstantiate, 16, 0, -1, POINTER(0)},
    {CBID_cuGraphInstantiate_v2, 16, 0, -1, POINTER(0)},
    {CBID_cuGraphInstantiateWithFlags, 24, 0, -1, POINTER(0)},
    {CBID_cuGraphExecDestroy, 8, -1, -1, 0},
    {CBID_cuGraphDestroy, 8, -1, -1, 0},
    {CBID_cuLaunchCooperativeKernelMultiDevice, 16, -1, -1, POINTER(0)},
    {CBID_cuStreamBeginCapture, 8, -1, -1, 0},
    {CBID_cuStreamBeginCapture_ptsz, 8, -1, -1, 0},
    {CBID_cuStreamBeginCapture_v2, 12, -1, -1, 0},
    {CBID_cuStreamBeginCapture_v2_ptsz, 12, -1, -1, 0},
    {CBID_cuStreamBeginCaptureToGraph, 16, -1, -1, 0},
    {CBID_cuStreamBeginCaptureToGraph_ptsz, 16, -1, -1, 0},
    {CBID_cuStreamEndCapture, 16, 8, -1, POINTER(8)},
    {CBID_cuStreamEndCapture_ptsz, 16, 8, -1, POINTER(8)},
    {CBID_cuModuleLoad, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuModuleLoadData, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuModuleLoadDataEx, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuModuleLoadFatBinary, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuModuleUnload, 8, -1, -1, 0},
    {CBID_cuModuleGetFunction, 24, 0, -1, POINTER(0) | POINTER(16)},
    {CBID_cuLibraryLoadData, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuLibraryLoadFromFile, 16, 0, -1, POINTER(0) | POINTER(8)},
    {CBID_cuLibraryUnload, 8, -1, -1, 0},
    {CBID_cuLibraryGetKernel, 24, 0, -1, POINTER(0) | POINTER(16)},
    {CBID_cuLibraryGetModule, 16, 0, -1, POINTER(0)},
    {CBID_cuKernelGetFunction, 16, 0, -1, POINTER(0)},
};
#undef POINTER
#undef PADDING

static inline const struct params_shape *params_shape_of(uint32_t domain, uint32_t cbid) {
  if (domain != DOMAIN_DRIVER) return NULL;
  for (size_t i = 0; i < sizeof params_shapes / sizeof params_shapes[0]; i++)
    if (params_shapes[i].cbid == cbid) return &params_shapes[i];
  return NULL;
}

// The offset of the pointer to a name in the arguments of a function, 0 for none. The event holds the name as its symbol.
static inline uint32_t params_name_field(uint32_t domain, uint32_t cbid) {
  if (domain != DOMAIN_DRIVER || (cbid != CBID_cuModuleGetFunction && cbid != CBID_cuLibraryGetKernel)) return 0;
  return offsetof(struct cuda_params_module_get_function, name);
}

// The offset of the pointer to a string in the records of a kind, 0 for none. In a capture the string's number stands there.
static inline uint32_t kind_string_field(uint32_t kind) {
  switch (kind) {
  case ACT_KERNEL:
  case ACT_CONCURRENT_KERNEL: return offsetof(struct cupti_kernel_prefix, name);
  default: return 0;
  }
}

// The form of the descriptor of a resource callback.
static inline enum capture_shape resource_shape(uint32_t cbid) {
  if (cbid >= RES_MODULE_LOADED && cbid <= RES_MODULE_PROFILED) return SHAPE_MODULE;
  if (cbid >= RES_GRAPH_CREATED && cbid <= RES_GRAPHNODE_CLONED) return SHAPE_GRAPH;
  return SHAPE_NONE;
}

#endif
