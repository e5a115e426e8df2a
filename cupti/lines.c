// Counts what each instruction of a chosen launch did, with CUPTI's SASS metrics: from a context's first chosen launch on CUPTI changes the
// code of each function that is launched there, so that it counts. What other launches have counted is read before a chosen launch, and
// dropped. On an H200, CUPTI took one configuration in the life of a process, and counted nothing while kernels were recorded. The lock of
// counters.c is held.
#include "counters.h"
#include "sampling.h"

#include <stdlib.h>
#include <string.h>

struct cupti_lines_table cupti_lines;

static const char *const metrics[] = {
    "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed", "smsp__sass_inst_executed_op_global",
    "smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal", "smsp__sass_sectors_mem_local",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
};
enum { METRICS = sizeof metrics / sizeof *metrics, DEVICES = 64, CONTEXTS = 32 };

static struct cupti_line_choice choices[DEVICES][METRICS];
static size_t chosen[DEVICES]; // metrics of a configured device

static struct context {
  void *handle; // NULL: free
  uint32_t device;
  enum { NEW, ENABLED, REFUSED } state;
} contexts[CONTEXTS];
static struct context *current; // that of the launch that is being counted

const char *lines_metric(uint32_t number) { return number < METRICS ? metrics[number] : NULL; }

#define CALL(doing, function, params) failed(cupti_lines.function(params), doing)
static int failed(uint32_t rc, const char *doing) {
  counters_refused(rc, doing);
  return rc != RC_OK;
}

static uint32_t metric_of(uint32_t device, uint64_t id) {
  uint32_t at = 0;
  while (at < chosen[device] && choices[device][at].id != id) at++;
  return at;
}

// Metrics that a kind of GPU lacks are left out, but not the first.
static int configure(uint32_t device) {
  struct cupti_counters_params i = {sizeof i, NULL};
  struct cupti_chip_params chip = {.size = sizeof chip, .device = device};
  if (CALL("begin with counters", ProfilerInitialize, &i) || CALL("ask for the kind of GPU", DeviceGetChipName, &chip)) return 0;
  for (size_t m = 0; m < METRICS; m++) {
    struct cupti_line_metric_params p = {.size = sizeof p, .chip = chip.name, .name = metrics[m]};
    uint32_t rc = cupti_lines.SassMetricsGetProperties(&p);
    if (rc && !m) return failed(rc, "ask for the metrics of instructions"), 0;
    choices[device][m] = (struct cupti_line_choice){rc ? 0 : p.id, LINES_OF_GPU};
  }
  struct cupti_line_choice has[METRICS];
  size_t n = 0;
  for (size_t m = 0; m < METRICS; m++)
    if (choices[device][m].id) has[n++] = choices[device][m];
  struct cupti_line_config_params c = {.size = COUNTERS_SIZE(cupti_line_config_params, device), .count = n, .choices = has, .device = device};
  if (CALL("choose what instructions count", SassMetricsSetConfig, &c)) return 0;
  return chosen[device] = METRICS, 1;
}

// Called when no thread is in a launch, and the GPU has been waited for.
static int enable(struct context *c) {
  c->state = REFUSED; // it is not tried again
  if (failed(cupti.GetDeviceId(c->handle, &c->device), "find the GPU of the context") || c->device >= DEVICES) return 0;
  if (!chosen[c->device] && !configure(c->device)) return 0;
  struct cupti_line_enable_params e = {.size = COUNTERS_SIZE(cupti_line_enable_params, lazy), .context = c->handle, .lazy = 1};
  if (CALL("have instructions count", SassMetricsEnable, &e)) return 0;
  counters_configured(1, METRICS);
  return c->state = ENABLED, 1;
}

static uint32_t ready(void *context) {
  struct context *c = contexts;
  while (c < contexts + CONTEXTS && c->handle != context) c++;
  if (c == contexts + CONTEXTS) // those that are gone have left gaps
    for (c = contexts; c < contexts + CONTEXTS && c->handle;) c++;
  if (c == contexts + CONTEXTS) return 0;
  c->handle = context;
  current = c;
  return c->state != REFUSED;
}

// ---- what was counted ----

