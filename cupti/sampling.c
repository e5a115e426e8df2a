// What the rest of the package calls to sample: sessions begin and end it, and callbacks report what the program is about to
// do. The thread of sampling_thread.c does the work. The program waits for that thread, each time up to a limit, at its first
// launch in a context, before it unloads code or destroys a context, and when a session ends.
#define _GNU_SOURCE
#include "sampling_state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  CONFIGURE_LIMIT_MS = 10000, // Enable takes 0.3 to 0.8 s
  UNLOAD_LIMIT_MS = 300,
};

struct sampler sampler = {.lock = PTHREAD_MUTEX_INITIALIZER};
atomic_int sampler_began, sampler_busy;
static _Atomic uint32_t generation; // of contexts

// ---- sessions ----

static void in_child(void) {
  atomic_store(&sampler_began, 0);
  gate_begin(); // it may have been closed
  for (int i = 0; i < CONTEXTS; i++) claim_release(&sampler.contexts[i].claim);
}

static void initialise(void) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&sampler.wake, &monotonic);
  pthread_cond_init(&sampler.done, &monotonic);
  pthread_atfork(NULL, NULL, in_child);
}

static int start_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // the program's threads handle its signals
  int rc = pthread_create(&sampler.thread, NULL, sampler_thread, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!rc) pthread_setname_np(sampler.thread, "proton-sampling");
  return rc;
}

int sampling_begin(const struct sampling_options *o) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialise);
  pthread_mutex_lock(&sampler.lock); // a callback may still hold it from the previous session
  memset(sampler.contexts, 0, sizeof sampler.contexts);
  sampler.options = *o, sampler.quit = 0, sampler.wanted = sampler.held = 0, sampler.facts = (struct sampling_facts){0};
  pthread_mutex_unlock(&sampler.lock);
  gate_begin();
  if (sampler_prepare_reading()) return RC_OUT_OF_MEMORY;
  if (start_thread()) return RC_OUT_OF_MEMORY;
  atomic_fetch_add(&generation, 1);
  atomic_store(&sampler_began, 1);
  return RC_OK;
}

// Asks the sampling thread for something and waits until it is done, or until the limit; lock held.
static void ask(struct request *r, unsigned limit_ms) {
  uint64_t mine = ++r->asked, limit = sampler_now_ms() + limit_ms;
  pthread_cond_signal(&sampler.wake);
  while (r->answered < mine && sampler_now_ms() < limit && !sampler.quit && atomic_load(&sampler_began))
    sampler_wait_until(&sampler.done, limit);
}

// The same for a thread of the program, whose waiting is counted; lock held.
static void ask_and_count(struct request *r, unsigned limit_ms) {
  uint64_t began = sampler_nanos(CLOCK_MONOTONIC);
  ask(r, limit_ms);
  sampler.facts.waited_ns += sampler_nanos(CLOCK_MONOTONIC) - began;
}

// Takes the lock and returns 1, unless sampling has ended or has not begun.
static int enter(void) {
  if (!atomic_load(&sampler_began)) return 0;
  pthread_mutex_lock(&sampler.lock);
  if (atomic_load(&sampler_began)) return 1;
  pthread_mutex_unlock(&sampler.lock);
  return 0;
}

static int any_context(void) {
  for (int i = 0; i < CONTEXTS; i++)
    if (sampler.contexts[i].state > DESTROYED) return 1;
  return 0;
}

void sampling_run(int on) {
  if (!enter()) return;
  sampler.wanted = on;
  if (any_context()) ask(&sampler.updates, CONFIGURE_LIMIT_MS);
  pthread_mutex_unlock(&sampler.lock);
}

void sampling_finish(void) {
  if (!enter()) return;
  if (any_context()) ask(&sampler.finishes, 2 * FINISH_LIMIT_MS);
  pthread_mutex_unlock(&sampler.lock);
}

void sampling_hold(int on) {
  uint64_t limit = sampler_now_ms() + CONFIGURE_LIMIT_MS;
  if (!enter()) return;
  sampler.held = on;
  if (!on) pthread_cond_signal(&sampler.wake);
  while (on && sampler.calling && sampler_now_ms() < limit) sampler_wait_until(&sampler.done, limit);
  pthread_mutex_unlock(&sampler.lock);
}

