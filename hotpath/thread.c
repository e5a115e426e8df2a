#define _GNU_SOURCE
#include "thread.h"
#include "buffer.h"
#include "control.h"
#include "gate.h"
#include "memory.h"
#include "paths.h"
#include "reclaim.h"
#include "wake.h"
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct hp_global hp_g;

// Initial-exec: one load instead of a call to __tls_get_addr. A Go c-shared library is static-TLS anyway.
static __thread struct hp_thread *self __attribute__((tls_model("initial-exec")));
static _Atomic int32_t free_states; // how many are HP_FREE; too low for a moment when a freed state is taken at once
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

void hp_thread_free(struct hp_thread *t) {
  t->last_corr = 0;
  t->own = t->state_depth = t->op_open = t->held_count = t->leaf_valid = t->tag = t->own_work = t->lent.depth = t->borrows = 0;
  t->seen.op = t->seen.op_over = t->meter.depth = t->meter.reading = 0;
  atomic_store(&t->adding, 0); // a thread that was cancelled while it added has left the arena
  if (t->making_depth) t->making_depth = 1, hp_paths_end(t);
  struct hp_thread *me = t;
  atomic_compare_exchange_strong(&hp_g.main, &me, NULL);
  atomic_store_explicit(&t->life, HP_FREE, memory_order_release);
  atomic_fetch_add(&free_states, 1);
}

// A thread with an empty ring needs no drainer, and between sessions there is none.
static void thread_exits(void *p) {
  struct hp_thread *t = p;
  self = NULL;
  hp_gate_abandon(t);
  if (t->last_corr) hp_buffer_owner_ended();
  if (atomic_load(&t->head) == atomic_load(&t->tail)) hp_thread_free(t);
  else atomic_store_explicit(&t->life, HP_EXITED, memory_order_release);
}

static void make_exit_key(void) { pthread_key_create(&exit_key, thread_exits); }

static struct hp_thread *recycled(void) {
  // With many live threads, a look at each of them would be most of the cost of a new one.
  if (atomic_load(&free_states) <= 0) return NULL;
  for (struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next) {
    // A plain load first: an exchange would take the cache line away from every live thread.
    uint32_t want = HP_FREE;
    if (atomic_load_explicit(&t->life, memory_order_relaxed) == want && atomic_compare_exchange_strong(&t->life, &want, HP_LIVE)) {
      atomic_fetch_sub(&free_states, 1);
      return t;
    }
  }
  return NULL;
}

static struct hp_thread *created(void) {
  struct hp_thread *t = hp_reserve(sizeof *t);
  if (!t) return NULL;
  t->ring = hp_reserve(sizeof *t->ring * HP_RING);
  if (!t->ring) return NULL;
  t->next = atomic_load(&hp_g.threads);
  while (!atomic_compare_exchange_weak(&hp_g.threads, &t->next, t)) {
  }
  return t;
}

static struct hp_thread *attach(void) {
  pthread_once(&exit_once, make_exit_key);
  struct hp_thread *t = recycled();
  if (!t && !(t = created())) return NULL;
  atomic_store_explicit(&t->turn, atomic_fetch_add_explicit(&hp_g.turns, 1, memory_order_relaxed), memory_order_relaxed);
  t->generation = atomic_load(&hp_g.generation) - 1; // never current: the first use resets and inherits
  t->epoch = atomic_load(&hp_g.epoch) - 1;
  t->seen.announced = t->epoch; // never current either: another thread may have had this ring
  pthread_setspecific(exit_key, t);
  return self = t;
}

