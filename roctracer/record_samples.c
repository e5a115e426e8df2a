// Records what librocprofiler-sdk says of sampling: how each GPU is sampled, and the samples, counted by instruction, dispatch and reason.
#include "record.h"

#include <stdlib.h>

#include "sdk.h"

static struct sdk_table real;
static struct { uint64_t agent, buffer; } sampled[SDK_GPUS];
static int gpus;

int record_sdk_samples_wanted(void) { return gpus > 0; }

static void write_way(uint64_t agent, uint32_t status, uint32_t method, uint32_t unit, uint64_t interval) {
  struct event e = {0};
  if (!recording()) return;
  const uint64_t numbers[] = {agent, status, method, unit, interval};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(&e, numbers[i]);
  room_recorder->write(&e, EV_REASONS);
}

static uint32_t query_ways(uint64_t agent, sdk_on_ways f, void *data) {
  uint32_t status = real.query_pc_sampling_agent_configurations(agent, f, data);
  if (status) write_way(agent, status, 0, 0, 0);
  return status;
}

static uint32_t configure(uint64_t context, uint64_t agent, uint32_t method, uint32_t unit, uint64_t interval, uint64_t buffer, int flags) {
  uint32_t status = real.configure_pc_sampling_service(context, agent, method, unit, interval, buffer, flags);
  if (!status && gpus < SDK_GPUS) sampled[gpus].agent = agent, sampled[gpus++].buffer = buffer;
  write_way(agent, status, method, unit, interval);
  return status;
}

// ---- samples ----

enum { MEMBERS = sizeof(struct capture_sample) / sizeof(uint64_t) };

static struct capture_sample read_sample(const struct sdk_header *h) {
  const struct sdk_trapped *t = h->payload;
  const struct sdk_sampled *s = h->payload;
  struct capture_sample n = {.category = h->category, .kind = h->kind};
  if (h->category != SDK_SAMPLES || !h->payload) return n;
  n.size = t->size;
  if (h->kind == SDK_TRAPPED && t->size >= sizeof *t)
    n.code = t->code, n.offset = t->offset, n.dispatch = t->dispatch, n.internal = t->internal;
  else if (h->kind == SDK_SAMPLED && s->size >= sizeof *s)
    n.code = s->code, n.offset = s->offset, n.dispatch = s->dispatch, n.internal = s->internal, n.issue = s->issue, n.reason = s->snapshot & SDK_REASON;
  return n;
}

static int compare(const void *a, const void *b) { return memcmp(a, b, sizeof(struct capture_sample)); } // any order serves

static void write_samples(struct event *e, struct capture_sample *all, size_t count) {
  size_t kinds = 0;
  qsort(all, count, sizeof *all, compare);
  for (size_t i = 0; i < count; i++) kinds += !i || compare(&all[i], &all[i - 1]);
  put(e, kinds);
  for (size_t i = 0, times; i < count; i += times) {
    const uint64_t *members = (const uint64_t *)&all[i];
    for (times = 1; i + times < count && !compare(&all[i], &all[i + times]);) times++;
    for (size_t k = 0; k < MEMBERS; k++) put(e, members[k]);
    put(e, times);
  }
}

static void samples_recorded(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *data, uint64_t drops) {
  const uint64_t *before = data; // drops counts from the buffer's creation
  struct capture_sample *all = recording() && (count || drops > *before) ? malloc((count + 1) * sizeof *all) : NULL;
  if (all) {
    struct event e = {0};
    size_t n = 0;
    int gpu = 0;
    while (gpu + 1 < gpus && sampled[gpu].buffer != buffer) gpu++;
    for (size_t i = 0; i < count; i++)
      if (records[i]) all[n++] = read_sample(records[i]);
    put(&e, sampled[gpu].agent);
    put(&e, drops);
    write_samples(&e, all, n);
    room_recorder->write(&e, EV_SAMPLES);
    free(all);
  }
  sdk_take_samples(context, buffer, records, count, data, drops);
}

sdk_on_records record_sdk_samples(sdk_on_records f) { return f == sdk_take_samples ? samples_recorded : f; }

void record_sdk_sampling(struct sdk_table *table) {
  real = *table;
  if (real.query_pc_sampling_agent_configurations) table->query_pc_sampling_agent_configurations = query_ways;
  if (real.configure_pc_sampling_service) table->configure_pc_sampling_service = configure;
}
