// Collecting samples. One thread of ours makes every call that CUPTI's sampling has: it is configured, started and read
// on no thread of the program, since CUPTI refuses to be configured in a callback and reading takes milliseconds. The
// program waits for that thread in four places, never longer than a limit: at its first launch in a context, before it
// unloads code or destroys a context, and when a session ends.
//
// How data come: the GPU writes samples into a buffer of its own, a worker of CUPTI's wakes every WORKER_MS, adds them up
// by instruction, and GetData hands over the sums so far. What a round reads was therefore sampled up to two periods
// before, and all has been read only when rounds stay empty for that long.
//
// Of the contexts of one GPU, all processes taken together, only one can be sampled at a time: starting a second is refused
// (HARDWARE_BUSY), after which CUPTI fails at everything, records of kernels included, or crashes (seen on an H200, CUPTI
// 13.0). So the first to launch has its turn until it is destroyed, and the others wait; and processes claim a GPU before.
//
// In serialized mode the worker puts the instructions of each kernel into the buffer that was configured. Once that is full
// it goes on to add up, and what a sample belongs to is lost (seen on an H200, CUPTI 13.0): so it is large, and read often.
#define _GNU_SOURCE
#include "sampling.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  CONTEXTS = 32,
  PCS = 8192,              // per call of GetData
  CONTINUOUS_PCS = 1024,   // of the configured buffer
  SERIALIZED_PCS = 65536,
  WORKER_MS = 20,
  ROUND_MS = 100,
  SERIALIZED_ROUND_MS = 10,
  COOL_MS = 300, // rounds keep this far from loads and unloads of code: CUPTI reads names of code that may be going away
  COOL_LIMIT_MS = 2000, // unless there is no end of them
  CONFIGURE_LIMIT_MS = 10000, // Enable takes 0.3 to 0.8 s
  UNLOAD_LIMIT_MS = 300,
  FINISH_LIMIT_MS = 2000, // where other threads go on launching
  BATCH = 256 << 10,
  BATCHES_MAX = 1024, // 256 MiB: half a minute without anybody who takes them
  INDICES = 1024, // of reasons, as CUPTI numbers them
  RESTARTS = 8,
  FAILURES = 20, // that many are not an accident
};

enum state {
  FREE,
  GONE, // destroyed; its memory may be in use until that is over
  NEW,
  WAITING, // for the context of the same GPU that is sampled
  READY,
  RUNNING,
  REFUSED,
};

struct context {
  void *handle;
  enum state state;
  int device;
  int leaving; // is about to be destroyed
  struct claim claim; // of its GPU
  uint16_t reason_of[INDICES]; // 0: none, else 1 + 2 * its number, and one more for the part "not issued"
  struct cupti_sampling_data configured; // filled by CUPTI's worker, and by Disable
  int full, restarts;                    // the hardware's buffer was full
  int failures;                          // to read, one after another
};

static struct {
  pthread_mutex_t lock;      // guards what follows, but never held while CUPTI is called
  pthread_cond_t wake, done; // for the thread; for those who wait for it
  pthread_t thread;
  int alive, quit;
  struct sampling_options options;
  struct context contexts[CONTEXTS];
  int wanted;                     // whether samplers are to run
  struct request {
    uint64_t asked, answered;
  } updates, rests, unloads, leaves; // of samplers' states; to read everything; what is about to be unloaded; contexts
  int calling; // CUPTI is being called about a context, which must not go away meanwhile
  struct sampling_facts facts;
  struct sampled_batch *first, **last;
  size_t batches;
} s = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_int began;           // not in a forked child
static _Atomic uint32_t generation; // of contexts
static atomic_int busy;             // something was launched since the last round

// The thread's own.
static struct cupti_sampling_data data;

// ---- time and waiting ----

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// Not the place where a thread of the program is cancelled: it would take the lock with it.
static void wait_until(pthread_cond_t *cond, uint64_t ms) {
  struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_cond_timedwait(cond, &s.lock, &t);
  pthread_setcancelstate(before, &before);
}

static void pause_ms(unsigned ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

// ---- reasons: from CUPTI's names and numbers to ours ----

// "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued" is the part of "long_scoreboard" in which nothing was
// issued. Two others are counts of samples and no reasons.
static int short_reason(const char *name, char out[REASON_NAME]) {
  static const char prefix[] = "smsp__pcsamp_", stalled[] = "warps_issue_stalled_", suffix[] = "_not_issued";
  if (!strncmp(name, prefix, sizeof prefix - 1)) name += sizeof prefix - 1;
  if (!strncmp(name, stalled, sizeof stalled - 1)) name += sizeof stalled - 1;
  else if (!strcmp(name, "sample_count") || !strcmp(name, "samples_data_dropped")) return -1;
  strcpy(out, name);
  size_t n = strlen(out);
  int not_issued = n > sizeof suffix - 1 && !strcmp(out + n - (sizeof suffix - 1), suffix);
  if (not_issued) out[n - (sizeof suffix - 1)] = 0;
  return not_issued;
}

static int reason_number(const char *name) {
  uint32_t i = 0;
  while (i < s.facts.reason_count && strcmp(s.facts.reasons[i], name)) i++;
  if (i == SAMPLING_REASONS_MAX) return -1;
  if (i == s.facts.reason_count) s.facts.reasons[s.facts.reason_count++] = code_intern(name);
  return (int)i;
}

// Fills in what the context's reasons are to us, and which of them to collect.
static size_t learn_reasons(struct context *c, uint32_t *indices, char **names, size_t count, uint32_t *wanted) {
  size_t n = 0;
  char name[REASON_NAME];
  pthread_mutex_lock(&s.lock);
  for (size_t i = 0; i < count; i++) {
    names[i][REASON_NAME - 1] = 0;
    int not_issued = short_reason(names[i], name);
    int number = not_issued < 0 || indices[i] >= INDICES ? -1 : reason_number(name);
    if (number < 0) continue;
    c->reason_of[indices[i]] = (uint16_t)(1 + 2 * number + not_issued);
    wanted[n++] = indices[i];
  }
  pthread_mutex_unlock(&s.lock);
  return n;
}

// ---- configuration ----

static size_t pc_size(void) { return s.options.version < CUPTI_12_4 ? (size_t)SAMPLING_PC_BEFORE_12_4 : sizeof(struct cupti_sampling_pc); }

static int make_data(struct cupti_sampling_data *d, size_t pcs) {
  enum { STALLS = 2 * SAMPLING_REASONS_MAX };
  uint8_t *array = calloc(pcs, pc_size()); // of this size untouched pages, which most stay
  struct cupti_sampling_stall *stalls = calloc(pcs * STALLS, sizeof *stalls);
  *d = (struct cupti_sampling_data){.size = sizeof *d, .capacity = pcs, .pcs = array};
  if (s.options.version < CUPTI_12_0) d->size = SAMPLING_DATA_BEFORE_12_0;
  if (!array || !stalls) return 0;
  for (size_t i = 0; i < pcs; i++) {
    struct cupti_sampling_pc *pc = (void *)(array + i * pc_size());
    pc->size = pc_size();
    pc->stalls = stalls + i * STALLS;
  }
  return 1;
}

static void free_data(struct cupti_sampling_data *d) {
  if (d->pcs) free(((struct cupti_sampling_pc *)d->pcs)->stalls);
  free(d->pcs);
  d->pcs = NULL;
}

// Line by line statistics need some thousand samples of a kernel: 2^15 cycles on 132 multiprocessors at 2 GHz are
// 8 million a second. Smaller GPUs sample more often for the same. All do it as the first, so that samples add up.
static uint32_t exponent_for(int device) {
  int sms = 0;
  if (s.options.exponent) return s.options.exponent;
  if (s.facts.exponent) return s.facts.exponent;
  if (device >= 0) cuda.cuDeviceGetAttribute(&sms, DEV_MULTIPROCESSORS, device);
  return sms > 96 ? 15 : sms > 40 ? 14 : 13;
}

struct attempt {
  const char *doing;
  uint32_t rc;
};

static uint32_t simple(uint32_t (*call)(struct cupti_sampling_params *), void *context) {
  struct cupti_sampling_params p = {sizeof p, NULL, context};
  return call(&p);
}

static struct attempt set_reasons(struct context *c, uint32_t wanted[], size_t *n) {
  static char names[2 * SAMPLING_REASONS_MAX][REASON_NAME];
  static uint32_t indices[2 * SAMPLING_REASONS_MAX];
  char *pointers[2 * SAMPLING_REASONS_MAX];
  size_t count = 0;
  struct cupti_sampling_reasons_params p = {.size = REASONS_NUMBER_PARAMS, .context = c->handle, .count = &count};
  uint32_t rc = cupti_sampling.PCSamplingGetNumStallReasons(&p);
  if (rc) return (struct attempt){"count the reasons of stalls", rc};
  if (count > 2 * SAMPLING_REASONS_MAX) count = 2 * SAMPLING_REASONS_MAX;
  for (size_t i = 0; i < count; i++) pointers[i] = names[i];
  p = (struct cupti_sampling_reasons_params){.size = sizeof p, .context = c->handle, .number = count, .indices = indices, .names = pointers};
  rc = cupti_sampling.PCSamplingGetStallReasons(&p);
  *n = rc ? 0 : learn_reasons(c, indices, pointers, count, wanted);
  return (struct attempt){"list the reasons of stalls", rc};
}

static struct attempt set_options(struct context *c) {
  uint32_t wanted[2 * SAMPLING_REASONS_MAX], exponent = exponent_for(c->device);
  size_t n = 0;
  struct attempt reasons = set_reasons(c, wanted, &n);
  if (reasons.rc) return reasons;
  struct cupti_sampling_setting settings[] = {
      {.attribute = SAMPLING_PERIOD, .u32 = exponent},
      {.attribute = SAMPLING_REASONS, .reasons = {n, wanted}},
      {.attribute = SAMPLING_SCRATCH_BUFFER, .size = s.options.scratch_buffer ? s.options.scratch_buffer : 64 << 20},
      {.attribute = SAMPLING_HARDWARE_BUFFER, .size = s.options.hardware_buffer ? s.options.hardware_buffer : 128 << 20},
      {.attribute = SAMPLING_DATA_BUFFER, .pointer = &c->configured},
      {.attribute = SAMPLING_MODE, .u32 = s.options.mode},
      {.attribute = SAMPLING_START_STOP, .u32 = 1},
      {.attribute = SAMPLING_WORKER_SLEEP, .u32 = WORKER_MS}, // unknown to 11.8
  };
  struct cupti_sampling_settings_params p = {sizeof p, NULL, c->handle, sizeof settings / sizeof *settings, settings};
  if (s.options.version < CUPTI_12_0) p.count--;
  uint32_t rc = cupti_sampling.PCSamplingSetConfigurationAttribute(&p);
  if (!rc) s.facts.exponent = exponent;
  return (struct attempt){"configure sampling", rc};
}

static struct attempt set_up(struct context *c) {
  uint32_t rc = simple(cupti_sampling.PCSamplingEnable, c->handle);
  if (rc) return (struct attempt){"sample instructions", rc};
  struct attempt a = set_options(c);
  if (a.rc) simple(cupti_sampling.PCSamplingDisable, c->handle); // it may know our memory by now
  return a;
}

static int device_of(void *context) {
  void *popped;
  int device = -1;
  if (cuda.cuCtxPushCurrent_v2(context)) return -1;
  if (cuda.cuCtxGetDevice(&device)) device = -1;
  cuda.cuCtxPopCurrent_v2(&popped);
  return device;
}

// Keeps the first refusal; lock held. A success is none.
static void refused(uint32_t rc, const char *doing) {
  if (rc && !s.facts.refused) s.facts.refused = rc, s.facts.refused_doing = doing;
}

static void configure(struct context *c) {
  void *popped;
  struct attempt a = {"allocate memory for samples", RC_OUT_OF_MEMORY};
  int pushed = !cuda.cuCtxPushCurrent_v2(c->handle);
  if (make_data(&c->configured, s.options.mode == SAMPLING_SERIALIZED ? SERIALIZED_PCS : CONTINUOUS_PCS)) a = set_up(c);
  if (pushed) cuda.cuCtxPopCurrent_v2(&popped);
  pthread_mutex_lock(&s.lock);
  if (c->state == NEW) c->state = a.rc ? REFUSED : READY;
  refused(a.rc, a.doing);
  pthread_mutex_unlock(&s.lock);
}

// ---- samples ----

static void keep(struct sampled_batch *b) {
  pthread_mutex_lock(&s.lock);
  if (!s.last) s.last = &s.first;
  *s.last = b, s.last = &b->next, s.batches++;
  pthread_mutex_unlock(&s.lock);
}

static int too_many_batches(void) {
  pthread_mutex_lock(&s.lock);
  int too_many = s.batches >= BATCHES_MAX;
  pthread_mutex_unlock(&s.lock);
  return too_many;
}

static struct sampled *room_for(struct sampled_batch **b, size_t stalls) {
  size_t size = (sizeof(struct sampled) + stalls * sizeof(struct sampled_stall) + 7) & ~(size_t)7;
  if (*b && (*b)->used + size > (*b)->capacity) keep(*b), *b = NULL;
  if (!*b) {
    *b = too_many_batches() ? NULL : malloc(sizeof **b + BATCH);
    if (!*b) return NULL;
    **b = (struct sampled_batch){.capacity = BATCH};
  }
  struct sampled *out = (void *)((*b)->bytes + (*b)->used);
  (*b)->used += size;
  return out;
}

// Names belong to the library's user, says its guide, yet every call hands out the same pointers again: they are not freed.
static const char *name_of(const struct cupti_sampling_pc *pc) {
  static const char *known;
  if (!pc->name) return NULL;
  if (known && !strcmp(known, pc->name)) return known;
  return known = code_intern(pc->name);
}

// A module that was loaded before our hash was registered has CUPTI's own number; should its image be known, it gets our
// name, or that of one of several that have the same number. 0 when it is not.
struct named { uint64_t module; uint32_t alike; };

static struct named module_of(const struct cupti_sampling_pc *pc) {
  static uint64_t module, at_events;
  static struct named answer;
  size_t size;
  if (module == pc->module && at_events == code_events()) return answer;
  module = pc->module, at_events = code_events();
  if (code_image(module, &size)) answer = (struct named){module, 0};
  else answer.module = code_by_crc(module, &answer.alike);
  return answer;
}

struct taking {
  struct sampled_batch *batch;
  uint64_t lost, unseen;
};

static void take_pc(const struct context *c, const struct cupti_sampling_pc *pc, struct taking *t) {
  struct sampled_stall stalls[SAMPLING_REASONS_MAX];
  uint8_t place[SAMPLING_REASONS_MAX];
  uint32_t n = 0, all = 0;
  struct named in = module_of(pc);
  memset(place, 0xff, sizeof place);
  for (size_t i = 0; i < pc->stall_count; i++) {
    const struct cupti_sampling_stall *from = &pc->stalls[i];
    uint16_t known = from->reason < INDICES ? c->reason_of[from->reason] : 0;
    if (!known || !from->samples) continue;
    uint32_t reason = (uint32_t)(known - 1) / 2;
    if (place[reason] == 0xff) {
      place[reason] = (uint8_t)n;
      stalls[n++] = (struct sampled_stall){reason, 0, 0};
    }
    if ((known - 1) & 1) stalls[place[reason]].not_issued += from->samples;
    else stalls[place[reason]].samples += from->samples, all += from->samples;
  }
  if (!n) return;
  struct sampled *out = room_for(&t->batch, n);
  if (!in.module) t->unseen += all;
  if (!out) {
    t->lost += all;
    return;
  }
  *out = (struct sampled){.module = in.module ? in.module : pc->module, .alike = in.alike > 1, .offset = pc->offset, .name = name_of(pc),
                          .function = pc->function, .stall_count = n};
  if (pc_size() > SAMPLING_PC_BEFORE_12_4) out->correlation = pc->correlation_id;
  memcpy(out->stalls, stalls, n * sizeof *stalls);
}

static void take(const struct context *c, struct cupti_sampling_data *d) {
  struct taking t = {0};
  for (size_t i = 0; i < d->count && i < d->capacity; i++) {
    struct cupti_sampling_pc *pc = (void *)((uint8_t *)d->pcs + i * pc_size());
    take_pc(c, pc, &t);
  }
  if (t.batch) keep(t.batch);
  pthread_mutex_lock(&s.lock);
  s.facts.lost += t.lost;
  s.facts.unseen += t.unseen;
  s.facts.total += d->total_samples;
  s.facts.dropped += d->dropped_samples;
  s.facts.non_user += d->non_user_samples;
  if (d->size > SAMPLING_DATA_BEFORE_12_0 && d->hardware_buffer_full) s.facts.buffer_full = 1;
  pthread_mutex_unlock(&s.lock);
}

// Reads what a context has, and reports whether that was anything.
static int read_context(struct context *c) {
  enum { ROUNDS = 64 };
  int any = 0;
  for (int i = 0; i < ROUNDS; i++) {
    struct cupti_sampling_data_params p = {sizeof p, NULL, c->handle, &data};
    data.count = data.remaining = 0;
    data.total_samples = data.dropped_samples = data.non_user_samples = 0;
    data.hardware_buffer_full = 0;
    uint32_t rc = cupti_sampling.PCSamplingGetData(&p);
    if (rc && rc != RC_OUT_OF_MEMORY) {
      pthread_mutex_lock(&s.lock);
      if (++c->failures == FAILURES) refused(rc, "read samples");
      pthread_mutex_unlock(&s.lock);
      return any;
    }
    c->failures = 0;
    if (rc == RC_OUT_OF_MEMORY) data.hardware_buffer_full = 1;
    c->full |= data.hardware_buffer_full;
    take(c, &data);
    if (rc) return any;
    any |= data.count > 0;
    if (!data.count && !data.remaining) return any;
  }
  return any;
}

// ---- the thread ----

static int in_use(const struct context *c) { return c->state == READY || c->state == RUNNING; }

// Lets go of the lock for calls of CUPTI, and takes it again.
static void calls(int begin) {
  if (begin) {
    s.calling = 1;
    pthread_mutex_unlock(&s.lock);
    return;
  }
  pthread_mutex_lock(&s.lock);
  s.calling = 0;
  pthread_cond_broadcast(&s.done);
}

static void give_back(struct context *c) {
  claim_back(&c->claim);
}

// Whether another context of the same GPU is sampled. lock held.
static int taken(const struct context *c) {
  for (int i = 0; i < CONTEXTS; i++)
    if (&s.contexts[i] != c && in_use(&s.contexts[i]) && s.contexts[i].device == c->device) return 1;
  return 0;
}

// Gives a context its sampler, unless it has to wait for that; lock held at both ends.
static void ready(struct context *c) {
  void *handle = c->handle;
  calls(1);
  int device = device_of(handle);
  calls(0);
  if (c->state != NEW) return;
  c->device = device;
  if (taken(c)) {
    c->state = WAITING;
    s.facts.waiting++;
    return;
  }
  if (!claim_gpu(device, &c->claim)) {
    c->state = REFUSED;
    s.facts.claimed = 1;
    return;
  }
  calls(1);
  configure(c);
  calls(0);
  if (c->state == REFUSED) give_back(c);
}

// Takes a context's sampler off, with what it still has; lock held at both ends.
static void leave(struct context *c) {
  calls(1);
  simple(cupti_sampling.PCSamplingDisable, c->handle);
  take(c, &c->configured);
  free_data(&c->configured);
  calls(0);
  give_back(c);
}

// Brings one context to the state that is wanted; lock held at both ends.
static void update(struct context *c) {
  if (c->state == NEW) ready(c);
  int start = s.wanted && c->state == READY, stop = !s.wanted && c->state == RUNNING;
  if (!start && !stop) return;
  void *handle = c->handle;
  calls(1);
  uint32_t rc = simple(start ? cupti_sampling.PCSamplingStart : cupti_sampling.PCSamplingStop, handle);
  calls(0);
  if (!in_use(c)) return;
  c->state = start ? RUNNING : READY;
  refused(rc, start ? "start sampling" : "stop sampling");
  if (rc && start) c->state = REFUSED, c->configured.pcs = NULL; // CUPTI is asked nothing more, and may know the memory
}

// Once the hardware's buffer was full, nothing more is sampled until the context is set up anew; lock held at both ends.
static void restart(struct context *c) {
  c->full = 0;
  if (!in_use(c) || c->restarts++ == RESTARTS) return;
  leave(c);
  if (!in_use(c)) return;
  c->state = NEW;
  s.updates.asked++;
}

// Reads all contexts; lock held at both ends.
static int read_all(void) {
  int any = 0;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &s.contexts[i];
    if (!in_use(c)) continue;
    calls(1);
    any |= read_context(c);
    calls(0);
    if (c->full) restart(c);
  }
  return any;
}

// Reads what has been executed: rounds over two periods of CUPTI's worker, and then until nothing comes, or until the
// limit where the GPU has not come to rest; reports whether it has. Lock held at both ends.
static int read_rest(int to_rest) {
  enum { EMPTY = 3 };
  uint64_t limit = now_ms() + (to_rest ? FINISH_LIMIT_MS : 0);
  int empty = 0;
  for (int rounds = 0; !s.quit && (rounds < EMPTY || (empty < EMPTY && now_ms() < limit)); rounds++) {
    empty = read_all() ? 0 : empty + 1;
    pthread_mutex_unlock(&s.lock);
    pause_ms(WORKER_MS + 5);
    pthread_mutex_lock(&s.lock);
  }
  return empty >= EMPTY;
}

// Has CUPTI decode what the GPU has sampled, and reads it. Stopping waits for that, where rounds may find nothing and be
// too early: at 56 million samples a second, every 4096 cycles of an H200, the worker handed over nothing for 100 ms and then
// 3 million. Only where the GPU has come to rest: what stopping does while others go on launching was not seen. lock held at
// both ends.
static void read_all_there_is(void) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &s.contexts[i];
    if (c->state != RUNNING) continue;
    calls(1);
    uint32_t rc = simple(cupti_sampling.PCSamplingStop, c->handle);
    read_context(c);
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
    struct context *c = &s.contexts[i];
    if (!c->leaving) continue;
    c->leaving = 0;
    if (!in_use(c)) continue;
    calls(1);
    if (c->state == RUNNING) simple(cupti_sampling.PCSamplingStop, c->handle);
    read_context(c);
    calls(0);
    if (!in_use(c)) continue;
    leave(c);
    c->state = GONE;
  }
}

static unsigned round_ms(void) { return s.options.mode == SAMPLING_SERIALIZED ? SERIALIZED_ROUND_MS : ROUND_MS; }

// A round, unless code was loaded or unloaded just now; lock held at both ends.
static void read_round(uint64_t *next) {
  static uint64_t events, cooling_since;
  uint64_t now = now_ms();
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
  *next = now_ms() + round_ms();
}

static void answer(struct request *r, uint64_t upto) {
  r->answered = upto;
  pthread_cond_broadcast(&s.done);
}

static void *collect(void *unused) {
  (void)unused;
  cupti_own_call = 1;
  uint64_t next = now_ms() + ROUND_MS;
  pthread_mutex_lock(&s.lock);
  while (!s.quit) {
    uint64_t update_upto = s.updates.asked, rest_upto = s.rests.asked, unload_upto = s.unloads.asked;
    if (update_upto != s.updates.answered) {
      for (int i = 0; i < CONTEXTS; i++) update(&s.contexts[i]);
      answer(&s.updates, update_upto);
    } else if (s.leaves.asked != s.leaves.answered) {
      uint64_t leave_upto = s.leaves.asked;
      leave_leaving();
      answer(&s.leaves, leave_upto);
    } else if (unload_upto != s.unloads.answered || rest_upto != s.rests.answered) {
      int to_rest = rest_upto != s.rests.answered;
      atomic_store(&busy, 0);
      int at_rest = read_rest(to_rest);
      if (to_rest && at_rest && s.options.mode == SAMPLING_CONTINUOUS) read_all_there_is();
      answer(&s.unloads, unload_upto);
      if (to_rest) answer(&s.rests, rest_upto);
    } else if (now_ms() >= next) {
      read_round(&next);
    } else {
      wait_until(&s.wake, next);
    }
  }
  pthread_cond_broadcast(&s.done); // nobody is answered any more
  pthread_mutex_unlock(&s.lock);
  return NULL;
}

