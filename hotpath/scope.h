// Functions of struct hp_api, which hotpath.h describes. hp_scope_open is scope_enter for a text.
#ifndef GOPROTON_SCOPE_H
#define GOPROTON_SCOPE_H

#include "hotpath.h"

int hp_active(void);
int hp_keeps_scopes(void);
struct hp_token hp_scope_enter(uint32_t name);
struct hp_token hp_scope_open(const char *text, size_t len);
int hp_scope_exit(struct hp_token token);
uint32_t hp_scope_node(void);
int hp_state_enter(uint32_t name);
int hp_state_exit(void);
uint32_t hp_op_enter(uint32_t name, uint64_t func);
void hp_op_exit(void);
int hp_metric_int(uint32_t name, int64_t value);
int hp_metric_double(uint32_t name, double value);
void hp_counter(uint32_t name, uint64_t value);
int hp_metric_at(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits);
void hp_leaf_begin(uint32_t *node, uint32_t *pynode, uint32_t *set);
void hp_leaf_end(void);
void hp_leaf_now(uint32_t *node, uint32_t *pynode, uint32_t *set);

#endif
