#include "paths.h"
#include "freelist.h"
#include "memory.h"
#include "names.h"
#include "reclaim.h"
#include "table.h"
#include <string.h>

static const uint32_t last_node = HP_NODES - 2;

static struct hp_node *nodes;
static _Atomic uint32_t node_count;
static _Atomic uint64_t lost;
static struct hp_table node_indexes[2];
static _Atomic(struct hp_table *) node_index = node_indexes;

static _Atomic uint64_t free_list;   // of call paths
static _Atomic uint32_t *free_after; // by id
static _Atomic uint32_t free_count;
static _Atomic uint32_t reclaiming;
static _Atomic uint8_t *node_state;  // by id
enum { USED, PINNED, FREED, YOUNG }; // YOUNG: made while call paths are reclaimed, with a freed id, which is below old_nodes
static uint32_t old_nodes;           // Go's: the first id that was made after hp_nodes_unindex

int hp_paths_init(void) {
  nodes = hp_reserve(sizeof *nodes * HP_NODES);
  free_after = hp_reserve(sizeof *free_after * HP_NODES);
  node_state = hp_reserve(HP_NODES);
  atomic_store(&node_count, 1); // 0 is the root
  return nodes && free_after && node_state && hp_table_init(&node_indexes[0], 14) && hp_table_init(&node_indexes[1], 14);
}

// filled returns how many nodes of the arena have been used. A thread that finds the arena full raises node_count for a moment.
static uint32_t filled(void) {
  uint32_t n = atomic_load_explicit(&node_count, memory_order_acquire);
  return n <= last_node ? n : last_node + 1;
}

void hp_paths_reset(void) {
  hp_table_clear(&node_indexes[0]);
  hp_table_clear(&node_indexes[1]);
  hp_release(nodes, sizeof *nodes * filled());
  hp_release((void *)node_state, filled());
  atomic_store(&free_list, ((atomic_load(&free_list) >> 32) + 1) << 32);
  atomic_store(&free_count, 0);
  atomic_store(&reclaiming, 0);
  atomic_store(&node_count, 1);
}

// ---- call paths ----

// take_node claims an id, a freed one if there is one. It returns 0 when the arena is full.
static uint32_t take_node(void) {
  uint32_t id = hp_free_take(&free_list, free_after);
  if (id) {
    atomic_store(&node_state[id], atomic_load(&reclaiming) ? YOUNG : USED);
    atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
    return id;
  }
  id = atomic_fetch_add_explicit(&node_count, 1, memory_order_relaxed);
  if (id <= last_node) return id;
  atomic_fetch_sub_explicit(&node_count, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
  return 0;
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
  *count = filled();
  return nodes;
}

// ---- reclaiming them, see reclaim.h ----

static struct hp_table *other_index(void) { return atomic_load(&node_index) == node_indexes ? node_indexes + 1 : node_indexes; }

void hp_nodes_unindex(void) {
  struct hp_table *empty = other_index();
  hp_names_unindex();
  atomic_store(&reclaiming, 1);
  old_nodes = filled(); // before the indexes change: nodes that are added for the new one have higher ids
  atomic_store(&node_index, empty);
  atomic_fetch_add(&hp_g.reclaims, 1); // the Python walker empties its cache
}

uint32_t hp_nodes_old(void) { return old_nodes; }

int hp_node_free(uint32_t id) {
  if (atomic_load(&node_state[id]) != USED) return 0;
  atomic_store(&node_state[id], FREED);
  atomic_fetch_add(&free_count, 1);
  hp_free_put(&free_list, free_after, id);
  return 1;
}

struct hp_name_space hp_nodes_end_free(void) {
  hp_names_keep_held();
  // After the names in cells: a thread that took one from a cell has made its call path before the cell changed.
  for (uint32_t id = 1, n = filled(); id < n; id++) {
    uint8_t young = YOUNG;
    if (atomic_load_explicit(&node_state[id], memory_order_relaxed) != FREED) hp_name_keep(nodes[id].name);
    atomic_compare_exchange_strong(&node_state[id], &young, USED);
  }
  struct hp_name_space freed = hp_names_free();
  hp_table_clear(other_index());
  atomic_store(&reclaiming, 0);
  return freed;
}

// The call paths around it stay, too: a path is its parents' names. Those of a pinned one are pinned already.
void hp_node_pin(uint32_t id) {
  for (; id && atomic_load(&node_state[id]) != PINNED; id = nodes[id].parent) atomic_store(&node_state[id], PINNED);
}

uint32_t hp_nodes_used(void) {
  return filled() - atomic_load(&free_count);
}

uint64_t hp_paths_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }
