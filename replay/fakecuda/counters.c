// The fake libcupti's range profiler. What a launch is measured to do is made up from the names of kernel and metric, or it is what a capture
// has recorded of it; the time is that of the fake driver's kernels.
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cupti/abi_counters.h"
#include "../../cupti/abi_pm.h"
#include "cuda_api.h"
#include "replay.h"

#if STUB_CUPTI >= 24

enum { METRICS_OF_A_PASS = 4, RANGES_MOST = 64 };

struct host { size_t count; uint32_t type; };
struct image { size_t capacity, count; struct { const char *kernel; const struct cap_event *recorded; int zeros; } ranges[]; };
struct ranges { void *context; struct image *image; int running; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges *running; // between Start and Stop; one at a time
static struct { const char *kernel; int zeros; } seen[RANGES_MOST]; // kernels since Start
static size_t seen_count;
static const struct cap_event *played; // the values that come before the end of their launch
static _Atomic uint32_t enabled;

// ---- what was recorded ----

void play_counters(const struct cap_event *e) { played = e; }

static struct cap_cursor recorded_values(const struct cap_event *e, uint32_t *correlation, const char **chip, uint64_t *passes, uint64_t *count) {
  struct cap_cursor at = cap_open(e);
  *correlation = (uint32_t)cap_number(&at);
  *chip = cap_string(stub_cuda_capture(), &at);
  *passes = cap_number(&at), *count = cap_number(&at);
  return at;
}

static uint32_t recorded_launch(const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  return (uint32_t)cap_number(&at);
}

static int recorded(const char **chip, uint64_t *passes) {
  const struct capture *c = stub_cuda_capture();
  uint32_t correlation;
  uint64_t count;
  for (size_t i = 0; c && i < c->count; i++)
    if (c->events[i].type == EV_COUNTERS) return recorded_values(&c->events[i], &correlation, chip, passes, &count), 1;
  return 0;
}

// The recorded value of a metric of a launch; 0 if it has none.
static int recorded_value(const struct cap_event *e, const char *metric, double *out) {
  uint32_t correlation;
  const char *chip;
  uint64_t passes, count, bits;
  struct cap_cursor at = recorded_values(e, &correlation, &chip, &passes, &count);
  for (; count > 0 && !at.short_; count--) {
    const char *name = cap_string(stub_cuda_capture(), &at);
    bits = cap_number(&at);
    if (name && !strcmp(name, metric)) return memcpy(out, &bits, sizeof bits), 1;
  }
  return 0;
}

static int recorded_metric(const char *metric) {
  const struct capture *c = stub_cuda_capture();
  double value;
  for (size_t i = 0; i < c->count; i++)
    if (c->events[i].type == EV_COUNTERS && recorded_value(&c->events[i], metric, &value)) return 1;
  return 0;
}

// ---- the host ----

static const char *const units[] = {"dram__", "gpc__", "gpu__", "idc__", "l1tex__", "lts__", "sm__", "smsp__"};

// A unit, a counter and a rollup: dram__bytes_read.sum.
static int made_up_metric(const char *metric) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (!strncmp(metric, units[i], strlen(units[i]))) return strchr(metric, '.') != NULL && !strstr(metric, "unknown");
  return 0;
}

static uint64_t hashed(const char *text, uint64_t h) {
  for (; *text; text++) h = (h ^ (uint8_t)*text) * 1099511628211u;
  return h;
}

// stub.h describes it.
double stub_counter(const char *kernel, const char *metric) {
  if (!strcmp(metric, "gpu__time_duration.sum")) return (double)stub_number("PROTON_STUB_KERNEL_NS", 1000);
  uint64_t of = hashed(metric, hashed(kernel, 14695981039346656037u)) >> 20;
  return strstr(metric, ".pct") ? (double)(of % 100) : 32.0 * (double)(of % 100000);
}

STUB_EXPORT uint32_t cuptiProfilerInitialize(struct cupti_counters_params *p) { return (void)p, stub_result("ProfilerInitialize"); }

STUB_EXPORT uint32_t cuptiDeviceGetChipName(struct cupti_chip_params *p) {
  uint64_t passes;
  p->name = "GH100";
  if (stub_cuda_capture() && !lines_chip(&p->name) && (!recorded(&p->name, &passes) || !p->name)) return RC_NOT_SUPPORTED; // no GPU is made up for a recording
  return stub_result("DeviceGetChipName");
}

STUB_EXPORT uint32_t cuptiProfilerHostInitialize(struct cupti_host_params *p) {
  uint32_t result = stub_result("ProfilerHostInitialize");
  if (stub_version() >= CUPTI_13_5) p->single_pass_set = NULL; // whatever p->size is, as on an H200
  p->host = result ? NULL : calloc(1, sizeof(struct host));
  if (p->host) ((struct host *)p->host)->type = p->type;
  return result;
}

STUB_EXPORT uint32_t cuptiProfilerHostDeinitialize(struct cupti_host_end_params *p) { return free(p->host), RC_OK; }

STUB_EXPORT uint32_t cuptiProfilerHostGetBaseMetrics(struct cupti_base_metrics_params *p) {
  static const char *names[][3] = {{"dram__bytes_read", "dram__bytes_write", "gpu__time_duration"}, {"lts__t_sector_hit_rate"}, {"sm__throughput"}};
  p->names = names[p->type], p->count = p->type ? 1 : 3;
  return stub_result("ProfilerHostGetBaseMetrics");
}

STUB_EXPORT uint32_t cuptiProfilerHostConfigAddMetrics(struct cupti_add_metrics_params *p) {
  for (size_t i = 0; i < p->count; i++)
    if (stub_cuda_capture() ? !recorded_metric(p->names[i]) : !made_up_metric(p->names[i])) return RC_INVALID_PARAMETER;
  ((struct host *)p->host)->count += p->count;
  return stub_result("ProfilerHostConfigAddMetrics");
}

STUB_EXPORT uint32_t cuptiProfilerHostGetConfigImageSize(struct cupti_config_size_params *p) { return p->bytes = sizeof(struct host), RC_OK; }

STUB_EXPORT uint32_t cuptiProfilerHostGetConfigImage(struct cupti_config_params *p) {
  if (p->bytes < sizeof(struct host)) return RC_INVALID_PARAMETER;
  memcpy(p->config, p->host, sizeof(struct host));
  return stub_result("ProfilerHostGetConfigImage");
}

STUB_EXPORT uint32_t cuptiProfilerHostGetNumOfPasses(struct cupti_passes_params *p) {
  const char *chip;
  uint64_t found = 0;
  struct host h;
  memcpy(&h, p->config, sizeof h);
  if (h.type == COUNTERS_PM_SAMPLING) found = 1;
  else if (!recorded(&chip, &found)) found = stub_number("PROTON_STUB_PASSES", (h.count + METRICS_OF_A_PASS - 1) / METRICS_OF_A_PASS);
  p->passes = found;
  return stub_result("ProfilerHostGetNumOfPasses");
}

STUB_EXPORT uint32_t cuptiProfilerHostEvaluateToGpuValues(struct cupti_evaluate_params *p) {
  const struct image *i = (const void *)p->image;
  if (pm_values(p)) return stub_result("ProfilerHostEvaluateToGpuValues");
  if (p->range >= i->count) return RC_INVALID_PARAMETER;
  for (size_t k = 0; k < p->count; k++) {
    if (!i->ranges[p->range].recorded) p->values[k] = i->ranges[p->range].zeros && strstr(p->names[k], "__sass_") ? 0 : stub_counter(i->ranges[p->range].kernel, p->names[k]);
    else if (!recorded_value(i->ranges[p->range].recorded, p->names[k], &p->values[k])) return RC_INVALID_PARAMETER;
  }
  return stub_result("ProfilerHostEvaluateToGpuValues");
}

// ---- contexts ----

