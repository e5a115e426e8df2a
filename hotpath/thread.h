// The state of one application thread: open scopes, states, the current op, and the ring Go drains.
#ifndef GOPROTON_THREAD_H
#define GOPROTON_THREAD_H

#include "hotpath.h"
#include "meter.h"
#include <stdatomic.h>

enum {
  // 32 k records of 40 bytes: 1.25 MiB, touched as it fills. The rounds drain it every 10 ms; at 140 k launches a second, a
  // twentieth of the ring is filled by then.
  HP_RING = 1 << 15,
  // From this place on, a ring that was drained begins again at the first one: that of a thread with few records at a time stays within 20 KB,
  // which the processor's cache holds, instead of touching all of it in the course of an hour.
  HP_AGAIN = 512,
  HP_STATES = 32,
  HP_OP_METRICS = 16,
  HP_MEMO = 512,
};

// The life of a struct hp_thread. It is LIVE until its thread exits. It is then EXITED until the
// drainer has emptied its ring (hp_thread_retire), or at once FREE if the ring is empty. A new thread takes over a FREE one. The
// memory is never freed, so the drainer may look at any state at any time.
enum hp_thread_life { HP_LIVE, HP_EXITED, HP_FREE };

struct hp_memo { uint32_t parent, name, set, node; };

struct hp_thread {
  // Written by the owning thread.
  _Alignas(64) _Atomic uint32_t head;
  uint32_t tail_seen;
  _Atomic uint32_t start;      // number of the record that lies at the ring's first place
  uint32_t start_before;       // start before it changed last: older records are looked up with it
  uint32_t epoch, generation;
  _Atomic uint32_t scope;      // innermost open scope, or that of another thread while this one has none
  uint32_t own;                // scopes this thread opened itself
  uint32_t borrows;            // not 0: scope is that of the thread it works for
  uint32_t leaf, leaf_valid;   // the call path that hp_leaf found last, until a scope, state or op changes
  uint32_t state_depth, state[HP_STATES];
  uint32_t op_name, op_seq, op_open;
  uint64_t op_func;
  uint32_t tag;                // for the next launch of tag_func; 0 = none
  uint64_t tag_func;
  uint32_t held_count;         // metrics of the open op that wait for its launch
  struct { uint32_t name, type; uint64_t bits; } held[HP_OP_METRICS];
  uint64_t last_corr;
  uint32_t own_work;           // not 0: the thread works for the profiler, see own_work
  struct { uint64_t corr; uint32_t node, pynode, op, flags, inside, tag; } launching; // the launch in progress, during captures
  uint32_t captures;           // how many streams this thread is capturing
  struct { uint32_t stream; uint64_t function[32]; } watched; // that an HP_RETURNED has had; 0 = none
  uint32_t gates;              // open scopes of this thread that have the name of the gate, see gate.h
  uint32_t reading;            // number of the tensor metric whose node is being captured; 0 = none
  struct { uint32_t base, state, op, leaf; } python;              // the last python leaf computed
  // What a timeline shows as open: the node of each state (0: it began while no session wanted a timeline), of the op, and of
  // an op that was closed by its launch and is shown until that call returns.
  struct { uint32_t state[HP_STATES], op, op_over, announced; } seen;
  _Atomic uint64_t lost;
  struct { uint32_t node, pynode, depth; } lent; // the leaf between leaf_begin and leaf_end
  // While the thread looks up or makes call paths, see reclaim.h: making is odd, and depth counts nested sections.
  _Atomic uint32_t making;
  uint32_t making_depth;
  _Atomic uint32_t adding;     // number of the slot arena that this thread is adding to, see slots.h; 0 = none
  struct hp_memo memo[HP_MEMO];
  struct { uint32_t op, out; } thinned; // whether the call path of the op with that number is left out
  struct hp_meter meter;
  // Written by Go.
  _Alignas(64) _Atomic uint32_t tail;
  // Fixed after creation, except life and turn.
  _Alignas(64) struct hp_record *ring;
  struct hp_thread *next;
  _Atomic uint32_t life;
  _Atomic uint32_t turn;       // how many threads were attached before this one
};

