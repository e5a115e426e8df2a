// Configures CUPTI's sampling in a context: which stall reasons are collected, how often, and into which memory.
#include "sampling_state.h"

#include <stdlib.h>
#include <string.h>

enum {
  CONTINUOUS_PCS = 1024, // instructions in the buffer that CUPTI is configured with
  SERIALIZED_PCS = 65536,
};

// ---- stall reasons: from CUPTI's names and numbers to ours ----

// short_reason shortens CUPTI's name of a stall reason, and returns -1 for the two names that are counts of samples. It returns
// 1 for a name like "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued": the samples of "long_scoreboard" in whose
// cycle no warp issued an instruction.
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
  while (i < sampler.facts.reason_count && strcmp(sampler.facts.reasons[i], name)) i++;
  if (i == SAMPLING_REASONS_MAX) return -1;
  if (i == sampler.facts.reason_count) sampler.facts.reasons[sampler.facts.reason_count++] = code_intern(name);
  return (int)i;
}

// Fills in the context's reason_of and the list of CUPTI's numbers to collect; returns the length of the list.
static size_t learn_reasons(struct context *c, uint32_t *indices, char **names, size_t count, uint32_t *wanted) {
  size_t n = 0;
  char name[REASON_NAME];
  pthread_mutex_lock(&sampler.lock);
  for (size_t i = 0; i < count; i++) {
    names[i][REASON_NAME - 1] = 0;
    int not_issued = short_reason(names[i], name);
    int number = not_issued < 0 || indices[i] >= INDICES ? -1 : reason_number(name);
    if (number < 0) continue;
    c->reason_of[indices[i]] = (uint16_t)(1 + 2 * number + not_issued);
    wanted[n++] = indices[i];
  }
  pthread_mutex_unlock(&sampler.lock);
  return n;
}

// ---- configuration ----

size_t sampler_pc_size(void) { return sampler.options.version < CUPTI_12_4 ? (size_t)SAMPLING_PC_BEFORE_12_4 : sizeof(struct cupti_sampling_pc); }

int sampler_make_data(struct cupti_sampling_data *d, size_t pcs) {
  enum { STALLS = 2 * SAMPLING_REASONS_MAX };
  uint8_t *array = calloc(pcs, sampler_pc_size()); // of this size calloc returns untouched pages; most stay untouched
  struct cupti_sampling_stall *stalls = calloc(pcs * STALLS, sizeof *stalls);
  *d = (struct cupti_sampling_data){.size = sizeof *d, .capacity = pcs, .pcs = array};
  if (sampler.options.version < CUPTI_12_0) d->size = SAMPLING_DATA_BEFORE_12_0;
  if (!array || !stalls) return 0;
  for (size_t i = 0; i < pcs; i++) {
    struct cupti_sampling_pc *pc = (void *)(array + i * sampler_pc_size());
    pc->size = sampler_pc_size();
    pc->stalls = stalls + i * STALLS;
  }
  return 1;
}

void sampler_free_data(struct cupti_sampling_data *d) {
  if (d->pcs) free(((struct cupti_sampling_pc *)d->pcs)->stalls);
  free(d->pcs);
  d->pcs = NULL;
}

// Statistics by line need some thousand samples of a kernel. A period of 2^15 cycles on 132 multiprocessors at 2 GHz gives
// 8 million a second; smaller GPUs get about as many by a shorter period. All GPUs have the period of the first, so that
// samples of different GPUs can be added up.
static uint32_t exponent_for(int device) {
  int sms = 0;
  if (sampler.options.exponent) return sampler.options.exponent;
  if (sampler.facts.exponent) return sampler.facts.exponent;
  if (device >= 0) cuda.cuDeviceGetAttribute(&sms, DEV_MULTIPROCESSORS, device);
  return sms > 96 ? 15 : sms > 40 ? 14 : 13;
}

struct attempt {
  const char *doing;
  uint32_t rc;
};

uint32_t sampler_call(uint32_t (*call)(struct cupti_sampling_params *), void *context) {
  struct cupti_sampling_params p = {sizeof p, NULL, context};
  return call(&p);
}

struct apart sampler_call_apart(uint32_t (*call)(struct cupti_sampling_params *), void *context, int attempts, int only_alone) {
  struct apart a = {.alone = gate_close(attempts)};
  if (!a.alone && only_alone) return a;
  uint64_t began = sampler_nanos(CLOCK_MONOTONIC);
  a.rc = sampler_call(call, context);
  a.took = sampler_nanos(CLOCK_MONOTONIC) - began;
  if (a.alone) gate_open();
  return a;
}