// ---- what others ask of it ----

static void in_child(void) {
  atomic_store(&began, 0);
  for (int i = 0; i < CONTEXTS; i++) give_back(&s.contexts[i]);
}

static void once_only(void) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s.wake, &monotonic);
  pthread_cond_init(&s.done, &monotonic);
  pthread_atfork(NULL, NULL, in_child);
}

static int start_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // signals are the program's
  int rc = pthread_create(&s.thread, NULL, collect, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!rc) pthread_setname_np(s.thread, "proton-sampling");
  return rc;
}

int sampling_begin(const struct sampling_options *o) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, once_only);
  pthread_mutex_lock(&s.lock); // a callback of the session before may be at its end
  memset(s.contexts, 0, sizeof s.contexts);
  s.options = *o, s.quit = 0, s.wanted = 0, s.facts = (struct sampling_facts){0};
  pthread_mutex_unlock(&s.lock);
  if (!data.pcs && !make_data(&data, PCS)) return RC_OUT_OF_MEMORY;
  if (start_thread()) return RC_OUT_OF_MEMORY;
  atomic_fetch_add(&generation, 1);
  atomic_store(&began, 1);
  return RC_OK;
}

// Has the thread do something, and waits; lock held.
static void ask(struct request *r, unsigned limit_ms) {
  uint64_t mine = ++r->asked, limit = now_ms() + limit_ms;
  pthread_cond_signal(&s.wake);
  while (r->answered < mine && now_ms() < limit && !s.quit && atomic_load(&began)) wait_until(&s.done, limit);
}

