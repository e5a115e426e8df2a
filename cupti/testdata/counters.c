// Tests counters*.c, callback_counted.c and the gate with a CUPTI that aborts if a launch is measured while another thread launches, copies
// or captures, and threads that do so. counters_test.go compiles it with sanitizers. Prints how many launches of each kernel were measured.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../counters.h"
#include "../sampling_state.h"

struct cuda_table cuda;
struct cupti_sampling_table cupti_sampling;
struct cupti_table cupti;
__thread int cupti_own_call;
atomic_int cupti_listening = 1;

enum { THREADS = 4, ROUNDS = 3000, FUNCTIONS = 6, NODES = 2, FIRST = 3, CONTEXT = 0x1000 };
static atomic_int inside, captured, capturing, copied;
static _Atomic uint32_t correlations;
static __thread struct hp_record last;

#define CHECK(c) ((c) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #c), abort()))

// ---- what the rest of the package has ----

uint64_t sampler_nanos(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cupti_on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  const struct cupti_callback_data *d = data;
  (void)user, (void)domain;
  if (cbid == CBID_cuLaunchKernel && d->site == SITE_ENTER) last.correlation = d->correlation_id;
  if (cbid == CBID_cuStreamBeginCapture && d->site == SITE_EXIT) atomic_fetch_add(&capturing, 1);
}

static int last_launch(uint64_t after, struct hp_record *out) { return (void)after, *out = last, 1; }
static int is_capturing(void) { return atomic_load(&capturing) != 0; }
static const struct hp_vendor_api hp = {.last_launch = last_launch, .capturing = is_capturing};

static const char *const kernels[FUNCTIONS] = {"k0", "k1", "k2", "unwanted", "nccl", "refused"};
int goprotonCountersKernel(char *name) { return !strcmp(name, "unwanted") ? -1 : !strcmp(name, "nccl") ? LEFT_COMMUNICATES : LEFT_NOT; }
size_t goprotonCountersMetrics(char *chip, char ***names) {
  static char *list[] = {"a", "not known", "b"};
  CHECK(!strcmp(chip, "CHIP"));
  static char *copies[3][3]; // by session: names that are not known are left out of them
  static int sessions;
  return *names = memcpy(copies[sessions++], list, sizeof list), 3;
}
static int told;
void goprotonCountersUnknown(char *chip, char *metric, char **known, size_t count) {
  (void)chip;
  told += !strcmp(metric, "not known") && count == 3 && !strcmp(known[0], "x");
}

// ---- CUPTI ----

static int running, ranges, enabled, configured;
static const char *launched; // since start
static uint32_t device_id(void *context, uint32_t *device) { return (void)context, *device = 0, 0; }
static uint32_t initialize(struct cupti_counters_params *p) { return (void)p, 0; }
static uint32_t chip(struct cupti_chip_params *p) { return p->name = "CHIP", 0; }
static uint32_t host(struct cupti_host_params *p) { return p->host = malloc(1), p->single_pass_set = NULL, 0; }
static uint32_t end_host(struct cupti_host_end_params *p) { return free(p->host), 0; }
static uint32_t base(struct cupti_base_metrics_params *p) {
  static const char *names[] = {"x"};
  return p->names = names, p->count = 1, 0;
}
static uint32_t add(struct cupti_add_metrics_params *p) {
  for (size_t i = 0; i < p->count; i++)
    if (!strcmp(p->names[i], "not known")) return RC_INVALID_PARAMETER;
  return 0;
}
static uint32_t config_size(struct cupti_config_size_params *p) { return p->bytes = 10, 0; }
static uint32_t config(struct cupti_config_params *p) { return memset(p->config, 1, p->bytes), 0; }
static uint32_t passes(struct cupti_passes_params *p) { return p->passes = 2, 0; }
static uint32_t enable(struct cupti_range_enable_params *p) { return CHECK(enabled || p->size == (configured ? 32 : 36)), CHECK(p->size == 32 || p->caches == 1), enabled++, p->ranges = malloc(1), 0; }
static uint32_t disable(struct cupti_range_params *p) { return CHECK(!running), enabled--, free(p->ranges), 0; }
static uint32_t image_size(struct cupti_image_size_params *p) { return p->bytes = 100 * p->max_ranges, 0; }
static uint32_t new_image(struct cupti_image_params *p) { return CHECK(!running), ranges = 0, memset(p->image, 0, p->bytes), 0; }
static uint32_t set_config(struct cupti_range_config_params *p) { return CHECK(p->size == 90), configured++, 0; }

