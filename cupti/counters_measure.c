// Measures a launch with CUPTI's range profiler: a config image for each kind of GPU, the profiler enabled in each context, and a
// counter image that holds some launches. The lock of counters.c is held.
#include "counters.h"

#include <stdlib.h>
#include <string.h>

struct cupti_counters_table cupti_counters;

enum { CHIPS = 4, CONTEXTS = 32, RANGES = 8 }; // an image has about 1 MB for each range of 30 metrics

static struct chip {
  char name[64];
  struct counters_set set; // passes 0: it cannot be measured
  const char **metrics;
  size_t count;
} chips[CHIPS];

static struct context {
  void *handle; // NULL: free
  void *ranges; // NULL: it cannot be measured
  struct chip *chip;
  uint8_t *image;
  size_t bytes, used; // used: launches in the image
} contexts[CONTEXTS];

static struct context *current; // that of the launch that is being measured

#define CALL(doing, function, params) failed(cupti_counters.function(params), doing)
static int failed(uint32_t rc, const char *doing) {
  counters_refused(rc, doing);
  return rc != RC_OK;
}

// ---- kinds of GPUs ----

static const char adding[] = "add metrics to the set";

uint32_t counters_make_set(struct counters_set *s, uint32_t type, const char *chip, const char *const *metrics, size_t count, const char **doing) {
  struct cupti_host_params h = {.size = COUNTERS_HOST, .type = type, .chip = chip};
  uint32_t rc;
#define TRY(what, function, params) \
  if ((rc = cupti_counters.function(params))) return *doing = what, rc
  *s = (struct counters_set){0};
  TRY("describe the counters of the GPU (libnvperf_host.so)", ProfilerHostInitialize, &h);
  s->host = h.host;
  struct cupti_add_metrics_params a = {sizeof a, NULL, s->host, (const char **)(uintptr_t)metrics, count};
  TRY(adding, ProfilerHostConfigAddMetrics, &a);
  struct cupti_config_size_params z = {sizeof z, NULL, s->host, 0};
  TRY("ask for the size of the configuration", ProfilerHostGetConfigImageSize, &z);
  s->bytes = z.bytes, s->config = calloc(1, z.bytes);
  if (!s->config) return *doing = "make the configuration, for which there is no memory", (uint32_t)RC_OUT_OF_MEMORY;
  struct cupti_config_params g = {sizeof g, NULL, s->host, s->bytes, s->config};
  TRY("make the configuration", ProfilerHostGetConfigImage, &g);
  struct cupti_passes_params n = {sizeof n, NULL, s->bytes, s->config, 0};
  TRY("ask for the number of passes", ProfilerHostGetNumOfPasses, &n);
#undef TRY
  return s->passes = n.passes, RC_OK;
}

void counters_end_set(struct counters_set *s) {
  struct cupti_host_end_params p = {sizeof p, NULL, s->host};
  if (s->host) cupti_counters.ProfilerHostDeinitialize(&p);
  free(s->config);
  *s = (struct counters_set){0};
}

static int knows(const char *chip, const char **metric) {
  struct counters_set one;
  const char *doing = NULL;
  uint32_t rc = counters_make_set(&one, COUNTERS_RANGE_PROFILER, chip, metric, 1, &doing);
  counters_end_set(&one);
  return !rc || doing != adding;
}

static void tell_unknown(struct chip *c, const char *metric) {
  enum { TYPES = 3 };
  size_t count = 0;
  const char **all = NULL;
  for (uint32_t type = 0; type < TYPES; type++) {
    struct cupti_base_metrics_params p = {.size = sizeof p, .host = c->set.host, .type = type};
    if (cupti_counters.ProfilerHostGetBaseMetrics(&p)) continue;
    const char **more = realloc(all, (count + p.count) * sizeof *all);
    if (!more) break;
    all = more;
    memcpy(all + count, p.names, p.count * sizeof *all);
    count += p.count;
  }
  goprotonCountersUnknown(c->name, (char *)(uintptr_t)metric, (char **)all, count);
  free(all);
}

