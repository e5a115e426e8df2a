// What the program says about itself: scopes, states, ops and metrics.
#include "scope.h"
#include "gate.h"
#include "names.h"
#include "paths.h"
#include "reclaim.h"
#include "slots.h"
#include "thread.h"
#include <string.h>

int hp_active(void) { return hp_load(&hp_g.launch_set) != 0 && !hp_load(&hp_g.dead); }

static struct hp_thread *on(void) { return hp_active() ? hp_self() : NULL; }

int hp_keeps_scopes(void) { return hp_load(&hp_g.scope_set) != 0 && !hp_load(&hp_g.dead); }

static struct hp_thread *keeping(void) { return hp_keeps_scopes() ? hp_self() : NULL; }

// ---- scopes ----

// frame_opens and frame_closes are for sessions with a timeline or a gate. Until the thread opens the next scope, a node that it has
// left keeps its name.
__attribute__((cold, noinline)) static void frame_opens(struct hp_thread *t, uint32_t node) {
  size_t length;
  const char *text = hp_text(hp_node_get(node).name, &length);
  if (hp_load(&hp_g.gated)) hp_gate_enter(t, text, length); // first, because it may begin a timeline
  if (hp_tracing()) hp_push_frame(t, HP_BEGIN, node);
}

__attribute__((cold, noinline)) static void frame_closes(struct hp_thread *t, uint32_t node) {
  size_t length;
  const char *text = hp_text(hp_node_get(node).name, &length);
  if (hp_tracing()) hp_push_frame(t, HP_END, node);
  if (hp_load(&hp_g.gated)) hp_gate_leave(t, text, length);
}

__attribute__((always_inline)) static inline struct hp_token enter(struct hp_thread *t, uint32_t name) {
  hp_paths_begin(t);
  uint32_t before = hp_load(&t->scope), node = hp_step(t, before, name, hp_load(&hp_g.scope_set));
  atomic_store_explicit(&t->scope, node, memory_order_release);
  hp_paths_end(t);
  if (node == before) return (struct hp_token){0, 0}; // out of room
  t->own++;
  t->leaf_valid = 0;
  return (struct hp_token){node, t->generation};
}

struct hp_token hp_scope_enter(uint32_t name) {
  struct hp_thread *t = keeping();
  if (!t || !name) return (struct hp_token){0, 0};
  struct hp_token token = enter(t, name);
  if (__builtin_expect(hp_load(&hp_g.frames) && token.node, 0)) frame_opens(t, token.node);
  return token;
}

struct hp_token hp_scope_open(const char *text, size_t len) {
  struct hp_thread *t = keeping();
  if (!t) return (struct hp_token){0, 0};
  hp_paths_begin(t); // until a call path has the name
  uint32_t name = hp_frame_name(text, len);
  struct hp_token token = name ? enter(t, name) : (struct hp_token){0, 0};
  hp_paths_end(t);
  if (__builtin_expect(hp_load(&hp_g.frames) && token.node, 0)) frame_opens(t, token.node);
  return token;
}

int hp_scope_exit(struct hp_token token) {
  struct hp_thread *t = hp_living();
  if (!t) return HP_OFF;
  uint32_t now = hp_load(&t->scope);
  if (token.node && token.generation != t->generation) return HP_OFF; // all sessions that saw it have ended
  if (token.node && token.node != now) {
    if (hp_keeps_scopes()) return HP_MISMATCH;
    // Every session ended inside the scope, with inner ones open: no session is left to report it to.
    atomic_store_explicit(&t->scope, hp_node_get(token.node).parent, memory_order_release);
    t->leaf_valid = 0;
    return HP_OFF;
  }
  if (!now || !t->own) return HP_EMPTY;
  atomic_store_explicit(&t->scope, hp_node_get(now).parent, memory_order_release);
  t->own--;
  t->leaf_valid = 0;
  if (__builtin_expect(hp_load(&hp_g.frames), 0)) frame_closes(t, now);
  return HP_OK;
}

uint32_t hp_scope_node(void) {
  struct hp_thread *t = hp_living();
  return t ? hp_load(&t->scope) : 0;
}

// ---- states ----

int hp_state_enter(uint32_t name) {
  struct hp_thread *t = hp_living();
  if (!t) return HP_OFF;
  if (t->state_depth == HP_STATES) return HP_FULL;
  t->state[t->state_depth] = name;
  t->seen.state[t->state_depth++] = 0;
  t->leaf_valid = 0;
  if (__builtin_expect(name && hp_tracing(), 0)) {
    hp_paths_begin(t);
    uint32_t node = t->seen.state[t->state_depth - 1] = hp_step(t, hp_load(&t->scope), name, 0);
    hp_paths_end(t);
    hp_push_frame(t, HP_BEGIN, node);
  }
  return HP_OK;
}

