#define _GNU_SOURCE
#include "control.h"
#include "memory.h"
#include "names.h"
#include "paths.h"
#include "slots.h"
#include <pthread.h>

// In a forked child only the forking thread lives on and Go is gone: everything here turns itself off.
static void child_goes_silent(void) {
  atomic_store(&hp_g.dead, 1);
  atomic_store(&hp_g.launch_set, 0);
  atomic_fetch_and(&hp_g.watch, ~(HP_TRACING | HP_WATCHING));
}

static int initialised;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void) {
  initialised = hp_names_init() && hp_paths_init() && hp_slots_init();
  pthread_atfork(NULL, NULL, child_goes_silent);
}

int hp_init(void) {
  pthread_once(&once, init);
  return initialised;
}

void hp_session_begins(int fresh) {
  if (fresh) {
    hp_paths_reset();
    hp_names_reset();
    atomic_fetch_add(&hp_g.generation, 1);
  }
  atomic_fetch_add(&hp_g.epoch, 1);
  atomic_store(&hp_g.main, hp_self());
}

void hp_inherit_nothing(void) { atomic_store(&hp_g.main, NULL); }

void hp_set_active(uint32_t launch_set, uint32_t scope_set, int shadow, int python, int tracing) {
  atomic_store(&hp_g.scope_set, scope_set);
  atomic_store(&hp_g.shadow, (uint32_t)shadow);
  atomic_store(&hp_g.python, (uint32_t)python);
  if (tracing) atomic_fetch_or(&hp_g.watch, HP_TRACING), atomic_fetch_or(&hp_g.frames, HP_FRAMES_TIMELINE);
  else atomic_fetch_and(&hp_g.watch, ~HP_TRACING), atomic_fetch_and(&hp_g.frames, ~(uint32_t)HP_FRAMES_TIMELINE);
  if (launch_set) atomic_store(&hp_g.leaving, 0);
  hp_slots_publish(launch_set); // metrics whose thread still sees the former set go to Go as records
  atomic_store(&hp_g.launch_set, launch_set);
}

void hp_watch(int on) {
  if (on) atomic_fetch_or(&hp_g.watch, HP_WATCHING);
  else atomic_fetch_and(&hp_g.watch, ~HP_WATCHING);
}

void hp_leave(void) { atomic_store(&hp_g.leaving, 1); }

struct hp_thread *hp_first_thread(void) { return atomic_load(&hp_g.threads); }

struct hp_thread *hp_thread_due(struct hp_thread *t) {
  for (; t; t = t->next) {
    if (atomic_load_explicit(&t->life, memory_order_relaxed) == HP_EXITED) return t;
    if (atomic_load_explicit(&t->head, memory_order_relaxed) != atomic_load_explicit(&t->tail, memory_order_relaxed)) return t;
  }
  return NULL;
}

uint32_t hp_thread_turn(struct hp_thread *t) { return atomic_load_explicit(&t->turn, memory_order_relaxed); }

uint32_t hp_ring_ready(struct hp_thread *t, struct hp_record **first) {
  uint32_t tail = atomic_load_explicit(&t->tail, memory_order_relaxed);
  uint32_t n = atomic_load_explicit(&t->head, memory_order_acquire) - tail;
  uint32_t at = hp_place(t, tail);
  *first = t->ring + at;
  return n < HP_RING - at ? n : HP_RING - at;
}

// A drainer that was late gives back the pages of what it has read. The owner cannot write there before it sees the new tail, and
// looks back at the last records only.
static void give_back(struct hp_thread *t, uint32_t tail, uint32_t n) {
  enum { PAGE = 1 << 16, LAST = 16 }; // arm64 has pages of up to 64 KiB
  uintptr_t from = (uintptr_t)(t->ring + hp_place(t, tail));
  uintptr_t end = (from + sizeof *t->ring * (n - LAST)) / PAGE * PAGE;
  from = (from + PAGE - 1) / PAGE * PAGE;
  if (from < end) hp_release((void *)from, end - from);
}

void hp_ring_taken(struct hp_thread *t, uint32_t n) {
  if (n > HP_RING / 16) give_back(t, atomic_load_explicit(&t->tail, memory_order_relaxed), n);
  atomic_fetch_add_explicit(&t->tail, n, memory_order_release);
}

void hp_thread_retire(struct hp_thread *t) {
  if (atomic_load_explicit(&t->life, memory_order_acquire) != HP_EXITED) return;
  if (atomic_load(&t->head) != atomic_load(&t->tail)) return;
  hp_thread_free(t);
}

uint64_t hp_lost_records(void) {
  uint64_t n = hp_names_lost() + hp_paths_lost() + hp_slots_lost();
  for (struct hp_thread *t = hp_first_thread(); t; t = t->next) n += atomic_load_explicit(&t->lost, memory_order_relaxed);
  return n;
}