// Takes the lock, unless the session is over.
static int enter(void) {
  pthread_mutex_lock(&s.lock);
  if (atomic_load(&began)) return 1;
  pthread_mutex_unlock(&s.lock);
  return 0;
}

static int any_context(void) {
  for (int i = 0; i < CONTEXTS; i++)
    if (s.contexts[i].state > GONE) return 1;
  return 0;
}

void sampling_run(int on) {
  if (!atomic_load(&began) || !enter()) return;
  s.wanted = on;
  if (any_context()) ask(&s.updates, CONFIGURE_LIMIT_MS);
  pthread_mutex_unlock(&s.lock);
}

void sampling_finish(void) {
  if (!atomic_load(&began) || !enter()) return;
  if (any_context()) ask(&s.rests, 2 * FINISH_LIMIT_MS);
  pthread_mutex_unlock(&s.lock);
}

static void leave_contexts(void) {
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &s.contexts[i];
    if (in_use(c)) {
      simple(cupti_sampling.PCSamplingDisable, c->handle);
      take(c, &c->configured);
    }
    free_data(&c->configured);
    give_back(c);
    c->state = FREE;
  }
}

void sampling_end(void) {
  if (!atomic_exchange(&began, 0)) return;
  pthread_mutex_lock(&s.lock);
  s.quit = 1;
  pthread_cond_signal(&s.wake);
  pthread_mutex_unlock(&s.lock);
  pthread_join(s.thread, NULL);
  leave_contexts();
  atomic_fetch_add(&generation, 1);
}

