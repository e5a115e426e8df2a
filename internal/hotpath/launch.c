// What the vendor's callbacks record: launches, graph nodes, captures.
#include "launch.h"
#include "paths.h"
#include "thread.h"

// foreign tells that the open op is about another kernel: its own launch failed, or its grid was empty. Only
// once an op has been seen to close itself is the handle known to be comparable.
static int foreign(const struct hp_thread *t, uint64_t func) {
  return t->op_open && t->op_func && t->op_func != func && hp_load(&hp_g.op_func_proven);
}

static void record_launch(uint8_t type, uint32_t corr, uint64_t func) {
  struct hp_thread *t = hp_living();
  if (__builtin_expect(!t, 0)) return;
  if (__builtin_expect(foreign(t, func), 0)) hp_op_abandon(t);
  struct hp_record r = {.corr = corr, .set = hp_load(&hp_g.launch_set), .func = func, .type = type};
  if (r.set) {
    r.node = hp_leaf(t);
    if (hp_load(&hp_g.python)) r.pynode = hp_python_leaf(t);
    if (t->op_open) r.op = t->op_seq, r.flags = HP_F_OP;
  }
  t->last_corr = corr;
  if (t->op_open && t->op_func == func && func) {
    hp_op_close(t, r.node, r.pynode);
    if (!hp_load(&hp_g.op_func_proven)) atomic_store(&hp_g.op_func_proven, 1);
  }
  hp_push(t, r); // also with set 0: Go must know the id to tell "nobody asked" from "lost"
  if (__builtin_expect(hp_load(&hp_g.capturing), 0)) {
    t->launching.corr = t->last_corr, t->launching.node = r.node, t->launching.pynode = r.pynode;
    t->launching.op = r.op, t->launching.flags = r.flags, t->launching.inside = 1;
  }
}

void hp_launch(uint32_t corr, uint64_t func) { record_launch(HP_LAUNCH, corr, func); }
void hp_graph_launch(uint32_t corr, uint64_t exec) { record_launch(HP_GRAPH_LAUNCH, corr, exec); }

void hp_launched(void) {
  struct hp_thread *t = hp_living();
  if (t) t->launching.inside = 0;
}

// captured_now tells whether the launch that this thread is in is being captured. Its end is not told when all
// captures, of other threads then, end before it.
static int captured_now(const struct hp_thread *t) {
  return t->launching.inside && t->launching.corr == t->last_corr && hp_load(&hp_g.capturing);
}

// hp_node_created records where a graph node was made: during a capture inside the launch that is being
// captured, else (an explicitly built graph) wherever the thread stands.
void hp_node_created(uint32_t graph, uint64_t node) {
  struct hp_thread *t = hp_living();
  if (!t) return;
  struct hp_record r = {.corr = graph, .set = hp_load(&hp_g.launch_set), .func = node, .type = HP_NODE_CREATED};
  if (captured_now(t)) {
    r.node = t->launching.node, r.pynode = t->launching.pynode;
    r.op = t->launching.op, r.flags = (uint8_t)(t->launching.flags | HP_F_CAPTURED);
  } else if (r.set) {
    r.node = hp_leaf(t);
    if (hp_load(&hp_g.python)) r.pynode = hp_python_leaf(t);
    if (t->op_open) r.op = t->op_seq, r.flags = HP_F_OP;
  }
  hp_push(t, r);
}

void hp_event(int type, uint32_t corr, uint64_t func, uint64_t aux) {
  struct hp_thread *t = hp_living();
  if (t) hp_push(t, (struct hp_record){.corr = corr, .set = hp_load(&hp_g.launch_set), .aux = aux, .func = func, .type = (uint8_t)type});
}

int hp_capturing(void) { return (int)hp_load(&hp_g.capturing); }

void hp_capture(int delta) {
  uint32_t now = hp_load(&hp_g.capturing), next;
  do {
    next = delta < 0 ? (now ? now - 1 : 0) : now + 1;
  } while (!atomic_compare_exchange_weak(&hp_g.capturing, &now, next));
}
