// Decides which launches are measured, on the threads that make them. A launch that is not chosen costs a look into a table: there is no lock
// and no allocation, except that the first launch of each function asks Go whether it is wanted. One that is chosen waits for the GPU and runs several times; meanwhile no other thread launches, copies or begins to
// capture a stream, because CUPTI would measure that too, or undo it when it restores the memory.
#define _GNU_SOURCE
#include "counters.h"
#include "sampling.h" // the gate

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACES = 1 << 15, FUNCTIONS = 1 << 13, TRIES = 64, FAILURES = 16, END_LIMIT_S = 30, IDLE = 50 };

// A kernel at a call path, how many of its launches were chosen, and how many could not be measured in a row. key 0: free.
static struct place { _Atomic uint64_t key; _Atomic uint32_t chosen, failed; } places[PLACES];

// A function, by its handle and the address of its name.
static struct function {
  _Atomic uint64_t key;
  _Atomic int32_t verdict; // as goprotonCountersKernel; ASKING
  _Atomic uint32_t reason, measured;
  _Atomic uint64_t left;
  char *_Atomic name;
} functions[FUNCTIONS];
enum { UNWANTED = -1, ASKING = -2 };

static const struct hp_vendor_api *hp;
static struct counters_request request;
static atomic_int on, began, captures_begin, full;
static _Atomic uint64_t remaining, nanos, measured, graphs;
static _Atomic uint32_t idle; // launches since the last that was measured
static struct counted *_Atomic taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of measuring; the program's threads only try it
static _Atomic uint32_t refused, set_passes, set_metrics;
static const char *_Atomic refused_doing;

static __thread struct {
  struct counted *is; // the launch that is measured
  struct function *function;
  struct place *place;
  uint64_t began;
  uint32_t correlation;
} mine __attribute__((tls_model("initial-exec")));

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- tables ----

static uint64_t mixed(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

static struct place *place_of(uint64_t key) {
  for (uint32_t i = 0, at = (uint32_t)(key >> 40); i < TRIES; i++, at++) {
    struct place *p = &places[at & (PLACES - 1)];
    uint64_t here = atomic_load_explicit(&p->key, memory_order_relaxed);
    if (here == key || (!here && (atomic_compare_exchange_strong(&p->key, &here, key) || here == key))) return p;
  }
  atomic_store_explicit(&full, 1, memory_order_relaxed);
  return NULL;
}

static int ask(struct function *f, const char *name) {
  atomic_store(&f->name, strdup(name));
  int verdict = goprotonCountersKernel((char *)(uintptr_t)name);
  if (verdict > 0) atomic_store(&f->reason, (uint32_t)verdict);
  atomic_store(&f->verdict, verdict);
  return verdict;
}

// A function is asked about once, by the thread that launches it first; a launch that another thread makes meanwhile is not chosen.
static struct function *function_of(uint64_t handle, const char *name, int *verdict) {
  uint64_t key = mixed(mixed(1, handle), (uintptr_t)name) | 1;
  for (uint32_t i = 0, at = (uint32_t)(key >> 40); i < TRIES; i++, at++) {
    struct function *f = &functions[at & (FUNCTIONS - 1)];
    uint64_t here = atomic_load_explicit(&f->key, memory_order_acquire);
    if (!here) {
      int32_t asking = 0;
      if (atomic_compare_exchange_strong(&f->verdict, &asking, ASKING)) {
        atomic_store(&f->key, key);
        *verdict = ask(f, name);
        return f;
      }
      here = atomic_load(&f->key);
      if (!here) return NULL; // another thread is about to take it
    }
    if (here == key) return *verdict = atomic_load(&f->verdict), f;
  }
  atomic_store_explicit(&full, 1, memory_order_relaxed);
  return NULL;
}

// ---- sessions ----

// A forked child measures nothing, and waits for no thread that it does not have.
static void in_child(void) {
  atomic_store(&on, 0), atomic_store(&began, 0);
  gate_begin();
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

void counters_begin(const struct hp_vendor_api *api, const struct counters_request *r) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  hp = api, request = *r;
  atomic_store(&refused, 0), atomic_store(&set_passes, 0), atomic_store(&set_metrics, 0);
  for (size_t i = 0; i < FUNCTIONS; i++) free(functions[i].name);
  memset(places, 0, sizeof places), memset(functions, 0, sizeof functions);
  atomic_store(&remaining, r->most), atomic_store(&nanos, 0), atomic_store(&measured, 0), atomic_store(&graphs, 0), atomic_store(&full, 0);
  gate_begin();
  atomic_store(&began, 1);
  pthread_mutex_unlock(&lock);
}

void counters_run(int wanted) { atomic_store(&on, wanted); }

// A launch whose kernel does not end is measured for ever.
static int lock_in_time(void) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += END_LIMIT_S;
  return !mine.is && !pthread_mutex_timedlock(&lock, &limit);
}

