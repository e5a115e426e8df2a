#include "table.h"
#include "memory.h"

int hp_table_init(struct hp_table *t, unsigned bits) {
  for (int l = 0; l < HP_LEVELS; l++, bits += 3) {
    t->level[l].cell = hp_reserve((size_t)4 << bits);
    if (!t->level[l].cell) return 0;
    t->level[l].mask = (1u << bits) - 1;
  }
  return 1;
}

void hp_table_clear(struct hp_table *t) {
  for (int l = 0; l < HP_LEVELS; l++) {
    hp_release(t->level[l].cell, (size_t)4 * (t->level[l].mask + 1));
    atomic_store(&t->level[l].used, 0);
  }
  atomic_store(&t->top, 0);
}

static int put_in_level(struct hp_level *v, uint64_t hash, uint32_t id) {
  if (atomic_load_explicit(&v->used, memory_order_relaxed) > v->mask / 4 * 3) return 0;
  uint32_t at = (uint32_t)hash & v->mask;
  for (int p = 0; p < HP_PROBES; p++, at = (at + 1) & v->mask) {
    uint32_t empty = 0;
    if (atomic_compare_exchange_strong_explicit(&v->cell[at], &empty, id, memory_order_acq_rel, memory_order_relaxed)) {
      atomic_fetch_add_explicit(&v->used, 1, memory_order_relaxed);
      return 1;
    }
  }
  return 0;
}

int hp_table_put(struct hp_table *t, uint64_t hash, uint32_t id) {
  for (uint32_t l = 0; l < HP_LEVELS; l++) {
    // Publish the level before the cell, so that a reader that could see the id also looks there.
    uint32_t top = atomic_load_explicit(&t->top, memory_order_relaxed);
    while (top < l && !atomic_compare_exchange_weak(&t->top, &top, l)) {
    }
    if (put_in_level(&t->level[l], hash, id)) return 1;
  }
  return 0;
}
