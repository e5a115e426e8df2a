// Records the values of measured launches, with what a replay has to know of the set: the kind of GPU and the number of passes. Counter images
// are not kept: they have megabytes, and only a machine with a driver can evaluate them.
#include "record_counters.h"

#include "record.h"
#include "record_sampling.h"
#include "sampling.h"

static struct cupti_counters_table real;
static char chip[64];
static uint64_t passes; // of the set that was configured last
static __thread struct record_launch launch __attribute__((tls_model("initial-exec")));

struct record_launch record_counters_launch(struct record_launch now) {
  struct record_launch before = launch;
  launch = now;
  return before;
}

static uint32_t get_chip(struct cupti_chip_params *p) {
  uint32_t result = real.DeviceGetChipName(p);
  if (!result) strncpy(chip, p->name, sizeof chip - 1);
  return result;
}

static uint32_t get_passes(struct cupti_passes_params *p) {
  uint32_t result = real.ProfilerHostGetNumOfPasses(p);
  if (!result) passes = p->passes;
  return result;
}

static uint32_t evaluate(struct cupti_evaluate_params *p) {
  uint32_t result = real.ProfilerHostEvaluateToGpuValues(p);
  if (result || !record_on()) return result;
  struct event e = {0};
  event_number(&e, launch.correlation);
  event_number(&e, record_cstring(chip));
  event_number(&e, passes);
  event_number(&e, p->count);
  for (size_t i = 0; i < p->count; i++) {
    uint64_t bits;
    memcpy(&bits, &p->values[i], sizeof bits);
    event_number(&e, record_cstring(p->names[i]));
    event_number(&e, bits);
  }
  event_write(&e, EV_COUNTERS);
  return result;
}

static struct cupti_lines_table real_lines;
static struct { uint64_t id; const char *name; } metrics[64];
static size_t metric_count;

static uint32_t get_metric(struct cupti_line_metric_params *p) {
  uint32_t result = real_lines.SassMetricsGetProperties(p);
  if (!result && metric_count < sizeof metrics / sizeof *metrics) metrics[metric_count].id = p->id, metrics[metric_count++].name = p->name;
  return result;
}

static const char *metric_named(uint64_t id) {
  for (size_t i = 0; i < metric_count; i++)
    if (metrics[i].id == id) return metrics[i].name;
  return NULL;
}

// What other launches counted is read when a launch begins, and is not recorded.
static uint32_t flush_lines(struct cupti_line_flush_params *p) {
  uint32_t result = real_lines.SassMetricsFlushData(p);
  if (result || !record_on() || !launch.ends) return result;
  struct event e = {0};
  event_number(&e, launch.correlation);
  event_number(&e, record_cstring(chip));
  uint32_t crc = p->records ? p->out->crc : 0, images; // all instructions of a launch are in one module
  event_number(&e, code_by_crc(crc, &images));
  event_number(&e, crc);
  event_number(&e, p->records);
  for (size_t i = 0; i < p->records; i++) {
    const struct cupti_line_record *r = &p->out[i];
    uint64_t sum = 0;
    for (size_t k = 0; k < p->instances; k++) sum += r->values[k].value;
    event_number(&e, r->function);
    event_number(&e, record_cstring(r->name));
    event_number(&e, r->offset);
    event_number(&e, record_cstring(metric_named(r->values->id)));
    event_number(&e, sum);
  }
  event_write(&e, EV_LINES);
  return result;
}

void record_wrap_lines(struct cupti_lines_table *table) {
  if (!record_on()) return;
  record_images();
  real_lines = *table;
  real.DeviceGetChipName = table->DeviceGetChipName;
  table->DeviceGetChipName = get_chip;
  table->SassMetricsGetProperties = get_metric;
  table->SassMetricsFlushData = flush_lines;
}

void record_wrap_counters(struct cupti_counters_table *table) {
  if (!record_on()) return;
  real = *table;
  table->DeviceGetChipName = get_chip;
  table->ProfilerHostGetNumOfPasses = get_passes;
  table->ProfilerHostEvaluateToGpuValues = evaluate;
}
