// The sampling thread. It makes every call that CUPTI's sampling has: CUPTI refuses to be configured in a callback, and
// reading takes milliseconds, so no thread of the program does either.
//
// CUPTI samples one context of a GPU at a time, over all processes. Starting a second one is refused (HARDWARE_BUSY), and
// then every call of CUPTI fails, reading kernel records included, or crashes (seen on an H200, CUPTI 13.0). So the first
// context that launches is sampled until it is destroyed, and the others wait; a process claims a GPU before it samples.
#include "sampling_state.h"

#include <time.h>

enum {
  ROUND_MS = 100,
  // In serialized mode the worker puts the instructions of each kernel into the configured buffer. Once that is full, it
  // goes on to add up, and what a sample belongs to is lost (seen on an H200, CUPTI 13.0): it is large, and read often.
  SERIALIZED_ROUND_MS = 10,
  COOL_MS = 300,        // rounds keep this far from loads and unloads of code: CUPTI reads names of code that may be going away
  COOL_LIMIT_MS = 2000, // after which a round is made, even though code keeps being loaded
  RESTARTS = 8,
};

uint64_t sampler_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// The thread of the program that waits cannot be cancelled here: it would keep the lock.
void sampler_wait_until(pthread_cond_t *cond, uint64_t ms) {
  struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_cond_timedwait(cond, &sampler.lock, &t);
  pthread_setcancelstate(before, &before);
}

static void pause_ms(unsigned ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

int sampler_in_use(const struct context *c) { return c->state == READY || c->state == RUNNING; }

// Releases the lock for calls of CUPTI, and takes it again.
static void calls(int begin) {
  if (begin) {
    sampler.calling = 1;
    pthread_mutex_unlock(&sampler.lock);
    return;
  }
  pthread_mutex_lock(&sampler.lock);
  sampler.calling = 0;
  pthread_cond_broadcast(&sampler.done);
}

int sampler_taken(const struct context *c) {
  for (int i = 0; i < CONTEXTS; i++)
    if (&sampler.contexts[i] != c && sampler_in_use(&sampler.contexts[i]) && sampler.contexts[i].device == c->device) return 1;
  return 0;
}

// Gives a context its sampler, unless it has to wait for that; lock held at both ends.
static void ready(struct context *c) {
  void *handle = c->handle;
  calls(1);
  int device = sampler_device_of(handle);
  calls(0);
  if (c->state != NEW) return;
  c->device = device;
  if (sampler_taken(c)) {
    c->state = WAITING;
    sampler.facts.waiting++;
    return;
  }
  if (!claim_gpu(device, &c->claim)) {
    c->state = REFUSED;
    sampler.facts.claimed = 1;
    return;
  }
  calls(1);
  sampler_configure(c);
  calls(0);
  if (c->state == REFUSED) claim_back(&c->claim);
}

// Takes a context's sampler off, with what it still has; lock held at both ends.
static void leave(struct context *c) {
  calls(1);
  sampler_call(cupti_sampling.PCSamplingDisable, c->handle);
  sampler_take(c, &c->configured);
  sampler_free_data(&c->configured);
  calls(0);
  claim_back(&c->claim);
}

// Brings one context to the state that is wanted; lock held at both ends.
static void update(struct context *c) {
  if (c->state == NEW) ready(c);
  int start = sampler.wanted && c->state == READY, stop = !sampler.wanted && c->state == RUNNING;
  if (!start && !stop) return;
  void *handle = c->handle;
  calls(1);
  uint32_t rc = sampler_call(start ? cupti_sampling.PCSamplingStart : cupti_sampling.PCSamplingStop, handle);
  calls(0);
  if (!sampler_in_use(c)) return;
  c->state = start ? RUNNING : READY;
  sampler_refused(rc, start ? "start sampling" : "stop sampling");
  if (rc && start) c->state = REFUSED, c->configured.pcs = NULL; // CUPTI is asked nothing more, and may know the memory
}

// Once the hardware's buffer was full, nothing more is sampled until the context is set up anew; lock held at both ends.
static void restart(struct context *c) {
  c->full = 0;
  if (!sampler_in_use(c) || c->restarts++ == RESTARTS) return;
  leave(c);
  if (!sampler_in_use(c)) return;
  c->state = NEW;
  sampler.updates.asked++;
}

// Reads all contexts; lock held at both ends.
static int read_all(void) {
  int any = 0;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (!sampler_in_use(c)) continue;
    calls(1);
    any |= sampler_read(c);
    calls(0);
    if (c->full) restart(c);
  }
  return any;
}

// Reads what has been executed: rounds over two periods of CUPTI's worker, and then until nothing comes, or until the
// limit where the GPU has not come to rest; reports whether it has. Lock held at both ends.
static int read_rest(int to_rest) {
  enum { EMPTY = 3 };
  uint64_t limit = sampler_now_ms() + (to_rest ? FINISH_LIMIT_MS : 0);
  int empty = 0;
  for (int rounds = 0; !sampler.quit && (rounds < EMPTY || (empty < EMPTY && sampler_now_ms() < limit)); rounds++) {
    empty = read_all() ? 0 : empty + 1;
    pthread_mutex_unlock(&sampler.lock);
    pause_ms(WORKER_MS + 5);
    pthread_mutex_lock(&sampler.lock);
  }
  return empty >= EMPTY;
}

// Has CUPTI decode what the GPU has sampled, and reads it. Stopping waits for that, where rounds may find nothing and be
// too early: at 56 million samples a second, every 4096 cycles of an H200, the worker handed over nothing for 100 ms and then
// 3 million. Only where the GPU has come to rest: what stopping does while others go on launching was not seen. lock held at
// both ends.
static void read_all_there_is(void) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (c->state != RUNNING) continue;
    calls(1);
    uint32_t rc = sampler_call(cupti_sampling.PCSamplingStop, c->handle);
    sampler_read(c);
    calls(0);
    if (rc || c->state != RUNNING) continue;
    c->state = READY;
    update(c); // starts it again
  }
}

// Takes off the samplers of contexts that are about to be destroyed: what CUPTI has of them would go with them. lock held
// at both ends.
static void leave_leaving(void) {
  read_rest(0);
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (!c->leaving) continue;
    c->leaving = 0;
    if (!sampler_in_use(c)) continue;
    calls(1);
    if (c->state == RUNNING) sampler_call(cupti_sampling.PCSamplingStop, c->handle);
    sampler_read(c);
    calls(0);
    if (!sampler_in_use(c)) continue;
    leave(c);
    c->state = GONE;
  }
}

static unsigned round_ms(void) { return sampler.options.mode == SAMPLING_SERIALIZED ? SERIALIZED_ROUND_MS : ROUND_MS; }

// A round, unless code was loaded or unloaded just now; lock held at both ends.
static void read_round(uint64_t *next) {
  static uint64_t events, cooling_since;
  uint64_t now = sampler_now_ms();
  if (code_events() != events) {
    events = code_events();
    if (!cooling_since) cooling_since = now;
    if (now - cooling_since < COOL_LIMIT_MS) {
      *next = now + COOL_MS;
      return;
    }
  }
  cooling_since = 0;
  read_all();
  *next = sampler_now_ms() + round_ms();
}

static void answer(struct request *r, uint64_t upto) {
  r->answered = upto;
  pthread_cond_broadcast(&sampler.done);
}

void *sampler_thread(void *unused) {
  (void)unused;
  cupti_own_call = 1;
  uint64_t next = sampler_now_ms() + ROUND_MS;
  pthread_mutex_lock(&sampler.lock);
  while (!sampler.quit) {
    uint64_t update_upto = sampler.updates.asked, rest_upto = sampler.rests.asked, unload_upto = sampler.unloads.asked;
    if (update_upto != sampler.updates.answered) {
      for (int i = 0; i < CONTEXTS; i++) update(&sampler.contexts[i]);
      answer(&sampler.updates, update_upto);
    } else if (sampler.leaves.asked != sampler.leaves.answered) {
      uint64_t leave_upto = sampler.leaves.asked;
      leave_leaving();
      answer(&sampler.leaves, leave_upto);
    } else if (unload_upto != sampler.unloads.answered || rest_upto != sampler.rests.answered) {
      int to_rest = rest_upto != sampler.rests.answered;
      atomic_store(&sampler_busy, 0);
      int at_rest = read_rest(to_rest);
      if (to_rest && at_rest && sampler.options.mode == SAMPLING_CONTINUOUS) read_all_there_is();
      answer(&sampler.unloads, unload_upto);
      if (to_rest) answer(&sampler.rests, rest_upto);
    } else if (sampler_now_ms() >= next) {
      read_round(&next);
    } else {
      sampler_wait_until(&sampler.wake, next);
    }
  }
  pthread_cond_broadcast(&sampler.done); // no request is answered any more
  pthread_mutex_unlock(&sampler.lock);
  return NULL;
}