// Reads what has been counted since it was read last, with one value for each record; NULL if there is nothing, or rc is set.
static struct cupti_line_record *read_all(size_t *records, uint32_t *rc) {
  struct cupti_line_data_params p = {.size = sizeof p, .context = current->handle};
  *records = 0;
  if ((*rc = cupti_lines.SassMetricsGetDataProperties(&p)) || !p.records || !p.instances) return NULL;
  struct cupti_line_record *all = calloc(p.records, sizeof *all + p.instances * sizeof *all->values);
  if (!all) return *rc = RC_OUT_OF_MEMORY, NULL;
  for (size_t i = 0; i < p.records; i++) {
    all[i].size = sizeof *all;
    all[i].values = (struct cupti_line_value *)(void *)(all + p.records) + i * p.instances;
  }
  struct cupti_line_flush_params f = {LINES_FLUSH, NULL, current->handle, p.records, p.instances, all};
  if ((*rc = cupti_lines.SassMetricsFlushData(&f))) return free(all), NULL;
  for (size_t i = 0; i < p.records; i++)
    for (size_t k = 1; k < p.instances; k++) all[i].values->value += all[i].values[k].value;
  return *records = p.records, all;
}

// The module that the launched function is from, or else the one with the checksum; 0 if several have it.
static uint64_t module_of(const struct counted *c, const struct cupti_line_record *r) {
  uint32_t images;
  uint64_t launched = code_function(c->function).module;
  return launched ? launched : code_by_crc(r->crc, &images);
}

static struct sampled_batch *batch_of(const struct counted *c, const struct cupti_line_record *all, size_t records) {
  enum { ONE = (sizeof(struct sampled) + sizeof(struct sampled_stall) + 7) & ~(size_t)7 };
  struct sampled_batch *b = calloc(1, sizeof *b + records * ONE);
  uint64_t module = b ? module_of(c, all) : 0;
  for (size_t i = 0; b && i < records; i++) {
    uint32_t metric = metric_of(c->device, all[i].values->id);
    if (metric == METRICS) continue;
    struct sampled *s = (void *)(b->bytes + b->used);
    *s = (struct sampled){.module = module, .offset = all[i].offset, .name = code_intern(all[i].name), .function = all[i].function,
                          .correlation = (uint32_t)c->correlation, .stall_count = 1};
    s->stalls[0] = (struct sampled_stall){.reason = metric, .samples = all[i].values->value};
    b->used += ONE;
  }
  return b;
}

static struct counted *start(void *context, uint64_t correlation) {
  (void)context;
  size_t records;
  uint32_t rc;
  if (current->state == NEW && !enable(current)) return NULL;
  struct counted *out = calloc(1, sizeof *out);
  if (!out) return NULL;
  free(read_all(&records, &rc)); // of other launches
  out->correlation = correlation, out->device = current->device;
  return out;
}

static int stop(struct counted *out) {
  size_t records;
  uint32_t rc = cuda.cuCtxSynchronize() ? RC_UNKNOWN : RC_OK;
  struct cupti_line_record *all = rc ? NULL : read_all(&records, &rc);
  if (failed(rc, "read what instructions counted")) return -1;
  out->lines = all ? batch_of(out, all, records) : NULL;
  free(all);
  return out->lines != NULL;
}

// ---- contexts ----

static void disable(struct context *c) {
  struct cupti_line_disable_params p = {.size = sizeof p, .context = c->handle};
  int own = cupti_own_call;
  void *popped;
  if (c->state == ENABLED && !cuda.cuCtxPushCurrent_v2(c->handle)) {
    cupti_own_call = 1;
    cuda.cuCtxSynchronize();
    cupti_lines.SassMetricsDisable(&p);
    cupti_own_call = own;
    cuda.cuCtxPopCurrent_v2(&popped);
  }
  *c = (struct context){0};
}

static void disable_in(void *context, int device) {
  for (struct context *c = contexts; c < contexts + CONTEXTS; c++)
    if (c->handle && (context ? c->handle == context : device < 0 || (int)c->device == device)) disable(c);
}

static void forget(void *context) {
  for (struct context *c = contexts; c < contexts + CONTEXTS; c++)
    if (c->handle == context) *c = (struct context){0};
}

const struct counters_way counters_of_lines = {ready, start, stop, disable_in, forget, .costly = 1};
