// Interned names, call-path nodes and metric slots: three arenas with an index each.
#ifndef GOPROTON_PATHS_H
#define GOPROTON_PATHS_H

#include "hotpath.h"
#include <stdatomic.h>

// hp_paths_init reserves the arenas. 0 when the system has no address space for them.
int hp_paths_init(void);
// hp_paths_reset forgets every node and slot; names stay. Only while no session exists.
void hp_paths_reset(void);

uint32_t hp_intern(const char *text, size_t len);
const char *hp_text(uint32_t id, size_t *len);
uint32_t hp_child(uint32_t parent, uint32_t name, uint32_t set);
struct hp_node hp_node_get(uint32_t id);
// hp_slot_add adds to (or, for a property, replaces) one metric of one node in one set.
int hp_slot_add(struct hp_slot key, uint64_t bits);
// hp_metric_is_property tells whether a metric's raw name carries the "(pty)" mark.
int hp_metric_is_property(uint32_t name);

// What Go reads: arena bases and how far they are filled.
const struct hp_node *hp_nodes(uint32_t *count);
const struct hp_slot *hp_slots(uint32_t *count);
uint64_t hp_paths_lost(void);

#endif