void counters_end(void) {
  atomic_store(&on, 0);
  if (!atomic_exchange(&began, 0) || !lock_in_time()) return;
  request.way->disable(NULL, -1);
  pthread_mutex_unlock(&lock);
}

struct counted *counters_take(void) {
  struct counted *newest = atomic_exchange(&taken, NULL), *oldest = NULL;
  while (newest) {
    struct counted *next = newest->next;
    newest->next = oldest, oldest = newest, newest = next;
  }
  return oldest;
}

uint32_t counters_version(void) { return request.version; }
uint32_t counters_state(struct counted *c) { return atomic_load(&c->state); }

static void push(struct counted *c) {
  c->next = atomic_load(&taken);
  while (!atomic_compare_exchange_weak(&taken, &c->next, c)) {}
}

void counters_refused(uint32_t rc, const char *doing) {
  if (rc && !atomic_load(&refused)) atomic_store(&refused_doing, doing), atomic_store(&refused, rc);
}

void counters_configured(uint32_t passes, uint32_t metrics) { atomic_store(&set_passes, passes), atomic_store(&set_metrics, metrics); }

void counters_facts(struct counters_facts *out) {
  *out = (struct counters_facts){
      .measured = atomic_load(&measured), .graphs = atomic_load(&graphs), .nanos = atomic_load(&nanos), .full = atomic_load(&full), .chosen = request.most - atomic_load(&remaining),
      .passes = atomic_load(&set_passes), .metrics = atomic_load(&set_metrics), .refused = atomic_load(&refused), .refused_doing = atomic_load(&refused_doing),
  };
  for (size_t i = 0; i < FUNCTIONS; i++) out->kernels += atomic_load(&functions[i].measured) != 0;
}

size_t counters_left(size_t from, struct counters_function *out, size_t max) {
  size_t n = 0, seen = 0;
  for (size_t i = 0; i < FUNCTIONS && n < max; i++) {
    struct function *f = &functions[i];
    uint64_t left = atomic_load(&f->left);
    if (!left || (atomic_load(&f->reason) == LEFT_OTHERS && atomic_load(&f->measured)) || seen++ < from) continue;
    out[n++] = (struct counters_function){atomic_load(&f->name), atomic_load(&f->reason), left};
  }
  return n;
}

// ---- launches ----

int counters_inside(void) { return mine.is != NULL; }

static atomic_int kernels_recorded, alone; // what Go asked for; the records are those of a launch that is measured

// Where a launch is measured for longer than is waited, its end does what was asked for.
uint32_t counters_record_kernels(int yes) {
  int locked = lock_in_time();
  uint32_t rc = atomic_load(&alone) ? (uint32_t)RC_OK : yes ? cupti.ActivityEnable(ACT_CONCURRENT_KERNEL) : cupti.ActivityDisable(ACT_CONCURRENT_KERNEL);
  atomic_store(&kernels_recorded, yes && !rc);
  if (locked) pthread_mutex_unlock(&lock);
  return rc;
}

