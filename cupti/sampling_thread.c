// The sampling thread makes all calls of CUPTI's sampling API: CUPTI refuses to be configured in a callback, and reading takes
// milliseconds, so the program's threads do neither.
//
// CUPTI samples one context of a GPU at a time, over all processes. It refuses to start a second one (HARDWARE_BUSY); after
// that every call of CUPTI's, also for kernel records, fails or crashes (seen on an H200, CUPTI 13.0). So the first context
// that launches is sampled until it is destroyed, and the others wait; a process claims a GPU before it samples.
#include "sampling_state.h"

enum {
  ROUND_MS = 100,
  // In serialized mode the worker writes the instructions of each kernel into the configured buffer. Once that is full, the
  // worker adds samples of different launches together (seen on an H200, CUPTI 13.0): the buffer is large, and read often.
  SERIALIZED_ROUND_MS = 10,
  COOL_MS = 300,        // from a load or unload of code to a round: CUPTI reads names in code that may be about to be unloaded
  COOL_LIMIT_MS = 2000, // after this time a round is made although code is still being loaded
  RESTARTS = 8,         // of a context, at most
  HELD_LIMIT_MS = 500,  // should CUPTI wait for a thread that waits for us
  PATIENT = 100, ONCE = 1, // attempts to switch sampling between launches: where someone waits for it, and in a round
};

uint64_t sampler_nanos(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sampler_now_ms(void) { return sampler_nanos(CLOCK_MONOTONIC) / 1000000; }

// Cancellation is disabled, because a thread that is cancelled here would keep the lock.
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

int sampler_enabled(const struct context *c) { return c->state == READY || c->state == RUNNING; }

// begin_calls releases the lock for calls of CUPTI's, and end_calls takes it again. In between the program may destroy a context.
static void begin_calls(void) {
  uint64_t limit = sampler_now_ms() + HELD_LIMIT_MS;
  while (sampler.held && !sampler.quit && sampler_now_ms() < limit) sampler_wait_until(&sampler.wake, limit);
  sampler.calling = 1;
  pthread_mutex_unlock(&sampler.lock);
}

static void end_calls(void) {
  pthread_mutex_lock(&sampler.lock);
  sampler.calling = 0;
  pthread_cond_broadcast(&sampler.done);
}

int sampler_gpu_taken(const struct context *c) {
  for (int i = 0; i < CONTEXTS; i++)
    if (&sampler.contexts[i] != c && sampler_enabled(&sampler.contexts[i]) && sampler.contexts[i].device == c->device) return 1;
  return 0;
}

// The lock is held at the start and at the end of each static function below.

// enable sets sampling up in a context, unless another context of its GPU is sampled.
static void enable(struct context *c) {
  void *handle = c->handle;
  begin_calls();
  int device = sampler_device_of(handle);
  end_calls();
  if (c->state != NEW) return;
  c->device = device;
  if (sampler_gpu_taken(c)) {
    c->state = WAITING;
    sampler.facts.waiting++;
    return;
  }
  if (!claim_gpu(device, &c->claim)) {
    c->state = REFUSED;
    sampler.facts.claimed = 1;
    return;
  }
  begin_calls();
  sampler_configure(c);
  end_calls();
  if (c->state == REFUSED) claim_release(&c->claim);
}

// disable ends sampling in a context, and keeps the samples that CUPTI still has.
static void disable(struct context *c) {
  begin_calls();
  sampler_call_apart_if_possible(cupti_sampling.PCSamplingDisable, c->handle);
  sampler_take(c, &c->configured);
  sampler_free_data(&c->configured);
  end_calls();
  claim_release(&c->claim);
}

// switch_to starts or stops sampling in a context.
static struct apart switch_to(int on, void *handle, int attempts) {
  return sampler_call_apart(on ? cupti_sampling.PCSamplingStart : cupti_sampling.PCSamplingStop, handle, attempts, 1);
}

// update brings one context to the state that is wanted.
static void update(struct context *c, int attempts) {
  if (c->state == NEW) enable(c);
  int start = sampler.wanted && c->state == READY, stop = !sampler.wanted && c->state == RUNNING;
  if (!start && !stop) return;
  void *handle = c->handle;
  begin_calls();
  struct apart s = switch_to(start, handle, attempts);
  end_calls();
  // The program waits for the first start, with the rest of the setup: that time is in waited_ns.
  if (!start || c->started || attempts == ONCE) sampler.facts.switching_ns += s.took;
  if (!s.alone && attempts > ONCE) sampler.facts.late++;
  if (!s.alone || !sampler_enabled(c)) return; // the next round tries again
  c->started |= start;
  c->state = start ? RUNNING : READY;
  sampler_refused(s.rc, start ? "start sampling" : "stop sampling");
  if (s.rc && start) c->state = REFUSED, c->configured.pcs = NULL; // not freed: CUPTI is not called any more, and may write to it
}

static void update_all(int attempts) {
  for (int i = 0; i < CONTEXTS; i++) update(&sampler.contexts[i], attempts);
}

// restart sets a context up anew: once the hardware's buffer was full, nothing more is sampled until then.
static void restart(struct context *c) {
  c->full = 0;
  if (!sampler_enabled(c) || c->restarts++ == RESTARTS) return;
  disable(c);
  if (!sampler_enabled(c)) return;
  c->state = NEW;
  sampler.updates.asked++;
}

// read_all reads all contexts, and returns whether there were samples.
static int read_all(void) {
  int any = 0;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (!sampler_enabled(c)) continue;
    begin_calls();
    any |= sampler_read(c);
    end_calls();
    if (c->full) restart(c);
  }
  return any;
}

