#include "paths.h"
#include "memory.h"
#include "table.h"
#include <string.h>

// Room for 16 M call paths, 2 M names in 512 MB of text, 4 M metric slots. Only what is used is ever touched.
enum { NODE_BITS = 24, NAME_BITS = 21, SLOT_BITS = 22 };
static const size_t text_room = (size_t)512 << 20;

struct name { uint64_t hash; uint32_t at; uint32_t len; }; // `at` counts 8-byte units of text

static struct hp_node *nodes;
static struct name *names;
static char *text;
static struct hp_slot *slots;
static _Atomic uint32_t node_count, name_count, slot_count;
static _Atomic uint64_t text_used, lost;
static struct hp_table node_index, name_index, slot_index;

int hp_paths_init(void) {
  nodes = hp_reserve(sizeof *nodes << NODE_BITS);
  names = hp_reserve(sizeof *names << NAME_BITS);
  slots = hp_reserve(sizeof *slots << SLOT_BITS);
  text = hp_reserve(text_room);
  if (!nodes || !names || !slots || !text) return 0;
  atomic_store(&node_count, 1); // 0 is the root
  atomic_store(&name_count, 1); // 0 means no name
  atomic_store(&slot_count, 1); // 0 means an empty cell
  return hp_table_init(&node_index, 14) && hp_table_init(&name_index, 12) && hp_table_init(&slot_index, 12);
}

// filled is how far an arena is filled. Threads that find it full count one up and down again, so the count
// itself may stand beyond the end.
static uint32_t last_id(unsigned bits) { return (1u << bits) - 2; }

static uint32_t filled(_Atomic uint32_t *count, unsigned bits) {
  uint32_t n = atomic_load_explicit(count, memory_order_acquire);
  return n <= last_id(bits) ? n : last_id(bits) + 1;
}

void hp_paths_reset(void) {
  hp_table_clear(&node_index);
  hp_table_clear(&slot_index);
  hp_release(nodes, sizeof *nodes * filled(&node_count, NODE_BITS));
  hp_release(slots, sizeof *slots * filled(&slot_count, SLOT_BITS));
  atomic_store(&node_count, 1);
  atomic_store(&slot_count, 1);
}

// take claims one id of an arena, or 0 when it is full.
static uint32_t take(_Atomic uint32_t *count, unsigned bits) {
  uint32_t id = atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
  if (id <= last_id(bits)) return id;
  atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
  return 0;
}

// ---- names ----

static uint64_t hash_text(const char *s, size_t n) {
  uint64_t h = 0x243F6A8885A308D3u ^ n, w;
  for (; n >= 8; s += 8, n -= 8) {
    memcpy(&w, s, 8);
    h = hp_mix(h ^ w) * 0xD6E8FEB86659FD93u;
  }
  w = 0;
  memcpy(&w, s, n);
  return hp_mix(hp_mix(h ^ w) * 0xD6E8FEB86659FD93u);
}

uint32_t hp_intern(const char *s, size_t len) {
  if (!names || len > 1u << 20) return 0;
  uint64_t hash = hash_text(s, len);
  uint32_t id;
#define SAME(i) (names[i].hash == hash && names[i].len == len && !memcmp(text + (size_t)names[i].at * 8, s, len))
  HP_TABLE_FIND(&name_index, hash, SAME, id);
#undef SAME
  if (id) return id;
  size_t room = (len + 8) & ~(size_t)7;
  uint64_t at = atomic_fetch_add_explicit(&text_used, room, memory_order_relaxed);
  if (at + room > text_room || !(id = take(&name_count, NAME_BITS))) {
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    return 0;
  }
  memcpy(text + at, s, len);
  names[id] = (struct name){hash, (uint32_t)(at / 8), (uint32_t)len};
  return hp_table_put(&name_index, hash, id) ? id : 0;
}

const char *hp_text(uint32_t id, size_t *len) {
  if (!id || id >= atomic_load_explicit(&name_count, memory_order_acquire)) {
    *len = 0;
    return "";
  }
  *len = names[id].len;
  return text + (size_t)names[id].at * 8;
}

// ---- call paths ----

uint32_t hp_child(uint32_t parent, uint32_t name, uint32_t set) {
  if (!nodes) return 0;
  uint64_t hash = hp_mix(((uint64_t)parent << 32 | name) * 0xD6E8FEB86659FD93u + set);
  uint32_t id;
#define SAME(i) (nodes[i].parent == parent && nodes[i].name == name && nodes[i].set == set)
  HP_TABLE_FIND(&node_index, hash, SAME, id);
#undef SAME
  if (id || !(id = take(&node_count, NODE_BITS))) return id;
  nodes[id] = (struct hp_node){parent, name, set, nodes[parent].depth + 1};
  return hp_table_put(&node_index, hash, id) ? id : 0;
}

struct hp_node hp_node_get(uint32_t id) {
  static const struct hp_node root;
  return nodes && id < atomic_load_explicit(&node_count, memory_order_acquire) ? nodes[id] : root;
}

const struct hp_node *hp_nodes(uint32_t *count) {
  *count = filled(&node_count, NODE_BITS);
  return nodes;
}

// ---- metrics ----

int hp_metric_is_property(uint32_t name) {
  size_t n;
  const char *s = hp_text(name, &n);
  for (size_t i = 0; i + 5 <= n; i++)
    if (!memcmp(s + i, "(pty)", 5)) return 1;
  return 0;
}

static uint32_t slot_of(struct hp_slot k) {
  uint64_t hash = hp_mix((((uint64_t)k.node << 32 | k.name) * 0xD6E8FEB86659FD93u) ^ ((uint64_t)k.set << 8 | (k.flags & HP_M_PYTHON)));
  uint32_t id;
#define SAME(i) (slots[i].node == k.node && slots[i].name == k.name && slots[i].set == k.set && !((slots[i].flags ^ k.flags) & HP_M_PYTHON))
  HP_TABLE_FIND(&slot_index, hash, SAME, id);
#undef SAME
  if (id || !(id = take(&slot_count, SLOT_BITS))) return id;
  k.value = 0;
  k.flags |= hp_metric_is_property(k.name) ? HP_M_PROPERTY : 0;
  // Go reads slots by their number, not through the index: the set comes last, and without one it is not there yet.
  uint32_t set = k.set;
  k.set = 0;
  slots[id] = k;
  atomic_store_explicit((_Atomic uint32_t *)&slots[id].set, set, memory_order_release);
  return hp_table_put(&slot_index, hash, id) ? id : 0;
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

int hp_slot_add(struct hp_slot key, uint64_t bits) {
  if (!slots) return HP_OFF;
  uint32_t id = slot_of(key);
  if (!id) return HP_FULL;
  if (slots[id].type != key.type) return HP_TYPE_CHANGED;
  _Atomic uint64_t *cell = (_Atomic uint64_t *)&slots[id].value;
  if (slots[id].flags & HP_M_PROPERTY) {
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

const struct hp_slot *hp_slots(uint32_t *count) {
  *count = filled(&slot_count, SLOT_BITS);
  return slots;
}

uint64_t hp_paths_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }
