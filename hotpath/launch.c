// What the vendor's callbacks record: launches, graph nodes, captures.
#include "launch.h"
#include "names.h"
#include "paths.h"
#include "thread.h"
#include "vendor.h"
#include <string.h>

// foreign reports that the open op is of another kernel, whose launch failed or had an empty grid. Handles are compared only
// after some launch has closed its op: before that, hooks may pass other handles than launches have.
static int foreign(const struct hp_thread *t, uint64_t function) {
  return t->op_open && t->op_func && t->op_func != function && hp_load(&hp_g.op_func_proven);
}

// begin_call returns the time of a launch, for timelines. The record holds it in place of the function.
__attribute__((cold, noinline)) static uint64_t begin_call(struct hp_thread *t) {
  hp_announce(t);
  return hp_now();
}

void hp_tag_launch(uint32_t tag, uint64_t function) {
  struct hp_thread *t = hp_load(&hp_g.launch_set) ? hp_living() : NULL;
  if (!t) return;
  t->tag = tag < HP_OTHERS ? tag : HP_OTHERS;
  t->tag_func = function;
}

// take_tag returns the tag for a launch of the function, and cancels it: the next launch may have other arguments.
static uint16_t take_tag(struct hp_thread *t, uint64_t function) {
  if (t->tag_func != function) return 0;
  uint16_t tag = (uint16_t)t->tag;
  t->tag = 0;
  return tag;
}

// remember_call keeps the launch in progress for hp_node_created, if a capture makes a graph node of it.
__attribute__((cold, noinline)) static void remember_call(struct hp_thread *t, struct hp_record r) {
  t->launching.corr = r.correlation, t->launching.node = r.node, t->launching.pynode = r.pynode;
  t->launching.op = r.op, t->launching.flags = r.flags & HP_F_OP, t->launching.inside = 1;
  t->launching.tag = r.tag;
}

// more is what only hp_call knows of a call, and the other entry points do not.
struct more { uint8_t flags; uint32_t stream; };
static const struct more nothing;

// record_launch is inlined where the tag is known to be 0, so that launches without a trace do not handle tags.
__attribute__((always_inline)) static inline void record_launch(struct hp_thread *t, uint8_t type, uint64_t correlation, uint64_t function, uint16_t tag, struct more more) {
  if (__builtin_expect(foreign(t, function), 0)) hp_op_abandon(t);
  struct hp_record r = {.correlation = correlation, .set = hp_load(&hp_g.launch_set), .function = function, .type = type, .tag = tag, .flags = more.flags, .stream = more.stream};
  if (__builtin_expect(hp_tracing(), 0)) r.time = begin_call(t), r.flags |= HP_F_TIMED;
  if (r.set) {
    r.node = hp_leaf(t);
    if (hp_load(&hp_g.python)) r.pynode = hp_python_launch_leaf(t);
    if (t->op_open) r.op = t->op_seq, r.flags |= HP_F_OP;
  } else if (hp_load(&hp_g.leaving)) {
    return;
  }
  t->last_corr = correlation;
  if (t->op_open && t->op_func == function && function) {
    t->seen.op_over = t->seen.op, t->seen.op = 0; // on a timeline it ends with the call
    hp_op_close(t, r.node, r.pynode);
    if (!hp_load(&hp_g.op_func_proven)) atomic_store(&hp_g.op_func_proven, 1);
  }
  hp_push_record(t, &r); // also with set 0: Go must know the id to distinguish a launch outside of sessions from a lost one
  if (__builtin_expect(hp_load(&hp_g.watch), 0)) remember_call(t, r);
}

__attribute__((noinline)) static void record_tagged(struct hp_thread *t, uint64_t correlation, uint64_t function) {
  record_launch(t, HP_LAUNCH, correlation, function, take_tag(t, function), nothing);
}

void hp_launch(uint64_t correlation, uint64_t function) {
  struct hp_thread *t = hp_living();
  if (__builtin_expect(!t, 0)) return;
  if (__builtin_expect(t->tag, 0)) record_tagged(t, correlation, function);
  else record_launch(t, HP_LAUNCH, correlation, function, 0, nothing);
}

