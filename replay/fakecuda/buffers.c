// The fake libcupti's activity records: their sizes by version, per-thread buffers, delivery, drops.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sizes.h"
#include "tracer.h"

// Held for reading while a record is written, so that the callbacks stay registered meanwhile.
static pthread_rwlock_t callbacks_lock = PTHREAD_RWLOCK_INITIALIZER;
static cupti_request_fn request;   // guarded by callbacks_lock
static cupti_complete_fn complete; // the same
static _Atomic uint64_t dropped, delivered;

// One for each thread that has written a record. They are not freed: a later flush may still need them.
struct buffer {
  pthread_mutex_t lock; // guards the rest: the owner fills, a flush empties
  uint8_t *bytes;
  size_t size, used, records, max_records;
  struct buffer *next;
};
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *buffers; // guarded by buffers_lock
static _Thread_local struct buffer *mine;

// ---- sizes ----

enum { KINDS = 64 };
static _Atomic uint32_t learnt[KINDS]; // from a capture; 0: unknown

uint32_t record_size(uint32_t kind) {
  uint32_t known = kind < KINDS ? atomic_load(&learnt[kind]) : 0, version = stub_version();
  if (known) return known;
  switch (kind) {
  case ACT_KERNEL:
  case ACT_CONCURRENT_KERNEL: return kernel_record_size(version);
  case ACT_GRAPH_TRACE: return graph_record_size(version);
  case ACT_MEMCPY: return memcpy_record_size(version);
  case ACT_MEMSET: return memset_record_size(version);
  case ACT_SYNCHRONIZATION: return sync_record_size(version);
  }
  return 0;
}

void learn_size(uint32_t kind, uint32_t size) {
  if (kind < KINDS) atomic_store(&learnt[kind], size);
}

// ---- filling and emptying ----

static struct buffer *my_buffer(void) {
  if (mine) return mine;
  struct buffer *b = calloc(1, sizeof *b);
  if (!b) abort();
  pthread_mutex_init(&b->lock, NULL);
  pthread_mutex_lock(&buffers_lock);
  b->next = buffers;
  buffers = b;
  pthread_mutex_unlock(&buffers_lock);
  return mine = b;
}

static void return_buffer(struct buffer *b) {
  if (!b->bytes) return;
  atomic_fetch_add(&delivered, b->records);
  complete(NULL, 0, b->bytes, b->size, b->used);
  b->bytes = NULL, b->size = b->used = b->records = 0;
}

static int make_room(struct buffer *b, uint32_t size) {
  int full = b->used + size > b->size || (b->max_records && b->records == b->max_records);
  if (b->bytes && !full) return 1;
  return_buffer(b);
  request(&b->bytes, &b->size, &b->max_records);
  if (b->bytes && b->size >= size) return 1;
  b->bytes = NULL, b->size = 0;
  return 0;
}

static void add(struct buffer *b, const void *record, uint32_t size) {
  pthread_mutex_lock(&b->lock);
  if (make_room(b, size)) {
    memcpy(b->bytes + b->used, record, size);
    b->used += size, b->records++;
  } else {
    atomic_fetch_add(&dropped, 1);
  }
  pthread_mutex_unlock(&b->lock);
}

// ---- records of work that is not done yet ----

struct pending { struct pending *next; struct buffer *in; uint64_t due; uint32_t size; uint64_t record[]; };
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER; // guards pending
static struct pending *pending, **pending_end = &pending;        // in the order of the launches

static uint64_t late_by(void) {
  static _Atomic uint64_t late = UINT64_MAX;
  if (atomic_load(&late) == UINT64_MAX) atomic_store(&late, stub_number("PROTON_STUB_LATE", 0) * 1000000);
  return atomic_load(&late);
}

// hangs reports whether kernels do not end at the moment; may_hang whether they ever do not.
static const char *may_hang(void) { return getenv("PROTON_STUB_HUNG"); }
static int hangs(void) { return may_hang() && !access(may_hang(), F_OK); }

