// The thread that copies what kernels have left. It waits for the GPU by asking: the program's threads do not wake it, which would be a
// system call in each launch.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drain.h"
#include "driver.h"

#include "../hotpath.h"

// Copies come in bursts: one that is under way delays a program that waits for the whole GPU.
enum { PAUSE_MIN_US = 200, PAUSE_MAX_US = 5000, BUSY = 16, CLOSE_MS = 20, WANTED_MS = 100 };

static _Atomic uint64_t wanted_until; // in ms

uint64_t scratch_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void scratch_want(void) { atomic_store_explicit(&wanted_until, scratch_now_ms() + WANTED_MS, memory_order_relaxed); }

static int wanted(void) { return scratch_now_ms() < atomic_load_explicit(&wanted_until, memory_order_relaxed); }

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

void scratch_finish(const struct scratch_buffer *b, const struct scratch_launch *l, uint32_t host, uint64_t at, int replayed) {
  struct scratch_done d = {
      .kernel = l->kernel->number, .blocks = (uint32_t)(l->bytes / l->kernel->slot), .device = (uint32_t)scratch_contexts[b->context].device,
      .stream = b->stream, .correlation = l->place.correlation, .set = l->place.set, .node = l->place.node, .pynode = l->place.pynode,
      .op = l->place.op, .replayed = (uint8_t)replayed, .slots = scratch_host_memory(host) + at, .bytes = l->bytes, .host = host,
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

size_t scratch_ready(void) {
  pthread_mutex_lock(&lock);
  size_t n = done.end - done.first;
  pthread_mutex_unlock(&lock);
  return n;
}

void *scratch_kept(uint64_t *bytes) {
  pthread_mutex_lock(&lock);
  void *copy = kept.bytes ? malloc(kept.bytes) : NULL;
  if (copy) memcpy(copy, kept.slots, kept.bytes), *bytes = kept.bytes;
  pthread_mutex_unlock(&lock);
  return copy;
}

int scratch_keeps(void) { return atomic_load(&keeping); }

void scratch_keep_last(int on) {
  pthread_mutex_lock(&lock);
  kept.bytes = 0;
  pthread_mutex_unlock(&lock);
  atomic_store(&keeping, on);
}

// ---- the thread's own list, in order of launch ----

enum step { WAITING, HEADERS, COPYING, COPYING_LAST };

static struct { uint32_t *list; size_t n, room; } pending;

void scratch_lent(uint32_t buffer) {
  scratch_buffers[buffer].step = COPYING_LAST;
  scratch_enqueue(buffer);
}

static void wait_for(uint32_t buffer) {
  if (pending.n == pending.room) {
    size_t room = pending.room ? 2 * pending.room : 256;
    uint32_t *list = realloc(pending.list, room * sizeof *list);
    if (!list) return scratch_count(&scratch.failed); // its launches may be running: the memory is not used again
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

// ---- one buffer ----

void scratch_driver_failed(uint32_t error) {
  uint32_t none = 0;
  scratch_count(&scratch.failed);
  atomic_compare_exchange_strong(&scratch.error, &none, error);
}

static void finished(const struct scratch_launch *l) {
  atomic_fetch_add_explicit(&scratch.batches[l->batch].finished, 1, memory_order_release);
}

static uint32_t launches_of(struct scratch_buffer *b) { return b->lent ? b->reading : atomic_load_explicit(&b->launches, memory_order_acquire); }

// fail gives up all launches of a buffer, and its memory.
static void fail(uint32_t buffer, uint32_t error) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  for (uint32_t i = b->read; i < launches_of(b); i++) {
    scratch_driver_failed(error);
    finished(&b->launch[i]);
    if (b->host && i < b->reading) scratch_recycle(b->host);
  }
  scratch_drop(buffer);
}

static uint64_t first_byte(const struct scratch_buffer *b) { return b->launch[b->read].offset; }
static uint64_t end_of(const struct scratch_launch *l) { return l->offset + l->bytes; }
static uint64_t reading_bytes(const struct scratch_buffer *b) { return end_of(&b->launch[b->reading - 1]) - first_byte(b); }

static uint32_t copy_all(struct scratch_buffer *b) {
  uint64_t bytes = reading_bytes(b);
  atomic_fetch_add_explicit(&scratch.copied_bytes, bytes, memory_order_relaxed);
  return cu.copy_out(scratch_host_memory(b->host), b->memory + first_byte(b), bytes, scratch_contexts[b->context].stream);
}

// copy_rows copies so many bytes of each slot, from a place in it.
static uint32_t copy_rows(struct scratch_buffer *b, uint32_t at, uint32_t width) {
  uint32_t slot = b->launch[b->read].kernel->slot;
  struct scratch_rows rows = {
      .from_type = ROWS_DEVICE, .from = b->memory + first_byte(b) + at, .from_pitch = slot, .to_type = ROWS_HOST,
      .to_host = scratch_host_memory(b->host) + at, .to_pitch = slot, .width = width, .height = reading_bytes(b) / slot,
  };
  atomic_fetch_add_explicit(&scratch.copied_bytes, (uint64_t)width * rows.height, memory_order_relaxed);
  return cu.copy_rows(&rows, scratch_contexts[b->context].stream);
}

enum { HEADER = 40, SIZE_AT = 12 };
static uint32_t header_of(const struct scratch_kernel *k) { return HEADER + 4 * k->warps; }

static uint32_t word(const uint8_t *at) {
  uint32_t w;
  memcpy(&w, at, sizeof w);
  return w;
}

// copy_written copies what the headers, which are there, say was written: by unit, as many bytes as the block with most has. Of
// 1,024 slots, rows of 64 bytes for 4 units take 22 us, of 512 bytes 56 us, and all 8.5 MB 156 us (H200).
static uint32_t copy_written(struct scratch_buffer *b) {
  const struct scratch_kernel *k = b->launch[b->read].kernel;
  const uint8_t *slots = scratch_host_memory(b->host);
  uint32_t most[64] = {0}, size = 0, blocks = (uint32_t)(reading_bytes(b) / k->slot), header = header_of(k), units = (uint32_t)__builtin_popcountll(k->units);
  for (uint32_t i = 0; i < blocks; i++) {
    const uint8_t *slot = slots + (uint64_t)i * k->slot;
    if (word(slot) != 0xdeadbeef) continue;
    if (!size) size = word(slot + SIZE_AT);
    for (uint32_t w = 0; w < k->warps; w++) {
      uint32_t count = word(slot + HEADER + 4 * w);
      if (count > most[w]) most[w] = count;
    }
  }
  if (size > k->slot - header) return copy_all(b);
  uint32_t segment = size / units, widths[64], n = 0;
  uint64_t all = 0;
  for (uint32_t w = 0; w < k->warps; w++) {
    if (!(k->units >> w & 1)) continue;
    widths[n] = most[w] > segment / 4 ? segment : most[w] * 4;
    all += widths[n++];
  }
  if (all * 10 > (uint64_t)k->slot * 6) return copy_all(b);
  uint32_t failed = 0;
  for (uint32_t u = 0; u < units && !failed; u++)
    if (widths[u]) failed = copy_rows(b, header + u * segment, widths[u]);
  return failed;
}

// run_from is the end of the launches from one on, which slots of one layout follow without a gap.
static uint32_t run_from(const struct scratch_buffer *b, uint32_t first, uint32_t end) {
  const struct scratch_kernel *k = b->launch[first].kernel;
  uint32_t i = first + 1;
  for (; i < end; i++) {
    const struct scratch_kernel *other = b->launch[i].kernel;
    if (other->slot != k->slot || other->warps != k->warps || other->units != k->units || b->launch[i].offset != end_of(&b->launch[i - 1])) break;
  }
  return i;
}

static int has_rows(const struct scratch_kernel *k) { return k->units && k->warps <= 64 && header_of(k) < k->slot; }

// choose decides which launches to copy next: those of one layout, of which only a part may have been written, if they are large;
// else as many as are copied in no time. It reports whether to copy rows.
static int choose(struct scratch_buffer *b, uint32_t launches) {
  b->reading = run_from(b, b->read, launches);
  if (reading_bytes(b) > SHARED_BYTES / 4 && has_rows(b->launch[b->read].kernel) && !scratch_keeps()) return 1;
  while (b->reading < launches && end_of(&b->launch[b->reading]) - first_byte(b) <= SHARED_BYTES) b->reading++;
  return 0;
}

// Blocks that never start leave no header: the next kernel's must find none there. What is left of rings is none, because an entry
// does not begin with the mark of a header.
static uint32_t clear(struct scratch_buffer *b) {
  void *stream = scratch_contexts[b->context].stream;
  uint32_t n = atomic_load(&b->launches);
  const struct scratch_kernel *k = n ? b->launch[0].kernel : NULL;
  if (!n || b->used <= SHARED_BYTES / 4 || !has_rows(k) || b->launch[0].offset || run_from(b, 0, n) < n || end_of(&b->launch[n - 1]) != b->used)
    return cu.fill(b->memory, 0, b->used, stream);
  return cu.fill_rows(b->memory, k->slot, 0, header_of(k) / 4, b->used / k->slot, stream);
}

static uint32_t mark(struct scratch_buffer *b) { return cu.event_record(b->copied, scratch_contexts[b->context].stream); }

enum did { STAYS, WAITS, MOVES, LEAVES }; // waits: for its kernels

// is_closed closes a buffer that has been open for long. One that is busy is read up to the launch that is being made, if it is wanted.
static int is_closed(struct scratch_buffer *b, int now) {
  uint32_t state = atomic_load_explicit(&b->state, memory_order_acquire);
  if (state % SCRATCH_STATES == SCRATCH_OPEN && (now || scratch_now_ms() - b->since >= CLOSE_MS))
    atomic_compare_exchange_strong(&b->state, &state, state - SCRATCH_OPEN + SCRATCH_CLOSED);
  return atomic_load_explicit(&b->state, memory_order_acquire) % SCRATCH_STATES == SCRATCH_CLOSED;
}

// was_left reports whether a buffer's thread has ended in the middle of a launch, and closes it. Work that uses the memory may be on its way.
static int was_left(struct scratch_buffer *b, uint32_t *failed) {
  int capturing = 0;
  void *stream = (void *)(uintptr_t)b->stream;
  if (atomic_load_explicit(&b->state, memory_order_acquire) % SCRATCH_STATES != SCRATCH_LEFT) return 0;
  if (!cu.is_capturing(stream, &capturing) && capturing) return 1; // until the capture has ended
  *failed = cu.event_record(b->event, stream);
  atomic_store(&b->state, SCRATCH_CLOSED);
  return 1;
}

static enum did failed_or(uint32_t buffer, uint32_t failed, enum did otherwise) {
  if (failed) fail(buffer, failed);
  return failed ? LEAVES : otherwise;
}

// copies is behind the last copy of the launches that are being read. The buffer is cleared when no launch is left.
static enum did copies(uint32_t buffer, uint32_t failed, int closed) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  int last = closed && b->reading == atomic_load(&b->launches);
  b->step = last ? COPYING_LAST : COPYING;
  if (last && !failed) failed = clear(b);
  return failed_or(buffer, failed ? failed : mark(b), MOVES);
}

// begin starts the copies of a buffer whose kernels have ended.
static enum did begin(uint32_t buffer, int closed) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  uint32_t n = atomic_load_explicit(&b->launches, memory_order_acquire), state = cu.event_query(b->event);
  if (state == CU_NOT_READY) return WAITS;
  if (state) return failed_or(buffer, state, LEAVES);
  if (n == b->read) return copies(buffer, 0, closed);
  int rows = choose(b, n);
  b->host = scratch_host_get(reading_bytes(b), 1, b->reading - b->read);
  if (!b->host) {
    b->reading = b->read;
    return STAYS; // until Go has read others
  }
  if (!rows) return copies(buffer, copy_all(b), closed);
  uint32_t failed = copy_rows(b, 0, header_of(b->launch[b->read].kernel));
  b->step = HEADERS;
  return failed_or(buffer, failed ? failed : mark(b), MOVES);
}

static void pass_on(struct scratch_buffer *b) {
  if (b->read == b->reading) return;
  uint64_t from = b->lent ? 0 : first_byte(b);
  for (; b->read < b->reading; b->read++) {
    const struct scratch_launch *l = &b->launch[b->read];
    scratch_finish(b, l, b->host, l->offset - from, 0);
    finished(l);
  }
  b->host = 0;
}

// step does what is due for one buffer.
static enum did step(uint32_t buffer, int now) {
  struct scratch_buffer *b = &scratch_buffers[buffer];
  if (b->step == WAITING) {
    uint32_t failed = 0;
    if (was_left(b, &failed)) return failed_or(buffer, failed, STAYS);
    int closed = is_closed(b, now);
    if (!closed && !(now && atomic_load(&b->launches) > b->read)) return STAYS;
    return begin(buffer, closed);
  }
  uint32_t state = cu.event_query(b->copied);
  if (state == CU_NOT_READY) return STAYS;
  if (state) return failed_or(buffer, state, LEAVES);
  if (b->step == HEADERS) return copies(buffer, copy_written(b), is_closed(b, 0));
  pass_on(b);
  if (b->step == COPYING_LAST) return scratch_put(buffer), LEAVES;
  b->step = WAITING;
  return MOVES;
}

// ---- all of them ----

// round_of_steps steps through all buffers. The work of a stream ends in order: a buffer that waits for it stands for those behind it.
static int round_of_steps(int now) {
  struct { uint64_t stream; uint16_t context; } busy[BUSY];
  int busies = 0, moved = 0;
  void *used = NULL;
  size_t left = 0;
  for (size_t i = 0; i < pending.n; i++) {
    uint32_t buffer = pending.list[i];
    struct scratch_buffer *b = &scratch_buffers[buffer];
    int waits = 0, waiting = b->step == WAITING;
    for (int n = 0; n < busies && waiting; n++) waits |= busy[n].stream == b->stream && busy[n].context == b->context;
    if (waits) {
      pending.list[left++] = buffer;
      continue;
    }
    void *context = scratch_contexts[b->context].handle;
    if (context != used) cu.use_context(context), used = context;
    enum did did = step(buffer, now);
    if (did != LEAVES) pending.list[left++] = buffer;
    if (did == MOVES || did == LEAVES) moved = 1;
    if (did == WAITS && busies < BUSY) busy[busies].stream = b->stream, busy[busies++].context = b->context;
  }
  pending.n = left;
  return moved;
}

// crowded reports whether a quarter of the limit is in use: copies then come as soon as they can.
static int crowded(void) { return atomic_load(&scratch.lent_bytes) > atomic_load(&scratch.limit) / 4; }

static void *copying(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "proton-inside");
  scratch_hp->own_work(1);
  int apart = 0;
  for (;;) {
    take_pushed();
    scratch_graph_collect();
    if (pending.n && !apart) scratch_apart_begin(), apart = 1; // the driver is loaded now
    if (apart) scratch_release_idle();
    int now = wanted(), moved = pending.n && round_of_steps(now);
    struct timespec t = {0, (moved || now || (pending.n && crowded()) ? PAUSE_MIN_US : PAUSE_MAX_US) * 1000};
    nanosleep(&t, NULL);
  }
  return NULL;
}

// A forked child has no such thread, and nothing of this is for it.
static void child_begins(void) { atomic_store(&scratch.recording, 0); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, child_begins); }

int scratch_begin_copying(void) {
  static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
  static int running;
  pthread_mutex_lock(&starting);
  pthread_t thread;
  if (!running && !pthread_create(&thread, NULL, copying, NULL)) running = 1, pthread_detach(thread);
  pthread_mutex_unlock(&starting);
  return running;
}
