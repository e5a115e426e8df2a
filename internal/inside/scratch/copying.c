// The thread that copies what kernels have left. It waits for the GPU by asking: the program's threads do not wake it, which would be a
// system call in each launch.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drain.h"
#include "driver.h"

#include "../../hotpath/hotpath.h"

enum { PAUSE_MIN_US = 100, PAUSE_MAX_US = 4000, BUSY = 16 };

// ---- from launching threads: a stack, which is taken as a whole ----

static _Atomic uint32_t pushed;

void scratch_enqueue(uint32_t buffer) {
  uint32_t head = atomic_load_explicit(&pushed, memory_order_relaxed);
  do scratch_buffers[buffer].next = head;
  while (!atomic_compare_exchange_weak_explicit(&pushed, &head, buffer, memory_order_release, memory_order_relaxed));
}

// ---- to Go ----

static struct { struct scratch_done *list; size_t first, end, room; } done; // guarded by lock
static struct { uint8_t *slots; uint64_t bytes, room; } kept; // guarded by lock
static _Atomic int keeping; // the caller of last wants the last launch
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int room_for_one(void) {
  if (done.end < done.room) return 1;
  if (done.first) {
    memmove(done.list, done.list + done.first, (done.end - done.first) * sizeof *done.list);
    done.end -= done.first, done.first = 0;
    return 1;
  }
  size_t room = done.room ? 2 * done.room : 256;
  struct scratch_done *list = realloc(done.list, room * sizeof *list);
  if (!list) return 0;
  done.list = list, done.room = room;
  return 1;
}

static void keep(const struct scratch_done *d) {
  if (d->bytes > kept.room) {
    uint8_t *slots = realloc(kept.slots, d->bytes);
    if (!slots) return;
    kept.slots = slots, kept.room = d->bytes;
  }
  memcpy(kept.slots, d->slots, d->bytes);
  kept.bytes = d->bytes;
}

void scratch_finish(const struct scratch_buffer *b, uint32_t host, int replayed) {
  const struct scratch_kernel *k = b->kernel;
  struct scratch_done d = {
      .kernel = k->number, .blocks = (uint32_t)(b->bytes / k->slot), .device = (uint32_t)scratch_contexts[b->context].device,
      .stream = b->stream, .correlation = b->place.correlation, .set = b->place.set, .node = b->place.node, .pynode = b->place.pynode,
      .op = b->place.op, .replayed = (uint8_t)replayed, .slots = scratch_host_memory(host), .bytes = b->bytes, .host = host,
  };
  pthread_mutex_lock(&lock);
  int fits = room_for_one();
  if (fits) done.list[done.end++] = d;
  if (atomic_load(&keeping)) keep(&d);
  pthread_mutex_unlock(&lock);
  if (fits) return;
  scratch_count(&scratch.failed);
  scratch_recycle(host);
}

int scratch_next(struct scratch_done *out) {
  pthread_mutex_lock(&lock);
  int any = done.first < done.end;
  if (any) *out = done.list[done.first++];
  pthread_mutex_unlock(&lock);
  return any;
}

void *scratch_kept(uint64_t *bytes) {
  pthread_mutex_lock(&lock);
  void *copy = kept.bytes ? malloc(kept.bytes) : NULL;
  if (copy) memcpy(copy, kept.slots, kept.bytes), *bytes = kept.bytes;
  pthread_mutex_unlock(&lock);
  return copy;
}

void scratch_keep_last(int on) {
  pthread_mutex_lock(&lock);
  kept.bytes = 0;
  pthread_mutex_unlock(&lock);
  atomic_store(&keeping, on);
}

// ---- the thread's own list, in order of launch ----

static struct { uint32_t *list; size_t n, room; } pending;

static void wait_for(uint32_t buffer) {
  if (pending.n == pending.room) {
    size_t room = pending.room ? 2 * pending.room : 256;
    uint32_t *list = realloc(pending.list, room * sizeof *list);
    if (!list) { // the memory is not used again, since its kernel may run
      scratch_count(&scratch.failed);
      scratch_drop(buffer);
      return;
    }
    pending.list = list, pending.room = room;
  }
  pending.list[pending.n++] = buffer;
}

