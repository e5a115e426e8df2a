// The fake libcupti's sampling of instructions: it returns the samples of a capture. Without a capture there are no samples,
// and the stall reasons are those of an H200.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

struct sampled_pc {
  struct cupti_sampling_pc pc;
  struct sampled_pc *next;
  struct cupti_sampling_stall stalls[];
};

static struct {
  pthread_mutex_t lock; // guards the rest
  int enabled;          // contexts
  int running;
  struct sampled_pc *first, **last;
  struct cupti_sampling_data sums; // since the last call of GetData
  uint32_t result;                 // of the next call of GetData
  size_t reasons;                  // how many the profiler has configured, and allocated for each instruction
} sampling = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- samples of a capture ----

static void read_pc(const struct capture *c, struct cap_cursor *at) {
  struct cupti_sampling_pc pc = {.module = cap_number(at)};
  pc.function = (uint32_t)cap_number(at);
  pc.offset = cap_number(at);
  pc.name = (char *)(uintptr_t)cap_string(c, at);
  pc.correlation_id = (uint32_t)cap_number(at);
  pc.stall_count = cap_number(at);
  if (at->short_ || pc.stall_count > (size_t)(at->end - at->at)) return;
  struct sampled_pc *s = malloc(sizeof *s + pc.stall_count * sizeof *s->stalls);
  if (!s) abort();
  *s = (struct sampled_pc){.pc = pc};
  for (size_t i = 0; i < pc.stall_count; i++) {
    s->stalls[i].reason = (uint32_t)cap_number(at);
    s->stalls[i].samples = (uint32_t)cap_number(at);
  }
  if (!sampling.last) sampling.last = &sampling.first;
  *sampling.last = s, sampling.last = &s->next;
}

void play_samples(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  cap_number(&at); // context: the first call of GetData gets the samples of all
  pthread_mutex_lock(&sampling.lock);
  sampling.result = (uint32_t)cap_number(&at);
  sampling.sums.total_samples += cap_number(&at);
  sampling.sums.dropped_samples += cap_number(&at);
  sampling.sums.non_user_samples += cap_number(&at);
  sampling.sums.hardware_buffer_full |= cap_number(&at) != 0;
  for (uint64_t n = cap_number(&at); n > 0 && !at.short_; n--) read_pc(c, &at);
  pthread_mutex_unlock(&sampling.lock);
}

// ---- reasons ----

static const char *const h200[] = {
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
    "membar", "mio_throttle", "misc", "no_instructions", "not_selected", "selected", "short_scoreboard", "sleeping",
    "tex_throttle", "wait", "warpgroup_arrive",
};
enum { H200 = 2 + 2 * sizeof h200 / sizeof *h200 };

static const struct cap_event *recorded_reasons(void) {
  const struct capture *c = stub_cuda_capture();
  for (size_t i = 0; c && i < c->count; i++)
    if (c->events[i].type == EV_REASONS) return &c->events[i];
  return NULL;
}

STUB_EXPORT uint32_t cuptiPCSamplingGetNumStallReasons(struct cupti_sampling_reasons_params *p) {
  const struct cap_event *e = recorded_reasons();
  *p->count = H200;
  if (!e) return stub_result("PCSamplingGetNumStallReasons");
  struct cap_cursor at = cap_open(e);
  cap_number(&at);
  *p->count = cap_number(&at);
  return stub_result("PCSamplingGetNumStallReasons");
}

static void built_in_reason(struct cupti_sampling_reasons_params *p, size_t i) {
  p->indices[i] = (uint32_t)i;
  if (i == 0) snprintf(p->names[i], REASON_NAME, "smsp__pcsamp_sample_count");
  else if (i == 1) snprintf(p->names[i], REASON_NAME, "smsp__pcsamp_samples_data_dropped");
  else snprintf(p->names[i], REASON_NAME, "smsp__pcsamp_warps_issue_stalled_%s%s", h200[(i - 2) / 2], i & 1 ? "_not_issued" : "");
}

STUB_EXPORT uint32_t cuptiPCSamplingGetStallReasons(struct cupti_sampling_reasons_params *p) {
  const struct cap_event *e = recorded_reasons();
  struct cap_cursor at;
  if (e) at = cap_open(e), cap_number(&at), cap_number(&at);
  for (size_t i = 0; i < p->number; i++) {
    if (!e) {
      built_in_reason(p, i);
      continue;
    }
    p->indices[i] = (uint32_t)cap_number(&at);
    const char *name = cap_string(stub_cuda_capture(), &at);
    snprintf(p->names[i], REASON_NAME, "%s", name ? name : "");
  }
  return stub_result("PCSamplingGetStallReasons");
}

// ---- control ----

static uint32_t change(const char *function, int *count, int by) {
  uint32_t result = stub_result(function);
  if (result) return result;
  pthread_mutex_lock(&sampling.lock);
  *count += by;
  pthread_mutex_unlock(&sampling.lock);
  return RC_OK;
}

static uint32_t change_running(const char *function, int by) {
  stub_cuda_sampling_switches(1);
  uint32_t result = change(function, &sampling.running, by);
  stub_cuda_sampling_switches(0);
  return result;
}

STUB_EXPORT uint32_t cuptiPCSamplingEnable(struct cupti_sampling_params *p) {
  stub_cuda_sampled();
  return p->context ? change("PCSamplingEnable", &sampling.enabled, +1) : RC_INVALID_CONTEXT;
}
STUB_EXPORT uint32_t cuptiPCSamplingDisable(struct cupti_sampling_params *p) { return (void)p, change("PCSamplingDisable", &sampling.enabled, -1); }
// CUPTI 13.0 on an H100 refused to record kernels in 2 of 84 sessions that may have asked when sampling had begun, while threads launched, and in
// none of 122 that asked before.
STUB_EXPORT uint32_t cuptiPCSamplingStart(struct cupti_sampling_params *p) {
  if (!stub_kernels_recorded()) {
    fprintf(stderr, "stub: sampling starts before kernel records are enabled\n");
    abort();
  }
  return (void)p, change_running("PCSamplingStart", +1);
}
STUB_EXPORT uint32_t cuptiPCSamplingStop(struct cupti_sampling_params *p) { return (void)p, change_running("PCSamplingStop", -1); }

static void note_reasons(size_t count) {
  pthread_mutex_lock(&sampling.lock);
  sampling.reasons = count;
  pthread_mutex_unlock(&sampling.lock);
}

STUB_EXPORT uint32_t cuptiPCSamplingSetConfigurationAttribute(struct cupti_sampling_settings_params *p) {
  for (size_t i = 0; i < p->count; i++) {
    uint32_t known = stub_version() < CUPTI_12_0 ? SAMPLING_DATA_BUFFER : SAMPLING_WORKER_SLEEP;
    if (!p->settings[i].attribute || p->settings[i].attribute > known) return p->settings[i].status = RC_INVALID_PARAMETER;
    p->settings[i].status = RC_OK;
    if (p->settings[i].attribute == SAMPLING_REASONS) note_reasons(p->settings[i].reasons.count);
  }
  return stub_result("PCSamplingSetConfigurationAttribute");
}

STUB_EXPORT uint32_t cuptiRegisterComputeCrcCallback(cupti_crc_fn compute) {
  return compute ? stub_result("RegisterComputeCrcCallback") : RC_INVALID_PARAMETER;
}

// ---- data ----

static void fill(struct cupti_sampling_data *d) {
  size_t stride = stub_version() < CUPTI_12_4 ? (size_t)SAMPLING_PC_BEFORE_12_4 : sizeof(struct cupti_sampling_pc);
  for (d->count = 0; d->count < d->capacity && sampling.first; d->count++) {
    struct sampled_pc *s = sampling.first;
    struct cupti_sampling_pc *out = (void *)((uint8_t *)d->pcs + d->count * stride);
    out->module = s->pc.module, out->function = s->pc.function, out->offset = s->pc.offset;
    out->name = s->pc.name, out->stall_count = s->pc.stall_count < sampling.reasons ? s->pc.stall_count : sampling.reasons;
    memcpy(out->stalls, s->stalls, out->stall_count * sizeof *s->stalls);
    if (stride == sizeof *out) out->correlation_id = s->pc.correlation_id;
    sampling.first = s->next;
    free(s);
  }
  if (!sampling.first) sampling.last = &sampling.first;
  d->remaining = sampling.first != NULL;
}

STUB_EXPORT uint32_t cuptiPCSamplingGetData(struct cupti_sampling_data_params *p) {
  uint32_t result = stub_result("PCSamplingGetData");
  if (result) return result;
  pthread_mutex_lock(&sampling.lock);
  struct cupti_sampling_data *d = p->data;
  if (sampling.enabled <= 0) {
    result = RC_INVALID_OPERATION;
  } else {
    result = sampling.result;
    d->total_samples = sampling.sums.total_samples, d->dropped_samples = sampling.sums.dropped_samples;
    d->non_user_samples = sampling.sums.non_user_samples;
    if (d->size > SAMPLING_DATA_BEFORE_12_0) d->hardware_buffer_full = sampling.sums.hardware_buffer_full;
    fill(d);
    sampling.sums = (struct cupti_sampling_data){0}, sampling.result = RC_OK;
  }
  pthread_mutex_unlock(&sampling.lock);
  return result;
}

// stub_sampling_enabled is in how many contexts sampling is enabled.
STUB_EXPORT int stub_sampling_enabled(void) {
  pthread_mutex_lock(&sampling.lock);
  int contexts = sampling.enabled;
  pthread_mutex_unlock(&sampling.lock);
  return contexts;
}