int hp_state_exit(void) {
  struct hp_thread *t = hp_living();
  if (!t) return HP_OFF;
  if (!t->state_depth) return HP_EMPTY;
  uint32_t seen = t->seen.state[--t->state_depth];
  t->leaf_valid = 0;
  if (__builtin_expect(seen && hp_tracing(), 0)) hp_push_frame(t, HP_END, seen);
  return HP_OK;
}

// ---- metrics ----

// python_metric_leaf returns the call path of a metric in sessions with Python frames. Their call paths have no scopes, so the
// innermost scope's name is put between the Python frames and the state, unless it is the last frame already, as PyTorch's operators are.
static uint32_t python_metric_leaf(struct hp_thread *t) {
  uint32_t (*walk)(void) = atomic_load_explicit(&hp_g.walker, memory_order_acquire);
  uint32_t scope = hp_load(&t->scope);
  if (t->op_open || !scope) return hp_python_leaf(t);
  uint32_t node = walk ? walk() : 0, name = hp_node_get(scope).name;
  if (hp_node_get(node).name != name) node = hp_step(t, node, name, 0);
  if (t->state_depth && t->state[t->state_depth - 1]) node = hp_step(t, node, t->state[t->state_depth - 1], 0);
  return node;
}

// look_up_leaf finds the current leaf. The caller pins it, or has the thread hold it, in the section that it has begun.
static void look_up_leaf(struct hp_thread *t, uint32_t *node, uint32_t *pynode, uint32_t *set) {
  *set = hp_load(&hp_g.launch_set);
  *node = hp_leaf(t);
  if (hp_load(&hp_g.python)) *pynode = python_metric_leaf(t);
}

void hp_leaf_now(uint32_t *node, uint32_t *pynode, uint32_t *set) {
  *node = *pynode = *set = 0;
  struct hp_thread *t = on();
  if (!t) return;
  hp_paths_begin(t);
  look_up_leaf(t, node, pynode, set);
  hp_node_pin(*node); // the program keeps them for as long as it likes
  hp_node_pin(*pynode);
  hp_paths_end(t);
}

void hp_leaf_begin(uint32_t *node, uint32_t *pynode, uint32_t *set) {
  *node = *pynode = *set = 0;
  struct hp_thread *t = hp_living();
  if (!t || t->lent.depth++) return hp_leaf_now(node, pynode, set); // a nested leaf is pinned: the thread has room for one
  if (!hp_active()) return;
  hp_paths_begin(t);
  look_up_leaf(t, node, pynode, set);
  t->lent.node = *node, t->lent.pynode = *pynode;
  hp_paths_end(t);
}

void hp_leaf_end(void) {
  struct hp_thread *t = hp_living();
  if (t && t->lent.depth) t->lent.depth--;
}

static uint8_t metric_flags(uint32_t name, int type) {
  return (type == HP_DOUBLE ? HP_F_DOUBLE : 0) | (hp_metric_is_property(name) ? HP_F_PROPERTY : 0);
}

// add_at adds to the slots of a launch set. Where they are closed, because the next phase has begun meanwhile, Go gets a
// record and adds the value to the phase, if that is not written yet.
static int add_at(struct hp_thread *t, uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits) {
  if (!set || !name) return HP_OFF;
  struct hp_slot keys[2];
  int n = 0;
  if (hp_load(&hp_g.shadow)) keys[n++] = (struct hp_slot){.node = node, .set = set, .name = name, .type = (uint8_t)type, .order = t->last_corr};
  if (hp_load(&hp_g.python))
    keys[n++] = (struct hp_slot){.node = pynode, .set = set, .name = name, .type = (uint8_t)type, .flags = HP_M_PYTHON, .order = t->last_corr};
  int status = n ? hp_slots_add(t, keys, n, bits) : HP_CLOSED;
  if (status != HP_CLOSED) return status;
  hp_push(t, (struct hp_record){.metric = name, .value = bits, .node = node, .pynode = pynode, .set = set,
                                .type = HP_LATE_METRIC, .flags = metric_flags(name, type)});
  return HP_OK;
}

// show_metric records a metric for timelines. It belongs to the slice of a scope or, in an op, to that of its kernel.
static void show_metric(struct hp_thread *t, uint32_t node, uint32_t name, int type, uint64_t bits, uint32_t op) {
  hp_push(t, (struct hp_record){.metric = name, .set = hp_load(&hp_g.launch_set), .node = node, .value = bits,
                                .op = op, .type = HP_METRIC, .flags = metric_flags(name, type)});
}

int hp_metric_at(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits) {
  struct hp_thread *t = hp_living();
  if (!t) return HP_OFF;
  if (__builtin_expect(hp_tracing() && set && name, 0)) show_metric(t, node, name, type, bits, 0);
  return add_at(t, node, pynode, set, name, type, bits);
}

void hp_counter(uint32_t name, uint64_t value) {
  struct hp_thread *t = hp_tracing() && name ? on() : NULL;
  if (t) hp_push(t, (struct hp_record){.metric = name, .time = hp_now(), .counted = value, .set = hp_load(&hp_g.launch_set), .type = HP_COUNTER});
}

