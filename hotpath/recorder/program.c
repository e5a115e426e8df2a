#include "program.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

static const struct hp_api *real;
static struct hp_api wrapped;
static uint32_t (*_Atomic walker)(void);

// ---- python call paths -------------------------------------------------------------------------------

static void write_path(uint32_t node) {
  struct event e = {0};
  uint32_t depth = 0;
  for (uint32_t at = node; at; at = real->node(at).parent) depth++;
  uint32_t *names = malloc((depth + 1) * sizeof *names);
  if (!names) return;
  uint32_t i = depth;
  for (uint32_t at = node; at; at = real->node(at).parent) names[--i] = real->node(at).name;
  event_number(&e, depth);
  for (i = 0; i < depth; i++) {
    size_t length;
    const char *text = real->text(names[i], &length);
    event_number(&e, record_string(text, length));
  }
  free(names);
  event_write(&e, EV_PYTHON);
}

void record_python_path(void) {
  static _Thread_local uint32_t last, last_generation;
  uint32_t (*walk)(void) = atomic_load(&walker);
  if (!walk || !record_on()) return;
  uint32_t node = walk(), generation = real->generation();
  if (node == last && generation == last_generation) return;
  last = node, last_generation = generation;
  write_path(node);
}

static void set_python_walker(uint32_t (*walk)(void)) {
  atomic_store(&walker, walk);
  real->set_python_walker(walk);
}

// ---- the program's calls -----------------------------------------------------------------------------

static uint64_t name_of(uint32_t id) {
  size_t length;
  const char *text = id ? real->text(id, &length) : NULL;
  return text ? record_string(text, length) : 0;
}

static struct hp_token scope_enter(uint32_t name) {
  struct hp_token token = real->scope_enter(name);
  if (!record_on()) return token;
  struct event e = {0};
  event_number(&e, name_of(name));
  event_number(&e, token.node);
  event_number(&e, token.generation);
  event_write(&e, EV_SCOPE_ENTER);
  return token;
}

static int scope_exit(struct hp_token token) {
  int status = real->scope_exit(token);
  if (!record_on()) return status;
  struct event e = {0};
  event_number(&e, token.node);
  event_number(&e, token.generation);
  event_write(&e, EV_SCOPE_EXIT);
  return status;
}

static int state_enter(uint32_t name) {
  int status = real->state_enter(name);
  if (!record_on()) return status;
  struct event e = {0};
  event_number(&e, name_of(name));
  event_write(&e, EV_STATE_ENTER);
  return status;
}

static int state_exit(void) {
  int status = real->state_exit();
  if (!record_on()) return status;
  struct event e = {0};
  event_write(&e, EV_STATE_EXIT);
  return status;
}

static uint32_t op_enter(uint32_t name, uint64_t func) {
  record_python_path();
  uint32_t op = real->op_enter(name, func);
  if (!record_on()) return op;
  struct event e = {0};
  event_number(&e, name_of(name));
  event_number(&e, func);
  event_write(&e, EV_OP_ENTER);
  return op;
}

static void op_exit(void) {
  real->op_exit();
  if (!record_on()) return;
  struct event e = {0};
  event_write(&e, EV_OP_EXIT);
}

static void write_metric(uint32_t name, int type, uint64_t bits) {
  if (!record_on()) return;
  struct event e = {0};
  event_number(&e, name_of(name));
  event_number(&e, (uint64_t)type);
  event_number(&e, bits);
  event_write(&e, EV_METRIC);
}

static int metric_int(uint32_t name, int64_t value) {
  record_python_path();
  int status = real->metric_int(name, value);
  write_metric(name, HP_INT, (uint64_t)value);
  return status;
}

static int metric_double(uint32_t name, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  record_python_path();
  int status = real->metric_double(name, value);
  write_metric(name, HP_DOUBLE, bits);
  return status;
}

static int metric_at(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits) {
  int status = real->metric_at(node, pynode, set, name, type, bits);
  if (!record_on()) return status;
  struct event e = {0};
  event_number(&e, node);
  event_number(&e, pynode);
  event_number(&e, set);
  event_number(&e, name_of(name));
  event_number(&e, (uint64_t)type);
  event_number(&e, bits);
  event_write(&e, EV_METRIC_AT);
  return status;
}

static void tag_launch(uint32_t tag, uint64_t func) {
  real->tag_launch(tag, func);
  if (!record_on()) return;
  struct event e = {0};
  event_number(&e, tag);
  event_number(&e, func);
  event_write(&e, EV_TAG);
}

static void write_leaf(const uint32_t *node, const uint32_t *pynode, const uint32_t *set) {
  if (!record_on()) return;
  struct event e = {0};
  event_number(&e, *node);
  event_number(&e, *pynode);
  event_number(&e, *set);
  event_write(&e, EV_LEAF);
}

static void leaf(uint32_t *node, uint32_t *pynode, uint32_t *set) {
  record_python_path();
  real->leaf(node, pynode, set);
  write_leaf(node, pynode, set);
}

static void leaf_begin(uint32_t *node, uint32_t *pynode, uint32_t *set) {
  record_python_path();
  real->leaf_begin(node, pynode, set);
  write_leaf(node, pynode, set);
}

void record_control(const char *method, const char *params_json) {
  if (!record_on()) return;
  struct event e = {0};
  event_number(&e, record_cstring(method));
  event_number(&e, record_cstring(params_json));
  event_write(&e, EV_CONTROL);
}

void record_inside(const char *kernel, const uint64_t numbers[7], const void *slots, size_t size) {
  if (!record_on()) return;
  struct event e = {0};
  event_number(&e, record_cstring(kernel));
  for (int i = 0; i < 7; i++) event_number(&e, numbers[i]);
  event_bytes(&e, slots, size);
  event_write(&e, EV_INSIDE);
}

const struct hp_api *record_wrap_hotpath(const struct hp_api *api) {
  real = api;
  wrapped = *api;
  wrapped.scope_enter = scope_enter;
  wrapped.scope_exit = scope_exit;
  wrapped.state_enter = state_enter;
  wrapped.state_exit = state_exit;
  wrapped.op_enter = op_enter;
  wrapped.op_exit = op_exit;
  wrapped.metric_int = metric_int;
  wrapped.metric_double = metric_double;
  wrapped.metric_at = metric_at;
  wrapped.leaf = leaf;
  wrapped.leaf_begin = leaf_begin;
  wrapped.tag_launch = tag_launch;
  wrapped.set_python_walker = set_python_walker;
  return &wrapped;
}
