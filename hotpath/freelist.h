// A lock-free list of numbers that are free, linked through an array. The head has a count of its changes above the number,
// so that a number which was taken and came back is not mistaken for one that never left.
#ifndef GOPROTON_FREELIST_H
#define GOPROTON_FREELIST_H

#include <stdatomic.h>
#include <stdint.h>

static inline void hp_free_put(_Atomic uint64_t *head, _Atomic uint32_t *after, uint32_t id) {
  uint64_t now = atomic_load(head);
  do atomic_store_explicit(&after[id], (uint32_t)now, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(head, &now, ((now >> 32) + 1) << 32 | id));
}

// hp_free_take returns 0 when the list is empty.
static inline uint32_t hp_free_take(_Atomic uint64_t *head, _Atomic uint32_t *after) {
  uint64_t now = atomic_load(head);
  while ((uint32_t)now) {
    uint32_t next = atomic_load_explicit(&after[(uint32_t)now], memory_order_relaxed);
    if (atomic_compare_exchange_weak(head, &now, ((now >> 32) + 1) << 32 | next)) return (uint32_t)now;
  }
  return 0;
}

#endif