uint32_t sampler_call_apart_if_possible(uint32_t (*call)(struct cupti_sampling_params *), void *context) {
  enum { ATTEMPTS = 20 };
  return sampler_call_apart(call, context, ATTEMPTS, 0).rc;
}

static struct attempt set_reasons(struct context *c, uint32_t wanted[], size_t *n) {
  static char names[2 * SAMPLING_REASONS_MAX][REASON_NAME];
  static uint32_t indices[2 * SAMPLING_REASONS_MAX];
  char *pointers[2 * SAMPLING_REASONS_MAX];
  size_t count = 0;
  struct cupti_sampling_reasons_params p = {.size = REASONS_NUMBER_PARAMS, .context = c->handle, .count = &count};
  uint32_t rc = cupti_sampling.PCSamplingGetNumStallReasons(&p);
  if (rc) return (struct attempt){"count the stall reasons", rc};
  if (count > 2 * SAMPLING_REASONS_MAX) count = 2 * SAMPLING_REASONS_MAX;
  for (size_t i = 0; i < count; i++) pointers[i] = names[i];
  p = (struct cupti_sampling_reasons_params){.size = sizeof p, .context = c->handle, .number = count, .indices = indices, .names = pointers};
  rc = cupti_sampling.PCSamplingGetStallReasons(&p);
  *n = rc ? 0 : learn_reasons(c, indices, pointers, count, wanted);
  return (struct attempt){"list the stall reasons", rc};
}

static struct attempt set_options(struct context *c) {
  uint32_t wanted[2 * SAMPLING_REASONS_MAX], exponent = exponent_for(c->device);
  size_t n = 0;
  struct attempt reasons = set_reasons(c, wanted, &n);
  if (reasons.rc) return reasons;
  struct cupti_sampling_setting settings[] = {
      {.attribute = SAMPLING_PERIOD, .u32 = exponent},
      {.attribute = SAMPLING_REASONS, .reasons = {n, wanted}},
      {.attribute = SAMPLING_SCRATCH_BUFFER, .size = sampler.options.scratch_buffer ? sampler.options.scratch_buffer : 64 << 20},
      {.attribute = SAMPLING_HARDWARE_BUFFER, .size = sampler.options.hardware_buffer ? sampler.options.hardware_buffer : 128 << 20},
      {.attribute = SAMPLING_DATA_BUFFER, .pointer = &c->configured},
      {.attribute = SAMPLING_MODE, .u32 = sampler.options.mode},
      {.attribute = SAMPLING_START_STOP, .u32 = 1},
      {.attribute = SAMPLING_WORKER_SLEEP, .u32 = WORKER_MS}, // unknown to 11.8
  };
  struct cupti_sampling_settings_params p = {sizeof p, NULL, c->handle, sizeof settings / sizeof *settings, settings};
  if (sampler.options.version < CUPTI_12_0) p.count--;
  uint32_t rc = cupti_sampling.PCSamplingSetConfigurationAttribute(&p);
  if (!rc) sampler.facts.exponent = exponent;
  return (struct attempt){"configure sampling", rc};
}

static struct attempt set_up(struct context *c) {
  uint32_t rc = sampler_call_apart_if_possible(cupti_sampling.PCSamplingEnable, c->handle);
  if (rc) return (struct attempt){"sample instructions", rc};
  struct attempt a = set_options(c);
  if (a.rc) sampler_call_apart_if_possible(cupti_sampling.PCSamplingDisable, c->handle); // it may have been given our memory
  return a;
}

int sampler_device_of(void *context) {
  void *popped;
  int device = -1;
  if (cuda.cuCtxPushCurrent_v2(context)) return -1;
  if (cuda.cuCtxGetDevice(&device)) device = -1;
  cuda.cuCtxPopCurrent_v2(&popped);
  return device;
}

void sampler_refused(uint32_t rc, const char *doing) {
  if (rc && !sampler.facts.refused) sampler.facts.refused = rc, sampler.facts.refused_doing = doing;
}

void sampler_configure(struct context *c) {
  void *popped;
  struct attempt a = {"allocate memory for samples", RC_OUT_OF_MEMORY};
  int pushed = !cuda.cuCtxPushCurrent_v2(c->handle);
  if (sampler_make_data(&c->configured, sampler.options.mode == SAMPLING_SERIALIZED ? SERIALIZED_PCS : CONTINUOUS_PCS)) a = set_up(c);
  if (pushed) cuda.cuCtxPopCurrent_v2(&popped);
  pthread_mutex_lock(&sampler.lock);
  if (c->state == NEW) c->state = a.rc ? REFUSED : READY;
  sampler_refused(a.rc, a.doing);
  pthread_mutex_unlock(&sampler.lock);
}
