#define _GNU_SOURCE
#include "buffer.h"
#include "memory.h"
#include "wake.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum life { NONE, MAKING, FREE, LENT, FULL, DECODING };

static struct buffer {
  _Atomic uint32_t life;
  uint8_t *memory;
  size_t valid;
  hp_activity_reader reader; // NULL: it holds activities
  uint64_t order;
  _Atomic size_t marked; // bytes that were filled at hp_buffers_mark; 0 once the buffer has come back
  _Atomic int empty;     // its pages were given back to the system
} buffers[HP_BUFFERS];
static _Atomic uint64_t orders, refused;
static _Atomic int discarding;
static _Atomic size_t full_bytes; // in buffers that wait for the drainer
static _Atomic int lent, ended; // buffers with the vendor's library; launching threads that have ended since it was asked for its buffers

static int claim(struct buffer *s, uint32_t from, uint32_t to) {
  return atomic_load_explicit(&s->life, memory_order_relaxed) == from &&
         atomic_compare_exchange_strong_explicit(&s->life, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

// A buffer that is filled is quicker in one large page. The buffers beyond the first LARGE are for many threads with few records each.
enum { LARGE = 32 };

static int make(struct buffer *s, uint32_t next) {
  uint8_t *p = hp_reserve(hp_buffer_size);
  if (!p) {
    atomic_store(&s->life, NONE);
    return 0;
  }
  madvise(p, hp_buffer_size, s < buffers + LARGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  s->memory = p;
  atomic_store_explicit(&s->life, next, memory_order_release);
  return 1;
}

// A drainer that is too slow must not take all memory.
static const size_t most_full_bytes = (size_t)512 << 20;

static uint8_t *find(void) {
  if (atomic_load_explicit(&full_bytes, memory_order_relaxed) >= most_full_bytes) return NULL;
  for (int i = 0; i < HP_BUFFERS; i++)
    if (claim(&buffers[i], FREE, LENT)) return buffers[i].memory;
  // Go has prepared too few: one mmap here is better than losing records.
  for (int i = 0; i < HP_BUFFERS; i++)
    if (claim(&buffers[i], NONE, MAKING) && make(&buffers[i], LENT)) return buffers[i].memory;
  return NULL;
}

uint8_t *hp_buffer_get(size_t *size) {
  uint8_t *memory = find();
  if (memory) atomic_fetch_add_explicit(&lent, 1, memory_order_relaxed);
  else atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
  if (hp_buffers_due()) hp_kick();
  *size = memory ? hp_buffer_size : 0;
  return memory;
}

// CUPTI has a buffer for each thread, and returns that of a thread that has ended when it is asked for all.
enum { ENDED = 16, MANY = 128 };

int hp_buffers_due(void) {
  int n = atomic_load_explicit(&lent, memory_order_relaxed);
  return n >= MANY || (n >= ENDED && atomic_load_explicit(&ended, memory_order_relaxed) >= ENDED);
}

void hp_buffers_asked(void) { atomic_store(&ended, 0); }

void hp_buffer_owner_ended(void) {
  atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
  if (hp_buffers_due()) hp_kick();
}

void hp_buffer_done(uint8_t *buffer, size_t valid, hp_activity_reader reader) {
  for (int i = 0; i < HP_BUFFERS; i++) {
    if (buffers[i].memory != buffer || atomic_load(&buffers[i].life) != LENT) continue;
    atomic_store_explicit(&buffers[i].marked, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&lent, 1, memory_order_relaxed);
    buffers[i].valid = valid, buffers[i].reader = reader;
    if (atomic_load(&discarding)) {
      hp_buffer_recycle(i);
      return;
    }
    atomic_fetch_add_explicit(&full_bytes, valid, memory_order_relaxed);
    buffers[i].order = atomic_fetch_add(&orders, 1);
    atomic_store_explicit(&buffers[i].life, FULL, memory_order_release);
    hp_kick();
    return;
  }
}

static int ready(const struct buffer *s) { return atomic_load_explicit(&s->life, memory_order_relaxed) == FREE && !atomic_load_explicit(&s->empty, memory_order_relaxed); }

void hp_buffers_prepare(int want) {
  int have = 0;
  for (int i = 0; i < HP_BUFFERS; i++) have += ready(&buffers[i]);
  for (int i = 0; i < HP_BUFFERS && have < want; i++) {
    struct buffer *s = &buffers[i];
    if (ready(s) || (!claim(s, FREE, DECODING) && (!claim(s, NONE, MAKING) || !make(s, DECODING)))) continue;
    for (size_t at = 0; at < hp_buffer_size; at += 4096) ((volatile uint8_t *)s->memory)[at] = 0; // fault it in here, not on a launching thread
    hp_buffer_recycle(i);
    have++;
  }
}

int hp_buffers_in_use(void) {
  int used = 0;
  for (int i = 0; i < HP_BUFFERS; i++) used += atomic_load_explicit(&buffers[i].life, memory_order_relaxed) >= LENT;
  return used;
}

void hp_buffers_trim(int keep) {
  int have = hp_buffers_in_use();
  for (int i = 0; i < HP_BUFFERS; i++) {
    struct buffer *s = &buffers[i];
    if (!ready(s) || ++have <= keep || !claim(s, FREE, DECODING)) continue;
    hp_release(s->memory, hp_buffer_size); // it stays mapped: a vendor's library may write into what it has returned
    atomic_store_explicit(&s->empty, 1, memory_order_relaxed);
    atomic_store_explicit(&s->life, FREE, memory_order_release);
  }
}

uint64_t hp_buffers_returned(void) { return atomic_load(&orders); }

int hp_buffer_take(uint64_t of) {
  int oldest = -1;
  for (int i = 0; i < HP_BUFFERS; i++)
    if (atomic_load_explicit(&buffers[i].life, memory_order_acquire) == FULL && buffers[i].order < of && (oldest < 0 || buffers[i].order < buffers[oldest].order)) oldest = i;
  if (oldest < 0) return -1;
  atomic_fetch_sub_explicit(&full_bytes, buffers[oldest].valid, memory_order_relaxed);
  atomic_store(&buffers[oldest].life, DECODING);
  return oldest;
}

size_t hp_buffer_filled(int index) { return buffers[index].valid; }

static int read_activities(const struct buffer *s, void **cursor, struct hp_activity *out, int max) {
  const struct hp_activity *at = *cursor ? *cursor : (void *)s->memory;
  size_t left = (s->valid - (size_t)((const uint8_t *)at - s->memory)) / sizeof *at;
  int n = left < (size_t)max ? (int)left : max;
  memcpy(out, at, (size_t)n * sizeof *at);
  *cursor = (void *)(uintptr_t)(at + n);
  return n;
}

int hp_buffer_read(int index, void **cursor, struct hp_activity *out, int max) {
  const struct buffer *s = &buffers[index];
  return s->reader ? s->reader(s->memory, s->valid, cursor, out, max) : read_activities(s, cursor, out, max);
}

void hp_buffer_recycle(int index) {
  memset(buffers[index].memory, 0, buffers[index].valid); // vendor libraries are promised zeroed buffers
  buffers[index].valid = 0;
  atomic_store_explicit(&buffers[index].empty, 0, memory_order_relaxed);
  atomic_store_explicit(&buffers[index].life, FREE, memory_order_release);
}

void hp_buffers_mark(void) {
  for (int i = 0; i < HP_BUFFERS; i++) {
    if (atomic_load_explicit(&buffers[i].life, memory_order_acquire) != LENT) continue;
    size_t filled = hp_buffer_size;
    while (filled > 0 && buffers[i].memory[filled - 1] == 0) filled--; // lent buffers were zeroed
    atomic_store_explicit(&buffers[i].marked, filled, memory_order_relaxed);
  }
}

// FNV-1a. The vendor library may write meanwhile: a torn reading is a change like any other.
uint64_t hp_buffers_marked(void) {
  uint64_t sum = 14695981039346656037u;
  for (int i = 0; i < HP_BUFFERS; i++) {
    if (atomic_load_explicit(&buffers[i].life, memory_order_acquire) != LENT) continue;
    size_t marked = atomic_load_explicit(&buffers[i].marked, memory_order_relaxed);
    for (size_t at = 0; at < marked; at++) sum = (sum ^ ((volatile uint8_t *)buffers[i].memory)[at]) * 1099511628211u;
  }
  return sum;
}

uint64_t hp_buffers_refused(void) { return atomic_load(&refused); }

void hp_buffers_discard(int on) { atomic_store(&discarding, on); }

void hp_buffers_reclaim(void) {
  for (int i = 0; i < HP_BUFFERS; i++) {
    if (!claim(&buffers[i], LENT, DECODING)) continue;
    atomic_fetch_sub_explicit(&lent, 1, memory_order_relaxed);
    buffers[i].valid = 0;
    hp_release(buffers[i].memory, hp_buffer_size); // zeroes whatever was begun in it
    hp_buffer_recycle(i);
  }
}