// What the whole process shares. Most of it is written by Go, through control.h.
struct hp_global {
  _Atomic uint32_t launch_set;   // 0 = no session is active
  _Atomic uint32_t scope_set;    // which sessions see a scope entered now; not 0 also between the windows of a session
  _Atomic uint32_t gated;        // not 0: what opens the gate, see gate.h
  _Atomic uint32_t frames;       // HP_FRAMES_...: who wants to know that scopes open and close; 0 = no session
  _Atomic uint32_t shadow, python; // some active session wants call paths of scopes; of Python frames
  _Atomic uint32_t epoch, generation;
  _Atomic uint32_t reclaims;     // how often call paths were reclaimed
  _Atomic uint32_t dead;         // this process is a forked child
  _Atomic uint32_t leaving;      // the process ends: nothing that is launched now is of interest
  _Atomic uint32_t watch;        // number of stream captures in progress, HP_TRACING and HP_WATCHING. Not 0: ends of calls are recorded
  _Atomic uint32_t op_func_proven; // some op was closed by its launch: hooks pass the handles that launches have
  _Atomic uint32_t metered;        // while some session has a budget the number of the meter's run, else 0; see meter.h
  _Atomic uint32_t paths_every;    // the Python call path of one launch in so many is taken; 0 = of each
  _Atomic uint32_t left_out_name;  // name of the frame that replaces a path that is not taken; 0 before it is needed
  _Atomic(uint32_t (*)(void)) walker;
  _Atomic(void (*)(uint32_t every)) thinner;
  _Atomic(struct hp_thread *) threads, main;
  _Atomic(void *(*)(void)) lender; // returns the hp_thread whose work the calling thread does, NULL if that is not known
  _Atomic uint32_t turns;
};
extern struct hp_global hp_g;

enum { HP_GATE_SCOPE = 1, HP_GATE_API = 2 }; // values of gated
enum { HP_FRAMES_TIMELINE = 1, HP_FRAMES_GATE = 2 };

static inline uint32_t hp_load(_Atomic uint32_t *v) { return atomic_load_explicit(v, memory_order_relaxed); }

// hp_place is where in its ring a thread's record with this number lies.
static inline uint32_t hp_place(const struct hp_thread *t, uint32_t number) {
  return (number - atomic_load_explicit(&t->start, memory_order_relaxed)) & (HP_RING - 1);
}

#define HP_TRACING 0x80000000u  // some active session wants a timeline
#define HP_WATCHING 0x40000000u // the program is watched for a hang
static inline uint32_t hp_tracing(void) { return hp_load(&hp_g.watch) & HP_TRACING; }
static inline uint32_t hp_captures(void) { return hp_load(&hp_g.watch) & ~(HP_TRACING | HP_WATCHING); }

// hp_self returns the calling thread's state, up to date with the sessions, or NULL when memory ran out.
struct hp_thread *hp_self(void);
// hp_living is hp_self, but NULL in a forked child.
static inline struct hp_thread *hp_living(void) {
  return __builtin_expect(hp_load(&hp_g.dead), 0) ? NULL : hp_self();
}
// hp_push appends one record, or counts it as lost when Go is too far behind.
void hp_push_record(struct hp_thread *t, const struct hp_record *r);
static inline void hp_push(struct hp_thread *t, struct hp_record r) { hp_push_record(t, &r); }
// The call paths a launch on this thread would get now.
uint32_t hp_leaf(struct hp_thread *t);
uint32_t hp_python_leaf(struct hp_thread *t);
// hp_python_launch_leaf is hp_python_leaf at a launch, whose Python call path may be left out to save time.
uint32_t hp_python_launch_leaf(struct hp_thread *t);
// hp_op_close ends the op; metrics that still wait are added at the given place.
void hp_op_close(struct hp_thread *t, uint32_t node, uint32_t pynode);
// hp_op_abandon ends an op that no launch has closed, and adds its metrics to the current leaf.
void hp_op_abandon(struct hp_thread *t);
// hp_thread_free makes the state of a thread that has exited, and whose ring is empty, available to another thread.
void hp_thread_free(struct hp_thread *t);
// hp_now is the clock that activity records are in: ns of CLOCK_REALTIME, or what a replay has set instead.
uint64_t hp_now(void);
void hp_set_clock(uint64_t nanoseconds);
// hp_push_frame records that a frame opens (HP_BEGIN) or closes (HP_END). Call it while tracing.
void hp_push_frame(struct hp_thread *t, int type, uint32_t node);
// hp_announce records the thread's system id (HP_THREAD), once in each session, before the first record of a timeline.
void hp_announce(struct hp_thread *t);
// hp_step is hp_child through the thread's memo.
uint32_t hp_step(struct hp_thread *t, uint32_t parent, uint32_t name, uint32_t set);

#endif