// record_metric has Go decide whether a metric counts now or with every replay of a graph: while some stream is being
// captured, the launch that follows may be captured too.
static int record_metric(struct hp_thread *t, uint32_t node, uint32_t pynode, uint32_t name, int type, uint64_t bits) {
  uint8_t flags = metric_flags(name, type) | (t->captures && !t->op_open ? HP_F_CAPTURED : 0);
  hp_push(t, (struct hp_record){.metric = name, .set = hp_load(&hp_g.launch_set), .node = node, .pynode = pynode,
                                .value = bits, .op = t->op_open ? t->op_seq : 0, .type = HP_OP_METRIC, .flags = flags});
  return HP_OK;
}

static int metric_here(struct hp_thread *t, uint32_t name, int type, uint64_t bits) {
  uint32_t node = hp_leaf(t), pynode = hp_load(&hp_g.python) ? python_metric_leaf(t) : 0;
  if (__builtin_expect(hp_captures(), 0)) {
    if (hp_tracing() && !t->op_open) show_metric(t, node, name, type, bits, 0);
    return record_metric(t, node, pynode, name, type, bits);
  }
  if (__builtin_expect(hp_tracing(), 0)) show_metric(t, node, name, type, bits, t->op_open ? t->op_seq : 0);
  return add_at(t, node, pynode, hp_load(&hp_g.launch_set), name, type, bits);
}

static int metric(uint32_t name, int type, uint64_t bits) {
  struct hp_thread *t = on();
  if (!t || !name) return HP_OFF;
  if (t->op_open && t->op_func && t->held_count < HP_OP_METRICS) {
    // The metric gets the call path of the launch: in a session with Python frames, the launch hook has another one.
    t->held[t->held_count].name = name;
    t->held[t->held_count].type = (uint32_t)type;
    t->held[t->held_count++].bits = bits;
    return HP_OK;
  }
  hp_paths_begin(t); // until the slot or record holds the call paths
  int status = metric_here(t, name, type, bits);
  hp_paths_end(t);
  return status;
}

int hp_metric_int(uint32_t name, int64_t value) { return metric(name, HP_INT, (uint64_t)value); }

int hp_metric_double(uint32_t name, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return metric(name, HP_DOUBLE, bits);
}

// other_type converts a value to the type that its metric has on this node already: a launch must not fail.
static uint64_t other_type(uint32_t type, uint64_t bits) {
  double d;
  if (type == HP_INT) {
    d = (double)(int64_t)bits;
    memcpy(&bits, &d, 8);
    return bits;
  }
  memcpy(&d, &bits, 8);
  if (!(d > -9e18 && d < 9e18)) return 0; // NaN, or more than an integer holds
  return (uint64_t)(int64_t)(d < 0 ? d - 0.5 : d + 0.5);
}

// ---- ops ----

static void release_held(struct hp_thread *t, uint32_t node, uint32_t pynode) {
  uint32_t set = hp_load(&hp_g.launch_set);
  for (uint32_t i = 0; i < t->held_count && set; i++) {
    uint32_t name = t->held[i].name, type = t->held[i].type;
    if (hp_captures()) {
      record_metric(t, node, pynode, name, (int)type, t->held[i].bits);
      continue;
    }
    if (hp_tracing()) show_metric(t, node, name, (int)type, t->held[i].bits, t->op_seq);
    if (add_at(t, node, pynode, set, name, (int)type, t->held[i].bits) == HP_TYPE_CHANGED)
      add_at(t, node, pynode, set, name, type == HP_INT ? HP_DOUBLE : HP_INT, other_type(type, t->held[i].bits));
  }
  t->held_count = 0;
}

void hp_op_close(struct hp_thread *t, uint32_t node, uint32_t pynode) {
  if (t->held_count) release_held(t, node, pynode);
  t->op_open = 0;
  t->op_func = 0;
  t->leaf_valid = 0;
  if (__builtin_expect(t->seen.op && hp_tracing(), 0)) hp_push_frame(t, HP_END, t->seen.op);
  t->seen.op = 0;
}

void hp_op_abandon(struct hp_thread *t) {
  hp_op_close(t, t->held_count ? hp_leaf(t) : 0, t->held_count && hp_load(&hp_g.python) ? hp_python_leaf(t) : 0);
}

uint32_t hp_op_enter(uint32_t name, uint64_t func) {
  struct hp_thread *t = on();
  if (!t || !name) return 0;
  if (t->op_open) hp_op_abandon(t);
  t->op_name = name;
  t->op_func = func;
  t->op_open = 1;
  t->leaf_valid = 0;
  if (!++t->op_seq) ++t->op_seq;
  if (__builtin_expect(hp_tracing(), 0)) hp_push_frame(t, HP_BEGIN, t->seen.op = hp_leaf(t));
  return t->op_seq;
}

void hp_op_exit(void) {
  struct hp_thread *t = hp_living();
  if (t && t->op_open) hp_op_abandon(t);
}
