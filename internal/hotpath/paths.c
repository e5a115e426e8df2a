#include "paths.h"
#include "reclaim.h"
#include "memory.h"
#include "table.h"
#include <string.h>

// Room for 16 M call paths and 2 M names in 512 MB of text. Only what is used is ever touched.
enum { NODE_BITS = 24, NAME_BITS = 21 };
static const size_t text_room = (size_t)512 << 20;

struct name { uint64_t hash; uint32_t at; uint32_t len; }; // `at` counts 8-byte units of text

static struct hp_node *nodes;
static struct name *names;
static char *text;
static _Atomic uint32_t node_count, name_count;
static _Atomic uint64_t text_used, lost;
static struct hp_table node_indexes[2], name_index;
static _Atomic(struct hp_table *) node_index = node_indexes;

// Freed call paths are given out again in the order in which they were freed.
static uint32_t *free_ids;
static _Atomic uint64_t free_next, free_end; // positions in it; threads only move the first
static _Atomic uint32_t free_closed;         // while call paths are reclaimed
static _Atomic uint8_t *node_state;          // by id
enum { USED, PINNED, FREED };
static uint32_t old_nodes;                   // Go's

int hp_paths_init(void) {
  nodes = hp_reserve(sizeof *nodes << NODE_BITS);
  names = hp_reserve(sizeof *names << NAME_BITS);
  text = hp_reserve(text_room);
  free_ids = hp_reserve(sizeof *free_ids << NODE_BITS);
  node_state = hp_reserve((size_t)1 << NODE_BITS);
  if (!nodes || !names || !text || !free_ids || !node_state) return 0;
  atomic_store(&node_count, 1); // 0 is the root
  atomic_store(&name_count, 1); // 0 means no name
  return hp_table_init(&node_indexes[0], 14) && hp_table_init(&node_indexes[1], 14) && hp_table_init(&name_index, 12);
}

// filled is how far an arena is filled. A thread that finds it full raises the count and lowers it again, so the count
// itself may exceed the arena's size for a moment.
static uint32_t last_id(unsigned bits) { return (1u << bits) - 2; }

static uint32_t filled(_Atomic uint32_t *count, unsigned bits) {
  uint32_t n = atomic_load_explicit(count, memory_order_acquire);
  return n <= last_id(bits) ? n : last_id(bits) + 1;
}

void hp_paths_reset(void) {
  hp_table_clear(&node_indexes[0]);
  hp_table_clear(&node_indexes[1]);
  hp_release(nodes, sizeof *nodes * filled(&node_count, NODE_BITS));
  hp_release((void *)node_state, filled(&node_count, NODE_BITS));
  hp_release(free_ids, sizeof *free_ids << NODE_BITS);
  atomic_store(&free_next, 0);
  atomic_store(&free_end, 0);
  atomic_store(&free_closed, 0);
  atomic_store(&node_count, 1);
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

// take_node claims the number of a call path: one that was freed, if there is one.
static uint32_t take_node(void) {
  uint64_t at = atomic_load_explicit(&free_next, memory_order_relaxed);
  while (!atomic_load(&free_closed) && at < atomic_load_explicit(&free_end, memory_order_acquire)) {
    uint32_t id = __atomic_load_n(&free_ids[at], __ATOMIC_RELAXED);
    if (!atomic_compare_exchange_weak(&free_next, &at, at + 1)) continue;
    atomic_store_explicit(&node_state[id], USED, memory_order_relaxed);
    return id;
  }
  return take(&node_count, NODE_BITS);
}

uint32_t hp_child(uint32_t parent, uint32_t name, uint32_t set) {
  if (!nodes) return 0;
  struct hp_table *index = atomic_load(&node_index);
  uint64_t hash = hp_mix(((uint64_t)parent << 32 | name) * 0xD6E8FEB86659FD93u + set);
  uint32_t id;
#define SAME(i) (nodes[i].parent == parent && nodes[i].name == name && nodes[i].set == set)
  HP_TABLE_FIND(index, hash, SAME, id);
#undef SAME
  if (id || !(id = take_node())) return id;
  nodes[id] = (struct hp_node){parent, name, set, nodes[parent].depth + 1};
  return hp_table_put(index, hash, id) ? id : 0;
}

struct hp_node hp_node_get(uint32_t id) {
  static const struct hp_node root;
  return nodes && id < atomic_load_explicit(&node_count, memory_order_acquire) ? nodes[id] : root;
}

const struct hp_node *hp_nodes(uint32_t *count) {
  *count = filled(&node_count, NODE_BITS);
  return nodes;
}

// ---- reclaiming them, see reclaim.h ----

void hp_nodes_unindex(void) {
  struct hp_table *now = atomic_load(&node_index);
  atomic_store(&free_closed, 1); // so that every id below old_nodes was claimed before
  atomic_store(&node_index, now == node_indexes ? node_indexes + 1 : node_indexes);
  atomic_fetch_add(&hp_g.reclaims, 1); // the Python walker forgets what it holds
  old_nodes = filled(&node_count, NODE_BITS);
}

uint32_t hp_nodes_old(void) { return old_nodes; }

void hp_nodes_begin_free(void) {
  uint64_t next = atomic_load(&free_next), left = atomic_load(&free_end) - next;
  memmove(free_ids, free_ids + next, sizeof *free_ids * left);
  atomic_store(&free_next, 0);
  atomic_store(&free_end, left);
}

int hp_node_free(uint32_t id) {
  if (atomic_load(&node_state[id]) != USED) return 0;
  atomic_store(&node_state[id], FREED);
  uint64_t end = atomic_load(&free_end);
  __atomic_store_n(&free_ids[end], id, __ATOMIC_RELAXED);
  atomic_store_explicit(&free_end, end + 1, memory_order_release);
  return 1;
}

void hp_nodes_indexed(void) {
  struct hp_table *now = atomic_load(&node_index);
  hp_table_clear(now == node_indexes ? node_indexes + 1 : node_indexes);
  atomic_store(&free_closed, 0);
}

void hp_node_pin(uint32_t id) {
  if (id) atomic_store(&node_state[id], PINNED);
}

uint32_t hp_nodes_used(void) {
  return filled(&node_count, NODE_BITS) - (uint32_t)(atomic_load(&free_end) - atomic_load(&free_next));
}

int hp_metric_is_property(uint32_t name) {
  size_t n;
  const char *s = hp_text(name, &n);
  for (size_t i = 0; i + 5 <= n; i++)
    if (!memcmp(s + i, "(pty)", 5)) return 1;
  return 0;
}

uint64_t hp_paths_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }
