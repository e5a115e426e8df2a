#include "hold.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct hp_api *real;
static struct hp_api api; // as real, except that the functions that a walk calls wait: the internal walker calls generation first

static __thread int walk_is_held;
static _Atomic int held, unwound, python_is_over;

static void millisecond(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }

// until_python_is_over waits for the end of the interpreter, or for a second if the interpreter waits for this thread.
static void until_python_is_over(void) {
  atomic_fetch_add(&held, 1);
  for (int ms = 0; ms < 1000 && !atomic_load(&python_is_over); ms++) millisecond();
}

static void in_walk(void) {
  if (!walk_is_held) return;
  walk_is_held = 0;
  until_python_is_over();
}

static uint32_t generation(void) { return in_walk(), real->generation(); }
static uint32_t child(uint32_t parent, uint32_t name, uint32_t set) { return in_walk(), real->child(parent, name, set); }

const void *hold_api(const void *a) {
  real = a, api = *real;
  api.generation = generation, api.child = child;
  return &api;
}

void hold_walk(void) { walk_is_held = 1; }

// ---- a thread that is held inside a control call, and how it ends ----

static pthread_key_t key;

static void unwinds(void *p) {
  (void)p;
  atomic_store(&unwound, 1);
}

void hold_call(void) {
  pthread_key_create(&key, unwinds);
  pthread_setspecific(key, &key);
  atomic_fetch_add(&held, 1);
  while (!atomic_load(&python_is_over)) millisecond();
}

int hold_held(void) { return atomic_load(&held); }

// An exit handler runs after the interpreter has ended. It gives held threads time to run or to be unwound.
static void at_exit(void) {
  atomic_store(&python_is_over, 1);
  if (!atomic_load(&held)) return;
  for (int ms = 0; ms < 300; ms++) millisecond();
  if (!atomic_load(&unwound)) return;
  fprintf(stderr, "the stack of a daemon thread was unwound through the extension module\n");
  _exit(98);
}

__attribute__((constructor)) static void loaded(void) { atexit(at_exit); }
