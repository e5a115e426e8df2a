// Interned names and call-path nodes: two arenas with an index each. Metric slots are in slots.h.
#ifndef GOPROTON_PATHS_H
#define GOPROTON_PATHS_H

#include "hotpath.h"
#include <stdatomic.h>

// hp_paths_init reserves the arenas. 0 when the system has no address space for them.
int hp_paths_init(void);
// hp_paths_reset forgets every node; names stay. Only while no session exists.
void hp_paths_reset(void);

uint32_t hp_intern(const char *text, size_t len);
const char *hp_text(uint32_t id, size_t *len);
uint32_t hp_child(uint32_t parent, uint32_t name, uint32_t set);
struct hp_node hp_node_get(uint32_t id);
// hp_metric_is_property reports whether a metric's raw name carries the "(pty)" mark.
int hp_metric_is_property(uint32_t name);

// What Go reads: the arena and how far it is filled.
const struct hp_node *hp_nodes(uint32_t *count);
uint64_t hp_paths_lost(void);

#endif