STUB_EXPORT uint32_t cuptiRangeProfilerEnable(struct cupti_range_enable_params *p) {
  uint32_t result = stub_result("RangeProfilerEnable");
  if (result) return result;
  if (p->size != COUNTERS_RANGES && stub_version() < CUPTI_13_4) return RC_PARAMETER_SIZE;
  struct ranges *r = calloc(1, sizeof *r);
  if (!r) abort();
  r->context = p->context, p->ranges = r;
  enabled++;
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiRangeProfilerDisable(struct cupti_range_params *p) {
  if (running == p->ranges) abort(); // a launch is being measured
  free(p->ranges);
  enabled--;
  return stub_result("RangeProfilerDisable");
}

STUB_EXPORT uint32_t cuptiRangeProfilerGetCounterDataSize(struct cupti_image_size_params *p) {
  p->bytes = sizeof(struct image) + p->max_ranges * sizeof *((struct image *)NULL)->ranges;
  return stub_result("RangeProfilerGetCounterDataSize");
}

STUB_EXPORT uint32_t cuptiRangeProfilerCounterDataImageInitialize(struct cupti_image_params *p) {
  struct image *i = (void *)p->image;
  memset(i, 0, p->bytes);
  i->capacity = (p->bytes - sizeof *i) / sizeof *i->ranges;
  return stub_result("RangeProfilerCounterDataImageInitialize");
}

STUB_EXPORT uint32_t cuptiRangeProfilerSetConfig(struct cupti_range_config_params *p) {
  if (p->range != COUNTERS_AUTO_RANGE || p->replay != COUNTERS_KERNEL_REPLAY) return RC_INVALID_PARAMETER;
  ((struct ranges *)p->ranges)->image = (void *)p->image;
  return stub_result("RangeProfilerSetConfig");
}

STUB_EXPORT uint32_t cuptiRangeProfilerGetCounterDataInfo(struct cupti_image_info_params *p) {
  return p->ranges = ((const struct image *)(const void *)p->image)->count, stub_result("RangeProfilerGetCounterDataInfo");
}

// ---- launches ----

// As seen of 13.5 on an H200: it runs a kernel that no thread has launched. That it calls the driver where that is reported is made up.
static void own_work(void) {
  if (stub_version() < CUPTI_13_4 || replaying()) return;
  cuMemsetD8Async(0, 0, 64, NULL);
  uint64_t start = stub_cuda_now();
  emit_kernel(&(struct stub_kernel){.name = "WaitNs", .start = start, .end = start + 40000, .correlation = stub_cuda_correlation()});
}

STUB_EXPORT uint32_t cuptiRangeProfilerStart(struct cupti_range_params *p) {
  uint32_t result = stub_result("RangeProfilerStart");
  if (result) return result;
  if (stub_cuda_captures()) {
    fprintf(stderr, "stub: a launch is measured while a stream is captured\n");
    abort();
  }
  pthread_mutex_lock(&lock);
  if (running) result = RC_INVALID_OPERATION;
  else running = p->ranges, seen_count = 0, played = NULL;
  pthread_mutex_unlock(&lock);
  if (!result) own_work();
  return result;
}

// Every kernel between Start and Stop is measured, whichever thread launches it.
void count_kernel(struct stub_kernel *k) {
  pthread_mutex_lock(&lock);
  if (running && stub_cuda_object_id(running->context) == k->context) {
    if (stub_version() < CUPTI_13_1) k->end = k->start; // later ones have the time of one pass
    if (seen_count < RANGES_MOST) seen[seen_count].zeros = stub_version() >= CUPTI_13_1 && stub_kernels_recorded(), seen[seen_count++].kernel = k->name;
  }
  pthread_mutex_unlock(&lock);
}

STUB_EXPORT uint32_t cuptiRangeProfilerStop(struct cupti_range_stop_params *p) {
  pthread_mutex_lock(&lock);
  uint32_t result = running == p->ranges ? stub_result("RangeProfilerStop") : (uint32_t)RC_INVALID_OPERATION;
  if (running == p->ranges) running = NULL;
  p->all_passes = 1;
  pthread_mutex_unlock(&lock);
  if (!result) own_work();
  return result;
}

STUB_EXPORT uint32_t cuptiRangeProfilerDecodeData(struct cupti_range_decode_params *p) {
  struct image *i = ((struct ranges *)p->ranges)->image;
  if (!i) return RC_INVALID_OPERATION;
  pthread_mutex_lock(&lock);
  if (replaying() && played && recorded_launch(played) == delivered_call()) seen[seen_count++].kernel = "";
  for (size_t k = 0; k < seen_count; k++) {
    if (i->count == i->capacity) p->dropped++;
    else i->ranges[i->count].kernel = seen[k].kernel, i->ranges[i->count].zeros = seen[k].zeros, i->ranges[i->count++].recorded = played;
  }
  seen_count = 0, played = NULL;
  pthread_mutex_unlock(&lock);
  return stub_result("RangeProfilerDecodeData");
}

// stub_counters_enabled is in how many contexts the range profiler is enabled.
STUB_EXPORT int stub_counters_enabled(void) { return (int)enabled; }

#else
void play_counters(const struct cap_event *e) { (void)e; }
void count_kernel(struct stub_kernel *k) { (void)k; }
#endif
