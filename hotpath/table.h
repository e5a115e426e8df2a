// A lock-free, insert-only hash index over an arena: open addressing, 32-bit ids, 0 = empty.
//
// It grows without moving anything: when a level is three quarters full, or HP_PROBES cells in a row are taken, new ids
// go to the next, eight times larger level, and look-ups walk the levels in order. Two threads that insert
// the same key at once may leave two ids for it. Go merges them by content, so the only cost is memory.
#ifndef GOPROTON_TABLE_H
#define GOPROTON_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

enum { HP_LEVELS = 4, HP_PROBES = 64 };

struct hp_level {
  _Atomic uint32_t *cell;
  uint32_t mask;
  _Atomic uint32_t used;
};

struct hp_table {
  struct hp_level level[HP_LEVELS];
  _Atomic uint32_t top; // highest level that may hold something
};

int hp_table_init(struct hp_table *t, unsigned bits);
void hp_table_clear(struct hp_table *t);

static inline uint64_t hp_mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  return x;
}

// HP_TABLE_FIND sets out to the id for which same(id) holds, 0 if there is none.
#define HP_TABLE_FIND(t, hash, same, out)                                              \
  do {                                                                                 \
    (out) = 0;                                                                         \
    uint32_t top_ = atomic_load_explicit(&(t)->top, memory_order_acquire);             \
    for (uint32_t l_ = 0; l_ <= top_ && !(out); l_++) {                                \
      struct hp_level *v_ = &(t)->level[l_];                                           \
      uint32_t at_ = (uint32_t)(hash) & v_->mask;                                      \
      for (int p_ = 0; p_ < HP_PROBES; p_++, at_ = (at_ + 1) & v_->mask) {             \
        uint32_t id_ = atomic_load_explicit(&v_->cell[at_], memory_order_acquire);     \
        if (!id_) break;                                                               \
        if (same(id_)) { (out) = id_; break; }                                         \
      }                                                                                \
    }                                                                                  \
  } while (0)

// hp_table_put publishes id under hash. Returns 0 when every level is full.
int hp_table_put(struct hp_table *t, uint64_t hash, uint32_t id);

#endif
