// Reads samples with CUPTI's GetData into batches of struct sampled, which sampling_take returns to Go.
//
// The GPU writes samples into its own buffer. A thread of CUPTI's, the worker, wakes every WORKER_MS and adds them up by
// instruction; GetData returns the sums so far. A sample can therefore take two periods of the worker to arrive, and all samples
// have been read only after GetData has returned none for that long.
#include "sampling_state.h"

#include <stdlib.h>
#include <string.h>

enum {
  PCS = 8192, // instructions per call of GetData
  BATCH = 256 << 10,
  BATCHES_MAX = 1024, // 256 MiB: half a minute without a reader
  FAILURES = 20,      // so many failures in succession are reported
};

static struct cupti_sampling_data data; // only the sampling thread uses it

uint32_t sampler_prepare_reading(void) {
  return data.pcs || sampler_make_data(&data, PCS) ? RC_OK : RC_OUT_OF_MEMORY;
}

// ---- samples ----

static void keep(struct sampled_batch *b) {
  pthread_mutex_lock(&sampler.lock);
  if (!sampler.last) sampler.last = &sampler.first;
  *sampler.last = b, sampler.last = &b->next, sampler.batches++;
  pthread_mutex_unlock(&sampler.lock);
}

static int too_many_batches(void) {
  pthread_mutex_lock(&sampler.lock);
  int too_many = sampler.batches >= BATCHES_MAX;
  pthread_mutex_unlock(&sampler.lock);
  return too_many;
}

static struct sampled *room_for(struct sampled_batch **b, size_t stalls) {
  size_t size = (sizeof(struct sampled) + stalls * sizeof(struct sampled_stall) + 7) & ~(size_t)7;
  if (*b && (*b)->used + size > (*b)->capacity) keep(*b), *b = NULL;
  if (!*b) {
    *b = too_many_batches() ? NULL : malloc(sizeof **b + BATCH);
    if (!*b) return NULL;
    **b = (struct sampled_batch){.capacity = BATCH};
  }
  struct sampled *out = (void *)((*b)->bytes + (*b)->used);
  (*b)->used += size;
  return out;
}

// CUPTI's guide says that the caller frees the names; but each call returns the same pointers again, so they are not freed.
static const char *name_of(const struct cupti_sampling_pc *pc) {
  static const char *known;
  if (!pc->name) return NULL;
  if (known && !strcmp(known, pc->name)) return known;
  return known = code_intern(pc->name);
}

// The module of a sample. CUPTI identifies a module that was loaded before code_register by a CRC. `hash` is ours; 0 if the
// image is not known, or if several images have that CRC. Samples of the latter keep the CRC, which matches no launch, because
// nothing shows to which of the images they belong.
struct module { uint64_t hash; uint32_t images; };

static struct module module_of(const struct cupti_sampling_pc *pc) {
  static uint64_t module, at_events;
  static struct module answer;
  size_t size;
  if (module == pc->module && at_events == code_events()) return answer;
  module = pc->module, at_events = code_events();
  if (code_image(module, &size)) answer = (struct module){module, 1};
  else answer.hash = code_by_crc(module, &answer.images);
  return answer;
}

struct taking {
  struct sampled_batch *batch;
  uint64_t lost, unseen, same_crc;
};

// Adds up an instruction's stalls by our reasons; returns how many reasons there are. *all is the number of its samples.
static uint32_t add_up(const struct context *c, const struct cupti_sampling_pc *pc, struct sampled_stall stalls[SAMPLING_REASONS_MAX], uint32_t *all) {
  uint8_t place[SAMPLING_REASONS_MAX]; // in stalls, by reason
  uint32_t n = 0;
  memset(place, 0xff, sizeof place);
  for (size_t i = 0; i < pc->stall_count; i++) {
    const struct cupti_sampling_stall *from = &pc->stalls[i];
    uint16_t known = from->reason < INDICES ? c->reason_of[from->reason] : 0;
    if (!known || !from->samples) continue;
    uint32_t reason = (uint32_t)(known - 1) / 2;
    if (place[reason] == 0xff) {
      place[reason] = (uint8_t)n;
      stalls[n++] = (struct sampled_stall){.reason = reason};
    }
    if ((known - 1) & 1) stalls[place[reason]].not_issued += from->samples;
    else stalls[place[reason]].samples += from->samples, *all += from->samples;
  }
  return n;
}

static void take_pc(const struct context *c, const struct cupti_sampling_pc *pc, struct taking *t) {
  struct sampled_stall stalls[SAMPLING_REASONS_MAX];
  uint32_t all = 0, n = add_up(c, pc, stalls, &all);
  struct module in = module_of(pc);
  if (!n) return;
  struct sampled *out = room_for(&t->batch, n);
  if (in.images > 1) t->same_crc += all;
  else if (!in.hash) t->unseen += all;
  if (!out) {
    t->lost += all;
    return;
  }
  *out = (struct sampled){.module = in.hash ? in.hash : pc->module, .offset = pc->offset, .name = name_of(pc),
                          .function = pc->function, .stall_count = n};
  if (sampler_pc_size() > SAMPLING_PC_BEFORE_12_4) out->correlation = pc->correlation_id;
  memcpy(out->stalls, stalls, n * sizeof *stalls);
}

void sampler_take(const struct context *c, struct cupti_sampling_data *d) {
  struct taking t = {0};
  for (size_t i = 0; i < d->count && i < d->capacity; i++) {
    struct cupti_sampling_pc *pc = (void *)((uint8_t *)d->pcs + i * sampler_pc_size());
    take_pc(c, pc, &t);
  }
  if (t.batch) keep(t.batch);
  pthread_mutex_lock(&sampler.lock);
  sampler.facts.lost += t.lost;
  sampler.facts.unseen += t.unseen;
  sampler.facts.same_crc += t.same_crc;
  sampler.facts.total += d->total_samples;
  sampler.facts.dropped += d->dropped_samples;
  sampler.facts.non_user += d->non_user_samples;
  if (d->size > SAMPLING_DATA_BEFORE_12_0 && d->hardware_buffer_full) sampler.facts.buffer_full = 1;
  pthread_mutex_unlock(&sampler.lock);
}

int sampler_read(struct context *c) {
  enum { ROUNDS = 64 };
  int any = 0;
  for (int i = 0; i < ROUNDS; i++) {
    struct cupti_sampling_data_params p = {sizeof p, NULL, c->handle, &data};
    data.count = data.remaining = 0;
    data.total_samples = data.dropped_samples = data.non_user_samples = 0;
    data.hardware_buffer_full = 0;
    uint32_t rc = cupti_sampling.PCSamplingGetData(&p);
    if (rc && rc != RC_OUT_OF_MEMORY) {
      pthread_mutex_lock(&sampler.lock);
      if (++c->failures == FAILURES) sampler_refused(rc, "read samples");
      pthread_mutex_unlock(&sampler.lock);
      return any;
    }
    c->failures = 0;
    if (rc == RC_OUT_OF_MEMORY) data.hardware_buffer_full = 1;
    c->full |= data.hardware_buffer_full;
    sampler_take(c, &data);
    if (rc) return any;
    any |= data.count > 0;
    if (!data.count && !data.remaining) return any;
  }
  return any;
}

struct sampled_batch *sampling_take(void) {
  pthread_mutex_lock(&sampler.lock);
  struct sampled_batch *b = sampler.first;
  sampler.first = NULL, sampler.last = &sampler.first, sampler.batches = 0;
  pthread_mutex_unlock(&sampler.lock);
  return b;
}
