// What the headers named abi_*.h share: how they assert layouts, result codes and versions.
//
// These headers declare the binary interface of CUPTI and the CUDA driver by hand. The profiler is built without a CUDA
// toolkit and works with every libcupti from 11.8 on, so these headers take only numbers, offsets and the order of arguments
// from the vendor's. Names are ours, so that testdata/abi/ can include both in one file and compare them. They declare only
// what we use.
//
//   abi_driver.h    the driver's functions, their callback ids and their arguments
//   abi_callback.h  the arguments of CUPTI's callbacks
//   abi_activity.h  activity records and the attributes of their buffers
//   abi_sampling.h  sampling of instructions
//   abi_library.h   CUPTI's other functions
#ifndef GOPROTON_CUPTI_ABI_H
#define GOPROTON_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ABI_AT(type, field, offset) \
  _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is not at " #offset)
#define ABI_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " is not " #size " bytes")

enum cupti_result {
  RC_OK = 0,
  RC_INVALID_PARAMETER = 1,
  RC_INVALID_DEVICE = 2,
  RC_INVALID_CONTEXT = 3,
  RC_INVALID_OPERATION = 7,
  RC_OUT_OF_MEMORY = 8,
  RC_PARAMETER_SIZE = 10,
  RC_NOT_IMPLEMENTED = 11,
  RC_MAX_LIMIT_REACHED = 12,
  RC_NOT_COMPATIBLE = 14,
  RC_NOT_INITIALIZED = 15,
  RC_INVALID_KIND = 21,
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
  CU_OUT_OF_MEMORY = 2,
  CU_NOT_INITIALIZED = 3,
  CU_NO_DEVICE = 100,
  CU_INVALID_DEVICE = 101,
  CU_INVALID_CONTEXT = 201,
  CU_ILLEGAL_STATE = 401,         // of EndCapture: the stream is not captured
  CU_CAPTURE_WRONG_THREAD = 908, // the capture goes on
};

// Versions that the code compares with, as GetVersion returns them: small integers before 13.0, then
// 10000 * major + 100 * minor + patch.
enum cupti_version {
  CUPTI_12_0 = 19,
  CUPTI_12_3 = 21, // per-thread buffers, GetGraphExecId
  CUPTI_12_4 = 22,
  CUPTI_12_6 = 24, // Finalize is safe with graphs
  CUPTI_12_8 = 26,
  CUPTI_13_0 = 130000,
  CUPTI_13_1 = 130100, // SASS metrics of launches count nothing while concurrent kernels are recorded
  CUPTI_13_3 = 130300, // several subscribers
  CUPTI_13_4 = 130400, // resets caches between passes
  CUPTI_13_5 = 130500, // SASS metrics count every function
};

#endif
