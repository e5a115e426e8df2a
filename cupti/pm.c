// Samples hardware counters of a whole GPU at an interval, with CUPTI's PM sampling. All metrics are counted in one pass.
#include "overtime.h"

#include <stdlib.h>
#include <string.h>

struct cupti_pm_table cupti_pm;

// SAMPLES fit into an image, at about 40 kB each. On an H200 a sample takes 0.2 to 0.4 MB of the hardware's buffer, which is lost while it is
// full, and reading takes the longer the larger the buffer is.
enum { SAMPLES = 256, SMALL_BUFFER = 256 << 20, LARGE_BUFFER = 512 << 20, OFTEN = 1000000 };

static int refused(struct pm *p, uint32_t rc, const char *doing) {
  if (rc && !p->refused) p->refused = rc, p->doing = doing;
  return rc != RC_OK;
}

// Whether the metrics of p can be counted in one pass: then p has the set.
static int schedule(struct pm *p, const char *chip) {
  const char *doing;
  counters_end_set(&p->set);
  uint32_t rc = counters_make_set(&p->set, COUNTERS_PM_SAMPLING, chip, p->names, p->count, &doing);
  if (!p->set.host) refused(p, rc, doing);
  return !rc && p->set.passes == 1;
}

// Takes all metrics if they fit into a pass, else one after the other those that do.
static int choose(struct pm *p, const char *chip, const char *const *names, size_t count) {
  memcpy(p->names, names, count * sizeof *names);
  p->count = count;
  if (schedule(p, chip)) return 1;
  p->count = 0;
  for (size_t i = 0; i < count && !p->refused; i++) {
    p->names[p->count++] = names[i];
    if (!schedule(p, chip)) p->count--;
  }
  return p->count && schedule(p, chip);
}

static int clear_image(struct pm *p) {
  struct cupti_pm_image_params i = {sizeof i, NULL, p->sampling, p->image_bytes, p->image};
  p->filled = p->next = 0;
  return !refused(p, cupti_pm.PmSamplingCounterDataImageInitialize(&i), "make a counter image");
}

static int make_image(struct pm *p) {
  struct cupti_pm_image_size_params s = {sizeof s, NULL, p->sampling, p->names, p->count, SAMPLES, 0};
  if (refused(p, cupti_pm.PmSamplingGetCounterDataSize(&s), "ask for the size of a counter image")) return 0;
  p->image_bytes = s.bytes, p->image = calloc(1, s.bytes);
  return p->image && clear_image(p);
}

static int configure(struct pm *p, uint64_t nanos) {
  struct cupti_pm_config_params c = {
      .size = sizeof c, .sampling = p->sampling, .config_bytes = p->set.bytes, .config = p->set.config,
      .hardware_buffer = nanos < OFTEN ? LARGE_BUFFER : SMALL_BUFFER, .interval = nanos, .trigger = PM_TIME, .append = PM_KEEP_OLDEST,
  };
  if (!cupti_pm.PmSamplingSetConfig(&c)) return 1;
  c.trigger = PM_SYSTEM_CLOCK; // Turing and GA100, whose clocks have about a cycle in each ns
  return !refused(p, cupti_pm.PmSamplingSetConfig(&c), "configure it");
}

int pm_begin(struct pm *p, uint32_t device, const char *const *names, size_t count, uint64_t nanos) {
  memset(p, 0, sizeof *p);
  struct cupti_counters_params i = {sizeof i, NULL};
  struct cupti_chip_params chip = {.size = sizeof chip, .device = device};
  struct cupti_pm_enable_params e = {.size = sizeof e, .device = device};
  if (refused(p, cupti_counters.ProfilerInitialize(&i), "initialise it") || refused(p, cupti_counters.DeviceGetChipName(&chip), "find the kind of the GPU") ||
      refused(p, cupti_pm.PmSamplingEnable(&e), "enable it"))
    return 0;
  p->sampling = e.sampling;
  struct cupti_pm_params start = {sizeof start, NULL, p->sampling};
  if (choose(p, chip.name, names, count) && configure(p, nanos) && make_image(p) && !refused(p, cupti_pm.PmSamplingStart(&start), "start it")) return 1;
  if (!p->refused) p->doing = "find metrics that this GPU can count in one pass";
  pm_end(p);
  return 0;
}

static int decode(struct pm *p) {
  struct cupti_pm_decode_params d = {.size = COUNTERS_SIZE(cupti_pm_decode_params, overflow), .sampling = p->sampling, .image = p->image, .bytes = p->image_bytes};
  struct cupti_pm_info_params i = {.size = sizeof i, .image = p->image, .bytes = p->image_bytes};
  if (!clear_image(p) || refused(p, cupti_pm.PmSamplingDecodeData(&d), "read its samples") || refused(p, cupti_pm.PmSamplingGetCounterDataInfo(&i), "count its samples")) return 0;
  p->filled = i.populated, p->ended = d.stopped != PM_IMAGE_FULL;
  return 1;
}

int pm_next(struct pm *p, uint64_t *start, uint64_t *end, double *values) {
  if (p->next == p->filled) {
    if (p->ended) return p->ended = 0;
    if (!decode(p) || !p->filled) return p->ended = 0;
  }
  size_t at = p->next++;
  struct cupti_pm_sample_params s = {.size = sizeof s, .sampling = p->sampling, .image = p->image, .bytes = p->image_bytes, .index = at};
  struct cupti_evaluate_params v = {sizeof v, NULL, p->set.host, p->image, p->image_bytes, at, p->names, p->count, values};
  if (refused(p, cupti_pm.PmSamplingCounterDataGetSampleInfo(&s), "read a sample's time") || refused(p, cupti_counters.ProfilerHostEvaluateToGpuValues(&v), "read a sample's values")) return 0;
  *start = s.start, *end = s.end;
  return 1;
}

void pm_pause(struct pm *p, int rest) {
  struct cupti_pm_params s = {sizeof s, NULL, p->sampling};
  refused(p, rest ? cupti_pm.PmSamplingStop(&s) : cupti_pm.PmSamplingStart(&s), rest ? "stop it" : "start it again");
}

void pm_end(struct pm *p) {
  struct cupti_pm_params s = {sizeof s, NULL, p->sampling};
  if (p->sampling) cupti_pm.PmSamplingStop(&s), cupti_pm.PmSamplingDisable(&s);
  p->sampling = NULL;
  counters_end_set(&p->set);
  free(p->image);
  p->image = NULL;
}