// Leaves out the metrics that this GPU does not have.
static void keep_known(struct chip *c) {
  size_t kept = 0;
  for (size_t i = 0; i < c->count; i++) {
    if (knows(c->name, &c->metrics[i])) c->metrics[kept++] = c->metrics[i];
    else tell_unknown(c, c->metrics[i]);
  }
  c->count = kept;
}

static void make_chip(struct chip *c) {
  const char *doing = NULL;
  uint32_t rc = counters_make_set(&c->set, COUNTERS_RANGE_PROFILER, c->name, c->metrics, c->count, &doing);
  if (rc && doing == adding) {
    keep_known(c);
    counters_end_set(&c->set);
    rc = c->count ? counters_make_set(&c->set, COUNTERS_RANGE_PROFILER, c->name, c->metrics, c->count, &doing) : RC_OK;
  }
  failed(rc, doing);
}

static struct chip *chip_named(const char *name) {
  struct chip *c = chips;
  while (c < chips + CHIPS && *c->name && strcmp(c->name, name)) c++;
  if (c == chips + CHIPS || *c->name) return c == chips + CHIPS ? NULL : c;
  strncpy(c->name, name, sizeof c->name - 1);
  c->count = goprotonCountersMetrics(c->name, (char ***)&c->metrics);
  if (c->count) make_chip(c);
  return c;
}

static struct chip *chip_of(void *context) {
  uint32_t device;
  struct cupti_counters_params i = {sizeof i, NULL};
  if (failed(cupti.GetDeviceId(context, &device), "find the GPU of the context")) return NULL;
  if (CALL("begin with counters", ProfilerInitialize, &i)) return NULL;
  struct cupti_chip_params p = {.size = sizeof p, .device = device};
  return CALL("ask for the kind of GPU", DeviceGetChipName, &p) ? NULL : chip_named(p.name);
}

// ---- contexts ----

// The image is empty again. It is passed to CUPTI each time, which keeps count of what it has written.
static uint32_t new_image(struct context *c) {
  struct cupti_image_params i = {sizeof i, NULL, c->ranges, c->bytes, c->image};
  c->used = 0;
  uint32_t rc = cupti_counters.RangeProfilerCounterDataImageInitialize(&i);
  if (rc) return rc;
  struct cupti_range_config_params s = {
      .size = COUNTERS_SIZE(cupti_range_config_params, target_nesting), .ranges = c->ranges, .config_bytes = c->chip->set.bytes, .config = c->chip->set.config,
      .image_bytes = c->bytes, .image = c->image, .range = COUNTERS_AUTO_RANGE, .replay = COUNTERS_KERNEL_REPLAY,
      .max_ranges_per_pass = RANGES, .nesting_levels = 1, .min_nesting = 1, .target_nesting = 1,
  };
  return cupti_counters.RangeProfilerSetConfig(&s);
}

static void disable(struct context *c) {
  struct cupti_range_params p = {sizeof p, NULL, c->ranges};
  int own = cupti_own_call;
  void *popped;
  if (c->ranges && !cuda.cuCtxPushCurrent_v2(c->handle)) {
    cupti_own_call = 1;
    cupti_counters.RangeProfilerDisable(&p);
    cupti_own_call = own;
    cuda.cuCtxPopCurrent_v2(&popped);
  }
  free(c->image);
  *c = (struct context){0};
}

static int enable(struct context *c) {
  struct cupti_range_enable_params e = {.size = COUNTERS_RANGES, .context = c->handle};
  if (!(c->chip = chip_of(c->handle)) || !c->chip->set.passes) return 0;
  // What CUPTI's copies leave in the L2 cache between passes would count as written by the kernel.
  if (c->chip->set.passes > 1 && counters_version() >= CUPTI_13_4) e.size = COUNTERS_SIZE(cupti_range_enable_params, caches), e.caches = COUNTERS_RESET_CACHES;
  if (CALL("enable the counters", RangeProfilerEnable, &e)) return 0;
  c->ranges = e.ranges;
  struct cupti_image_size_params s = {.size = sizeof s, .ranges = c->ranges, .names = c->chip->metrics, .count = c->chip->count, .max_ranges = RANGES, .max_nodes = RANGES};
  if (CALL("ask for the size of the counter image", RangeProfilerGetCounterDataSize, &s)) return 0;
  c->bytes = s.bytes, c->image = calloc(1, s.bytes);
  return c->image && !failed(new_image(c), "configure the counters");
}