static void put_off(const void *record, uint32_t size) {
  struct pending *p = malloc(sizeof *p + size);
  if (!p) abort();
  *p = (struct pending){.in = my_buffer(), .due = stub_cuda_now() + late_by(), .size = size};
  memcpy(p->record, record, size);
  pthread_mutex_lock(&pending_lock);
  *pending_end = p, pending_end = &p->next;
  pthread_mutex_unlock(&pending_lock);
}

// Adds the records that are due to the buffers of their threads. Called with callbacks_lock held for reading.
static void add_due(void) {
  if ((!late_by() && !may_hang()) || hangs()) return;
  pthread_mutex_lock(&pending_lock);
  for (struct pending *p; (p = pending) && p->due <= stub_cuda_now(); free(p)) {
    if (!(pending = p->next)) pending_end = &pending;
    if (request) add(p->in, p->record, p->size);
  }
  pthread_mutex_unlock(&pending_lock);
}

void emit(const void *record, uint32_t size) {
  pthread_rwlock_rdlock(&callbacks_lock);
  if (late_by() || may_hang()) put_off(record, size);
  else if (request) add(my_buffer(), record, size);
  add_due();
  pthread_rwlock_unlock(&callbacks_lock);
}

// While kernels hang, as CUPTI does: a buffer with a record that is not complete stays, unless it is forced out. Then that record has no
// times, and there is no other when the kernel has ended.
static int incomplete(const struct buffer *b) {
  int found = 0;
  pthread_mutex_lock(&pending_lock);
  for (struct pending *p = pending; p && hangs(); p = p->next) found |= p->in == b;
  pthread_mutex_unlock(&pending_lock);
  return found;
}

static void give_up_pending(void) {
  pthread_mutex_lock(&pending_lock);
  for (struct pending *p; hangs() && (p = pending); free(p)) {
    struct cupti_kernel_prefix r;
    if (!(pending = p->next)) pending_end = &pending;
    memcpy(&r, p->record, sizeof r);
    r.start = r.end = 0;
    if (r.kind == ACT_CONCURRENT_KERNEL || r.kind == ACT_KERNEL) memcpy(p->record, &r, sizeof r);
    add(p->in, p->record, p->size);
  }
  pthread_mutex_unlock(&pending_lock);
}

static void return_buffers(int forced) {
  if (forced) give_up_pending();
  pthread_mutex_lock(&buffers_lock);
  for (struct buffer *b = buffers; b; b = b->next) {
    if (!forced && incomplete(b)) continue;
    pthread_mutex_lock(&b->lock);
    return_buffer(b);
    pthread_mutex_unlock(&b->lock);
  }
  pthread_mutex_unlock(&buffers_lock);
}

void flush_buffers(void) { return_buffers(1); }

// forget_callbacks first returns all buffers to the profiler: none may be left that callbacks were called for.
void forget_callbacks(void) {
  pthread_rwlock_wrlock(&callbacks_lock);
  flush_buffers();
  request = NULL, complete = NULL;
  pthread_rwlock_unlock(&callbacks_lock);
}

// ---- records of the fake driver ----

static void emit_kind(uint32_t kind, const struct stub_kernel *k) {
  uint64_t bytes[32] = {0};
  struct cupti_kernel_prefix r = {
      .kind = kind, .start = k->start, .end = k->end, .device_id = k->device, .context_id = k->context,
      .stream_id = k->stream, .grid = {1, 1, 1}, .block = {128, 1, 1}, .registers_per_thread = 40, .static_shared = 1024, .dynamic_shared = 512,
      .correlation_id = k->correlation, .name = k->name, .graph_node_id = k->graph_node, .graph_id = k->graph, .grid_id = (int64_t)k->number};
  memcpy(bytes, &r, sizeof r);
  emit(bytes, record_size(kind));
}