static void take_pushed(void) {
  uint32_t b = atomic_exchange_explicit(&pushed, 0, memory_order_acquire), oldest_first = 0;
  while (b) {
    uint32_t next = scratch_buffers[b].next;
    scratch_buffers[b].next = oldest_first;
    oldest_first = b, b = next;
  }
  while (oldest_first) {
    uint32_t next = scratch_buffers[oldest_first].next;
    wait_for(oldest_first);
    oldest_first = next;
  }
}

static void finished(void) { atomic_fetch_add_explicit(&scratch.finished, 1, memory_order_release); }

void scratch_driver_failed(uint32_t error) {
  uint32_t none = 0;
  scratch_count(&scratch.failed);
  atomic_compare_exchange_strong(&scratch.error, &none, error);
}

static void give_up(uint32_t buffer, uint32_t error) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  scratch_driver_failed(error);
  if (b->host) scratch_recycle(b->host);
  if (b->kernel) finished();
  scratch_drop(buffer);
}

// The header of a slot is ten words and one for each warp. Blocks that never start leave none: the next kernel's must find none there.
static uint32_t start_copy(struct scratch_buffer *b, uint32_t host) {
  void *stream = scratch_contexts[b->context].stream;
  uint32_t failed = cu.copy_out(scratch_host_memory(host), b->memory, b->bytes, stream);
  if (!failed) failed = cu.fill_rows(b->memory, b->kernel->slot, 0, 10 + b->kernel->warps, b->bytes / b->kernel->slot, stream);
  if (!failed) failed = cu.event_record(b->event, stream);
  return failed;
}

enum step { STAYS, MOVES, LEAVES };

// step does what is due for one launch: its kernel has ended, or its copy.
static enum step step(uint32_t buffer) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  uint32_t state = cu.event_query(b->event);
  if (state == CU_NOT_READY) return STAYS;
  if (state) return give_up(buffer, state), LEAVES;
  if (b->kernel && !b->host) {
    uint32_t host = scratch_host_get(b->bytes, 1), failed;
    if (!host) return STAYS; // until Go has read others
    if ((failed = start_copy(b, host))) return scratch_recycle(host), give_up(buffer, failed), LEAVES;
    b->host = host;
    return MOVES;
  }
  if (b->kernel) {
    scratch_finish(b, b->host, 0);
    finished();
  }
  scratch_put(buffer);
  return LEAVES;
}

// round steps through all launches. Those of a stream end in order: one that has not ended stands for those behind it.
static int round_of_steps(void) {
  struct { uint64_t stream; uint16_t context; } busy[BUSY];
  int busies = 0, moved = 0;
  void *used = NULL;
  size_t left = 0;
  for (size_t i = 0; i < pending.n; i++) {
    uint32_t buffer = pending.list[i];
    struct scratch_buffer *b = &scratch_buffers[buffer];
    int waits = 0;
    for (int n = 0; n < busies && !b->host; n++) waits |= busy[n].stream == b->stream && busy[n].context == b->context;
    if (waits) {
      pending.list[left++] = buffer;
      continue;
    }
    void *context = scratch_contexts[b->context].handle;
    if (context != used) cu.use_context(context), used = context;
    enum step did = step(buffer);
    if (did != LEAVES) pending.list[left++] = buffer;
    if (did != STAYS) moved = 1;
    else if (!b->host && busies < BUSY) busy[busies].stream = b->stream, busy[busies++].context = b->context;
  }
  pending.n = left;
  return moved;
}

static void *copying(void *unused) {
  (void)unused;
  long pause = PAUSE_MAX_US;
  pthread_setname_np(pthread_self(), "proton-inside");
  scratch_hp->own_work(1);
  int apart = 0;
  for (;;) {
    take_pushed();
    if (pending.n && !apart) scratch_apart_begin(), apart = 1; // the driver is loaded now
    int moved = pending.n && round_of_steps();
    pause = moved ? PAUSE_MIN_US : pause * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : pause * 2;
    struct timespec t = {0, pause * 1000};
    nanosleep(&t, NULL);
  }
  return NULL;
}

int scratch_begin_copying(void) {
  static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
  static int running;
  pthread_mutex_lock(&starting);
  pthread_t thread;
  if (!running && !pthread_create(&thread, NULL, copying, NULL)) running = 1, pthread_detach(thread);
  pthread_mutex_unlock(&starting);
  return running;
}
