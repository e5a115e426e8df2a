// Launches in a stream that is being captured. Their memory is theirs for the life of the graph. Behind the kernel, the graph gets a
// copy into pinned memory, a fill that clears the headers, and a call on the host, which passes each replay on.
//
// Launches that one stream captures into one graph run one after another, so they share memory. The driver calls us when the graph
// and all that was instantiated from it are destroyed and have run; without CUDA 11.3 the memory stays.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drain.h"
#include "driver.h"

#include "../hotpath.h"

enum { SHARED = 1024 };

// captured is a launch in a graph, as the call on the host gets it.
struct captured {
  struct scratch_launch launch;
  uint64_t stream;
  int context;
  uint32_t host, generation; // generation: of the call path's number
  struct captured *next;
};

static struct shared {
  uint64_t capture, stream;
  int context;
  uint32_t buffer, host;
  struct captured *launches;
  uint32_t next; // in the list of those that are gone, or unused
} shared[SHARED]; // guarded by lock; 0 is none
static uint32_t made = 1, unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ---- the end of graphs ----

static _Atomic uint32_t gone;

// On a thread of the driver's, which may not call the driver.
static void graph_gone(void *piece) {
  uint32_t number = (uint32_t)(uintptr_t)piece, head = atomic_load(&gone);
  do shared[number].next = head;
  while (!atomic_compare_exchange_weak(&gone, &head, number));
}

// until_gone has graph_gone called when the graph that a stream is captured into is gone. If that fails, the memory stays.
static void until_gone(uint32_t number, uint64_t stream) {
  int status = 0;
  unsigned long long id = 0;
  void *graph = NULL, *object;
  if (!cu.capture_graph || !cu.object_create || !cu.graph_keeps) return;
  if (cu.capture_graph((void *)(uintptr_t)stream, &status, &id, &graph, NULL, NULL) || !graph) return;
  if (cu.object_create(&object, (void *)(uintptr_t)number, graph_gone, 1, 1 /* as the driver demands */)) return;
  cu.graph_keeps(graph, object, 1, 1 /* in our place */);
}

static void release(uint32_t number) {
  struct shared *s = &shared[number];
  for (struct captured *c = s->launches, *next; c; c = next) next = c->next, free(c);
  scratch_recycle(s->host);
  scratch_put(s->buffer); // each replay has cleared it
  *s = (struct shared){.next = unused};
  unused = number;
}

void scratch_graph_collect(void) {
  if (!atomic_load_explicit(&gone, memory_order_relaxed)) return;
  pthread_mutex_lock(&lock);
  for (uint32_t number = atomic_exchange(&gone, 0), next; number; number = next) next = shared[number].next, release(number);
  pthread_mutex_unlock(&lock);
}

// ---- launches ----

static uint64_t capture_of(uint64_t stream) {
  int status = 0;
  unsigned long long id = 0;
  return cu.capture_info((void *)(uintptr_t)stream, &status, &id) ? 0 : id;
}

static uint32_t number(void) {
  uint32_t n = unused;
  if (n) unused = shared[n].next;
  return n ? n : made < SHARED ? made++ : 0;
}

static uint32_t make(int context, uint64_t bytes, uint64_t stream, uint64_t capture) {
  uint32_t n = number(), buffer = n ? scratch_get(context, bytes) : 0, host = buffer ? scratch_host_get(bytes, 1, 1) : 0;
  if (!host) {
    if (buffer) scratch_put(buffer);
    if (n) shared[n].next = unused, unused = n;
    return 0;
  }
  shared[n] = (struct shared){capture, stream, context, buffer, host, NULL, 0};
  until_gone(n, stream);
  return n;
}

// The host memory of a shared piece is as large as the first launch needed: a larger one gets its own.
uint32_t scratch_graph_take(int context, uint64_t bytes, uint64_t stream) {
  uint64_t capture = capture_of(stream);
  uint32_t found = 0;
  struct scratch_apart before = scratch_apart_begin();
  pthread_mutex_lock(&lock);
  for (uint32_t i = made; i-- > 1 && !found;) {
    const struct shared *s = &shared[i];
    int same = capture && s->capture == capture && s->stream == stream && s->context == context;
    if (same && scratch_host_capacity(s->host) >= bytes && scratch_buffers[s->buffer].capacity >= bytes) found = i;
  }
  if (!found) found = make(context, bytes, stream, capture);
  pthread_mutex_unlock(&lock);
  scratch_apart_end(before);
  return found;
}

uint64_t scratch_graph_memory(uint32_t number) { return scratch_buffers[shared[number].buffer].memory; }

// copy_written copies what was written of slots: the headers, and of each unit's ring the part that they say.
static void copy_written(const struct scratch_launch *l, uint8_t *to, const uint8_t *from) {
  const struct scratch_kernel *k = l->kernel;
  uint32_t header = 40 + 4 * k->warps, units = (uint32_t)__builtin_popcountll(k->units);
  for (uint64_t at = 0; at < l->bytes; at += k->slot) {
    uint32_t size, count, unit = 0;
    memcpy(&size, from + at + 12, sizeof size);
    if (!units || size > k->slot - header) {
      memcpy(to + at, from + at, k->slot);
      continue;
    }
    memcpy(to + at, from + at, header);
    for (uint32_t w = 0; w < k->warps; w++) {
      if (!(k->units >> w & 1)) continue;
      uint32_t segment = size / units, ring = header + segment * unit++;
      memcpy(&count, from + at + 40 + 4 * w, sizeof count);
      memcpy(to + at + ring, from + at + ring, count > segment / 4 ? segment : 4 * count);
    }
  }
}

// A replay may come sooner than Go reads the one before, so its slots are copied once more.
static void replayed(void *data) {
  struct captured *c = data;
  struct scratch_launch launch = c->launch;
  if (!atomic_load(&scratch.recording)) return;
  uint32_t node, pynode;
  scratch_hp->leaf(&node, &pynode, &launch.place.set);
  if (!launch.place.set) return;
  if (c->generation != scratch_hp->generation()) { // the numbers may be other call paths' by now
    launch.place.node = launch.place.pynode = 0;
    launch.place.op = 0;
  }
  uint32_t host = scratch_host_get(launch.bytes, 0, 1);
  if (!host) {
    scratch_count(&scratch.replays);
    return;
  }
  copy_written(&launch, scratch_host_memory(host), scratch_host_memory(c->host));
  struct scratch_buffer on = {.context = (uint16_t)c->context, .stream = c->stream};
  scratch_finish(&on, &launch, host, 0, 1);
}

void scratch_graph_launched(uint32_t number, const struct scratch_kernel *k, const struct scratch_place *place, uint64_t bytes) {
  struct captured *c = calloc(1, sizeof *c);
  if (!c) return scratch_driver_failed(2);
  pthread_mutex_lock(&lock);
  struct shared *s = &shared[number];
  *c = (struct captured){{k, 0, bytes, *place, 0}, s->stream, s->context, s->host, scratch_hp->generation(), s->launches};
  s->launches = c;
  pthread_mutex_unlock(&lock);
  void *stream = (void *)(uintptr_t)c->stream;
  uint64_t memory = scratch_graph_memory(number);
  int own = scratch_hp->own_work(1);
  uint32_t failed = cu.copy_out(scratch_host_memory(c->host), memory, bytes, stream);
  if (!failed) failed = cu.fill(memory, 0, bytes, stream);
  if (!failed) failed = cu.host_call(stream, replayed, c);
  scratch_hp->own_work(own);
  if (failed) scratch_driver_failed(failed);
}
