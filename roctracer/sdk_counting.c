// Hardware counters of chosen launches, by the library's dispatch counting. It counts while a kernel runs, so nothing is repeated: of metrics that
// do not fit into the hardware at once, each launch of a kernel at a call path counts one group. A launch that is not chosen costs a look into a
// table on the thread that writes the packet: no lock and no allocation, except that the first launch of each kernel at each call path asks Go.
#include "sdk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACES = 1 << 14, TRIES = 64 };

// A kernel at a call path, and how many of its launches were chosen. key 0: free.
static struct place { _Atomic uint64_t key; _Atomic uint32_t chosen; _Atomic int32_t wanted; } places[PLACES];
enum { ASKING, WANTED, UNWANTED };

static uint64_t context;
static const char *what = "rocprofiler_configure_callback_dispatch_counting_service"; // what was refused, NULL: nothing
static uint32_t status = SDK_LOCKED;
static struct sdk_counted_gpu *const *gpus;
static size_t gpu_count;
static uint32_t first;
static int started;
static _Atomic int on, full;
static _Atomic uint64_t remaining, chosen, counted;
static uint64_t missing; // of the chosen launches, those whose values did not come in time
static struct sdk_counted *_Atomic taken;

// ---- which launches ----

static uint64_t mixed(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

static struct place *place_of(uint64_t key, int *fresh) {
  for (uint32_t i = 0, at = (uint32_t)(key >> 40); i < TRIES; i++, at++) {
    struct place *p = &places[at % PLACES];
    uint64_t here = atomic_load_explicit(&p->key, memory_order_relaxed);
    if (!here && (*fresh = atomic_compare_exchange_strong(&p->key, &here, key))) return p;
    if (here == key) return p;
  }
  atomic_store_explicit(&full, 1, memory_order_relaxed);
  return NULL;
}

static int take_one(_Atomic uint64_t *left) {
  uint64_t n = atomic_load(left);
  while (n && !atomic_compare_exchange_weak(left, &n, n - 1)) {}
  return n != 0;
}

static const struct sdk_counted_gpu *gpu_of(uint64_t agent) {
  for (size_t i = 0; i < gpu_count; i++)
    if (gpus[i]->agent == agent) return gpus[i];
  return NULL;
}

static void push(struct sdk_counted *c) {
  atomic_fetch_add(&chosen, 1);
  c->next = atomic_load(&taken);
  while (!atomic_compare_exchange_weak(&taken, &c->next, c)) {}
}

static void enqueued(struct sdk_counted_dispatch d, uint64_t *config, uint64_t *user, void *data) {
  struct hp_record r;
  int fresh = 0;
  if (!atomic_load_explicit(&on, memory_order_relaxed) || !sdk_usable()) return;
  // Copies and graphs have kernels too.
  if (!room_inside() || !room_hp->last_launch(0, &r) || r.correlation != room_inside() || !r.set || !r.function || r.flags & HP_F_SEVERAL) return;
  const struct sdk_counted_gpu *g = gpu_of(d.info.agent);
  uint32_t name = sdk_kernel_name(d.info.kernel);
  if (!g || !g->groups || !name) return;
  struct place *p = place_of(mixed(mixed(mixed(2, d.info.kernel), g->agent), (uint64_t)r.node << 32 | r.pynode) | 1, &fresh);
  if (!p) return;
  if (fresh) atomic_store(&p->wanted, goprotonSDKCounts(name) ? WANTED : UNWANTED);
  uint32_t n = atomic_load(&p->chosen);
  if (atomic_load_explicit(&p->wanted, memory_order_acquire) != WANTED || n / g->groups >= first) return;
  if (!atomic_compare_exchange_strong(&p->chosen, &n, n + 1)) return; // another thread's launch is chosen
  if (n % g->groups == 0 && !take_one(&remaining)) {
    atomic_store(&p->chosen, UINT32_MAX);
    return;
  }
  struct sdk_counted *c = calloc(1, sizeof *c + g->count * sizeof *c->values);
  if (!c) return;
  c->correlation = r.correlation, c->gpu = g, c->place = (uint32_t)(p - places), c->group = n % (uint32_t)g->groups, c->name = name;
  push(c);
  *config = g->configs[c->group], *user = (uint64_t)(uintptr_t)c;
}

// ---- what was counted, on a thread of the library ----

void sdk_count(const struct sdk_counted_metric *m, double value, double *sum) {
  double largest = value * m->simds > *sum ? value * m->simds : *sum;
  *sum = m->simds ? largest : *sum + value;
}

static void add(struct sdk_counted *c, uint64_t counter, double value) {
  for (size_t i = 0; i < c->gpu->count; i++) {
    const struct sdk_counted_metric *m = &c->gpu->metrics[i];
    if (m->counter != counter || m->group != c->group) continue;
    if (c->values[i] != c->values[i]) c->values[i] = 0;
    sdk_count(m, value, &c->values[i]);
  }
}

static void came(struct sdk_counted_dispatch d, struct sdk_counter_value *values, size_t count, uint64_t user, void *data) {
  struct sdk_counted *c = (struct sdk_counted *)(uintptr_t)user;
  uint64_t counter;
  if (!c || !sdk_usable()) return;
  for (size_t i = 0; i < c->gpu->count; i++) c->values[i] = NAN;
  for (size_t i = 0; i < count; i++)
    if (!sdk.query_record_counter_id(values[i].instance, &counter)) add(c, counter, values[i].value);
  c->nanos = d.end > d.start ? d.end - d.start : 0;
  atomic_store(&c->done, 1); // from here on it is the drainer's
  atomic_fetch_add(&counted, 1);
}

// ---- set-up ----

static int refused(const char *function, uint32_t rc) {
  if (rc && !what) what = function, status = rc;
  return rc != 0;
}

int sdk_can_count(void) {
#define F(name, arguments) if (!sdk.name) return 0;
  SDK_COUNTING(F)
#undef F
  return 1;
}

void sdk_counting_set_up(void) {
  what = NULL, status = SDK_OK;
  if (!sdk_can_count()) {
    refused("rocprofiler_configure_callback_dispatch_counting_service", SDK_NOT_IMPLEMENTED);
    return;
  }
  if (refused("rocprofiler_create_context", sdk.create_context(&context))) return;
  refused("rocprofiler_configure_callback_dispatch_counting_service", sdk.configure_callback_dispatch_counting_service(context, enqueued, NULL, came, NULL));
}

const char *sdk_counting_refused(uint32_t *rc) { return *rc = status, what; }

struct list { struct sdk_counter *out; size_t most, count; };

static int list(uint64_t agent, uint64_t *counters, size_t count, void *data) {
  struct list *l = data;
  for (size_t i = 0; i < count; i++) {
    struct sdk_counter_info info = {0};
    if (sdk.query_counter_info(counters[i], SDK_COUNTER_INFO, &info) || !info.name) continue;
    if (l->count < l->most) l->out[l->count] = (struct sdk_counter){counters[i], info.name};
    l->count++;
  }
  return SDK_OK;
}

size_t sdk_counters_of(uint64_t agent, struct sdk_counter *out, size_t most) {
  struct list l = {out, most, 0};
  refused("rocprofiler_iterate_agent_supported_counters", sdk.iterate_agent_supported_counters(agent, list, &l));
  return l.count;
}

uint32_t sdk_counting_config(uint64_t agent, uint64_t *ids, size_t count, uint64_t *config) {
  *config = 0;
  return sdk.create_counter_config(agent, ids, count, config);
}

void sdk_counting_begin(struct sdk_counted_gpu *const *list_of, size_t count, uint32_t of_each, uint64_t most) {
  gpus = list_of, gpu_count = count, first = of_each, missing = 0;
  memset(places, 0, sizeof places);
  atomic_store(&remaining, most), atomic_store(&full, 0), atomic_store(&chosen, 0), atomic_store(&counted, 0);
}

// While the context is started the library runs all kernels one after the other.
void sdk_counting_run(int wanted) {
  atomic_store(&on, wanted && gpu_count);
  if (wanted && gpu_count && !started) started = !refused("rocprofiler_start_context", sdk.start_context(context));
  else if (!wanted && started && sdk_usable() && sdk.stop_context) started = sdk.stop_context(context) != 0;
}

void sdk_counting_wait(void) {
  uint64_t until = atomic_load(&chosen);
  for (int patience = 1000; patience > 0 && atomic_load(&counted) + missing < until; patience--) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  if (until > atomic_load(&counted)) missing = until - atomic_load(&counted);
}

struct sdk_counted *sdk_counted_take(void) { return atomic_exchange(&taken, NULL); }

int sdk_counted_done(struct sdk_counted *c) { return atomic_load(&c->done); }

int sdk_counting_full(void) { return atomic_load(&full); }
