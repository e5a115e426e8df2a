// Records what AMD's libraries report (PROTON_RECORD): functions that replace entries of a library's table, write events with the
// recorder's functions and call the originals.
#ifndef GOPROTON_ROCTRACER_RECORD_H
#define GOPROTON_ROCTRACER_RECORD_H

#include <string.h>

#include "capture.h"
#include "recorder.h"

// The recorder's functions; NULL: nothing is recorded.
extern const struct recorder_api *room_recorder;
// Before the provider opens its library. backend is the name of the one that the session has.
void room_record_with(const struct recorder_api *api, const char *backend);

static inline int recording(void) { return room_recorder && room_recorder->on(); }
static inline void put(struct event *e, uint64_t value) { room_recorder->number(e, value); }
static inline uint64_t text_number(const char *text) { return text ? room_recorder->string(text, strlen(text)) : 0; }

// ---- record.c: what both providers record ----
// The library that reports, with its version as the room counts it.
void record_library(uint32_t version, const char *path);
// Replaces functions of the table hip, once it is filled.
void record_driver(void);
// The GPUs, on a thread of the profiler.
void record_devices(void);
// A node of the kernel driver's topology, for records that name it; of rocprofiler-sdk also the agent.
struct record_node { uint64_t number, gpu, domain, location, agent, uuid, simds; const char *chip; };
void record_node(const struct record_node *node);
// A call, after the room has seen it. Calls of the room itself are left out.
void record_call(const struct hip_call *call, int exited, uint64_t correlation, struct hip_arguments a, int result);

// Buffers: record_buffer_begins, then each record, then record_buffer_ends. drops: how many records the library has lost so far.
struct record_work {
  uint64_t size, category, kind, operation, correlation, external, thread, begin, end, device, from, queue, bytes, name, kernel;
  enum capture_work work;
};
void record_buffer_begins(struct event *e, size_t count, uint64_t drops);
void record_work(struct event *e, const struct record_work *w);
void record_buffer_ends(struct event *e);

// A range that the program begins (operation 1, with a message) or ends (2), and the library with which it does.
void record_range(uint64_t operation, const char *message, enum capture_ranges library);

// ---- record_legacy.c ----
struct roctracer_table;
void record_legacy(struct roctracer_table *table);
// ---- record_sdk.c ----
struct sdk_table;
void record_sdk(struct sdk_table *table);
// ---- record_samples.c ----
void record_sdk_sampling(struct sdk_table *table);
int record_sdk_samples_wanted(void); // a GPU is sampled
// ---- record_counting.c ----
void record_sdk_counting(struct sdk_table *table);

#endif
