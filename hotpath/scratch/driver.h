// The driver's functions that this room calls. The program has loaded the driver: it launches kernels.
#ifndef GOPROTON_SCRATCH_DRIVER_H
#define GOPROTON_SCRATCH_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum { CU_OK = 0, CU_NOT_READY = 600 };

// The driver's description of a copy of rows.
struct scratch_rows {
  size_t from_x, from_y;
  uint32_t from_type;
  const void *from_host;
  uint64_t from;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  uint32_t to_type;
  void *to_host;
  uint64_t to;
  void *to_array;
  size_t to_pitch;
  size_t width, height;
};
enum { ROWS_HOST = 1, ROWS_DEVICE = 2 };

// X(function, its symbol, parameters)
#define SCRATCH_DRIVER(X)                                                                       \
  X(current_context, "cuCtxGetCurrent", (void **context))                                       \
  X(use_context, "cuCtxSetCurrent", (void *context))                                            \
  X(current_device, "cuCtxGetDevice", (int *device))                                            \
  X(primary_context, "cuDevicePrimaryCtxRetain", (void **context, int device))                  \
  X(allocate, "cuMemAlloc_v2", (uint64_t *memory, size_t bytes))                                \
  X(release, "cuMemFree_v2", (uint64_t memory))                                                 \
  X(host_allocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))             \
  X(host_release, "cuMemFreeHost", (void *memory))                                              \
  X(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, uint64_t from, size_t bytes, void *stream))    \
  X(copy_rows, "cuMemcpy2DAsync_v2", (const struct scratch_rows *rows, void *stream))              \
  X(fill, "cuMemsetD8Async", (uint64_t memory, unsigned char value, size_t bytes, void *stream)) \
  X(fill_rows, "cuMemsetD2D32Async", (uint64_t memory, size_t pitch, unsigned value, size_t words, size_t rows, void *stream)) \
  X(event_create, "cuEventCreate", (void **event, unsigned flags))                              \
  X(event_record, "cuEventRecord", (void *event, void *stream))                                 \
  X(event_query, "cuEventQuery", (void *event))                                                 \
  X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                           \
  X(stream_wait, "cuStreamSynchronize", (void *stream))                                         \
  X(is_capturing, "cuStreamIsCapturing", (void *stream, int *status))                           \
  X(capture_info, "cuStreamGetCaptureInfo", (void *stream, int *status, unsigned long long *id)) \
  X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                             \
  X(host_call, "cuLaunchHostFunc", (void *stream, void (*call)(void *), void *data))

// The same for functions that older drivers lack: NULL there.
#define SCRATCH_DRIVER_NEWER(X)                                                                                                          \
  X(pointer_fact, "cuPointerGetAttribute", (void *value, int fact, uint64_t memory))                                                     \
  X(capture_graph, "cuStreamGetCaptureInfo_v2", (void *stream, int *status, unsigned long long *id, void **graph, void *from, size_t *n)) \
  X(object_create, "cuUserObjectCreate", (void **object, void *data, void (*ends)(void *), unsigned references, unsigned flags))         \
  X(graph_keeps, "cuGraphRetainUserObject", (void *graph, void *object, unsigned references, unsigned flags))

struct scratch_driver {
#define X(name, symbol, parameters) uint32_t (*name) parameters;
  SCRATCH_DRIVER(X)
  SCRATCH_DRIVER_NEWER(X)
#undef X
};
extern struct scratch_driver cu;

// Finds the driver that the program has loaded; 0 if there is none, or if it lacks a function.
int scratch_driver_ready(void);

// Calls of our own, which no session records. While a stream is captured, calls such as an allocation fail and invalidate the
// capture, on any thread that has not said that its calls have nothing to do with it.
struct scratch_apart { int mode, own; };
struct scratch_apart scratch_apart_begin(void);
void scratch_apart_end(struct scratch_apart before);

#endif
