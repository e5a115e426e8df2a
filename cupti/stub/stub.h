// A libcuda and a libcupti without a GPU, for tests, demos and instruction counts.
//
// libcuda.so.1 is a small fake driver: contexts, modules, launches, stream capture and graphs, whose kernels
// take a fixed time. libcupti.so watches it through struct stub_tracer, exactly as far as the profiler has
// enabled it, and can play a recorded capture instead of the fake driver's own events (replay.c).
//
// Environment:
//   PROTON_STUB_CAPTURE    a capture (not compressed): versions and devices come from it
//   PROTON_STUB_VERSION    what cuptiGetVersion returns, PROTON_STUB_DRIVER what cuDriverGetVersion returns
//   PROTON_STUB_DEVICES    number of devices (1)
//   PROTON_STUB_RESULTS    results to return: "Subscribe=39,ActivityEnable=35,cuInit=100"
//   PROTON_STUB_HOLDER     another subscriber's name: Subscribe says 39
//   PROTON_STUB_BUSY       a file: while it is there, waits for a context do not end
//   PROTON_STUB_FULL       a file: while it is there, launches wait in the driver, as when the GPU's queue is full;
//                          cuptiFinalize aborts while a driver call is in progress, which CUPTI does not support
//   PROTON_STUB_KERNEL_NS  duration of a kernel (1000)
//   PROTON_STUB_PACE       0: replay without the pauses that stand for waiting for the GPU
#ifndef GOPROTON_STUB_H
#define GOPROTON_STUB_H

#include "../abi_activity.h"
#include "../abi_library.h"
#include "../abi_sampling.h"
#include "../capture.h"
#include "reader.h"
#include "hotpath.h"

#define STUB_EXPORT __attribute__((visibility("default")))

// ---- common.c, in both libraries ----
// The result that PROTON_STUB_RESULTS wants of a function, RC_OK when it says nothing.
uint32_t stub_result(const char *function);
uint64_t stub_number(const char *variable, uint64_t otherwise);

// ---- libcuda: what libcupti needs of it ----
struct stub_kernel {
  const char *name;
  uint64_t start, end;
  uint64_t graph_node;
  uint32_t correlation, device, context, stream, graph;
};

// A copy, a fill or a wait.
struct stub_work {
  uint32_t kind, detail; // of the activity record: ACT_MEMCPY and its direction, …
  uint64_t start, end, bytes;
  uint32_t correlation, context, stream;
};

struct stub_tracer {
  void (*call)(uint32_t domain, uint32_t cbid, const void *data);
  void (*kernel)(const struct stub_kernel *kernel);
  void (*work)(const struct stub_work *work);
  // A whole graph launch; 1 when it is recorded as one, and its kernels are not to be reported.
  int (*graph)(const struct stub_kernel *graph);
};

STUB_EXPORT void stub_cuda_trace(const struct stub_tracer *tracer);
// The capture that PROTON_STUB_CAPTURE names; NULL without one.
STUB_EXPORT const struct capture *stub_cuda_capture(void);
// The id of a live graph, node, executable graph or context of the fake driver; 0 when it is none of its own.
STUB_EXPORT uint64_t stub_cuda_object_id(const void *handle);
STUB_EXPORT uint64_t stub_cuda_now(void);
STUB_EXPORT uint32_t stub_cuda_calls(void); // driver calls in progress, those of other threads as well
// Makes a context current on the calling thread; any pointer will do.
STUB_EXPORT void stub_cuda_set_current(void *context);

// ---- libcupti: for tests ----
// n launches on each of some threads through the fake driver. 0 when every launch went well.
STUB_EXPORT int stub_synthetic(uint64_t n, unsigned threads);
// One kernel record out of nowhere, as from a graph that was captured before the profiler listened.
STUB_EXPORT void stub_emit(const struct stub_kernel *kernel);
// Pretends that CUPTI itself lost records.
STUB_EXPORT void stub_lose(uint64_t records);
// How many records the profiler has been given so far.
STUB_EXPORT uint64_t stub_delivered(void);

// Plays a capture on its recorded threads, in its order. Program events go through api; control calls to
// control (NULL: left out). Returns NULL, or what went wrong.
STUB_EXPORT const char *stub_replay(const char *path, const struct hp_api *api,
                                    void (*control)(const char *method, const char *params));

#endif
