// Records, on the library's thread. They are valid only while the callback lasts, and come in any order.
#include "sdk.h"

#include <pthread.h>

_Atomic uint64_t sdk_arrived;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
// Kernels whose names have not come: the library may register a symbol after the first record of its kernel.
enum { NAMELESS = 1024 };
static struct { struct hp_activity activity; uint64_t kernel, dispatch, agent; } nameless[NAMELESS];
static unsigned waiting;

// Samples name their dispatch. The kernels of a graph's launch share one correlation, which then does not say which of them it was.
static void pass_on(struct hp_activity a, uint64_t dispatch, uint64_t agent) {
  int of_graph = room_record(a);
  if (!sdk_sampling_on()) return;
  uint64_t nanos = a.end > a.start && sdk_samples_gpu(agent) ? a.end - a.start : 0;
  sdk_dispatch_seen(dispatch, of_graph ? 0 : a.correlation, nanos);
}

// Passes on those that have a name by now; with all, the others too.
static void name_waiting(int all) {
  pthread_mutex_lock(&lock);
  unsigned left = 0;
  for (unsigned i = 0; i < waiting; i++) {
    struct hp_activity a = nameless[i].activity;
    if (!(a.name = sdk_kernel_name(nameless[i].kernel)) && !all) nameless[left++] = nameless[i];
    else a.name = a.name ? a.name : room_kernel_name(NULL), pass_on(a, nameless[i].dispatch, nameless[i].agent);
  }
  waiting = left;
  pthread_mutex_unlock(&lock);
}

static int hold(const struct hp_activity *a, const struct sdk_dispatch *r) {
  pthread_mutex_lock(&lock);
  int held = waiting < NAMELESS;
  if (held) nameless[waiting].activity = *a, nameless[waiting].dispatch = r->info.number, nameless[waiting].agent = r->info.agent, nameless[waiting++].kernel = r->info.kernel;
  pthread_mutex_unlock(&lock);
  return held;
}

void sdk_finish_records(int all) {
  name_waiting(all);
  room_flush();
}

static uint64_t correlation(uint64_t internal, uint64_t external) { return external ? external : internal; }

static void dispatch(const struct sdk_dispatch *r) {
  struct hp_activity a = {.kind = HP_KERNEL, .correlation = correlation(r->internal, r->external), .start = r->start, .end = r->end,
                          .device = sdk_ordinal(r->info.agent), .name = sdk_kernel_name(r->info.kernel)};
  a.context = a.device + 1u;
  if (!a.name && hold(&a, r)) return;
  if (!a.name) a.name = room_kernel_name(NULL);
  pass_on(a, r->info.number, r->info.agent);
}

static enum room_copy direction(int32_t operation) {
  static const enum room_copy of[] = {[SDK_HTOH] = ROOM_HTOH, [SDK_HTOD] = ROOM_HTOD, [SDK_DTOH] = ROOM_DTOH, [SDK_DTOD] = ROOM_DTOD};
  return operation >= SDK_HTOH && operation <= SDK_DTOD ? of[operation] : ROOM_COPY;
}

static void copied(const struct sdk_copied *r) {
  uint64_t on = sdk_is_gpu(r->to_agent) ? r->to_agent : r->from_agent;
  struct hp_activity a = {.kind = HP_MEMCPY, .correlation = correlation(r->internal, r->external), .start = r->start, .end = r->end,
                          .device = sdk_ordinal(on), .bytes = r->bytes, .name = room_copy_name(direction(r->operation))};
  a.context = a.device + 1u;
  room_record(a);
}

static void take(const struct sdk_header *h) {
  const struct sdk_dispatch *d = h->payload;
  const struct sdk_copied *c = h->payload;
  if (h->category != SDK_TRACING || !h->payload) return room_drop(1);
  if (h->kind == SDK_DISPATCHES) atomic_fetch_add(&sdk_arrived, 1);
  if (!sdk_usable()) return;
  if (h->kind == SDK_DISPATCHES && d->size >= sizeof *d) {
    if (d->external != SDK_UNHEARD) dispatch(d);
    else if (sdk_sampling_on()) sdk_dispatch_seen(d->info.number, SDK_UNHEARD, 0);
  } else if (h->kind == SDK_COPIES && c->size >= sizeof *c) {
    if (c->external != SDK_UNHEARD) copied(c);
  } else {
    room_drop(1);
  }
}

void sdk_take_records(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *drops_so_far, uint64_t drops) {
  uint64_t *before = drops_so_far; // the library's number counts from the buffer's creation
  if (drops > *before) {
    room_drop(drops - *before);
    atomic_fetch_add(&sdk_arrived, drops - *before);
    *before = drops;
  }
  name_waiting(0);
  for (size_t i = 0; i < count; i++)
    if (records[i]) take(records[i]);
  room_flush();
}