// catch_up brings a thread up to date after a session has started. A new generation means that all call
// paths were forgotten. A thread without a scope of its own inherits the main thread's, as in Triton's Proton.
static void catch_up(struct hp_thread *t) {
  hp_paths_begin(t);
  uint32_t generation = atomic_load_explicit(&hp_g.generation, memory_order_acquire);
  if (t->generation != generation) {
    t->generation = generation;
    atomic_store_explicit(&t->scope, 0, memory_order_relaxed);
    t->own = t->op_open = t->held_count = t->last_corr = t->launching.inside = t->tag = t->gates = 0;
    t->leaf = t->launching.node = t->launching.pynode = t->lent.node = t->lent.pynode = 0;
    memset(&t->python, 0, sizeof t->python);
    memset(&t->seen.state, 0, sizeof t->seen.state);
    t->seen.op = t->seen.op_over = 0;
    memset(t->memo, 0, sizeof t->memo);
  }
  struct hp_thread *main = atomic_load(&hp_g.main);
  if (t->own == 0 && main && main != t && main->generation == generation)
    atomic_store_explicit(&t->scope, atomic_load_explicit(&main->scope, memory_order_acquire), memory_order_relaxed);
  t->leaf_valid = 0;
  memset(&t->watched, 0, sizeof t->watched);
  t->epoch = atomic_load_explicit(&hp_g.epoch, memory_order_acquire);
  hp_paths_end(t);
}

// borrow gives a thread without a scope of its own the scope that is open in the thread whose work it does now. PyTorch's threads for
// backward passes live longer than any scope, and work for all threads.
static void borrow(struct hp_thread *t, void *(*lender)(void)) {
  const struct hp_thread *of = lender();
  if (of == t) return; // it works for itself, with the scope that it borrowed when it began to
  if (!of && !t->borrows) return;
  t->borrows = of != NULL;
  if (!of) of = atomic_load_explicit(&hp_g.main, memory_order_relaxed);
  int lends = of && of != t && __atomic_load_n(&of->generation, __ATOMIC_RELAXED) == t->generation;
  if (hp_load(&t->scope) == (lends ? atomic_load_explicit(&of->scope, memory_order_acquire) : 0)) return;
  hp_paths_begin(t);
  atomic_store_explicit(&t->scope, lends ? atomic_load_explicit(&of->scope, memory_order_acquire) : 0, memory_order_relaxed);
  t->leaf_valid = 0;
  hp_paths_end(t);
}

struct hp_thread *hp_self(void) {
  struct hp_thread *t = self;
  if (__builtin_expect(!t, 0) && !(t = attach())) return NULL;
  if (__builtin_expect(t->epoch != atomic_load_explicit(&hp_g.epoch, memory_order_relaxed), 0)) catch_up(t);
  void *(*lender)(void) = atomic_load_explicit(&hp_g.lender, memory_order_relaxed);
  if (__builtin_expect(lender && !t->own, 0)) borrow(t, lender);
  return t;
}

int hp_lives(void) { return self != NULL; }

int hp_others_live(void) {
  for (const struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next)
    if (t != self && atomic_load_explicit(&t->life, memory_order_relaxed) == HP_LIVE) return 1;
  return 0;
}

// first_place has a ring that the drainer has emptied begin again at its first place. The drainer reads start only for records that come after
// this, which the store to head publishes.
static uint32_t first_place(struct hp_thread *t, uint32_t head) {
  t->start_before = atomic_load_explicit(&t->start, memory_order_relaxed);
  atomic_store_explicit(&t->start, head, memory_order_relaxed);
  return 0;
}

void hp_push_record(struct hp_thread *t, const struct hp_record *r) {
  uint32_t head = atomic_load_explicit(&t->head, memory_order_relaxed);
  if (__builtin_expect(head - t->tail_seen >= HP_RING, 0)) {
    t->tail_seen = atomic_load_explicit(&t->tail, memory_order_acquire);
    if (head - t->tail_seen >= HP_RING) {
      atomic_fetch_add_explicit(&t->lost, 1, memory_order_relaxed);
      hp_kick();
      return;
    }
  }
  uint32_t place = hp_place(t, head);
  if (place >= HP_AGAIN && head == atomic_load_explicit(&t->tail, memory_order_acquire)) place = first_place(t, head);
  t->ring[place] = *r;
  atomic_store_explicit(&t->head, head + 1, memory_order_release);
  // At the first record and every 2,048: wakes the drainer when a thread begins to work, as the program may be killed soon, and when a
  // quarter of the ring is full.
  if (__builtin_expect(!(head & 2047), 0)) {
    t->tail_seen = atomic_load_explicit(&t->tail, memory_order_acquire);
    if (!head || head - t->tail_seen > HP_RING / 4) hp_kick();
  }
}

