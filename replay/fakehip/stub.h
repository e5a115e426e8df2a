// The fake libamdhip64 and what the fake tracing libraries (libroctracer64, librocprofiler-sdk) hear of it. The order of callbacks
// and records is the documented one; docs/amd.md says what of it has been seen with real libraries, and what has not.
#ifndef GOPROTON_ROCTRACER_STUB_H
#define GOPROTON_ROCTRACER_STUB_H

#include <stddef.h>
#include <stdint.h>

// A call of HIP, as the fake libamdhip64 reports it. arguments are in the order of the function's declaration, as 64-bit words;
// a dim3 is three of them. result is valid in exit.
struct stub_call {
  const char *name;
  uint64_t arguments[12];
  int count, result;
};

// What ran on the GPU because of a call. Copy kinds are those of hipMemcpyKind: 0 HtoH, 1 HtoD, 2 DtoH, 3 DtoD.
struct stub_work {
  enum { STUB_KERNEL, STUB_COPY, STUB_FILL } kind;
  const char *name;     // of a kernel: its mangled name
  uint64_t function;    // its hipFunction_t
  uint64_t start, end;  // CLOCK_BOOTTIME in ns
  uint64_t bytes;
  int device, copy_kind;
  uint64_t queue;
  int in_graph;         // it is part of a graph launch
};

struct stub_said;

// A listener: a tracing library. Each member may be NULL. The call's number of a listener's own choice comes back with its exit
// and its work, which is reported between enter and exit.
struct stub_listener {
  uint64_t (*enter)(const struct stub_call *call);
  void (*exit)(const struct stub_call *call, uint64_t number);
  void (*work)(const struct stub_work *work, uint64_t number);
  void (*code_loaded)(const void *image, size_t size, uint64_t module);    // before the first launch of it
  void (*kernel_loaded)(uint64_t module, uint64_t function, const char *name);
  void (*code_unloaded)(uint64_t module);
  void (*said)(const struct stub_said *said);                              // of a replay (replay.h); nothing else is reported in one
  void (*initialised)(void);                                               // HIP starts: API tables are handed out
};

// Of the fake libamdhip64. A second listener replaces none: all hear everything. Returns whether HIP has started already.
int stub_listen(const struct stub_listener *listener);
typedef int stub_listen_fn(const struct stub_listener *);
// Of the fake librocprofiler-sdk: the fake libamdhip64 calls it when it starts, as the real one passes on its API tables.
void stub_hip_starts(stub_listen_fn *listen);
// Of the fake libamdhip64: the name of the kernel behind a host function, as hipcc's code registers it.
void stub_register_host_function(const void *function, const char *name);

// How long the calling thread's next kernel, copy or fill takes; 1000 ns unless it says so.
void stub_next_takes(uint64_t nanoseconds);

// common.c: PROTON_STUB_RESULTS has the results of functions ("hipGraphLaunch=1,roctracer_open_pool=-5,rocprofiler_*=16").
int stub_result(const char *function);
uint64_t stub_number(const char *variable, uint64_t otherwise);
// PROTON_STUB_SCRIPT has orders for the tracing libraries, one per line or separated by semicolons. stub_order finds the order that begins
// with a verb and returns what follows it, NULL if there is none; stub_named says whether the words of an order have that name.
const char *stub_order(const char *verb);
int stub_named(const char *words, const char *name);

#define STUB_EXPORT __attribute__((visibility("default")))

#endif