// With CUPTI 13.2, 13.3 and 13.5 on an H200, SASS metrics of a launch were 0 while concurrent kernels were recorded, and right with records that
// serialise kernels: a launch that is measured is alone anyway. Kernels that run meanwhile on another GPU keep their records. Both changes took 36 us.
static int record_alone(void) {
  if (request.way->costly || request.version < CUPTI_13_1) return 1;
  atomic_store(&alone, 1);
  if (!atomic_load(&kernels_recorded)) return 1;
  cupti.ActivityDisable(ACT_CONCURRENT_KERNEL);
  uint32_t rc = cupti.ActivityEnable(ACT_KERNEL);
  counters_refused(rc, "record a kernel that is alone");
  return !rc;
}

static void record_together(void) {
  if (!atomic_load(&alone)) return;
  cupti.ActivityDisable(ACT_KERNEL);
  if (atomic_load(&kernels_recorded)) counters_refused(cupti.ActivityEnable(ACT_CONCURRENT_KERNEL), "record kernels again");
  atomic_store(&alone, 0);
}

static struct counted *start(const struct cupti_callback_data *d) {
  if (cuda.cuCtxSynchronize()) return NULL;
  struct counted *c = record_alone() ? request.way->start(d->context, d->correlation_id) : NULL;
  if (!c) record_together();
  return c;
}

// CUPTI saves what is allocated, to run the kernel on it again. What does not fit into the GPU goes to the host: 100 GB took a minute.
static int too_large(uint32_t passes) {
  size_t unused = 0, all = 0;
  return passes > 1 && !cuda.cuMemGetInfo_v2(&unused, &all) && all - unused > unused;
}

static int leave_out(struct function *f, uint32_t reason) {
  atomic_store(&f->reason, reason);
  atomic_fetch_add(&f->left, 1);
  return 0;
}

// With the lock and a slot of `remaining`: whether the launch is measured.
static int measure(const struct cupti_callback_data *d, struct function *f, uint64_t function) {
  enum { ATTEMPTS = 2 };
  cupti_own_call = 1;
  uint32_t reason = LEFT_NOT, passes = request.way->ready(d->context);
  if (!passes) reason = LEFT_REFUSED;
  else if (too_large(passes)) reason = LEFT_MEMORY;
  else if (!gate_close(ATTEMPTS)) reason = LEFT_OTHERS;
  else if (hp->capturing() || atomic_load(&captures_begin)) gate_open(), reason = LEFT_OTHERS;
  else if (!(mine.is = start(d))) gate_open(), reason = LEFT_REFUSED;
  cupti_own_call = 0;
  if (reason) return leave_out(f, reason);
  mine.function = f, mine.correlation = d->correlation_id, mine.is->function = function;
  push(mine.is);
  return 1;
}

static int take_one(_Atomic uint64_t *left) {
  uint64_t n = atomic_load(left);
  while (n && !atomic_compare_exchange_weak(left, &n, n - 1)) {}
  return n != 0;
}

// A launch that was chosen, and is measured if no other thread is measuring.
static int try(const struct cupti_callback_data *d, struct function *f, uint64_t function, struct place *p) {
  if (pthread_mutex_trylock(&lock)) return 0;
  uint64_t start = now();
  int chosen = atomic_load(&on) && atomic_load(&began) && take_one(&remaining);
  if (chosen && !measure(d, f, function)) chosen = 0, atomic_fetch_add(&remaining, 1);
  if (!chosen) {
    atomic_fetch_add(&p->failed, 1);
    atomic_fetch_add(&nanos, now() - start);
    pthread_mutex_unlock(&lock);
    return 0;
  }
  atomic_fetch_add(&p->chosen, 1);
  atomic_store(&idle, 0);
  mine.began = start, mine.place = p;
  return 1;
}

// A launch is not chosen. What all launches pay for ends when so many in a row were not, and begins again with the next one that is.
static int pass(void) {
  if (!request.way->costly || atomic_fetch_add_explicit(&idle, 1, memory_order_relaxed) != IDLE) return 0;
  if (pthread_mutex_trylock(&lock)) return atomic_store(&idle, 0), 0;
  cupti_own_call = 1;
  int alone = atomic_load(&began) && gate_close(1), captured = hp->capturing() || atomic_load(&captures_begin);
  if (alone && !captured) request.way->disable(NULL, -1);
  else atomic_store(&idle, 0);
  if (alone) gate_open();
  cupti_own_call = 0;
  pthread_mutex_unlock(&lock);
  return 0;
}