static _Atomic uint64_t replayed_clock; // 0: the system's clock

void hp_set_clock(uint64_t nanoseconds) { atomic_store_explicit(&replayed_clock, nanoseconds, memory_order_relaxed); }

uint64_t hp_now(void) {
  uint64_t set = atomic_load_explicit(&replayed_clock, memory_order_relaxed);
  if (__builtin_expect(set != 0, 0)) return set;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void hp_announce(struct hp_thread *t) {
  if (t->seen.announced == t->epoch) return;
  t->seen.announced = t->epoch;
  hp_push(t, (struct hp_record){.set = hp_load(&hp_g.launch_set), .thread = (uint64_t)syscall(SYS_gettid), .type = HP_THREAD});
}

void hp_push_frame(struct hp_thread *t, int type, uint32_t node) {
  hp_announce(t);
  hp_push(t, (struct hp_record){.set = hp_load(&hp_g.launch_set), .node = node, .time = hp_now(), .type = (uint8_t)type});
}

uint32_t hp_step(struct hp_thread *t, uint32_t parent, uint32_t name, uint32_t set) {
  struct hp_memo *m = &t->memo[(parent * 0x9E3779B1u ^ name * 0x85EBCA6Bu ^ set) >> 7 & (HP_MEMO - 1)];
  if (m->node && m->parent == parent && m->name == name && m->set == set) return m->node;
  uint32_t node = hp_child(parent, name, set);
  if (node) *m = (struct hp_memo){parent, name, set, node};
  return node ? node : parent; // out of room: the frame is left out, and counted as lost
}

// below adds the frames below the scopes: the innermost state, then the op.
static uint32_t below(struct hp_thread *t, uint32_t node) {
  if (t->state_depth && t->state[t->state_depth - 1]) node = hp_step(t, node, t->state[t->state_depth - 1], 0);
  if (t->op_open) node = hp_step(t, node, t->op_name, 0);
  return node;
}

uint32_t hp_leaf(struct hp_thread *t) {
  if (t->leaf_valid) return t->leaf;
  hp_paths_begin(t);
  t->leaf = below(t, atomic_load_explicit(&t->scope, memory_order_relaxed));
  hp_paths_end(t);
  t->leaf_valid = 1;
  return t->leaf;
}

// walked is the call path of the Python frames.
static uint32_t walked(struct hp_thread *t) {
  uint32_t (*walk)(void) = atomic_load_explicit(&hp_g.walker, memory_order_acquire);
  if (!walk) return 0;
  return __builtin_expect(hp_load(&hp_g.metered), 0) ? hp_meter_walk(t, walk) : walk();
}

static uint32_t python_leaf(struct hp_thread *t, int left_out) {
  uint32_t state = t->state_depth ? t->state[t->state_depth - 1] : 0, op = t->op_open ? t->op_name : 0;
  hp_paths_begin(t);
  uint32_t base = __builtin_expect(left_out, 0) ? hp_path_in_place(t) : walked(t);
  if (!t->python.leaf || t->python.base != base || t->python.state != state || t->python.op != op) {
    t->python.base = base, t->python.state = state, t->python.op = op;
    t->python.leaf = below(t, base);
  }
  hp_paths_end(t);
  return t->python.leaf;
}

// The metrics of an op stand where its launch does. Other metrics are rare and have their call path.
uint32_t hp_python_leaf(struct hp_thread *t) {
  return python_leaf(t, __builtin_expect(hp_load(&hp_g.paths_every), 0) && t->op_open && hp_path_left_out(t));
}

uint32_t hp_python_launch_leaf(struct hp_thread *t) {
  return python_leaf(t, __builtin_expect(hp_load(&hp_g.metered), 0) && hp_launch_left_out(t));
}