void hp_graph_launch(uint64_t correlation, uint64_t exec) {
  struct hp_thread *t = hp_living();
  if (t) record_launch(t, HP_GRAPH_LAUNCH, correlation, exec, 0, nothing);
}

// A copy or a wait belongs to no op: it closes none, and stands below the open one with a frame of its own.
__attribute__((always_inline)) static inline void record_work(struct hp_thread *t, uint64_t correlation, struct more more) {
  struct hp_record r = {.correlation = correlation, .set = hp_load(&hp_g.launch_set), .type = HP_LAUNCH, .flags = more.flags, .stream = more.stream};
  if (__builtin_expect(t->own_work, 0)) {
    r.set = 0; // Go must know the id: an activity without one would be shown as the program's
    hp_push(t, r);
    return;
  }
  if (hp_tracing()) r.time = begin_call(t), r.flags |= HP_F_TIMED;
  if (r.set) {
    r.node = hp_leaf(t);
    if (hp_load(&hp_g.python)) r.pynode = hp_python_launch_leaf(t);
    if (t->op_open) r.op = t->op_seq;
  } else if (hp_load(&hp_g.leaving)) {
    return;
  }
  t->last_corr = correlation;
  hp_push(t, r);
  if (hp_captures()) remember_call(t, r);
}

void hp_work(uint64_t correlation) {
  struct hp_thread *t = hp_living();
  if (t) record_work(t, correlation, nothing);
}

void hp_call(const struct hp_call *c) {
  struct hp_thread *t = hp_living();
  if (!t) return;
  struct more more = {c->several ? HP_F_SEVERAL : 0, c->stream};
  if (c->work) record_work(t, c->correlation, more);
  else if (c->graph) record_launch(t, HP_GRAPH_LAUNCH, c->correlation, c->function, 0, more);
  else record_launch(t, HP_LAUNCH, c->correlation, c->function, take_tag(t, c->function), more);
}

void hp_launched(uint64_t correlation, uint32_t call) {
  struct hp_thread *t = hp_living();
  if (!t) return;
  t->launching.inside = 0;
  if (!hp_tracing() || t->own_work) return;
  uint64_t now = hp_now();
  struct hp_record r = {.correlation = correlation, .set = hp_load(&hp_g.launch_set), .time = now, .call = call, .type = HP_CALL_END};
  hp_push(t, r);
  if (t->seen.op_over) hp_push_frame(t, HP_END, t->seen.op_over);
  t->seen.op_over = 0;
}

// The low half of a stream's handle distinguishes it from the program's others; its lowest bit is set, so that 0 is none.
void hp_returned(uint64_t correlation, uint64_t function, uint64_t stream, uint32_t result, const char *symbol) {
  struct hp_thread *t = hp_load(&hp_g.watch) & HP_WATCHING ? hp_living() : NULL;
  if (!t) return;
  struct hp_record r = {.correlation = correlation, .function = function, .stream = (uint32_t)stream | 1, .result = result, .type = HP_RETURNED};
  uint64_t *known = &t->watched.function[function >> 4 & (sizeof t->watched.function / sizeof *t->watched.function - 1)];
  if (r.stream == t->watched.stream && *known == function && !result && !hp_tracing()) return;
  if (*known != function && symbol) r.symbol = hp_intern(symbol, strlen(symbol));
  if (!result) t->watched.stream = r.stream, *known = function;
  hp_push_record(t, &r);
}

void hp_waited(uint64_t correlation, uint32_t name, uint16_t device, uint64_t start, uint64_t nanos) {
  struct hp_thread *t = hp_living();
  if (t) hp_push(t, (struct hp_record){.correlation = correlation, .time = start, .waited = nanos, .name = name, .tag = device, .set = hp_load(&hp_g.launch_set), .type = HP_WAITED});
}