static void disable_all(void) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (sampler_enabled(c)) {
      sampler_call_apart_if_possible(cupti_sampling.PCSamplingDisable, c->handle);
      sampler_take(c, &c->configured);
    }
    sampler_free_data(&c->configured);
    claim_release(&c->claim);
    c->state = FREE;
  }
}

void sampling_end(void) {
  if (!atomic_exchange(&sampler_began, 0)) return;
  pthread_mutex_lock(&sampler.lock);
  sampler.quit = 1;
  pthread_cond_signal(&sampler.wake);
  pthread_mutex_unlock(&sampler.lock);
  pthread_join(sampler.thread, NULL);
  disable_all();
  atomic_fetch_add(&generation, 1);
}

// ---- callbacks ----

static struct context *context_of(void *handle) {
  struct context *vacant = NULL;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (c->state > DESTROYED && c->handle == handle) return c;
    if (c->state <= DESTROYED && (!vacant || c->state < vacant->state)) vacant = c;
  }
  if (vacant) {
    sampler_free_data(&vacant->configured);
    *vacant = (struct context){.handle = handle, .state = NEW};
  }
  return vacant;
}

// at_exit ends the sampling thread before the CUDA libraries end: it is registered at a launch, after their handlers, and so
// runs before them. The session's handler, which reads the remaining samples, runs still earlier.
static void at_exit(void) {
  struct timespec limit;
  if (!atomic_exchange(&sampler_began, 0)) return;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec++;
  if (pthread_mutex_timedlock(&sampler.lock, &limit)) return; // this thread may hold it: exit was called in a signal handler
  sampler.quit = 1;
  pthread_cond_signal(&sampler.wake);
  pthread_mutex_unlock(&sampler.lock);
  pthread_timedjoin_np(sampler.thread, NULL, &limit);
}

static void watch_exit(void) { atexit(at_exit); }

void sampling_context_used(void *handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static __thread struct { void *handle; uint32_t generation; } last;
  if (!atomic_load_explicit(&sampler_busy, memory_order_relaxed)) atomic_store_explicit(&sampler_busy, 1, memory_order_relaxed);
  uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
  if ((last.handle == handle && last.generation == now) || !handle || cupti_own_call || !atomic_load(&sampler_began)) return;
  last.handle = handle, last.generation = now;
  pthread_once(&once, watch_exit);
  if (!enter()) return;
  struct context *c = context_of(handle);
  if (c && c->state == WAITING && !sampler_gpu_taken(c)) c->state = NEW, sampler.facts.waiting--;
  if (c && c->state == NEW) ask_and_count(&sampler.updates, CONFIGURE_LIMIT_MS);
  pthread_mutex_unlock(&sampler.lock);
}

void sampling_before_destroy(void *handle, int device) {
  int found = 0;
  if (cupti_own_call || !enter()) return;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (sampler_enabled(c) && (handle ? c->handle == handle : c->device == device)) found = c->destroying = 1;
  }
  if (found) ask_and_count(&sampler.destroys, 2 * FINISH_LIMIT_MS);
  pthread_mutex_unlock(&sampler.lock);
  atomic_fetch_add(&generation, 1); // the next launch in another context of the GPU looks whether that can be sampled now
}

void sampling_destroying(void *handle) {
  if (!atomic_load(&sampler_began) || cupti_own_call) return;
  uint64_t limit = sampler_now_ms() + FINISH_LIMIT_MS;
  atomic_fetch_add(&generation, 1);
  if (!enter()) return;
  for (int i = 0; i < CONTEXTS; i++)
    if (sampler.contexts[i].state > DESTROYED && sampler.contexts[i].handle == handle) {
      sampler.contexts[i].state = DESTROYED;
      claim_release(&sampler.contexts[i].claim);
    }
  while (sampler.calling && sampler_now_ms() < limit) sampler_wait_until(&sampler.done, limit); // CUPTI may read its samples
  pthread_mutex_unlock(&sampler.lock);
}

void sampling_before_unload(void) {
  if (cupti_own_call || !atomic_load(&sampler_busy) || !enter()) return;
  if (any_context()) ask_and_count(&sampler.unloads, UNLOAD_LIMIT_MS);
  pthread_mutex_unlock(&sampler.lock);
}

// ---- results ----

void sampling_facts(struct sampling_facts *out) {
  pthread_mutex_lock(&sampler.lock);
  *out = sampler.facts;
  pthread_mutex_unlock(&sampler.lock);
}