// ---- callbacks ----

static struct context *context_of(void *handle) {
  struct context *vacant = NULL;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &s.contexts[i];
    if (c->state > GONE && c->handle == handle) return c;
    if (c->state <= GONE && (!vacant || c->state < vacant->state)) vacant = c;
  }
  if (vacant) {
    free_data(&vacant->configured);
    *vacant = (struct context){.handle = handle, .state = NEW};
  }
  return vacant;
}

// Registered at a launch, after all handlers of the CUDA libraries, this runs before theirs: then nobody calls them any
// more. The session's own handler, which reads what there is, has run by then.
static void at_exit(void) {
  struct timespec limit;
  if (!atomic_exchange(&began, 0)) return;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec++;
  if (pthread_mutex_timedlock(&s.lock, &limit)) return; // a handler of a signal, which interrupted who has it, calls exit
  s.quit = 1;
  pthread_cond_signal(&s.wake);
  pthread_mutex_unlock(&s.lock);
  pthread_timedjoin_np(s.thread, NULL, &limit);
}

static void watch_exit(void) { atexit(at_exit); }

void sampling_context_used(void *handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static __thread struct { void *handle; uint32_t generation; } last;
  if (!atomic_load_explicit(&busy, memory_order_relaxed)) atomic_store_explicit(&busy, 1, memory_order_relaxed);
  uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
  if ((last.handle == handle && last.generation == now) || !handle || cupti_own_call || !atomic_load(&began)) return;
  last.handle = handle, last.generation = now;
  pthread_once(&once, watch_exit);
  if (!enter()) return;
  struct context *c = context_of(handle);
  if (c && c->state == WAITING && !taken(c)) c->state = NEW, s.facts.waiting--;
  if (c && c->state == NEW) ask(&s.updates, CONFIGURE_LIMIT_MS);
  pthread_mutex_unlock(&s.lock);
}

