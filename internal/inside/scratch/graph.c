// Launches in a stream that is being captured. Their memory is theirs for the life of the graph. Behind the kernel, the graph gets a
// copy into pinned memory, a fill that clears the headers, and a call on the host, which passes each replay on.
//
// Launches that one stream captures into one graph run one after another, so they share memory.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drain.h"
#include "driver.h"

#include "../../hotpath/hotpath.h"

enum { SHARED = 1024 };

static struct shared { uint64_t capture, stream, memory, bytes; int context; uint32_t host; } shared[SHARED]; // guarded by lock
static uint32_t count = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// captured is a launch in a graph, as the call on the host gets it. It stays for the life of the process: the end of a
// graph is not reported.
struct captured { struct scratch_launch launch; uint64_t stream; int context; uint32_t host; };

static uint64_t capture_of(uint64_t stream) {
  int status = 0;
  unsigned long long id = 0;
  return cu.capture_info((void *)(uintptr_t)stream, &status, &id) ? 0 : id;
}

static uint32_t make(int context, uint64_t bytes, uint64_t stream, uint64_t capture) {
  if (count == SHARED) return 0;
  uint32_t buffer = scratch_get(context, bytes);
  uint32_t host = buffer ? scratch_host_get(bytes, 1, 1) : 0;
  if (!host) {
    if (buffer) scratch_put(buffer);
    return 0;
  }
  shared[count] = (struct shared){capture, stream, scratch_buffers[buffer].memory, scratch_buffers[buffer].capacity, context, host};
  return count++;
}

// The host memory of a shared piece is as large as the first launch needed: a larger one gets its own.
uint32_t scratch_graph_take(int context, uint64_t bytes, uint64_t stream) {
  uint64_t capture = capture_of(stream);
  uint32_t found = 0;
  struct scratch_apart before = scratch_apart_begin();
  pthread_mutex_lock(&lock);
  for (uint32_t i = count; i-- > 1 && !found;)
    if (capture && shared[i].capture == capture && shared[i].stream == stream && shared[i].context == context && scratch_host_capacity(shared[i].host) >= bytes && shared[i].bytes >= bytes) found = i;
  if (!found) found = make(context, bytes, stream, capture);
  pthread_mutex_unlock(&lock);
  scratch_apart_end(before);
  return found;
}

uint64_t scratch_graph_memory(uint32_t number) { return shared[number].memory; }

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
  struct shared s = shared[number];
  void *stream = (void *)(uintptr_t)s.stream;
  struct captured *c = calloc(1, sizeof *c);
  if (!c) return scratch_driver_failed(2);
  *c = (struct captured){{k, 0, bytes, *place}, s.stream, s.context, s.host};
  int own = scratch_hp->own_work(1);
  uint32_t failed = cu.copy_out(scratch_host_memory(s.host), s.memory, bytes, stream);
  if (!failed) failed = cu.fill(s.memory, 0, bytes, stream);
  if (!failed) failed = cu.host_call(stream, replayed, c);
  scratch_hp->own_work(own);
  if (failed) scratch_driver_failed(failed);
}