// The image is full. Where CUPTI does not take another, its profiler begins again.
static int next_image(struct context *c) {
  void *handle = c->handle;
  if (!new_image(c)) return 1;
  disable(c);
  c->handle = handle;
  return enable(c);
}

static uint32_t ready(void *context) {
  struct context *c = contexts;
  while (c < contexts + CONTEXTS && c->handle && c->handle != context) c++;
  if (c == contexts + CONTEXTS) return 0;
  if (!c->handle) {
    c->handle = context;
    if (!enable(c)) {
      disable(c);
      c->handle = context; // it is not tried again
    } else {
      counters_configured((uint32_t)c->chip->set.passes, (uint32_t)c->chip->count);
    }
  }
  current = c->ranges ? c : NULL;
  return current ? (uint32_t)c->chip->set.passes : 0;
}

static int device_of(void *context) {
  uint32_t device;
  return cupti.GetDeviceId(context, &device) ? -1 : (int)device;
}

static void disable_in(void *context, int device) {
  for (struct context *c = contexts; c < contexts + CONTEXTS; c++)
    if (c->handle && (context ? c->handle == context : device < 0 || device_of(c->handle) == device)) disable(c);
  if (context || device >= 0) return;
  for (struct chip *c = chips; c < chips + CHIPS; c++) {
    counters_end_set(&c->set);
    *c = (struct chip){0}; // names of metrics stay: values on their way to the drainer point at them
  }
}

static void forget(void *context) {
  for (struct context *c = contexts; c < contexts + CONTEXTS; c++)
    if (c->handle == context) free(c->image), *c = (struct context){0};
}

// ---- a launch ----

static struct counted *start(void *context, uint64_t correlation) {
  (void)context;
  struct context *c = current;
  if (c->used == RANGES && !next_image(c)) return NULL;
  struct counted *out = calloc(1, sizeof *out + c->chip->count * sizeof *out->values);
  struct cupti_range_params p = {sizeof p, NULL, c->ranges};
  if (!out || CALL("begin to count", RangeProfilerStart, &p)) {
    free(out);
    return NULL;
  }
  out->correlation = correlation, out->count = (uint32_t)c->chip->count, out->names = c->chip->metrics;
  return out;
}

static int stop(struct counted *out) {
  struct context *c = current;
  struct cupti_range_stop_params s = {.size = COUNTERS_SIZE(cupti_range_stop_params, all_passes), .ranges = c->ranges};
  if (CALL("end counting", RangeProfilerStop, &s)) return -1;
  struct cupti_range_decode_params d = {sizeof d, NULL, c->ranges, 0};
  if (CALL("read the counters", RangeProfilerDecodeData, &d)) return -1;
  struct cupti_image_info_params i = {sizeof i, NULL, c->image, c->bytes, 0};
  if (CALL("ask how many launches were counted", RangeProfilerGetCounterDataInfo, &i)) return -1;
  size_t before = c->used;
  c->used = i.ranges;
  if (i.ranges != before + 1) return c->used = RANGES, 0; // none, or others too; the image begins again
  struct cupti_evaluate_params e = {sizeof e, NULL, c->chip->set.host, c->image, c->bytes, before, (const char **)out->names, out->count, out->values};
  return CALL("compute the metrics", ProfilerHostEvaluateToGpuValues, &e) ? -1 : 1;
}

const struct counters_way counters_of_ranges = {ready, start, stop, disable_in, forget, .costly = 0};