void sampling_before_context_goes(void *handle, int device) {
  int found = 0;
  if (!atomic_load(&began) || cupti_own_call || !enter()) return;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *c = &s.contexts[i];
    if (in_use(c) && (handle ? c->handle == handle : c->device == device)) found = c->leaving = 1;
  }
  if (found) ask(&s.leaves, 2 * FINISH_LIMIT_MS);
  pthread_mutex_unlock(&s.lock);
  atomic_fetch_add(&generation, 1); // a launch in another context of the GPU finds its turn come
}

void sampling_context_gone(void *handle) {
  if (!atomic_load(&began) || cupti_own_call) return;
  uint64_t limit = now_ms() + FINISH_LIMIT_MS;
  atomic_fetch_add(&generation, 1);
  if (!enter()) return;
  for (int i = 0; i < CONTEXTS; i++)
    if (s.contexts[i].state > GONE && s.contexts[i].handle == handle) s.contexts[i].state = GONE, give_back(&s.contexts[i]);
  while (s.calling && now_ms() < limit) wait_until(&s.done, limit); // CUPTI may be at its data
  pthread_mutex_unlock(&s.lock);
}

void sampling_before_unload(void) {
  if (!atomic_load(&began) || cupti_own_call || !atomic_load(&busy) || !enter()) return;
  if (any_context()) ask(&s.unloads, UNLOAD_LIMIT_MS);
  pthread_mutex_unlock(&s.lock);
}

// ---- results ----

struct sampled_batch *sampling_take(void) {
  pthread_mutex_lock(&s.lock);
  struct sampled_batch *b = s.first;
  s.first = NULL, s.last = &s.first, s.batches = 0;
  pthread_mutex_unlock(&s.lock);
  return b;
}

void sampling_facts(struct sampling_facts *out) {
  pthread_mutex_lock(&s.lock);
  *out = s.facts;
  pthread_mutex_unlock(&s.lock);
}
