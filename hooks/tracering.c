// The trace ring, in which launch records wait for the writer. It is a file mapped into memory, so it outlives the process.
#include "trace.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static uint8_t *ring, *data;
static uint64_t capacity;

// If the writer hangs (on a network file system), the program waits once, not at each launch. It waits again only after half of
// the ring has been free.
enum { ALIGN = 8, SKIP = -1, PATIENCE_MS = 5000 };
static int patience;

static _Atomic uint64_t *word(int at) { return (_Atomic uint64_t *)(void *)(ring + at); }

void ring_open(uint64_t address) {
  ring = (uint8_t *)(uintptr_t)address;
  data = ring ? ring + RING_HEADER : NULL;
  capacity = ring ? atomic_load(word(RING_CAPACITY)) : 0;
  patience = PATIENCE_MS;
}

// reserve finds the position of the next record and the bytes to skip before it. It returns 0 if there is no room.
static int reserve(uint64_t need, uint64_t *position, uint64_t *skip) {
  *position = atomic_load_explicit(word(RING_WRITTEN), memory_order_relaxed);
  uint64_t at = *position % capacity, left = capacity - at;
  *skip = left < need ? left : 0;
  uint64_t used = *position + *skip + need - atomic_load_explicit(word(RING_READ), memory_order_acquire);
  if (used <= capacity / 2) patience = PATIENCE_MS;
  return used <= capacity;
}

static void wait_a_little(void) {
  void *state = py.PyEval_SaveThread();
  nanosleep(&(struct timespec){0, 1000000}, NULL);
  hooks_retake_gil(state);
}

int ring_push(const void *head, size_t head_len, const void *body, size_t body_len) {
  uint64_t need = (4 + head_len + body_len + ALIGN - 1) / ALIGN * ALIGN, position = 0, skip = 0;
  uint64_t before = trace_generation;
  if (hooks_in_child()) return 0; // an argument's code has forked: the ring is the parent's
  // Another thread may have closed the ring while this one waited.
  while (ring && trace_generation == before && (need > capacity / 2 || !reserve(need, &position, &skip))) {
    if (need > capacity / 2 || patience <= 0) return atomic_fetch_add(word(RING_LOST), 1), 0;
    patience--;
    wait_a_little();
  }
  if (!ring || trace_generation != before) return 0;
  uint64_t at = position % capacity;
  if (skip) {
    memcpy(data + at, &(uint32_t){(uint32_t)SKIP}, 4);
    at = 0;
  }
  memcpy(data + at, &(uint32_t){(uint32_t)(head_len + body_len)}, 4);
  memcpy(data + at + 4, head, head_len);
  if (body_len) memcpy(data + at + 4 + head_len, body, body_len);
  atomic_store_explicit(word(RING_WRITTEN), position + skip + need, memory_order_release);
  return 1;
}

void ring_lost(void) {
  if (ring) atomic_fetch_add(word(RING_LOST), 1);
}
