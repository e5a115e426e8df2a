// Records the values of measured launches, with what a replay has to know of the set: the kind of GPU and the number of passes. Counter images
// are not kept: they have megabytes, and only a machine with a driver can evaluate them.
#include "record_counters.h"

#include "record.h"

static struct cupti_counters_table real;
static char chip[64];
static uint64_t passes; // of the set that was configured last
static __thread uint32_t launch __attribute__((tls_model("initial-exec")));

void record_counters_launch(uint32_t correlation) { launch = correlation; }

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
  event_number(&e, launch);
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

void record_wrap_counters(struct cupti_counters_table *table) {
  if (!record_on()) return;
  real = *table;
  table->DeviceGetChipName = get_chip;
  table->ProfilerHostGetNumOfPasses = get_passes;
  table->ProfilerHostEvaluateToGpuValues = evaluate;
}
