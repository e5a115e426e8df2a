// Samples, on a thread of the library's that delivers nothing else. They are counted by instruction, dispatch and reason: a GPU takes
// some thousand of them in a millisecond.
#include "sdk.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static struct sdk_taken have;
static size_t used, room_for_dispatches;
static uint64_t samples, invalid, dropped, lost;
static uint64_t unsampled, silent; // ns of kernels since the last sample

enum { LEAST = 1 << 10, MOST = 1 << 20, MOST_DISPATCHES = 1 << 20 }; // 40 MB and 16 MB

// ---- the table ----

static struct sdk_count *place(struct sdk_count *table, size_t size, const struct sdk_count *key) {
  uint64_t hash = (key->code * 31 + key->offset * 17 + key->dispatch * 131 + key->reason) * 0x9E3779B97F4A7C15u;
  for (size_t at = hash >> 32;; at++) {
    struct sdk_count *c = &table[at & (size - 1)];
    if (!c->samples || (c->offset == key->offset && c->dispatch == key->dispatch && c->code == key->code && c->reason == key->reason)) return c;
  }
}

static int grow(void) {
  size_t size = have.size ? 2 * have.size : LEAST;
  struct sdk_count *table = size <= MOST ? calloc(size, sizeof *table) : NULL;
  if (!table) return 0;
  for (size_t i = 0; i < have.size; i++)
    if (have.counts[i].samples) *place(table, size, &have.counts[i]) = have.counts[i];
  free(have.counts);
  have.counts = table, have.size = size;
  return 1;
}

static void count(struct sdk_count key) {
  samples++, unsampled = 0;
  if (2 * used >= have.size && !grow() && (!have.size || used >= have.size / 4 * 3)) {
    lost++;
    return;
  }
  struct sdk_count *c = place(have.counts, have.size, &key);
  if (!c->samples) used++, *c = key, c->samples = 0;
  if (c->samples < UINT32_MAX) c->samples++;
}

// ---- records ----

static void take(const struct sdk_header *h) {
  const struct sdk_trapped *t = h->payload;
  const struct sdk_sampled *s = h->payload;
  enum { OTHER = 8 };
  if (h->category != SDK_SAMPLES || !h->payload) {
    invalid++;
  } else if (h->kind == SDK_TRAPPED && t->size >= sizeof *t) {
    count((struct sdk_count){t->code, t->offset, t->dispatch, SDK_REASONS, 0});
  } else if (h->kind == SDK_SAMPLED && s->size >= sizeof *s) {
    uint32_t reason = s->snapshot & SDK_REASON;
    if (!reason || reason >= SDK_REASONS) reason = OTHER; // none, or one that is not known
    count((struct sdk_count){s->code, s->offset, s->dispatch, s->issue & SDK_ISSUED ? 0 : reason, 0});
  } else {
    invalid++;
  }
}

void sdk_take_samples(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t n, void *drops_so_far, uint64_t drops) {
  uint64_t *before = drops_so_far; // the library's number counts from the buffer's creation
  if (!sdk_usable()) return;
  pthread_mutex_lock(&lock);
  if (drops > *before) dropped += drops - *before, *before = drops;
  for (size_t i = 0; i < n; i++)
    if (records[i]) take(records[i]);
  pthread_mutex_unlock(&lock);
}

void sdk_dispatch_seen(uint64_t dispatch, uint64_t correlation, uint64_t nanos) {
  pthread_mutex_lock(&lock);
  unsampled += nanos;
  if (have.dispatch_count == room_for_dispatches && room_for_dispatches < MOST_DISPATCHES) {
    size_t more = room_for_dispatches ? 2 * room_for_dispatches : LEAST;
    struct sdk_pair *all = realloc(have.dispatches, more * sizeof *all);
    if (all) have.dispatches = all, room_for_dispatches = more;
  }
  if (have.dispatch_count < room_for_dispatches) have.dispatches[have.dispatch_count++] = (struct sdk_pair){dispatch, correlation};
  pthread_mutex_unlock(&lock);
}

// ---- from Go ----

struct sdk_taken sdk_samples_take(void) {
  pthread_mutex_lock(&lock);
  struct sdk_taken taken = have;
  have = (struct sdk_taken){0};
  used = room_for_dispatches = 0;
  pthread_mutex_unlock(&lock);
  return taken;
}

// Drivers have been seen to stop sampling without a word. Kernels of this length have samples.
enum { LONG = 1000000000 };

void sdk_samples_watch(void) {
  pthread_mutex_lock(&lock);
  if (unsampled > LONG && unsampled > silent) silent = unsampled;
  pthread_mutex_unlock(&lock);
}

void sdk_samples_facts(struct sdk_sampling_facts *out) {
  pthread_mutex_lock(&lock);
  out->samples = samples + invalid, out->invalid = invalid, out->dropped = dropped, out->lost = lost, out->silent = silent;
  pthread_mutex_unlock(&lock);
}
