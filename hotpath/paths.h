// Call paths: an arena of nodes with an index. A node is the child of another, with a name (names.h) for its frame.
#ifndef GOPROTON_PATHS_H
#define GOPROTON_PATHS_H

#include "hotpath.h"
#include <stdatomic.h>

enum { HP_NODES = 1 << 24 }; // in the arena; memory is touched only as nodes are made

// hp_paths_init reserves the arena. 0 when the system has no address space for them.
int hp_paths_init(void);
// hp_paths_reset forgets every node; names stay. Only while no session exists.
void hp_paths_reset(void);

// hp_child returns the child of a node, which it makes if there is none; 0 when space ran out.
uint32_t hp_child(uint32_t parent, uint32_t name, uint32_t set);
// hp_node_get returns the root for an id that does not exist.
struct hp_node hp_node_get(uint32_t id);

// What Go reads: the arena and how far it is filled.
const struct hp_node *hp_nodes(uint32_t *count);
uint64_t hp_paths_lost(void);

#endif
