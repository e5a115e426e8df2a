// A libcuda and a libcupti without a GPU, for tests, demos and instruction counts.
//
// libcuda.so.1 is a small fake driver: contexts, modules, launches, stream capture and graphs, whose kernels
// take a fixed time. libcupti.so gets its events through struct stub_tracer and reports those that the profiler
// has enabled; or it plays a capture instead of the fake driver's events (replay.c).
//
// Environment:
//   PROTON_STUB_CAPTURE    a capture (not compressed): versions and devices come from it
//   PROTON_STUB_VERSION    what cuptiGetVersion returns, PROTON_STUB_DRIVER what cuDriverGetVersion returns
//   PROTON_STUB_DEVICES    number of devices (1)
//   PROTON_STUB_RESULTS    results to return: "Subscribe=39,ActivityEnable=35,cuInit=100"
//   PROTON_STUB_HOLDER     another subscriber's name: Subscribe returns 39
//   PROTON_STUB_BUSY       a file: while it exists, waits for a context do not end
//   PROTON_STUB_HUNG       a file: while it exists, kernels do not end: they have no records, and waits for a context last
//   PROTON_STUB_FULL       a file: while it exists, launches wait in the driver, as when the GPU's queue is full;
//                          cuptiFinalize aborts while a driver call is in progress, which CUPTI does not support
//   PROTON_STUB_KERNEL_NS  duration of a kernel (1000)
//   PROTON_STUB_LATE       milliseconds from a launch until its record is there, as of a GPU with a full queue; waits last as long
//   PROTON_STUB_PASSES     how many passes a set of counters takes (one for every 4 metrics)
//   PROTON_STUB_ALLOCATED  bytes of the 80 GiB of a GPU that are allocated (0)
//   PROTON_STUB_PACE       0: replay without the pauses that stand for waiting for the GPU
#ifndef GOPROTON_STUB_H
#define GOPROTON_STUB_H

#include "../../cupti/abi_activity.h"
#include "../../cupti/abi_library.h"
#include "../../cupti/abi_sampling.h"
#include "../../cupti/capture.h"
#include "reader.h"
#include "hotpath.h"

#define STUB_EXPORT __attribute__((visibility("default")))

// ---- common.c, in both libraries ----
// The result that PROTON_STUB_RESULTS has for a function, RC_OK if it has none.
uint32_t stub_result(const char *function);
uint64_t stub_number(const char *variable, uint64_t otherwise);

// ---- libcuda, for libcupti ----
struct stub_kernel {
  const char *name;
  uint64_t start, end;
  uint64_t graph_node;
  uint64_t number; // of the launch, outside of graphs; 0 unless PROTON_STUB_NUMBERS is set, as the real driver does
  uint32_t correlation, device, context, stream, graph;
  const void *image; // that it is from; NULL unless that is an ELF file, which is never freed
};

// A copy, a fill or a wait.
struct stub_work {
  uint32_t kind, detail; // of the activity record: ACT_MEMCPY and its cupti_copy_kind, ACT_SYNCHRONIZATION and its cupti_sync_type
  uint64_t start, end, bytes;
  uint32_t correlation, context, stream;
};

struct stub_tracer {
  void (*call)(uint32_t domain, uint32_t cbid, const void *data);
  void (*kernel)(const struct stub_kernel *kernel);
  void (*work)(const struct stub_work *work);
  // The launch of a graph; returns 1 if it is recorded as a whole, so that its kernels are not reported.
  int (*graph)(const struct stub_kernel *graph);
};

STUB_EXPORT void stub_cuda_trace(const struct stub_tracer *tracer);
// The capture that PROTON_STUB_CAPTURE names, NULL for none.
STUB_EXPORT const struct capture *stub_cuda_capture(void);
// The id of a live graph, node, executable graph or context of the fake driver; 0 for other pointers.
STUB_EXPORT uint64_t stub_cuda_object_id(const void *handle);
// Launches take the locks of what is sampled from now on; around PCSamplingStart and Stop.
STUB_EXPORT void stub_cuda_sampled(void);
STUB_EXPORT void stub_cuda_sampling_switches(int begins);
// Whether the fake libcupti records kernels.
int stub_kernels_recorded(void);
STUB_EXPORT uint64_t stub_cuda_now(void);
STUB_EXPORT uint32_t stub_cuda_correlation(void); // draws the id of a call that is not reported
STUB_EXPORT uint32_t stub_cuda_captures(void); // streams that are being captured
STUB_EXPORT uint32_t stub_cuda_calls(void); // driver calls in progress, on all threads
STUB_EXPORT size_t stub_cuda_elf_size(const void *image); // 0: the image is something else
// Makes a context current on the calling thread. The context may be any pointer.
STUB_EXPORT void stub_cuda_set_current(void *context);

// ---- libcupti: for tests ----
// Makes n launches on each of `threads` threads through the fake driver. Returns 0 if all succeed.
STUB_EXPORT int stub_synthetic(uint64_t n, unsigned threads);
// Reports a kernel without a launch, as from a graph that was captured before the profiler subscribed.
STUB_EXPORT void stub_emit(const struct stub_kernel *kernel);
// Makes CUPTI report records as dropped.
STUB_EXPORT void stub_lose(uint64_t records);
// What a kernel is measured to do: for gpu__time_duration.sum its time, for a metric with .pct a number below 100, else a multiple of 32.
double stub_counter(const char *kernel, const char *metric);
struct cupti_evaluate_params;
int pm_values(struct cupti_evaluate_params *p); // pm.c: 1 if the image is one of samples over time
// The number of records that the profiler has got so far.
STUB_EXPORT uint64_t stub_delivered(void);

// Plays a capture on as many threads as were recorded, in the recorded order. The program's events go through api, control
// calls to control (NULL: they are left out). Returns NULL, or what went wrong.
STUB_EXPORT const char *stub_replay(const char *path, const struct hp_api *api,
                                    void (*control)(const char *method, const char *params));

#endif