// Records of kernels, which CUPTI makes one way or the other. A launch that is measured has those of kernels that are alone, if any.
static atomic_int together, alone, toggles, refusing;
static uint32_t record(uint32_t kind) {
  CHECK(!atomic_load(&together) && !atomic_load(&alone));
  if (kind == ACT_KERNEL && atomic_exchange(&refusing, 0)) return RC_NOT_COMPATIBLE;
  return atomic_store(kind == ACT_KERNEL ? &alone : &together, 1), RC_OK;
}
static uint32_t record_not(uint32_t kind) { return atomic_store(kind == ACT_KERNEL ? &alone : &together, 0), RC_OK; }

static void *toggle(void *argument) {
  for (int i = 0; atomic_load(&toggles); i++) CHECK(!counters_record_kernels(i % 2)), usleep(300);
  return argument;
}

static uint32_t start(struct cupti_range_params *p) {
  (void)p;
  CHECK(!running && cupti_own_call && !atomic_load(&inside) && !atomic_load(&captured) && !atomic_load(&copied));
  return running = 1, launched = NULL, 0;
}
static uint32_t stop(struct cupti_range_stop_params *p) {
  CHECK(!atomic_load(&together));
  CHECK(running && p->size == 41 && !atomic_load(&captured) && !atomic_load(&copied) && !atomic_load(&inside));
  return running = 0;
}
static uint32_t decode(struct cupti_range_decode_params *p) { return (void)p, ranges += strcmp(launched, "refused") != 0, 0; }
static uint32_t info(struct cupti_image_info_params *p) { return p->ranges = (size_t)ranges, 0; }
static uint32_t evaluate(struct cupti_evaluate_params *p) {
  CHECK(p->count == 2 && !strcmp(p->names[1], "b") && p->range + 1 == (size_t)ranges && p->range < 8);
  return p->values[0] = launched[1], p->values[1] = 2, 0;
}
static uint32_t synchronize(void) { return 0; }
static uint32_t push(void *context) { return (void)context, 0; }
static uint32_t pop(void **context) { return *context = NULL, 0; }
static uint32_t memory(size_t *unused, size_t *all) { return *unused = 2, *all = 3, 0; }

// ---- CUPTI's counts by line: one metric, of one instruction of each function ----

static atomic_int ran[FUNCTIONS], by_line; // launches since they were read last
static uint32_t line_metric(struct cupti_line_metric_params *p) {
  return strcmp(p->name, "smsp__sass_inst_executed") ? RC_INVALID_PARAMETER : (p->id = 7, RC_OK);
}
static uint32_t line_config(struct cupti_line_config_params *p) {
  static int times;
  return CHECK(p->size == 36 && p->count == 1 && p->choices->id == 7), times++ ? RC_OUT_OF_MEMORY : 0;
}
static uint32_t line_enable(struct cupti_line_enable_params *p) { return CHECK(p->size == 25 && p->lazy && cupti_own_call && !atomic_load(&inside)), atomic_fetch_add(&by_line, 1), 0; }
static uint32_t line_disable(struct cupti_line_disable_params *p) { return (void)p, CHECK(!atomic_load(&inside) && !atomic_load(&captured)), atomic_fetch_sub(&by_line, 1), 0; }
static uint32_t line_data(struct cupti_line_data_params *p) {
  CHECK(cupti_own_call && !atomic_load(&captured) && !atomic_load(&copied) && !atomic_load(&inside));
  for (int f = 0; f < FUNCTIONS; f++) p->records += atomic_load(&ran[f]) != 0;
  return p->instances = 1, 0;
}
static uint32_t line_flush(struct cupti_line_flush_params *p) {
  CHECK(p->size == 40 && !atomic_load(&inside));
  size_t n = 0;
  for (int f = 0; f < FUNCTIONS; f++) {
    int launches = atomic_exchange(&ran[f], 0);
    if (!launches) continue;
    p->out[n].name = kernels[f], p->out[n].offset = 16;
    *p->out[n++].values = (struct cupti_line_value){7, (uint64_t)launches};
  }
  return CHECK(n == p->records), 0;
}