// captured_now reports whether the thread is in a launch that is being captured. If the last capture, of another thread, ends
// during a launch, its EXIT is not reported and `inside` stays set: a later launch has another correlation id.
static int captured_now(const struct hp_thread *t) {
  return t->launching.inside && t->launching.corr == t->last_corr && hp_captures();
}

// hp_node_created records where a graph node was made: during a capture inside the launch that is being
// captured, else (an explicitly built graph) wherever the thread stands.
void hp_node_created(uint64_t graph, uint64_t node) {
  struct hp_thread *t = hp_living();
  if (!t) return;
  struct hp_record r = {.graph = graph, .set = hp_load(&hp_g.launch_set), .graph_node = node, .type = HP_NODE_CREATED};
  if (t->own_work) {
    r.set = 0, r.flags = HP_F_OWN;
  } else if (captured_now(t)) {
    r.node = t->launching.node, r.pynode = t->launching.pynode;
    r.op = t->launching.op, r.flags = (uint8_t)(t->launching.flags | HP_F_CAPTURED), r.tag = (uint16_t)t->launching.tag;
    r.reads = t->reading;
  } else if (r.set) {
    r.node = hp_leaf(t);
    if (hp_load(&hp_g.python)) r.pynode = hp_python_leaf(t);
    if (t->op_open) r.op = t->op_seq, r.flags = HP_F_OP;
  }
  hp_push(t, r);
}

// ---- the record of the last launch, for code that runs after it ----

// A launch may be followed by the records of its graph node, its end and the end of its op.
enum { LOOK_BACK = 8 };

int hp_last_launch(uint64_t after, struct hp_record *out) {
  struct hp_thread *t = hp_living();
  if (!t || !t->last_corr || t->last_corr == after) return 0;
  uint32_t head = hp_load(&t->head), start = hp_load(&t->start);
  for (uint32_t i = 1; i <= LOOK_BACK && i <= head; i++) {
    // Drained records are not cleared, and only this thread overwrites them. The last ones before the ring began again lie at places
    // beyond HP_AGAIN - LOOK_BACK, which the few that came after it have not reached.
    const struct hp_record *r = &t->ring[(head - i - (i > head - start ? t->start_before : start)) % HP_RING];
    if (r->type != HP_LAUNCH || r->correlation != t->last_corr) continue;
    *out = *r;
    return 1;
  }
  return 0;
}

uint64_t hp_last_correlation(void) {
  struct hp_thread *t = hp_living();
  return t ? t->last_corr : 0;
}

int hp_own_work(int on) {
  struct hp_thread *t = hp_living();
  if (!t) return 0;
  int before = (int)t->own_work;
  t->own_work = (uint32_t)on;
  return before;
}

static void record_graph(struct hp_record r) {
  struct hp_thread *t = hp_living();
  r.set = hp_load(&hp_g.launch_set);
  if (t) hp_push(t, r);
}

void hp_node_cloned(uint64_t exec, uint64_t node, uint64_t original) {
  record_graph((struct hp_record){.graph = exec, .graph_node = node, .original_node = original, .type = HP_NODE_CLONED});
}

void hp_graph_destroyed(uint64_t graph) { record_graph((struct hp_record){.graph = graph, .type = HP_GRAPH_DESTROYED}); }

void hp_exec_destroyed(uint64_t exec) { record_graph((struct hp_record){.graph = exec, .type = HP_EXEC_DESTROYED}); }

int hp_capturing(void) { return (int)hp_captures(); }

void hp_capture(int delta) {
  uint32_t now = hp_load(&hp_g.watch), next;
  do {
    next = delta < 0 ? (now & ~(HP_TRACING | HP_WATCHING) ? now - 1 : now) : now + 1;
  } while (!atomic_compare_exchange_weak(&hp_g.watch, &now, next));
  struct hp_thread *t = hp_living();
  if (!t) return;
  if (!(now & ~(HP_TRACING | HP_WATCHING))) t->captures = 0; // an end that was not reported, or on another thread
  if (delta > 0 || t->captures) t->captures += (uint32_t)delta;
}
