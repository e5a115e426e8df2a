// The C of the cupti room: the loaded library, the callbacks that run on application threads, and the
// decoder that runs on Go's drainer.
#ifndef GOPROTON_CUPTI_RUNTIME_H
#define GOPROTON_CUPTI_RUNTIME_H

#include "../internal/hotpath/hotpath.h"
#include "abi.h"

extern struct cupti_table cupti;
extern struct cuda_table cuda;

// ---- load.c: both return NULL on success, else dlerror's text or the missing symbol's name ----
const char *cupti_load(const char *path, int *missing_symbol);
const char *cuda_load(int *missing_symbol);
// cuda_is_loaded tells whether the process itself has mapped the driver's library.
int cuda_is_loaded(void);

// ---- callback.c ----
void cupti_use_hotpath(const struct hp_api *api);
void cupti_on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
// cupti_subscribe has CUPTI call cupti_on_callback, or what stands before it, and returns the result code; on refusal
// the holder's name, if it is known, too.
uint32_t cupti_subscribe(cupti_callback_fn callback, char *holder, size_t holder_size);
uint32_t cupti_register_buffers(void);
// cupti_listen enables the callbacks we need, or disables what costs anything; returns the first error.
uint32_t cupti_listen(int on, int nvtx);
// cupti_listen_work does the same for calls that copy or fill memory, and for those that wait.
uint32_t cupti_listen_work(int copies, int waits);
// cupti_listen_code enables what shows modules and functions, for good.
uint32_t cupti_listen_code(void);
// The name of a driver function by its callback id, "" if it is none of ours.
const char *cupti_call_name(uint32_t cbid);
uint32_t cupti_unsubscribe(void);
uint64_t cupti_graphs_seen(void);

// ---- decode.c ----
struct cupti_activity {
  uint64_t start, end;
  const char *name; // of a kernel
  uint64_t graph_node, bytes;
  uint32_t correlation, device, context, stream, graph;
  uint16_t kind;   // enum activity_kind
  uint16_t detail; // enum cupti_copy_kind, enum cupti_sync_type
};
// In the order of record.Kind.
enum activity_kind { ACTIVITY_KERNEL, ACTIVITY_GRAPH, ACTIVITY_COPY, ACTIVITY_FILL, ACTIVITY_SYNC };
// cupti_decode fills `out` with up to `max` activities, continuing at *cursor (NULL at first). Fewer than max
// means that the buffer is done.
int cupti_decode(uint8_t *buffer, size_t valid, void **cursor, struct cupti_activity *out, int max);

// ---- calls that Go makes through the tables ----
uint32_t cupti_set_u8(uint32_t attribute, uint8_t value);
uint32_t cupti_set_size(uint32_t attribute, size_t value);
uint32_t cuda_synchronize(void *context);
// Set while this thread waits for the GPU on our own account: no part of the program.
extern __thread int cupti_own_call __attribute__((tls_model("initial-exec")));
// How far CUPTI's clock, which records are in, is ahead of the hot path's, in ns.
int64_t cupti_clock_ahead(void);

#endif