// ---- the program ----

static void call(uint32_t cbid, uint32_t site, uint32_t correlation, const char *symbol, const void *params) {
  struct cupti_callback_data d = {.site = site, .params = params, .symbol_name = symbol, .context = (void *)CONTEXT, .correlation_id = correlation};
  cupti_on_counted_callback(NULL, DOMAIN_DRIVER, cbid, &d);
}

static int wanted = -1;
static void launch(int f) {
  struct cuda_params_launch_kernel p = {.function = (void *)(uintptr_t)(100 + f)};
  uint32_t id = atomic_fetch_add(&correlations, 1) + 1;
  call(CBID_cuLaunchKernel, SITE_ENTER, id, kernels[f], &p);
  int counts = !counters_inside();
  atomic_fetch_add(&inside, counts);
  if (running) launched = kernels[f], usleep(2000); // time for the others
  if (running && wanted >= 0) CHECK(!counters_record_kernels(wanted)); // as where the end of the launch was not awaited
  if (atomic_load(&by_line)) atomic_fetch_add(&ran[f], 1);
  atomic_fetch_sub(&inside, counts);
  call(CBID_cuLaunchKernel, SITE_EXIT, id, kernels[f], &p);
}

static void copy(void) {
  call(CBID_cuMemcpyHtoDAsync_v2, SITE_ENTER, 0, NULL, NULL);
  atomic_fetch_add(&copied, 1);
  usleep(20);
  atomic_fetch_sub(&copied, 1);
  call(CBID_cuMemcpyHtoDAsync_v2, SITE_EXIT, 0, NULL, NULL);
}

static void capture(void) {
  call(CBID_cuStreamBeginCapture, SITE_ENTER, 0, NULL, NULL);
  atomic_fetch_add(&captured, 1);
  usleep(1000);
  call(CBID_cuStreamBeginCapture, SITE_EXIT, 0, NULL, NULL);
  launch(0);
  atomic_fetch_sub(&captured, 1), atomic_fetch_sub(&capturing, 1);
}

static void *program(void *argument) {
  uintptr_t me = (uintptr_t)argument;
  last.set = 1;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    last.node = 1 + i / FUNCTIONS % NODES;
    if (me == 0 && i % 20 == 10) capture();
    else if (i % 10 == 9) copy();
    launch((int)(i % FUNCTIONS));
  }
  return NULL;
}

// Each launch that is counted by line has its own count, whatever the others counted before it.
static void count_lines(void) {
  int counted[FUNCTIONS] = {0};
  pthread_t threads[THREADS];
  cupti_lines = (struct cupti_lines_table){initialize, chip, line_metric, line_config, line_enable, line_disable, line_data, line_flush};
  counters_begin(&hp, &(struct counters_request){FIRST, 1000, CUPTI_13_5, &counters_of_lines});
  counters_run(1);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, program, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  counters_run(0);
  for (struct counted *c = counters_take(), *next; c; c = next) {
    struct sampled_batch *b = c->lines;
    const struct sampled *s = (const void *)b->bytes;
    CHECK(counters_state(c) == COUNTED_DONE && b->used == sizeof *s + sizeof *s->stalls && s->offset == 16 && s->stall_count == 1 && s->correlation == c->correlation);
    CHECK(!strcmp(s->name, kernels[c->function - 100]) && s->stalls[0].samples == 1 && !strcmp(lines_metric(s->stalls[0].reason), "smsp__sass_inst_executed"));
    counted[c->function - 100]++;
    next = c->next;
    free(b), free(c);
  }
  struct counters_facts f;
  counters_facts(&f);
  CHECK(f.measured == 4 * FIRST * NODES && f.kernels == 4 && !f.refused && !by_line); // it ended when no launch was chosen any more
  counters_end();
  printf("by line %d %d %d %d %d %d\n", counted[0], counted[1], counted[2], counted[3], counted[4], counted[5]);
}

