// Records CUPTI's stall reasons and instruction samples.
#include "record_sampling.h"

#include <stdatomic.h>

#include "record.h"

static struct cupti_sampling_table real;
static atomic_int wrapped;

int record_samples(void) { return atomic_load(&wrapped); }
void record_images(void) { atomic_store(&wrapped, 1); }

static uint32_t get_reasons(struct cupti_sampling_reasons_params *p) {
  uint32_t result = real.PCSamplingGetStallReasons(p);
  if (result || !record_on()) return result;
  struct event e = {0};
  event_number(&e, (uintptr_t)p->context);
  event_number(&e, p->number);
  for (size_t i = 0; i < p->number; i++) {
    event_number(&e, p->indices[i]);
    event_number(&e, record_cstring(p->names[i]));
  }
  event_write(&e, EV_REASONS);
  return result;
}

static void write_pc(struct event *e, const struct cupti_sampling_pc *pc, int correlated) {
  event_number(e, pc->module);
  event_number(e, pc->function);
  event_number(e, pc->offset);
  event_number(e, record_cstring(pc->name));
  event_number(e, correlated ? pc->correlation_id : 0);
  event_number(e, pc->stall_count);
  for (size_t i = 0; i < pc->stall_count; i++) {
    event_number(e, pc->stalls[i].reason);
    event_number(e, pc->stalls[i].samples);
  }
}

static uint32_t get_data(struct cupti_sampling_data_params *p) {
  uint32_t result = real.PCSamplingGetData(p);
  const struct cupti_sampling_data *d = p->data;
  if (!record_on() || (!result && !d->count && !d->total_samples)) return result;
  struct event e = {0};
  event_number(&e, (uintptr_t)p->context);
  event_number(&e, result);
  event_number(&e, d->total_samples);
  event_number(&e, d->dropped_samples);
  event_number(&e, d->non_user_samples);
  event_number(&e, d->size > SAMPLING_DATA_BEFORE_12_0 && d->hardware_buffer_full);
  event_number(&e, d->count);
  for (size_t i = 0; i < d->count; i++) {
    size_t size = ((const struct cupti_sampling_pc *)d->pcs)->size; // the distance between elements, as set by the caller
    write_pc(&e, (const void *)((const uint8_t *)d->pcs + i * size), size > SAMPLING_PC_BEFORE_12_4);
  }
  event_write(&e, EV_SAMPLES);
  return result;
}

void record_wrap_sampling(struct cupti_sampling_table *table) {
  if (!record_on()) return;
  real = *table;
  table->PCSamplingGetStallReasons = get_reasons;
  table->PCSamplingGetData = get_data;
  atomic_store(&wrapped, 1);
}
