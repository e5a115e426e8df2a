#include "slots.h"
#include "memory.h"
#include "names.h"
#include "table.h"
#include <string.h>

// Room for 2 M metrics of call paths in one phase. Only what is used is ever touched.
enum { SLOT_BITS = 21 };
static const uint32_t last_slot = (1u << SLOT_BITS) - 2;

struct arena {
  _Atomic uint32_t open;   // the launch set that may add; 0 while the arena is closed or free
  uint32_t set;            // the launch set of its slots; 0 while the arena is free. Go's.
  _Atomic uint32_t count;  // of slots, the unused first one included; may exceed last_slot for a moment
  struct hp_slot *slots;
  struct hp_table index;
};

static struct arena arenas[HP_ARENAS];
static _Atomic uint32_t current; // number of the open arena, counted from 1; 0 = none
static _Atomic uint64_t lost;

int hp_slots_init(void) {
  for (struct arena *a = arenas; a < arenas + HP_ARENAS; a++) {
    a->slots = hp_reserve(sizeof *a->slots << SLOT_BITS);
    if (!a->slots || !hp_table_init(&a->index, 12)) return 0;
    atomic_store(&a->count, 1); // 0 means an empty cell of the index
  }
  return 1;
}

// ---- on threads of the program ----

int hp_metric_is_property(uint32_t name) {
  size_t n;
  const char *s = hp_text(name, &n);
  for (size_t i = 0; i + 5 <= n; i++)
    if (!memcmp(s + i, "(pty)", 5)) return 1;
  return 0;
}

static uint32_t slot_of(struct arena *a, struct hp_slot k) {
  uint64_t hash = hp_mix((((uint64_t)k.node << 32 | k.name) * 0xD6E8FEB86659FD93u) ^ (k.flags & HP_M_PYTHON));
  struct hp_slot *slots = a->slots;
  uint32_t id;
#define SAME(i) (slots[i].node == k.node && slots[i].name == k.name && !((slots[i].flags ^ k.flags) & HP_M_PYTHON))
  HP_TABLE_FIND(&a->index, hash, SAME, id);
#undef SAME
  if (id) return id;
  id = atomic_fetch_add_explicit(&a->count, 1, memory_order_relaxed);
  if (id > last_slot) {
    atomic_fetch_sub_explicit(&a->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    return 0;
  }
  k.value = 0;
  k.flags |= hp_metric_is_property(k.name) ? HP_M_PROPERTY : 0;
  // Go scans the arena without the index: set is stored last, and a slot whose set is 0 is not complete yet.
  uint32_t set = k.set;
  k.set = 0;
  slots[id] = k;
  atomic_store_explicit((_Atomic uint32_t *)&slots[id].set, set, memory_order_release);
  return hp_table_put(&a->index, hash, id) ? id : 0;
}

static void add_double(_Atomic uint64_t *cell, double d) {
  uint64_t old = atomic_load_explicit(cell, memory_order_relaxed), next;
  do {
    double sum;
    memcpy(&sum, &old, 8);
    sum += d;
    memcpy(&next, &sum, 8);
  } while (!atomic_compare_exchange_weak_explicit(cell, &old, next, memory_order_relaxed, memory_order_relaxed));
}

static int add(struct arena *a, struct hp_slot key, uint64_t bits) {
  uint32_t id = slot_of(a, key);
  if (!id) return HP_FULL;
  struct hp_slot *slot = a->slots + id;
  if (slot->type != key.type) return HP_TYPE_CHANGED;
  _Atomic uint64_t *cell = (_Atomic uint64_t *)&slot->value;
  if (slot->flags & HP_M_PROPERTY) {
    atomic_store_explicit(cell, bits, memory_order_relaxed);
  } else if (key.type == HP_INT) {
    atomic_fetch_add_explicit(cell, bits, memory_order_relaxed);
  } else {
    double d;
    memcpy(&d, &bits, 8);
    add_double(cell, d);
  }
  return HP_OK;
}

int hp_slots_add(struct hp_thread *t, const struct hp_slot *keys, int n, uint64_t bits) {
  uint32_t in = atomic_load_explicit(&current, memory_order_relaxed);
  if (!in) return HP_CLOSED;
  struct arena *a = arenas + in - 1;
  // Both are sequentially consistent, as are closing and hp_slots_left: either Go sees this thread in the arena, or
  // this thread sees that the arena is closed.
  atomic_store(&t->adding, in);
  int status = atomic_load(&a->open) == keys[0].set ? HP_OK : HP_CLOSED;
  for (int i = 0; i < n && status == HP_OK; i++) status = add(a, keys[i], bits);
  atomic_store_explicit(&t->adding, 0, memory_order_release);
  return status;
}

// ---- called by Go, one caller at a time: the drainer's command that runs ----

void hp_slots_publish(uint32_t set) {
  uint32_t now = atomic_load(&current);
  if (now && atomic_load(&arenas[now - 1].open) == set) return;
  atomic_store(&current, 0);
  if (now) atomic_store(&arenas[now - 1].open, 0);
  for (uint32_t i = 0; i < HP_ARENAS && set; i++) {
    if (arenas[i].set) continue;
    arenas[i].set = set;
    atomic_store(&arenas[i].open, set);
    atomic_store(&current, i + 1);
    return;
  }
}

const struct hp_slot *hp_slots(int arena, uint32_t *set, uint32_t *count) {
  struct arena *a = arenas + arena;
  uint32_t n = atomic_load_explicit(&a->count, memory_order_acquire);
  *count = n <= last_slot ? n : last_slot + 1;
  *set = a->set;
  return a->slots;
}

int hp_slots_left(int arena) {
  struct arena *a = arenas + arena;
  if (!a->set || atomic_load(&a->open)) return 0;
  for (struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next)
    if (atomic_load(&t->adding) == (uint32_t)arena + 1) return 0;
  return 1;
}

void hp_slots_recycle(int arena) {
  struct arena *a = arenas + arena;
  uint32_t set, count;
  hp_slots(arena, &set, &count);
  hp_table_clear(&a->index);
  hp_release(a->slots, sizeof *a->slots * count);
  atomic_store(&a->count, 1);
  a->set = 0;
}

uint64_t hp_slots_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }
