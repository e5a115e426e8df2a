// The C of the cupti room: the loaded library, the callbacks that run on application threads, and the
// decoder that runs on Go's drainer.
#ifndef GOPROTON_CUPTI_RUNTIME_H
#define GOPROTON_CUPTI_RUNTIME_H

#include "../hotpath/vendor.h"
#include "abi_activity.h"
#include "abi_callback.h"
#include "abi_driver.h"
#include "abi_library.h"

#include <stdatomic.h>

extern struct cupti_table cupti;
extern struct cuda_table cuda;

// ---- load.c: cupti_load and cuda_load return NULL on success, else dlerror's text or the missing symbol's name ----
const char *cupti_load(const char *path, int *missing_symbol);
const char *cuda_load(int *missing_symbol);
// cuda_is_loaded reports whether the program has loaded the driver's library.
int cuda_is_loaded(void);
void *cupti_library(void); // the loaded libcupti

// ---- callback.c ----
void cupti_use_hotpath(const struct hp_vendor_api *api);
void cupti_on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
// cupti_subscribe subscribes a callback and returns CUPTI's result code. If another subscriber exists, holder receives its
// name, or "" where CUPTI does not report it.
// share: next to others, see shared.h.
uint32_t cupti_subscribe(cupti_callback_fn callback, char *holder, size_t holder_size, int share);
uint32_t cupti_register_buffers(void);
// cupti_listen enables the callbacks of a session, or disables those that cost time; it returns the first error. With keep_launches
// those of launches stay enabled, for the gate of sampling and of counters.
uint32_t cupti_listen(int on, int nvtx, int keep_launches);
extern atomic_int cupti_listening; // what it was last asked for
// cupti_watch has NVTX's ranges reported, from now on as cupti_listen has, and the calls that start and stop profilers, for as long as it is
// asked to.
uint32_t cupti_watch(int ranges, int profilers);
// cupti_mark makes a call of the driver and returns its correlation id: calls of the program that began before have lower ids, later ones
// greater. 0: CUPTI did not report it, as inside of a callback.
uint64_t cupti_mark(void);
// cupti_listen_work does the same for calls that copy or fill memory, and for those that wait.
uint32_t cupti_listen_work(int copies, int waits);
// cupti_listen_code enables the callbacks that report modules, functions and the ends of contexts. They stay enabled.
uint32_t cupti_listen_code(void);
// cupti_call_name names a driver function by its callback id, "" for functions that cupti_listen and cupti_listen_work do
// not enable.
const char *cupti_call_name(uint32_t cbid);
uint32_t cupti_unsubscribe(void);
// cupti_leave_at unsubscribes and finalizes CUPTI, where a call of the driver returns.
uint32_t cupti_leave_at(const struct cupti_callback_data *d);
// cupti_correlation_base is added to CUPTI's correlation ids.
uint64_t cupti_correlation_base(void);
void cupti_correlation_from(uint64_t base);
uint64_t cupti_graphs_seen(void);
int cupti_ranges_seen(void);

// ---- callback_metered.c ----
enum cupti_turn { CUPTI_NONE, CUPTI_LEAVE, CUPTI_LEAVES, CUPTI_REFUSED, CUPTI_UNSUBSCRIBED, CUPTI_LEFT };
// cupti_leave asks the next thread that launches to leave CUPTI; in_company: also if other threads launch. cupti_turn says what became of it,
// and how long the thread took; cupti_stay takes the question back, and returns 0 if it was answered.
void cupti_leave(int in_company);
int cupti_turn(uint64_t *nanos);
int cupti_stay(void);
// cupti_listen_launches has launches reported, or not any more.
uint32_t cupti_listen_launches(int on);

// ---- decode.c: what Go's drainer calls ----
void cupti_decode_with(const struct hp_vendor_api *api);
// cupti_read is the hp_activity_reader of buffers that CUPTI filled.
int cupti_read(uint8_t *buffer, size_t valid, void **cursor, struct hp_activity *out, int max);

// ---- driver.c ----
// cupti_vendor answers from the driver that the program has loaded.
extern const struct hp_vendor cupti_vendor;

// ---- calls that Go makes through the tables ----
uint32_t cupti_set_u8(uint32_t attribute, uint8_t value);
uint32_t cupti_set_size(uint32_t attribute, size_t value);
uint32_t cuda_synchronize(void *context);
// Set while this thread calls the driver for the profiler: the program has no part in the call.
extern __thread int cupti_own_call __attribute__((tls_model("initial-exec")));
// cupti_clock_ahead measures how far CUPTI's clock, from which records have their times, is ahead of the hot path's, in ns.
int64_t cupti_clock_ahead(void);

#endif
