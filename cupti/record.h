// Records what CUPTI reports (PROTON_RECORD): functions that replace entries of CUPTI's table, write events with the
// recorder's functions and call the originals.
#ifndef GOPROTON_CUPTI_RECORD_H
#define GOPROTON_CUPTI_RECORD_H

#include <string.h>

#include "abi_activity.h"
#include "abi_library.h"
#include "capture.h"
#include "recorder.h"

// The recorder's functions; NULL: nothing is recorded.
extern const struct recorder_api *recorder;
void record_use(const struct recorder_api *api);

static inline int record_on(void) { return recorder && recorder->on(); }
static inline void event_number(struct event *e, uint64_t value) { recorder->number(e, value); }
static inline void event_bytes(struct event *e, const void *bytes, size_t length) { recorder->bytes(e, bytes, length); }
static inline void event_write(struct event *e, enum capture_event type) { recorder->write(e, type); }
static inline uint64_t record_cstring(const char *text) { return text ? recorder->string(text, strlen(text)) : 0; }
static inline int record_is_new(uint64_t key, uint64_t value) { return recorder->is_new(key, value); }
static inline void record_python_path(void) { recorder->python_path(); }

// record_wrap_cupti replaces the functions of the table that are recorded. Call it once, after the table is complete and
// before cupti_subscribe. cuda may be NULL.
void record_wrap_cupti(struct cupti_table *table, const struct cuda_table *cuda, const char *library);
// record_gpus records what GPUs there are, once. It calls the driver: on a thread of the profiler's own. A flush of CUPTI's records does it.
void record_gpus(void);

#endif