int counters_enter(const struct cupti_callback_data *d, uint64_t function, int cooperative) {
  struct hp_record r;
  int verdict = ASKING;
  if (!atomic_load_explicit(&on, memory_order_relaxed) || !atomic_load_explicit(&remaining, memory_order_relaxed)) return 0;
  if (mine.is || cupti_own_call || !d->symbol_name || !hp->last_launch(0, &r) || r.correlation != d->correlation_id || !r.set) return 0;
  if (hp->capturing() || atomic_load_explicit(&captures_begin, memory_order_relaxed)) return 0;
  uint64_t key = mixed(mixed(mixed(2, function), (uintptr_t)d->symbol_name), (uint64_t)r.node << 32 | r.pynode) | 1;
  struct place *p = place_of(key);
  if (!p || atomic_load_explicit(&p->chosen, memory_order_relaxed) >= request.first) return pass();
  struct function *f = function_of(function, d->symbol_name, &verdict);
  if (!f || verdict == ASKING) return 0;
  if (verdict == UNWANTED) return atomic_store_explicit(&p->chosen, UINT32_MAX, memory_order_relaxed), pass();
  if (verdict != LEFT_NOT) return leave_out(f, (uint32_t)verdict), pass();
  if (cooperative) return leave_out(f, LEFT_COOPERATIVE), pass();
  if (atomic_load_explicit(&p->failed, memory_order_relaxed) >= FAILURES) return leave_out(f, atomic_load(&f->reason)), pass();
  return try(d, f, function, p);
}

int counters_exit(const struct cupti_callback_data *d) {
  if (!mine.is || mine.correlation != d->correlation_id) return 0;
  cupti_own_call = 1;
  int done = request.way->stop(mine.is);
  record_together();
  cupti_own_call = 0;
  if (done > 0) {
    atomic_fetch_add(&measured, 1), atomic_fetch_add(&mine.function->measured, 1);
  } else { // the next launch is tried
    leave_out(mine.function, LEFT_REFUSED);
    atomic_fetch_sub(&mine.place->chosen, 1), atomic_fetch_add(&mine.place->failed, 1), atomic_fetch_add(&remaining, 1);
  }
  if (done < 0) atomic_store(&remaining, 0); // each further try would cost a kernel its time
  if (done < 0 || (request.way->costly && !atomic_load(&remaining))) {
    cupti_own_call = 1;
    request.way->disable(request.way->costly ? NULL : d->context, -1); // the costly way slows launches in all contexts
    cupti_own_call = 0;
  }
  atomic_fetch_add(&nanos, now() - mine.began);
  atomic_store(&mine.is->state, done > 0 ? COUNTED_DONE : COUNTED_FAILED); // from here on it is the drainer's
  mine.is = NULL;
  gate_open();
  pthread_mutex_unlock(&lock);
  return 1;
}

void counters_graph_launched(void) {
  if (atomic_load_explicit(&on, memory_order_relaxed)) atomic_fetch_add_explicit(&graphs, 1, memory_order_relaxed);
}

// ---- contexts and captures ----

void counters_before_destroy(void *context, int device) {
  if (cupti_own_call || !atomic_load(&began) || mine.is) return;
  pthread_mutex_lock(&lock);
  if (atomic_load(&began)) request.way->disable(context, device);
  pthread_mutex_unlock(&lock);
}

void counters_destroying(void *context) {
  if (!atomic_load(&began) || cupti_own_call || mine.is) return;
  pthread_mutex_lock(&lock);
  request.way->forget(context);
  pthread_mutex_unlock(&lock);
}

void counters_capture_begins(void) {
  atomic_fetch_add(&captures_begin, 1);
  if (!atomic_load(&began) || mine.is) return;
  pthread_mutex_lock(&lock); // a launch that is being measured ends first
  pthread_mutex_unlock(&lock);
}

void counters_capture_began(void) { atomic_fetch_sub(&captures_begin, 1); }