// What is asked for while a launch is measured holds from its end on, and nothing is measured where its record is refused.
static void record_kernels(void) {
  static const struct { int before, within, refused; } cases[] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, -1, 1}, {1, -1, 0}};
  struct counters_facts f;
  counters_begin(&hp, &(struct counters_request){1, 100, CUPTI_13_3, &counters_of_ranges});
  counters_run(1);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(!counters_record_kernels(0) && !counters_record_kernels(cases[i].before));
    last = (struct hp_record){.set = 1, .node = 10 + i}, wanted = cases[i].within, atomic_store(&refusing, cases[i].refused);
    launch(0);
    CHECK(!atomic_load(&alone) && atomic_load(&together) == (cases[i].within < 0 ? cases[i].before : cases[i].within));
  }
  wanted = -1;
  counters_facts(&f);
  CHECK(f.measured == sizeof cases / sizeof *cases - 1 && f.refused == RC_NOT_COMPATIBLE);
  CHECK(!counters_record_kernels(0));
  for (struct counted *c = counters_take(), *next; c; c = next) next = c->next, free(c);
  counters_end();
}

int main(void) {
  cupti.GetDeviceId = device_id, cupti.ActivityEnable = record, cupti.ActivityDisable = record_not;
  cuda.cuCtxSynchronize = synchronize, cuda.cuCtxPushCurrent_v2 = push, cuda.cuCtxPopCurrent_v2 = pop, cuda.cuMemGetInfo_v2 = memory;
  cupti_counters = (struct cupti_counters_table){
      initialize, chip, host, end_host, base, add, config_size, config, passes, evaluate, enable, disable, start, stop, decode, image_size, new_image, info, set_config};
  counters_begin(&hp, &(struct counters_request){FIRST, 1000, CUPTI_13_4, &counters_of_ranges});
  counters_run(1);
  pthread_t threads[THREADS], toggler;
  atomic_store(&toggles, 1);
  pthread_create(&toggler, NULL, toggle, NULL);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, program, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  atomic_store(&toggles, 0);
  pthread_join(toggler, NULL);
  CHECK(!counters_record_kernels(0) && !atomic_load(&alone) && !atomic_load(&together));
  int measured[FUNCTIONS] = {0}, failed = 0;
  for (struct counted *c = counters_take(), *next; c; c = next) {
    CHECK(counters_state(c) != COUNTED_PENDING);
    if (counters_state(c) == COUNTED_DONE) measured[(int)c->values[0] - '0']++, CHECK(c->values[1] == 2 && c->count == 2);
    else failed++;
    next = c->next;
    free(c);
  }
  struct counters_facts f;
  counters_facts(&f);
  CHECK(f.measured == 3 * FIRST * NODES && f.kernels == 3 && f.passes == 2 && f.metrics == 2 && !f.refused && told == 1 && failed);
  struct counters_function left[8];
  size_t n = counters_left(0, left, 8);
  CHECK(enabled == 1);
  counters_end();
  CHECK(enabled == 0);
  printf("measured %d %d %d %d %d, left out:", measured[0], measured[1], measured[2], measured[3], measured[4]);
  for (const char *const *k = kernels; k < kernels + FUNCTIONS; k++)
    for (size_t i = 0; i < n; i++)
      if (!strcmp(left[i].name, *k)) printf(" %s %u%s", left[i].name, left[i].reason, left[i].launches > 100 ? " often" : "");
  puts("");
  counters_begin(&hp, &(struct counters_request){1, 2, CUPTI_13_0, &counters_of_ranges}); // a second session, of few
  counters_run(1);
  for (int i = 0; i < 3; i++) last = (struct hp_record){.set = 1, .node = 5}, launch(i);
  counters_facts(&f);
  CHECK(f.measured == 2 && f.chosen == 2);
  for (struct counted *c = counters_take(), *next; c; c = next) next = c->next, free(c);
  counters_end();
  record_kernels();
  for (int session = 0; session < 2; session++) count_lines();
  return 0;
}