// read_rest reads the samples of all code that has been executed: for at least two periods of CUPTI's worker and, if to_rest,
// until none arrive, or until the limit while the GPU is still working. It returns whether samples have stopped arriving.
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

// read_undecoded stops sampling, which has CUPTI decode all that the GPU has sampled, reads that, and starts it again. Rounds
// alone can find nothing too early: at 56 million samples a second (a period of 4096 cycles on an H200) the worker delivered
// nothing for 100 ms and then 3 million. It is called only when the GPU is idle.
static void read_undecoded(void) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (c->state != RUNNING) continue;
    begin_calls();
    struct apart s = switch_to(0, c->handle, PATIENT);
    sampler_read(c);
    end_calls();
    if (s.rc || !s.alone || c->state != RUNNING) continue;
    c->state = READY;
    update(c, PATIENT);
  }
}

// disable_destroying ends sampling in contexts that are about to be destroyed: CUPTI would free their samples with them.
static void disable_destroying(void) {
  read_rest(0);
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &sampler.contexts[i];
    if (!c->destroying) continue;
    c->destroying = 0;
    if (!sampler_enabled(c)) continue;
    begin_calls();
    if (c->state == RUNNING) switch_to(0, c->handle, PATIENT);
    sampler_read(c);
    end_calls();
    if (!sampler_enabled(c)) continue;
    disable(c);
    c->state = DESTROYED;
  }
}

static unsigned round_ms(void) { return sampler.options.mode == SAMPLING_SERIALIZED ? SERIALIZED_ROUND_MS : ROUND_MS; }

// read_round reads all contexts, unless code was loaded or unloaded a short time ago.
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
    sampler.facts.thread_ns = sampler_nanos(CLOCK_THREAD_CPUTIME_ID);
    uint64_t update_upto = sampler.updates.asked, finish_upto = sampler.finishes.asked, unload_upto = sampler.unloads.asked;
    if (update_upto != sampler.updates.answered) {
      update_all(PATIENT);
      answer(&sampler.updates, update_upto);
    } else if (sampler.destroys.asked != sampler.destroys.answered) {
      uint64_t destroy_upto = sampler.destroys.asked;
      disable_destroying();
      answer(&sampler.destroys, destroy_upto);
    } else if (unload_upto != sampler.unloads.answered || finish_upto != sampler.finishes.answered) {
      int to_rest = finish_upto != sampler.finishes.answered;
      atomic_store(&sampler_busy, 0);
      int at_rest = read_rest(to_rest);
      if (to_rest && at_rest && sampler.options.mode == SAMPLING_CONTINUOUS) read_undecoded();
      answer(&sampler.unloads, unload_upto);
      if (to_rest) answer(&sampler.finishes, finish_upto);
    } else if (sampler_now_ms() >= next) {
      update_all(ONCE);
      read_round(&next);
    } else {
      sampler_wait_until(&sampler.wake, next);
    }
  }
  pthread_cond_broadcast(&sampler.done); // requests are not answered any more
  pthread_mutex_unlock(&sampler.lock);
  return NULL;
}