void emit_kernel(const struct stub_kernel *k) {
  if (replaying()) return;
  struct stub_kernel counted = *k;
  count_kernel(&counted);
  count_lines(k);
  if (kind_wanted(ACT_CONCURRENT_KERNEL)) emit_kind(ACT_CONCURRENT_KERNEL, &counted);
  else if (kind_wanted(ACT_KERNEL)) emit_kind(ACT_KERNEL, &counted);
}

int emit_graph(const struct stub_kernel *k) {
  if (!kind_wanted(ACT_GRAPH_TRACE) || replaying()) return 0;
  uint64_t bytes[7] = {0};
  struct cupti_graph_trace r = {.kind = ACT_GRAPH_TRACE, .correlation_id = k->correlation, .start = k->start, .end = k->end,
                                .device_id = k->device, .graph_id = k->graph, .context_id = k->context, .stream_id = k->stream};
  memcpy(bytes, &r, sizeof r);
  emit(bytes, record_size(ACT_GRAPH_TRACE));
  return 1;
}

void emit_work(const struct stub_work *w) {
  if (!kind_wanted(w->kind) || replaying()) return;
  uint64_t bytes[32] = {0};
  if (w->kind == ACT_MEMCPY) {
    struct cupti_memcpy_prefix r = {.kind = w->kind, .copy_kind = (uint8_t)w->detail, .bytes = w->bytes, .start = w->start, .end = w->end,
                                    .context_id = w->context, .stream_id = w->stream, .correlation_id = w->correlation};
    memcpy(bytes, &r, sizeof r);
  } else if (w->kind == ACT_MEMSET) {
    struct cupti_memset_prefix r = {.kind = w->kind, .bytes = w->bytes, .start = w->start, .end = w->end,
                                    .context_id = w->context, .stream_id = w->stream, .correlation_id = w->correlation};
    memcpy(bytes, &r, sizeof r);
  } else { // ACT_SYNCHRONIZATION
    struct cupti_sync_prefix r = {.kind = w->kind, .type = w->detail, .start = w->start, .end = w->end,
                                  .context_id = w->context, .stream_id = w->stream, .correlation_id = w->correlation};
    memcpy(bytes, &r, sizeof r);
  }
  emit(bytes, record_size(w->kind));
}

void stub_emit(const struct stub_kernel *k) { emit_kernel(k); }
void stub_lose(uint64_t records) { atomic_fetch_add(&dropped, records); }
uint64_t stub_delivered(void) { return atomic_load(&delivered); }

// ---- CUPTI's functions ----

STUB_EXPORT uint32_t cuptiActivityRegisterCallbacks(cupti_request_fn r, cupti_complete_fn c) {
  if (stub_refuses_unnamed()) return RC_MULTIPLE_SUBSCRIBERS;
  uint32_t result = stub_result("ActivityRegisterCallbacks");
  if (result) return result;
  if (!r || !c) return RC_INVALID_PARAMETER;
  pthread_rwlock_wrlock(&callbacks_lock);
  request = r, complete = c;
  pthread_rwlock_unlock(&callbacks_lock);
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiActivityFlushAll(uint32_t flag) {
  pthread_rwlock_rdlock(&callbacks_lock);
  add_due();
  pthread_rwlock_unlock(&callbacks_lock);
  return_buffers(flag == FLUSH_FORCED);
  return stub_result("ActivityFlushAll");
}

STUB_EXPORT uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
  if (!buffer || !record) return RC_INVALID_PARAMETER;
  uint8_t *at = *record ? *record : buffer;
  uint32_t kind;
  if (*record) {
    memcpy(&kind, at, sizeof kind);
    at += record_size(kind);
  }
  if (at + sizeof kind > buffer + valid) return RC_MAX_LIMIT_REACHED;
  memcpy(&kind, at, sizeof kind);
  uint32_t size = record_size(kind);
  if (!size) return RC_INVALID_KIND;
  if (at + size > buffer + valid) return RC_MAX_LIMIT_REACHED;
  *record = at;
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream_id, size_t *out) {
  (void)context, (void)stream_id;
  *out = atomic_exchange(&dropped, 0);
  return RC_OK;
}
