#include "player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

// Only the thread whose turn it is touches these.
static const struct hp_api *api;
static void (*control)(const char *method, const char *params);
static struct map tokens; // recorded scope token to ours
static struct map leaves; // recorded (node, python node), set to ours

static _Thread_local uint32_t python_path;
static uint32_t walk(void) { return python_path; }

// A capture of a program that has sessions of its own says when they begin. Of any other, all is profiled.
static int starts_itself(const struct capture *c) {
  for (size_t i = 0; i < c->count; i++) {
    struct cap_cursor at = cap_open(&c->events[i]);
    const char *method = c->events[i].type == EV_CONTROL ? cap_string(c, &at) : NULL;
    if (method && (!strcmp(method, "start") || !strcmp(method, "run.begin"))) return 1;
  }
  return 0;
}

void program_clock(uint64_t time) {
  if (api && api->set_clock) api->set_clock(time);
}

void program_begin(const struct capture *c, const struct hp_api *hot, void (*f)(const char *, const char *)) {
  api = hot, control = f;
  if (c->count) program_clock(c->events[0].time);
  if (control && !starts_itself(c)) control("start", "{}");
  if (api) api->set_python_walker(walk);
}

void program_end(void) {
  if (api) api->set_python_walker(NULL);
  map_free(&tokens);
  map_free(&leaves);
}

static uint32_t name_of(const struct capture *c, struct cap_cursor *at) {
  const char *text = cap_string(c, at);
  return text ? api->intern(text, strlen(text)) : 0;
}

static void enter_scope(uint32_t name, struct cap_cursor *at) {
  uint64_t node = cap_number(at), generation = cap_number(at);
  if (at->short_) return;
  struct hp_token token = api->scope_enter(name);
  map_put(&tokens, node, generation, token.node, token.generation);
}

static void exit_scope(struct cap_cursor *at) {
  uint64_t node = cap_number(at), generation = cap_number(at);
  const struct map_entry *e = map_get(&tokens, node, generation);
  if (at->short_) return;
  if (e) api->scope_exit((struct hp_token){(uint32_t)e->value[0], (uint32_t)e->value[1]});
  else if (!node) api->scope_exit((struct hp_token){0, 0});
}

static void metric(uint32_t name, struct cap_cursor *at) {
  uint64_t type = cap_number(at), bits = cap_number(at);
  double value;
  memcpy(&value, &bits, sizeof value);
  if (at->short_) return;
  if (type == HP_DOUBLE) api->metric_double(name, value);
  else api->metric_int(name, (int64_t)bits);
}

static void metric_at(const struct capture *c, struct cap_cursor *at) {
  uint64_t node = cap_number(at);
  uint64_t pynode = cap_number(at);
  uint64_t set = cap_number(at);
  uint32_t name = name_of(c, at);
  uint64_t type = cap_number(at);
  uint64_t bits = cap_number(at);
  const struct map_entry *e = map_get(&leaves, node << 32 | pynode, set);
  if (at->short_ || !e) return;
  api->metric_at((uint32_t)(e->value[0] >> 32), (uint32_t)e->value[0], (uint32_t)e->value[1], name, (int)type, bits);
}

static void leaf(struct cap_cursor *at) {
  uint64_t node = cap_number(at);
  uint64_t pynode = cap_number(at);
  uint64_t set = cap_number(at);
  uint32_t now[3];
  if (at->short_) return;
  api->leaf(&now[0], &now[1], &now[2]);
  map_put(&leaves, node << 32 | pynode, set, (uint64_t)now[0] << 32 | now[1], now[2]);
}

static void tag(struct cap_cursor *at) {
  uint64_t number = cap_number(at), function = cap_number(at);
  if (!at->short_ && api->tag_launch) api->tag_launch((uint32_t)number, function);
}

static void python(const struct capture *c, struct cap_cursor *at) {
  uint32_t node = 0;
  for (uint64_t n = cap_number(at); n && !at->short_; n--) {
    uint32_t name = name_of(c, at);
    node = api->child(node, name, 0);
  }
  python_path = node;
}

static uint64_t number_in(const char *json, const char *key) {
  const char *at = strstr(json, key);
  return at ? strtoull(at + strlen(key) + strspn(at + strlen(key), ": "), NULL, 10) : 0;
}

// A vector is added to a leaf that was asked for earlier. Of a key that occurs twice the last one counts.
static void metric_vector(const char *params) {
  uint64_t node = number_in(params, "\"node\""), pynode = number_in(params, "\"pynode\""), set = number_in(params, "\"set\"");
  const struct map_entry *e = map_get(&leaves, node << 32 | pynode, set);
  size_t length = strlen(params);
  char *ours = malloc(length + 100);
  if (e && ours && length && params[length - 1] == '}') {
    snprintf(ours, length + 100, "%.*s, \"node\": %u, \"pynode\": %u, \"set\": %u}", (int)length - 1, params,
             (uint32_t)(e->value[0] >> 32), (uint32_t)e->value[0], (uint32_t)e->value[1]);
    control("metric_vector", ours);
  }
  free(ours);
}

static void call(const struct capture *c, struct cap_cursor *at) {
  const char *method = cap_string(c, at);
  const char *params = cap_string(c, at);
  if (!control || !method) return;
  if (params && !strcmp(method, "metric_vector")) metric_vector(params);
  else control(method, params ? params : "{}");
}

// Passes on what a launch of a kernel with scopes left: the numbers and, in hexadecimal digits, the slots.
static void inside(const struct capture *c, struct cap_cursor *at) {
  static const char digits[] = "0123456789abcdef";
  const char *kernel = cap_string(c, at);
  uint64_t n[7];
  for (int i = 0; i < 7; i++) n[i] = cap_number(at);
  if (!control || !kernel || at->short_) return;
  size_t left = (size_t)(at->end - at->at), room = strlen(kernel) + 300;
  char *params = malloc(room + 2 * left);
  if (!params) return;
  int length = snprintf(params, room, "{\"inside\": %s, \"grid\": [%llu, %llu, %llu], \"ctas\": %llu, \"device\": %llu, \"stream\": %llu, \"op\": %llu, \"slots\": \"", kernel,
                        (unsigned long long)n[0], (unsigned long long)n[1], (unsigned long long)n[2], (unsigned long long)n[3],
                        (unsigned long long)n[4], (unsigned long long)n[5], (unsigned long long)n[6]);
  char *out = params + length;
  for (size_t i = 0; i < left; i++) *out++ = digits[at->at[i] >> 4], *out++ = digits[at->at[i] & 15];
  memcpy(out, "\"}", 3);
  control("inside.launch", params);
  free(params);
}

void play_program(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  if (!api) return;
  switch (e->type) {
  case EV_SCOPE_ENTER: enter_scope(name_of(c, &at), &at); break;
  case EV_SCOPE_EXIT: exit_scope(&at); break;
  case EV_STATE_ENTER: api->state_enter(name_of(c, &at)); break;
  case EV_STATE_EXIT: api->state_exit(); break;
  case EV_OP_ENTER: {
    uint32_t name = name_of(c, &at);
    api->op_enter(name, cap_number(&at));
    break;
  }
  case EV_OP_EXIT: api->op_exit(); break;
  case EV_METRIC: metric(name_of(c, &at), &at); break;
  case EV_METRIC_AT: metric_at(c, &at); break;
  case EV_LEAF: leaf(&at); break;
  case EV_PYTHON: python(c, &at); break;
  case EV_TAG: tag(&at); break;
  case EV_CONTROL: call(c, &at); break;
  case EV_INSIDE: inside(c, &at); break;
  }
}
