// The fake libamdhip64 and what the fake tracing libraries (libroctracer64, librocprofiler-sdk) hear of it. The order of callbacks
// and records is the documented one; docs/amd.md says what of it has been seen with real libraries, and what has not.
#ifndef GOPROTON_ROCTRACER_STUB_H
#define GOPROTON_ROCTRACER_STUB_H

#include <stddef.h>
#include <stdint.h>

// A call of HIP, as the fake libamdhip64 reports it. arguments are in the order of the function's declaration, as 64-bit words.
struct stub_call {
  const char *name;
  uint64_t arguments[12];
  int count, result;
};

// What ran on the GPU because of a call.
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

// A listener: a tracing library. The call's number of a listener's own choice comes back with its exit and its work.
struct stub_listener {
  uint64_t (*enter)(const struct stub_call *call);
  void (*exit)(const struct stub_call *call, uint64_t number);
  void (*work)(const struct stub_work *work, uint64_t number);
  void (*code_loaded)(const void *image, size_t size, uint64_t module);    // before the first launch of it
  void (*kernel_loaded)(uint64_t module, uint64_t function, const char *name);
  void (*code_unloaded)(uint64_t module);
  void (*initialised)(void);                                               // HIP starts: API tables are handed out
};
// Of the fake libamdhip64. A second listener replaces none: both hear everything.
void stub_listen(const struct stub_listener *listener);

#endif
